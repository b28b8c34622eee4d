// RUN: mamba-opt %s --mamba-fold-causal-mask="peel=false runs tails-at-least=1" --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --mamba-fold-causal-mask="peel runs tails-at-least=1" --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PEEL

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Gated linear attention: whole tiles are static, up to the diagonal too. The
// rest is one loop, with the mask; as rows are independent, it comes first.
// CHECK-DAG:   #[[$WHOLE:.+]] = affine_map<()[s0] -> ((s0 floordiv 64) * 64, 0)>
// CHECK-DAG:   #[[$DIAGONAL:.+]] = affine_map<(d0) -> (d0 + 64)>
// CHECK-LABEL: func @gated
// CHECK-SAME:    %[[LEN:[a-z0-9]+]]: index
// CHECK:         %[[WHOLE:.+]] = affine.max #[[$WHOLE]]()[%[[LEN]]]
// CHECK:         %[[REST:.+]] = scf.for %{{.+}} = %[[WHOLE]] to %[[LEN]] step %c64
// CHECK:           affine.min
// CHECK:           scf.for {{.*}} -> (tensor<?x8xf32>)
// CHECK:         } {mamba.rest}
// CHECK:         %[[OUT:.+]] = scf.for %[[I:.+]] = %c0 to %[[WHOLE]] step %c64 iter_args(%{{.*}} = %[[REST]])
// CHECK:           %[[END:.+]] = affine.apply #[[$DIAGONAL]](%[[I]])
// CHECK:           scf.for %{{.+}} = %c0 to %[[END]] step %c32 iter_args(%{{.+}}) -> (tensor<64x8xf32>)
// CHECK-NOT:         affine.min
// CHECK:             linalg.matmul {{.*}} -> tensor<64x32xf32>
// CHECK:         return %[[OUT]]

// PEEL-LABEL:  func @gated
// PEEL:          scf.for
// PEEL:            scf.for
// PEEL:              arith.select
// PEEL:          } {mamba.rest}
// PEEL:          scf.for %[[I:.+]] = %c0 to %{{.+}} step %c64
// PEEL:            %[[LEFT:.+]] = scf.for %{{.+}} = %c0 to %[[I]] step %c32 iter_args(%{{.+}}) -> (tensor<64x8xf32>)
// PEEL-NOT:          affine.min
// PEEL-NOT:          arith.select
// PEEL:            scf.for %{{.+}} = %[[I]] to %{{.+}} step %c32 iter_args(%{{.+}} = %[[LEFT]])
// PEEL-NOT:          affine.min
// PEEL:              arith.select
// PEEL-NOT:      scf.for
// PEEL:          return
func.func @gated(%len: index, %q: tensor<?x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x8xf32>,
                 %g: tensor<?xf32>, %out: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i0 = %c0 to %len step %c64 iter_args(%o = %out) -> tensor<?x8xf32> {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i0)[%len]
    %qi = tensor.extract_slice %q[%i0, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
    %gi = tensor.extract_slice %g[%i0] [%rows] [1] : tensor<?xf32> to tensor<?xf32>
    %e = tensor.empty(%rows) : tensor<?x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    %sum = scf.for %j0 = %c0 to %len step %c32 iter_args(%acc = %zeros) -> tensor<?x8xf32> {
      %columns = affine.min affine_map<(d0)[s0] -> (s0 - d0, 32)>(%j0)[%len]
      %kj = tensor.extract_slice %k[%j0, 0] [%columns, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
      %vj = tensor.extract_slice %v[%j0, 0] [%columns, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
      %gj = tensor.extract_slice %g[%j0] [%columns] [1] : tensor<?xf32> to tensor<?xf32>
      %es = tensor.empty(%rows, %columns) : tensor<?x?xf32>
      %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<?x?xf32>) -> tensor<?x?xf32>
      %s = linalg.matmul indexing_maps = [#mk, #nk, #mn]
          ins(%qi, %kj : tensor<?x16xf32>, tensor<?x16xf32>) outs(%zs : tensor<?x?xf32>) -> tensor<?x?xf32>
      %w = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}
          ins(%s, %gi, %gj : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%es : tensor<?x?xf32>) {
      ^bb0(%sij: f32, %a: f32, %b: f32, %old: f32):
        %d = arith.subf %a, %b : f32
        %low = arith.minimumf %d, %zero : f32
        %exp = math.exp %low : f32
        %p = arith.mulf %sij, %exp : f32
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %row = arith.addi %i0, %i : index
        %column = arith.addi %j0, %j : index
        %counts = arith.cmpi sge, %row, %column : index
        %masked = arith.select %counts, %p, %zero : f32
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

// -----

// Sums keep their order. A loop over chunks that does not end where the tokens do: the last chunk is
// not whole unless the tokens fill it, and a loop may be shorter than they are.
// CHECK:       #[[$WHOLE:.+]] = affine_map<()[s0] -> (s0 floordiv 128, 0)>
// CHECK-LABEL: func @chunks
// CHECK-SAME:    %[[LEN:[a-z0-9]+]]: index, %[[CHUNKS:[a-z0-9]+]]: index
// CHECK:         %[[WHOLE:.+]] = affine.max #[[$WHOLE]]()[%[[LEN]]]
// CHECK:         %[[SPLIT:.+]] = affine.min #{{.+}}()[%[[WHOLE]], %[[CHUNKS]]]
// CHECK:         %[[SUM:.+]] = scf.for %{{.+}} = %c0 to %[[SPLIT]] step %c1
// CHECK:           tensor<128x8xf32>
// CHECK:         scf.for %{{.+}} = %[[SPLIT]] to %[[CHUNKS]] step %c1 iter_args(%{{.+}} = %[[SUM]])
// CHECK:           tensor<?x8xf32>
func.func @chunks(%len: index, %chunks: index, %x: tensor<?x8xf32>, %init: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %c = %c0 to %chunks step %c1 iter_args(%acc = %init) -> tensor<8x8xf32> {
    %first = affine.apply affine_map<(d0) -> (d0 * 128)>(%c)
    %n = affine.min affine_map<(d0)[s0] -> (d0 * -128 + s0, 128)>(%c)[%len]
    %xc = tensor.extract_slice %x[%first, 0] [%n, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
    %next = linalg.matmul
        indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>]
        ins(%xc, %xc : tensor<?x8xf32>, tensor<?x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %next : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----

// Sizes that vary with something else, or do not.
// CHECK-LABEL: func @kept
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @kept(%len: tensor<?xindex>, %n: index, %x: tensor<?x8xf32>, %init: tensor<8x8xf32>)
    -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %r = scf.for %c = %c0 to %n step %c128 iter_args(%acc = %init) -> tensor<8x8xf32> {
    %end = tensor.extract %len[%c] : tensor<?xindex>
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 128)>(%c)[%end]
    %k = affine.min affine_map<()[s0] -> (s0, 64)>()[%n]
    %xc = tensor.extract_slice %x[%c, 0] [%m, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
    %xk = tensor.extract_slice %xc[0, 0] [%k, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
    %next = linalg.matmul
        indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>]
        ins(%xk, %xk : tensor<?x8xf32>, tensor<?x8xf32>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %next : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}
