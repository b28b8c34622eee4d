// RUN: mamba-opt %s --mamba-tile-inner --split-input-file --verify-diagnostics

func.func @too_many(%a: tensor<32x8xf32>, %b: tensor<8x64xf32>, %c: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  // expected-error @+1 {{'linalg.matmul' op expected at most 3 'inner' sizes in the plan, got 4}}
  %r = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1] inner [8, 8, 0, 0]>}
      ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

func.func @reduction(%a: tensor<32x8xf32>, %b: tensor<8x64xf32>, %c: tensor<32x64xf32>)
    -> tensor<32x64xf32> {
  // expected-error @+1 {{expected 'inner' size 0 for loop 2, which is not parallel, got 4}}
  %r = linalg.matmul {mamba.plan = #mamba.plan<chunk_parallel tile [1] inner [0, 0, 4]>}
      ins(%a, %b : tensor<32x8xf32>, tensor<8x64xf32>)
      outs(%c : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}
