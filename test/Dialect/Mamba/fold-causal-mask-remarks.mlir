// RUN: mamba-opt %s --mamba-fold-causal-mask="peel runs tails-at-least=1" --split-input-file --verify-diagnostics -o /dev/null

#all = affine_map<(d0, d1) -> (d0, d1)>

// A column of every second position, a row that may be negative and is compared
// without a sign, and a loop that keeps what is masked.
func.func @refused(%row0: index, %v: tensor<128x8xf32>, %init: tensor<16x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %twice = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]}
        outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %column = affine.apply affine_map<(d0)[s0] -> (s0 * 2 + d0)>(%dj)[%j]
      // expected-remark @+1 {{expected the loop's variable on one side, as it is, to fold a mask into the bounds of the loop around it}}
      %counts = arith.cmpi sle, %column, %di : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  %unsigned = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]}
        outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      // expected-remark @+1 {{expected a signed comparison, since the larger side may be negative, to fold a mask}}
      %counts = arith.cmpi ule, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  %two:2 = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init, %last = %e)
      -> (tensor<16x8xf32>, tensor<16x16xf32>) {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel"]}
        outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %column = arith.addi %j, %dj : index
      // expected-remark @+1 {{expected a loop that carries only sums of contractions}}
      %counts = arith.cmpi sle, %column, %di : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next, %w : tensor<16x8xf32>, tensor<16x16xf32>
  }
  return %twice, %unsigned, %two#1 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>
}
