// RUN: mamba-opt %s --mamba-fold-causal-mask="peel runs tails-at-least=1" --canonicalize --cse | FileCheck %s
// RUN: mamba-opt %s --mamba-fold-causal-mask="peel-at-least=1 peel runs tails-at-least=1" --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: mamba-opt %s --mamba-fold-causal-mask="peel-at-least=1 inline peel runs tails-at-least=1" --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=INLINE

// At most 128 tokens in tiles of 64: one tile below the diagonal is not worth a
// loop by default. With one, the tile on the diagonal is known to be one.
// CHECK-LABEL: func @few
// CHECK-COUNT-4: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return

// ONE-LABEL:  func @few
// ONE:          scf.for
// ONE:            scf.for
// ONE:          } {mamba.rest}
// ONE:          scf.for %[[I:.+]] = %c0 to
// ONE:            %[[LEFT:.+]] = scf.for %{{.+}} = %c0 to %[[I]] step %c64
// ONE-NOT:          arith.select
// ONE:            scf.for %{{.+}} = %[[I]] to %{{.+}} step %c64 iter_args(%{{.+}} = %[[LEFT]])
// ONE:              arith.select

// INLINE-LABEL: func @few
// INLINE:         scf.for
// INLINE:           scf.for
// INLINE:         } {mamba.rest}
// INLINE:         scf.for %[[I:.+]] = %c0 to
// INLINE:           %[[LEFT:.+]] = scf.for %{{.+}} = %c0 to %[[I]] step %c64
// INLINE-NOT:       scf.for
// INLINE:           arith.select
// INLINE:           tensor.extract_slice %{{.+}}[%[[I]], 0] [64, 8] [1, 1]
// INLINE:           linalg.matmul {{.*}} outs(%[[LEFT]]
// INLINE:         return
func.func @few(%n: index, %v: tensor<?x8xf32>, %out: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %len = affine.min affine_map<()[s0] -> (s0, 128)>()[%n]
  %r = scf.for %i0 = %c0 to %len step %c64 iter_args(%o = %out) -> tensor<?x8xf32> {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i0)[%len]
    %e = tensor.empty(%rows) : tensor<?x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    %sum = scf.for %j0 = %c0 to %len step %c64 iter_args(%acc = %zeros) -> tensor<?x8xf32> {
      %columns = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%j0)[%len]
      %vj = tensor.extract_slice %v[%j0, 0] [%columns, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
      %es = tensor.empty(%rows, %columns) : tensor<?x?xf32>
      %w = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]
      } outs(%es : tensor<?x?xf32>) {
      ^bb0(%old: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %row = arith.addi %i0, %i : index
        %column = arith.addi %j0, %j : index
        %counts = arith.cmpi sle, %column, %row : index
        %masked = arith.select %counts, %one, %zero : f32
        linalg.yield %masked : f32
      } -> tensor<?x?xf32>
      %next = linalg.matmul ins(%w, %vj : tensor<?x?xf32>, tensor<?x8xf32>)
          outs(%acc : tensor<?x8xf32>) -> tensor<?x8xf32>
      scf.yield %next : tensor<?x8xf32>
    }
    %new = tensor.insert_slice %sum into %o[%i0, 0] [%rows, 8] [1, 1]
        : tensor<?x8xf32> into tensor<?x8xf32>
    scf.yield %new : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}
