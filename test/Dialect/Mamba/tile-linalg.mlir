// linalg operations between those of the dialect become kernels of their own.

// RUN: mamba-opt %s --mamba-tile --canonicalize --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-tile=loops=for --split-input-file | FileCheck %s --check-prefix=FOR

#map = affine_map<(i, j, k) -> (i, j, k)>

// One point of the outer loops and 256 of the innermost one; the last may be
// fewer.
// CHECK:       #[[$MIN:.+]] = affine_map<(d0)[s0] -> (-d0 + s0, 256)>
// CHECK-LABEL: func @elementwise
// CHECK:       %[[R:.+]] = scf.forall (%[[I:.+]], %[[J:.+]], %[[K:.+]]) = (0, 0, 0) to (%{{.+}}, 4, %{{.+}}) step (1, 1, 256)
// CHECK-SAME:      shared_outs(%[[O:.+]] = %{{[a-z0-9]+}})
// CHECK:         %[[N:.+]] = affine.min #[[$MIN]](%[[K]])
// CHECK:         %[[X:.+]] = tensor.extract_slice %{{.+}}[%[[I]], %[[J]], %[[K]]] [1, 1, %[[N]]] [1, 1, 1]
// CHECK:         %[[T:.+]] = linalg.generic
// CHECK:         tensor.parallel_insert_slice %[[T]] into %[[O]]
// CHECK:       } {mamba.kernel = "generic", mapping = [#gpu.block<linear_dim_2>, #gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
// CHECK:       return %[[R]]
// FOR-LABEL:   func @elementwise
// FOR-NOT:     mamba.kernel
func.func @elementwise(%x: tensor<?x4x?xf32>, %init: tensor<?x4x?xf32>) -> tensor<?x4x?xf32> {
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x4x?xf32>) outs(%init : tensor<?x4x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<?x4x?xf32>
  return %r : tensor<?x4x?xf32>
}

// -----

// Loops that are not parallel stay whole.
// CHECK-LABEL: func @matmul
// CHECK:       scf.forall (%{{.+}}, %{{.+}}) = (0, 0) to (8, 512) step (1, 256)
// CHECK:         linalg.matmul ins(%{{.+}}, %{{.+}} : tensor<1x16xf32>, tensor<16x256xf32>)
// CHECK:       mamba.kernel = "matmul"
func.func @matmul(%a: tensor<8x16xf32>, %b: tensor<16x512xf32>, %c: tensor<8x512xf32>) -> tensor<8x512xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x512xf32>) outs(%c : tensor<8x512xf32>) -> tensor<8x512xf32>
  return %r : tensor<8x512xf32>
}

// -----

// What is in a loop is the program of a block.
// CHECK-LABEL: func @in_loop
// CHECK:       scf.forall
// CHECK-NOT:   scf.forall (
func.func @in_loop(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> tensor<4x8xf32> {
    %t = tensor.extract_slice %o[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%t : tensor<1x8xf32>) -> tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %r : tensor<4x8xf32>
}

// -----

// Nothing to compute.
// CHECK-LABEL: func @empty
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<0x8xf32>
// CHECK:       return %[[X]]
func.func @empty(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%x : tensor<0x8xf32>) -> tensor<0x8xf32>
  return %f : tensor<0x8xf32>
}
