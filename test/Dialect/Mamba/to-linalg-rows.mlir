// A head of a row that was cut into heads is a slice of the row.

// RUN: mamba-opt %s --mamba-to-linalg --canonicalize | FileCheck %s

// CHECK: #[[$AT:.*]] = affine_map<()[s0] -> (s0 * 64 + 128)>
// CHECK-LABEL: func @head
// CHECK-SAME: %[[ROW:.*]]: tensor<?x300xbf16>, %[[T:.*]]: index, %[[H:.*]]: index, %{{.*}}: index)
// CHECK: %[[AT:.*]] = affine.apply #[[$AT]]()[%[[H]]]
// CHECK: %[[S:.*]] = tensor.extract_slice %[[ROW]][%[[T]], %[[AT]]] [8, 64] [1, 1] : tensor<?x300xbf16> to tensor<8x64xbf16>
// CHECK: return %[[S]]
func.func @head(%row: tensor<?x300xbf16>, %t: index, %h: index, %n: index) -> tensor<8x64xbf16> {
  %x = tensor.extract_slice %row[0, 128] [%n, 128] [1, 1] : tensor<?x300xbf16> to tensor<?x128xbf16>
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %s = tensor.extract_slice %heads[%t, %h, 0] [8, 1, 64] [1, 1, 1] : tensor<?x2x64xbf16> to tensor<8x64xbf16>
  return %s : tensor<8x64xbf16>
}

// Two heads are no row.
// CHECK-LABEL: func @two_heads
// CHECK: tensor.expand_shape
func.func @two_heads(%row: tensor<?x300xbf16>, %t: index, %n: index) -> tensor<8x2x32xbf16> {
  %x = tensor.extract_slice %row[0, 128] [%n, 128] [1, 1] : tensor<?x300xbf16> to tensor<?x128xbf16>
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 64] : tensor<?x128xbf16> into tensor<?x2x64xbf16>
  %s = tensor.extract_slice %heads[%t, 0, 0] [8, 2, 32] [1, 1, 1] : tensor<?x2x64xbf16> to tensor<8x2x32xbf16>
  return %s : tensor<8x2x32xbf16>
}
