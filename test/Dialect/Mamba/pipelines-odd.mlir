// Programs that the presets do not write reach the ends of the pipelines too.

// RUN: mamba-opt %s --mamba-to-cpu --split-input-file | FileCheck %s

// A loop around an operation yields what the operation returns.
// CHECK-LABEL: llvm.func @in_loop
// CHECK-NOT:     unrealized_conversion_cast
func.func @in_loop(%x: tensor<?x?x4x8xbf16>, %dt: tensor<?x?x4xbf16>, %A: tensor<4xf32>,
                   %B: tensor<?x?x1x6xbf16>, %layers: index) -> tensor<?x?x4x8xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %layers step %c1 iter_args(%h = %x) -> tensor<?x?x4x8xbf16> {
    %y = mamba.ssd chunk_size(16) x(%h : tensor<?x?x4x8xbf16>) dt(%dt : tensor<?x?x4xbf16>)
        A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xbf16>) C(%B : tensor<?x?x1x6xbf16>)
        -> y(tensor<?x?x4x8xbf16>)
    scf.yield %y : tensor<?x?x4x8xbf16>
  }
  return %r : tensor<?x?x4x8xbf16>
}

// -----

// CHECK-LABEL: llvm.func @in_condition
func.func @in_condition(%x: tensor<?x?x4x8xbf16>, %dt: tensor<?x?x4xbf16>, %A: tensor<4xf32>,
                        %B: tensor<?x?x1x6xbf16>, %scan: i1) -> tensor<?x?x4x8xbf16> {
  %r = scf.if %scan -> tensor<?x?x4x8xbf16> {
    %y = mamba.ssd chunk_size(16) x(%x : tensor<?x?x4x8xbf16>) dt(%dt : tensor<?x?x4xbf16>)
        A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xbf16>) C(%B : tensor<?x?x1x6xbf16>)
        -> y(tensor<?x?x4x8xbf16>)
    scf.yield %y : tensor<?x?x4x8xbf16>
  } else {
    scf.yield %x : tensor<?x?x4x8xbf16>
  }
  return %r : tensor<?x?x4x8xbf16>
}

// -----

// One scan after another, and a decode step from the state that both leave.
// CHECK-LABEL: llvm.func @chain
func.func @chain(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                 %B: tensor<2x?x1x6xf32>, %token: tensor<2x4x8xf32>, %step: tensor<2x4xf32>,
                 %b: tensor<2x1x6xf32>)
    -> (tensor<2x?x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x6xf32>) {
  %y, %state = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      -> y(tensor<2x?x4x8xf32>) final_state(tensor<2x4x8x6xf32>)
  %z, %last = mamba.ssd chunk_size(32) x(%y : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      initial_state(%state : tensor<2x4x8x6xf32>)
      -> y(tensor<2x?x4x8xf32>) final_state(tensor<2x4x8x6xf32>)
  %t, %new = mamba.ssu state(%last : tensor<2x4x8x6xf32>) x(%token : tensor<2x4x8xf32>)
      dt(%step : tensor<2x4xf32>) A(%A : tensor<4xf32>) B(%b : tensor<2x1x6xf32>)
      C(%b : tensor<2x1x6xf32>) -> y(tensor<2x4x8xf32>) new_state(tensor<2x4x8x6xf32>)
  return %z, %t, %new : tensor<2x?x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8x6xf32>
}

// -----

// Sizes that leave nothing to do, sizes of 1, and sizes that are no powers of two.
// CHECK-LABEL: llvm.func @no_token
func.func @no_token(%x: tensor<2x0x4x8xf32>, %dt: tensor<2x0x4xf32>, %A: tensor<4xf32>,
                    %B: tensor<2x0x1x6xf32>, %init: tensor<2x4x8x6xf32>, %id: tensor<2x0xi32>)
    -> (tensor<2x0x4x8xf32>, tensor<2x4x8x6xf32>, tensor<2x4xf32>) {
  %y, %last, %decay = mamba.ssd chunk_size(16) x(%x : tensor<2x0x4x8xf32>)
      dt(%dt : tensor<2x0x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x0x1x6xf32>)
      C(%B : tensor<2x0x1x6xf32>) initial_state(%init : tensor<2x4x8x6xf32>)
      seq_idx(%id : tensor<2x0xi32>) -> y(tensor<2x0x4x8xf32>)
      final_state(tensor<2x4x8x6xf32>) total_decay(tensor<2x4xf32>)
  return %y, %last, %decay : tensor<2x0x4x8xf32>, tensor<2x4x8x6xf32>, tensor<2x4xf32>
}

// -----

// CHECK-LABEL: llvm.func @ones
func.func @ones(%x: tensor<1x1x1x1xf16>, %dt: tensor<1x1x1xf16>, %A: tensor<1xf32>,
                %id: tensor<1x1xi32>) -> (tensor<1x1x1x1xf16>, tensor<1x1x1x1x1xf16>) {
  %y, %h = mamba.ssd chunk_size(1) x(%x : tensor<1x1x1x1xf16>) dt(%dt : tensor<1x1x1xf16>)
      A(%A : tensor<1xf32>) B(%x : tensor<1x1x1x1xf16>) C(%x : tensor<1x1x1x1xf16>)
      z(%x : tensor<1x1x1x1xf16>) seq_idx(%id : tensor<1x1xi32>)
      -> y(tensor<1x1x1x1xf16>) chunk_states(tensor<1x1x1x1x1xf16>)
  return %y, %h : tensor<1x1x1x1xf16>, tensor<1x1x1x1x1xf16>
}

// -----

// CHECK-LABEL: llvm.func @no_powers_of_two
func.func @no_powers_of_two(%x: tensor<3x?x6x80xbf16>, %dt: tensor<3x?x6xbf16>,
                            %A: tensor<6xf32>, %B: tensor<3x?x?x48xbf16>)
    -> tensor<3x?x6x80xbf16> {
  %y = mamba.ssd chunk_size(200) x(%x : tensor<3x?x6x80xbf16>) dt(%dt : tensor<3x?x6xbf16>)
      A(%A : tensor<6xf32>) B(%B : tensor<3x?x?x48xbf16>) C(%B : tensor<3x?x?x48xbf16>)
      -> y(tensor<3x?x6x80xbf16>)
  return %y : tensor<3x?x6x80xbf16>
}

// -----

// Sizes of the results that the operands do not know.
// CHECK-LABEL: llvm.func @static_results
func.func @static_results(%state: tensor<?x?x8x6xf32>, %x: tensor<?x?x?x8xbf16>,
                          %dt: tensor<?x3x?xbf16>, %A: tensor<4xf32>, %B: tensor<2x?x?x6xbf16>)
    -> (tensor<?x3x?x8xbf16>, tensor<9x4x8x6xf32>, tensor<2x?x?x8x6xbf16>) {
  %y, %new, %between = mamba.ssu state(%state : tensor<?x?x8x6xf32>)
      x(%x : tensor<?x?x?x8xbf16>) dt(%dt : tensor<?x3x?xbf16>) A(%A : tensor<4xf32>)
      B(%B : tensor<2x?x?x6xbf16>) C(%B : tensor<2x?x?x6xbf16>) -> y(tensor<?x3x?x8xbf16>)
      new_state(tensor<9x4x8x6xf32>) intermediate_states(tensor<2x?x?x8x6xbf16>)
  return %y, %new, %between
      : tensor<?x3x?x8xbf16>, tensor<9x4x8x6xf32>, tensor<2x?x?x8x6xbf16>
}
