// RUN: mamba-opt %s --mamba-interchange-contractions --split-input-file \
// RUN:   | FileCheck %s

// The innermost loop is the last dimension of the result; an input that it
// would not read contiguously is transposed.
// CHECK-DAG:   #[[$MK:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[$MN:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func @transposed
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<?x16xbf16>, %[[B:[a-z0-9]+]]: tensor<?x16xbf16>, %[[C:[a-z0-9]+]]: tensor<?x?xf32>
func.func @transposed(%a: tensor<?x16xbf16>, %b: tensor<?x16xbf16>, %c: tensor<?x?xf32>)
    -> tensor<?x?xf32> {
  // CHECK: %[[N:.+]] = tensor.dim %[[B]], %c0
  // CHECK: %[[EMPTY:.+]] = tensor.empty(%[[N]]) : tensor<16x?xbf16>
  // CHECK: %[[BT:.+]] = linalg.transpose ins(%[[B]] : tensor<?x16xbf16>) outs(%[[EMPTY]] : tensor<16x?xbf16>) permutation = [1, 0]
  // CHECK: %[[R:.+]] = linalg.generic
  // CHECK-SAME: indexing_maps = [#[[$MK]], #[[$KN]], #[[$MN]]], iterator_types = ["parallel", "reduction", "parallel"]
  // CHECK-SAME: ins(%[[A]], %[[BT]] : {{.*}}) outs(%[[C]] :
  // CHECK: return %[[R]]
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                      affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<?x16xbf16>, tensor<?x16xbf16>) outs(%c : tensor<?x?xf32>)
      -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// Both inputs contiguous: only the loops change their order.
// CHECK-DAG:   #[[$A:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$B:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG:   #[[$C:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-LABEL: func @batch
// CHECK-NOT:     linalg.transpose
// CHECK:         linalg.generic {indexing_maps = [#[[$A]], #[[$B]], #[[$C]]], iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
func.func @batch(%a: tensor<2x4x16xf32>, %b: tensor<2x16x8xf32>, %c: tensor<2x4x8xf32>)
    -> tensor<2x4x8xf32> {
  %r = linalg.batch_matmul ins(%a, %b : tensor<2x4x16xf32>, tensor<2x16x8xf32>)
      outs(%c : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

// The sum of chunk_state: both inputs have the summed dimension first.
// CHECK-DAG:   #[[$KM:.+]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG:   #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func @sum_first
// CHECK-NOT:     linalg.transpose
// CHECK:         linalg.generic {indexing_maps = [#[[$KM]], #[[$KN]], #{{.+}}], iterator_types = ["parallel", "reduction", "parallel"]}
func.func @sum_first(%a: tensor<?x8xbf16>, %b: tensor<?x6xbf16>, %c: tensor<8x6xf32>)
    -> tensor<8x6xf32> {
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                      affine_map<(m, n, k) -> (k, n)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : tensor<?x8xbf16>, tensor<?x6xbf16>) outs(%c : tensor<8x6xf32>)
      -> tensor<8x6xf32>
  return %r : tensor<8x6xf32>
}

// -----

#mk = affine_map<(m, k, n) -> (m, k)>
#kn = affine_map<(m, k, n) -> (k, n)>
#mn = affine_map<(m, k, n) -> (m, n)>

// In order already.
// CHECK-DAG:   #[[$MK:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[$KN:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func @in_order
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<4x16xf32>, %[[B:[a-z0-9]+]]: tensor<16x8xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[$MK]], #[[$KN]], #{{.+}}], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[A]], %[[B]] :
func.func @in_order(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>, %c: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %r = linalg.generic {
    indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "reduction", "parallel"]
  } ins(%a, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// One tensor as both inputs: only one of the uses is transposed.
// CHECK-LABEL: func @same_input
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<8x8xf32>
// CHECK:         %[[T:.+]] = linalg.transpose ins(%[[A]] :
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[T]] :
func.func @same_input(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                      affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>)
      -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// A scalar result has no loop to put innermost.
// CHECK-LABEL: func @dot
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]
func.func @dot(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  %r = linalg.dot ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%c : tensor<f32>)
      -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// What is no contraction, or not on tensors, stays.
// CHECK-LABEL: func @others
func.func @others(%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x4xf32>, %c: tensor<1x6x6x4xf32>,
                  %m: memref<8x8xf32>) -> tensor<1x6x6x4xf32> {
  // CHECK: linalg.conv_2d_nhwc_hwcf
  %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>)
      outs(%c : tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  // CHECK: linalg.matmul ins(%{{.+}} : memref<8x8xf32>, memref<8x8xf32>)
  linalg.matmul ins(%m, %m : memref<8x8xf32>, memref<8x8xf32>) outs(%m : memref<8x8xf32>)
  return %r : tensor<1x6x6x4xf32>
}
