// RUN: mamba-opt %s --mamba-vectorize=fragments=true -split-input-file -verify-diagnostics -o /dev/null
// RUN: mamba-opt %s --mamba-vectorize -split-input-file | FileCheck %s

// Sizes that no tensor core takes whole stay linalg where fragments are asked
// for.
// CHECK-LABEL: func @rows
// CHECK:         vector.contract
func.func @rows(%a: tensor<?x20x16xbf16>, %b: tensor<16x16xbf16>, %n: index) -> tensor<?x20x16xf32> {
  %zero = arith.constant 0.0 : f32
  %out = tensor.empty(%n) : tensor<?x20x16xf32>
  %r = scf.forall (%i) in (%n) shared_outs(%o = %out) -> tensor<?x20x16xf32> {
    %at = tensor.extract_slice %a[%i, 0, 0] [1, 20, 16] [1, 1, 1] : tensor<?x20x16xbf16> to tensor<20x16xbf16>
    %e = tensor.empty() : tensor<20x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20x16xf32>) -> tensor<20x16xf32>
    // expected-remark @+1 {{expected sizes that are multiples of 16 along loop 0, got 20}}
    %s = linalg.matmul ins(%at, %b : tensor<20x16xbf16>, tensor<16x16xbf16>) outs(%f : tensor<20x16xf32>) -> tensor<20x16xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0, 0] [1, 20, 16] [1, 1, 1] : tensor<20x16xf32> into tensor<?x20x16xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %r : tensor<?x20x16xf32>
}
