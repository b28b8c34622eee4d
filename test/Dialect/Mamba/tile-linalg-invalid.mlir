// RUN: mamba-opt %s --mamba-tile --verify-diagnostics

#scalar = affine_map<() -> ()>

func.func @scalar(%x: tensor<f32>, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{expected a parallel loop to share out to blocks}}
  %r = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%x : tensor<f32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
