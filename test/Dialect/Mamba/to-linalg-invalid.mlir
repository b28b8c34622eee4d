// RUN: mamba-opt %s --mamba-to-linalg --split-input-file --verify-diagnostics

// No linalg operation computes the states: a loop over chunks does.
func.func @inner_of_state_pass(%s: tensor<1x?x1x8x6xf32>, %cs: tensor<1x1x?x16xf32>)
    -> tensor<1x?x1x8x6xf32> {
  // expected-error @+1 {{expected no 'inner' sizes in the plan: a loop computes the first result}}
  %h = mamba.state_pass states(%s : tensor<1x?x1x8x6xf32>)
      dA_cumsum(%cs : tensor<1x1x?x16xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 0, 0] inner [4, 0]>}
      -> chunk_states(tensor<1x?x1x8x6xf32>)
  return %h : tensor<1x?x1x8x6xf32>
}

// -----

func.func @inner_of_ssu(%state: tensor<?x2x8x6xf32>, %x: tensor<?x2x8xf32>,
                        %dt: tensor<?x2xf32>, %A: tensor<2xf32>, %B: tensor<?x1x6xf32>)
    -> tensor<?x2x8xf32> {
  // expected-error @+1 {{expected no 'inner' sizes in the plan: a loop computes the first result}}
  %y = mamba.ssu disable_state_update state(%state : tensor<?x2x8x6xf32>)
      x(%x : tensor<?x2x8xf32>) dt(%dt : tensor<?x2xf32>) A(%A : tensor<2xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 0] inner [4]>} -> y(tensor<?x2x8xf32>)
  return %y : tensor<?x2x8xf32>
}
