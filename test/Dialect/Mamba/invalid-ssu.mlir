// One case for every message of mamba.ssu's verifier.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

func.func @slots(%state: tensor<9x4x8x6xf32>, %x: tensor<3x4x8xf32>, %dt: tensor<3x4xf32>,
                 %A: tensor<4xf32>, %B: tensor<3x1x6xf32>) {
  // expected-error @+1 {{expected dimension 0 (slots) of 'new_state' to be 9 as in 'state', got 3}}
  mamba.ssu state(%state : tensor<9x4x8x6xf32>) x(%x : tensor<3x4x8xf32>)
      dt(%dt : tensor<3x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<3x1x6xf32>)
      C(%B : tensor<3x1x6xf32>) -> y(tensor<3x4x8xf32>) new_state(tensor<3x4x8x6xf32>)
  return
}

// -----

func.func @rows_of_slots(%state: tensor<9x4x8x6xf32>, %x: tensor<3x4x8xf32>,
                         %dt: tensor<3x4xf32>, %A: tensor<4xf32>, %B: tensor<3x1x6xf32>,
                         %slot: tensor<9xi32>) {
  // expected-error @+1 {{expected dimension 0 (batch) of 'dst_state_batch_indices' to be 3 as in 'x', got 9}}
  mamba.ssu state(%state : tensor<9x4x8x6xf32>) x(%x : tensor<3x4x8xf32>)
      dt(%dt : tensor<3x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<3x1x6xf32>)
      C(%B : tensor<3x1x6xf32>) dst_state_batch_indices(%slot : tensor<9xi32>)
      -> y(tensor<3x4x8xf32>) new_state(tensor<9x4x8x6xf32>)
  return
}

// -----

func.func @tokens(%state: tensor<9x4x8x6xf32>, %x: tensor<3x2x4x8xf32>,
                  %dt: tensor<3x5x4xf32>, %A: tensor<4xf32>, %B: tensor<3x2x1x6xf32>) {
  // expected-error @+1 {{expected dimension 1 (tokens) of 'dt' to be 2 as in 'x', got 5}}
  mamba.ssu disable_state_update state(%state : tensor<9x4x8x6xf32>)
      x(%x : tensor<3x2x4x8xf32>) dt(%dt : tensor<3x5x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<3x2x1x6xf32>) C(%B : tensor<3x2x1x6xf32>) -> y(tensor<3x2x4x8xf32>)
  return
}

// -----

func.func @tokens_of_intermediate_states(
    %state: tensor<9x4x8x6xf32>, %x: tensor<3x2x4x8xf32>, %dt: tensor<3x2x4xf32>,
    %A: tensor<4xf32>, %B: tensor<3x2x1x6xf32>) {
  // expected-error @+1 {{expected dimension 1 (tokens) of 'intermediate_states' to be 2 as in 'x', got 1}}
  mamba.ssu disable_state_update state(%state : tensor<9x4x8x6xf32>)
      x(%x : tensor<3x2x4x8xf32>) dt(%dt : tensor<3x2x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<3x2x1x6xf32>) C(%B : tensor<3x2x1x6xf32>) -> y(tensor<3x2x4x8xf32>)
      intermediate_states(tensor<3x1x4x8x6xf32>)
  return
}

// -----

func.func @dynamic_state_dim(%state: tensor<?x4x8x?xf32>, %x: tensor<?x4x8xf32>,
                             %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                             %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected dimension 3 (state dim) of 'state' to be static}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x?xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @no_token(%state: tensor<9x4x8x6xf32>, %x: tensor<3x0x4x8xf32>,
                    %dt: tensor<3x0x4xf32>, %A: tensor<4xf32>, %B: tensor<3x0x1x6xf32>) {
  // expected-error @+1 {{expected tokens to be at least 1, got 0}}
  mamba.ssu disable_state_update state(%state : tensor<9x4x8x6xf32>)
      x(%x : tensor<3x0x4x8xf32>) dt(%dt : tensor<3x0x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<3x0x1x6xf32>) C(%B : tensor<3x0x1x6xf32>) -> y(tensor<3x0x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

func.func @element_type_of_y(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xbf16>,
                             %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                             %B: tensor<?x1x6xbf16>) {
  // expected-error @+1 {{expected 'y' to have the element type 'bf16' of 'x', got 'f32'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xbf16>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xbf16>) C(%B : tensor<?x1x6xbf16>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @element_type_of_new_state(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xbf16>,
                                     %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                     %B: tensor<?x1x6xbf16>) {
  // expected-error @+1 {{expected 'new_state' to have the element type 'f32' of 'state', got 'bf16'}}
  mamba.ssu state(%state : tensor<?x4x8x6xf32>) x(%x : tensor<?x4x8xbf16>)
      dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<?x1x6xbf16>)
      C(%B : tensor<?x1x6xbf16>) -> y(tensor<?x4x8xbf16>) new_state(tensor<?x4x8x6xbf16>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// ssu: one token or several
//===----------------------------------------------------------------------===//

func.func @rank_of_dt(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                      %dt: tensor<?x1x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected 'dt' to have rank 2 (one token, as 'x'), got 3}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x1x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @rank_of_B(%state: tensor<?x4x8x6xf32>, %x: tensor<?x?x4x8xf32>,
                     %dt: tensor<?x?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>,
                     %C: tensor<?x?x1x6xf32>) {
  // expected-error @+1 {{expected 'B' to have rank 4 (several tokens, as 'x'), got 3}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%C : tensor<?x?x1x6xf32>) -> y(tensor<?x?x4x8xf32>)
  return
}

// -----

func.func @rank_of_C(%state: tensor<?x4x8x6xf32>, %x: tensor<?x?x4x8xf32>,
                     %dt: tensor<?x?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x?x1x6xf32>,
                     %C: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected 'C' to have rank 4 (several tokens, as 'x'), got 3}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x?x1x6xf32>) C(%C : tensor<?x1x6xf32>) -> y(tensor<?x?x4x8xf32>)
  return
}

// -----

func.func @rank_of_z(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                     %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>,
                     %z: tensor<?x1x4x8xf32>) {
  // expected-error @+1 {{expected 'z' to have rank 3 (one token, as 'x'), got 4}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) z(%z : tensor<?x1x4x8xf32>)
      -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @rank_of_y(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                     %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected 'y' to have rank 3 (one token, as 'x'), got 4}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x1x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// ssu: what is written, and rows
//===----------------------------------------------------------------------===//

func.func @no_new_state(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                        %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected 'new_state' without 'disable_state_update'}}
  mamba.ssu state(%state : tensor<?x4x8x6xf32>) x(%x : tensor<?x4x8xf32>)
      dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<?x1x6xf32>)
      C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @new_state_of_disabled(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                                 %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                 %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected no 'new_state' with 'disable_state_update'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      -> y(tensor<?x4x8xf32>) new_state(tensor<?x4x8x6xf32>)
  return
}

// -----

func.func @destination_of_disabled(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                                   %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                   %B: tensor<?x1x6xf32>, %slot: tensor<?xi32>) {
  // expected-error @+1 {{expected no 'dst_state_batch_indices' with 'disable_state_update'}}
  mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      dst_state_batch_indices(%slot : tensor<?xi32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @slots_of_row(%state: tensor<1x4x8x6xf32>, %x: tensor<1x4x8xf32>,
                        %dt: tensor<1x4xf32>, %A: tensor<4xf32>, %B: tensor<1x1x6xf32>,
                        %slot: tensor<1xi32>) {
  // expected-error @+1 {{expected no slot indices with 'row'}}
  mamba.ssu row disable_state_update state(%state : tensor<1x4x8x6xf32>)
      x(%x : tensor<1x4x8xf32>) dt(%dt : tensor<1x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<1x1x6xf32>) C(%B : tensor<1x1x6xf32>)
      state_batch_indices(%slot : tensor<1xi32>) -> y(tensor<1x4x8xf32>)
  return
}

// -----

func.func @batch_of_row(%state: tensor<1x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                        %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>) {
  // expected-error @+1 {{expected a batch of 1 with 'row'}}
  mamba.ssu row disable_state_update state(%state : tensor<1x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>) -> y(tensor<?x4x8xf32>)
  return
}

// -----

func.func @states_of_row(%state: tensor<2x4x8x6xf32>, %x: tensor<1x4x8xf32>,
                         %dt: tensor<1x4xf32>, %A: tensor<4xf32>, %B: tensor<1x1x6xf32>) {
  // expected-error @+1 {{expected at most 1 slot with 'row', got 2}}
  mamba.ssu row disable_state_update state(%state : tensor<2x4x8x6xf32>)
      x(%x : tensor<1x4x8xf32>) dt(%dt : tensor<1x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<1x1x6xf32>) C(%B : tensor<1x1x6xf32>) -> y(tensor<1x4x8xf32>)
  return
}
