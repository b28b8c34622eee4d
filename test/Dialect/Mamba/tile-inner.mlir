// RUN: mamba-opt %s --mamba-tile-inner --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s

// Rows of a product at a time; what feeds it is computed for those rows only,
// in tensors no larger.
// CHECK-LABEL: func @fused
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<?x16xf32>, %[[B:[a-z0-9]+]]: tensor<16x64xbf16>
func.func @fused(%a: tensor<?x16xf32>, %b: tensor<16x64xbf16>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %a, %c0 : tensor<?x16xf32>
  // CHECK: %[[ROWS:.+]] = tensor.dim %[[A]], %c0
  // CHECK: %[[OUT:.+]] = tensor.empty(%[[ROWS]]) : tensor<?x64xf32>
  // CHECK-NOT: linalg
  // CHECK: scf.for %[[I:.+]] = %c0 to %[[ROWS]] step %c8 iter_args(%[[R:.+]] = %[[OUT]])
  // CHECK: %[[N:.+]] = affine.min
  // CHECK-DAG: %[[AT:.+]] = tensor.extract_slice %[[A]][%[[I]], 0] [%[[N]], 16]
  // CHECK-DAG: %[[ET:.+]] = tensor.empty(%[[N]]) : tensor<?x16xbf16>
  // CHECK: %[[ROUNDED:.+]] = linalg.generic {{.*}} ins(%[[AT]] : tensor<?x16xf32>) outs(%[[ET]] : tensor<?x16xbf16>)
  // CHECK: %[[ZEROS:.+]] = linalg.fill {{.*}} -> tensor<?x64xf32>
  // CHECK: %[[TILE:.+]] = linalg.matmul ins(%[[ROUNDED]], %[[B]] : {{.*}}) outs(%[[ZEROS]] : tensor<?x64xf32>)
  // CHECK-NOT: mamba.plan
  // CHECK: tensor.insert_slice %[[TILE]] into %[[R]][%[[I]], 0] [%[[N]], 64]
  %e16 = tensor.empty(%rows) : tensor<?x16xbf16>
  %rounded = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%a : tensor<?x16xf32>) outs(%e16 : tensor<?x16xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.truncf %in : f32 to bf16
    linalg.yield %0 : bf16
  } -> tensor<?x16xbf16>
  %e = tensor.empty(%rows) : tensor<?x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1] inner [8, 0, 0]>}
      ins(%rounded, %b : tensor<?x16xbf16>, tensor<16x64xbf16>)
      outs(%zeros : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

// Fewer sizes than loops leave the last loops whole, and 0 leaves a loop whole.
// CHECK-LABEL: func @columns
// CHECK:         scf.for %[[J:.+]] = %c0 to %c64 step %c16
// CHECK-NOT:     scf.for
// CHECK:         linalg.matmul {{.*}} -> tensor<32x16xf32>
func.func @columns(%a: tensor<32x8xf32>, %b: tensor<8x64xf32>, %c: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  %r = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1] inner [0, 16]>}
      ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// Nothing to tile: no sizes, or none but 0, or no plan. A plan without use goes.
// CHECK-LABEL: func @whole
// CHECK-NOT:     scf.for
// CHECK-NOT:     mamba.plan
// CHECK:         return
func.func @whole(%a: tensor<32x8xf32>, %b: tensor<8x64xf32>, %c: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  %r = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1] inner [0, 0, 0]>}
      ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  %s = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1]>}
      ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%r : tensor<32x64xf32>) -> tensor<32x64xf32>
  %t = linalg.matmul ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%s : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %t : tensor<32x64xf32>
}

// -----

// A plan of an operation that is not linalg stays.
// CHECK-LABEL: func @other
// CHECK:         mamba.chunk_cumsum {{.*}} {mamba.plan
func.func @other(%dt: tensor<2x?x24xbf16>, %A: tensor<24xf32>) -> tensor<2x24x?x128xf32> {
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x?x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 1] inner [8]>}
      -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
  return %cs : tensor<2x24x?x128xf32>
}
