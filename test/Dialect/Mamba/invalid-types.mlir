// Ranks, element types and attributes that the operations' definitions rule out.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// chunk_cumsum
//===----------------------------------------------------------------------===//

func.func @rank_of_dt(%dt: tensor<2x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be 3D tensor of bf16, f16 or f32 values, but got 'tensor<2x4xf32>'}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x4xf32>) A(%A : tensor<4xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @element_type_of_A(%dt: tensor<2x?x4xbf16>, %A: tensor<4xbf16>) {
  // expected-error @+1 {{operand #1 must be 1D tensor of 32-bit float values, but got 'tensor<4xbf16>'}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xbf16>) A(%A : tensor<4xbf16>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @element_type_of_bias(%dt: tensor<2x?x4xbf16>, %A: tensor<4xf32>,
                                %bias: tensor<4xf64>) {
  // expected-error @+1 {{operand #2 must be 1D tensor of bf16, f16 or f32 values, but got 'tensor<4xf64>'}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xbf16>) A(%A : tensor<4xf32>)
      dt_bias(%bias : tensor<4xf64>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @element_type_of_cumsum(%dt: tensor<2x?x4xbf16>, %A: tensor<4xf32>) {
  // expected-error @+1 {{result #1 must be 4D tensor of 32-bit float values, but got 'tensor<2x4x?x16xbf16>'}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xbf16>) A(%A : tensor<4xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xbf16>
  return
}

// -----

func.func @unranked(%dt: tensor<*xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<*xf32>) A(%A : tensor<4xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// chunk_state
//===----------------------------------------------------------------------===//

func.func @rank_of_x(%x: tensor<2x?x32xf32>, %B: tensor<2x?x1x6xf32>,
                     %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{operand #0 must be 4D tensor of bf16, f16 or f32 values, but got 'tensor<2x?x32xf32>'}}
  mamba.chunk_state x(%x : tensor<2x?x32xf32>) B(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @element_type_of_seq_idx(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                                   %d: tensor<2x4x?x16xf32>, %id: tensor<2x?xi64>) {
  // expected-error @+1 {{operand #4 must be 2D tensor of 32-bit signless integer values, but got 'tensor<2x?xi64>'}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      seq_idx(%id : tensor<2x?xi64>) -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @element_type_of_states(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x6xbf16>,
                                  %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{result #0 must be 5D tensor of 32-bit float values, but got 'tensor<2x?x4x8x6xbf16>'}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xbf16>
  return
}

// -----

//===----------------------------------------------------------------------===//
// state_pass
//===----------------------------------------------------------------------===//

func.func @rank_of_states(%s: tensor<2x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{operand #0 must be 5D tensor of 32-bit float values, but got 'tensor<2x4x8x6xf32>'}}
  mamba.state_pass states(%s : tensor<2x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      -> chunk_states(tensor<2x?x4x8x6xf32>)
  return
}

// -----

func.func @rank_of_initial_state(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>,
                                 %init: tensor<4x8x6xf32>) {
  // expected-error @+1 {{operand #2 must be 4D tensor of bf16, f16 or f32 values, but got 'tensor<4x8x6xf32>'}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      initial_state(%init : tensor<4x8x6xf32>) -> chunk_states(tensor<2x?x4x8x6xf32>)
  return
}

// -----

func.func @element_type_of_total_decay(%s: tensor<2x?x4x8x6xf32>,
                                       %cs: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{result #1 must be 2D tensor of 32-bit float values, but got 'tensor<2x4xf16>'}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      -> chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x4xf16>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// chunk_out
//===----------------------------------------------------------------------===//

func.func @rank_of_D(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                     %D: tensor<2x4x8xf32>, %d: tensor<2x4x?x16xf32>,
                     %h: tensor<2x?x4x8x6xf32>) {
  // expected-error @+1 {{operand #6 must be 1D/2D tensor of bf16, f16 or f32 values, but got 'tensor<2x4x8xf32>'}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) dt(%d : tensor<2x4x?x16xf32>)
      dA_cumsum(%d : tensor<2x4x?x16xf32>) chunk_states(%h : tensor<2x?x4x8x6xf32>)
      D(%D : tensor<2x4x8xf32>) -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @unknown_mask(%x: tensor<2x?x4x8xf32>) {
  // expected-error @+2 {{expected ::mamba::Mask to be one of: causal}}
  // expected-error @+1 {{failed to parse Mamba_MaskAttr parameter 'value'}}
  mamba.chunk_out mask<strict> x(%x : tensor<2x?x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// ssd
//===----------------------------------------------------------------------===//

func.func @element_type_of_x(%x: tensor<2x?x4x8xf64>, %dt: tensor<2x?x4xf32>,
                             %A: tensor<4xf32>, %B: tensor<2x?x1x6xf64>) {
  // expected-error @+1 {{operand #0 must be 4D tensor of bf16, f16 or f32 values, but got 'tensor<2x?x4x8xf64>'}}
  mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf64>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf64>) C(%B : tensor<2x?x1x6xf64>)
      -> y(tensor<2x?x4x8xf64>)
  return
}

// -----

func.func @rank_of_chunk_states(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>,
                                %A: tensor<4xf32>, %B: tensor<2x?x1x6xf32>) {
  // expected-error @+1 {{result #1 must be 5D tensor of bf16, f16 or f32 values, but got 'tensor<2x4x8x6xf32>'}}
  mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      -> y(tensor<2x?x4x8xf32>) chunk_states(tensor<2x4x8x6xf32>)
  return
}

// -----

func.func @memref(%x: memref<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                  %B: tensor<2x?x1x6xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'memref<2x?x4x8xf32>'}}
  mamba.ssd chunk_size(16) x(%x : memref<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      -> y(tensor<2x?x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// ssu
//===----------------------------------------------------------------------===//

func.func @rank_of_state(%state: tensor<4x8x6xf32>, %x: tensor<?x4x8xf32>,
                         %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{operand #0 must be 4D tensor of bf16, f16 or f32 values, but got 'tensor<4x8x6xf32>'}}
  mamba.ssu disable_state_update state(%state : tensor<4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @rank_of_tokens(%state: tensor<?x4x8x6xf32>, %x: tensor<4x8xf32>,
                          %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{operand #1 must be 3D/4D tensor of bf16, f16 or f32 values, but got 'tensor<4x8xf32>'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @rank_of_steps(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                         %dt: tensor<4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{operand #2 must be 2D/3D tensor of bf16, f16 or f32 values, but got 'tensor<4xf32>'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @element_type_of_slots(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                                 %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                 %B: tensor<?x1x6xf32>, %slot: tensor<?xindex>) {
  // expected-error @+1 {{operand #6 must be 1D tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<?xindex>'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      state_batch_indices(%slot : tensor<?xindex>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @rank_of_intermediate_states(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                                       %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                       %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{result #1 must be 5D tensor of bf16, f16 or f32 values, but got 'tensor<?x4x8x6xf32>'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
      intermediate_states(tensor<?x4x8x6xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// expected-error @+1 {{expected tile sizes of at least 0, got -1}}
func.func @negative_tile() attributes {p = #mamba.plan<chunk_parallel tile [1, -1]>} {
  return
}

// -----

// expected-error @+1 {{expected tile sizes of at least 0, got -32}}
func.func @negative_inner() attributes {p = #mamba.plan<chunk_parallel tile [1] inner [-32]>} {
  return
}

// -----

// expected-error @+1 {{expected 1 to 32 warps, got 0}}
func.func @no_warp() attributes {p = #mamba.plan<chunk_parallel tile [1] warps 0>} {
  return
}

// -----

// expected-error @+1 {{expected 1 to 32 warps, got 33}}
func.func @too_many_warps() attributes {p = #mamba.plan<chunk_parallel tile [1] warps 33>} {
  return
}

// -----

// expected-error @+1 {{expected a 'reduction' of at least 0, got -1}}
func.func @negative_sum() attributes {p = #mamba.plan<three_kernel tile [1] reduction -1>} {
  return
}

// -----

// expected-error @+2 {{expected ::mamba::Schedule to be one of: chunk_parallel, three_kernel, simple, fused, segmented}}
// expected-error @+1 {{failed to parse Mamba_PlanAttr parameter 'schedule'}}
func.func @unknown_schedule() attributes {p = #mamba.plan<quick tile [1]>} {
  return
}

// -----

func.func @plan_of_another_kind(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected 'mamba.plan' to be a #mamba.plan, got [1, 1, 1]}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      {mamba.plan = [1, 1, 1]} -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

// expected-error @+1 {{expected 'mamba.name' to be a string, got 3 : i64}}
func.func @name_of_argument(%x: tensor<4xf32> {mamba.name = 3}) {
  return
}

// -----

// expected-error @+1 {{expected 'mamba.name' to be a string, got unit}}
func.func @name_of_result(%x: tensor<4xf32>) -> (tensor<4xf32> {mamba.name}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected 'mamba.updated' to be a string, got true}}
func.func @updated(%x: memref<4xf32> {mamba.updated = true}) {
  return
}

// -----

// expected-error @+1 {{expected 'mamba.result' to be a unit attribute, got "y"}}
func.func @result(%x: memref<4xf32> {mamba.result = "y"}) {
  return
}
