// RUN: mamba-opt %s --canonicalize --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Operands of zeros
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @zero_bias_splat_constant
func.func @zero_bias_splat_constant(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>)
    -> (tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>) {
  %bias = arith.constant dense<0.0> : tensor<4xbf16>
  // CHECK: mamba.chunk_cumsum
  // CHECK-NOT: dt_bias
  // CHECK: return
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) dt_bias(%bias : tensor<4xbf16>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return %d, %cs : tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
}

// -----

// CHECK-LABEL: func @zero_bias_fill_through_cast
func.func @zero_bias_fill_through_cast(%dt: tensor<2x?x?xf32>, %A: tensor<?xf32>)
    -> (tensor<2x?x?x16xf32>, tensor<2x?x?x16xf32>) {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<4xf16>
  %zeros = linalg.fill ins(%zero : f16) outs(%empty : tensor<4xf16>) -> tensor<4xf16>
  %bias = tensor.cast %zeros : tensor<4xf16> to tensor<?xf16>
  // CHECK: mamba.chunk_cumsum
  // CHECK-NOT: dt_bias
  // CHECK: return
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x?xf32>)
      A(%A : tensor<?xf32>) dt_bias(%bias : tensor<?xf16>)
      -> tensor<2x?x?x16xf32>, tensor<2x?x?x16xf32>
  return %d, %cs : tensor<2x?x?x16xf32>, tensor<2x?x?x16xf32>
}

// -----

// CHECK-LABEL: func @zero_initial_state_tensor_splat
func.func @zero_initial_state_tensor_splat(%s: tensor<?x?x4x8x6xf32>,
                                           %cs: tensor<?x4x?x16xf32>, %batch: index)
    -> tensor<?x?x4x8x6xf32> {
  %zero = arith.constant 0.0 : f32
  %init = tensor.splat %zero[%batch] : tensor<?x4x8x6xf32>
  // CHECK: mamba.state_pass
  // CHECK-NOT: initial_state
  // CHECK: return
  %h = mamba.state_pass states(%s : tensor<?x?x4x8x6xf32>)
      dA_cumsum(%cs : tensor<?x4x?x16xf32>) initial_state(%init : tensor<?x4x8x6xf32>)
      -> chunk_states(tensor<?x?x4x8x6xf32>)
  return %h : tensor<?x?x4x8x6xf32>
}

// -----

// CHECK-LABEL: func @negative_zero_D
func.func @negative_zero_D(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                           %d: tensor<2x4x?x16xf32>, %h: tensor<2x?x4x8x6xf32>)
    -> tensor<2x?x4x8xf32> {
  %D = arith.constant dense<-0.0> : tensor<4x8xf32>
  // CHECK: mamba.chunk_out
  // CHECK-NOT: D(
  // CHECK: return
  %y = mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>)
      B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      chunk_states(%h : tensor<2x?x4x8x6xf32>) D(%D : tensor<4x8xf32>)
      -> tensor<2x?x4x8xf32>
  return %y : tensor<2x?x4x8xf32>
}

// -----

// CHECK-LABEL: func @ssd_zeros
func.func @ssd_zeros(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                     %B: tensor<2x?x1x6xf32>) -> tensor<2x?x4x8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  %init = arith.constant dense<0.0> : tensor<2x4x8x6xf32>
  // CHECK: mamba.ssd
  // CHECK-SAME: C(%{{[a-z0-9]+}} : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
  %y = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      D(%zeros : tensor<4xf32>) dt_bias(%zeros : tensor<4xf32>)
      initial_state(%init : tensor<2x4x8x6xf32>) -> y(tensor<2x?x4x8xf32>)
  return %y : tensor<2x?x4x8xf32>
}

// -----

// The operands around a dropped one keep their roles.
// CHECK-LABEL: func @ssu_zeros
// CHECK-SAME:    %[[Z:[a-z0-9]+]]: tensor<?x4x8xf32>, %[[SLOT:[a-z0-9]+]]: tensor<?xi32>
func.func @ssu_zeros(%z: tensor<?x4x8xf32>, %slot: tensor<?xi32>,
                     %state: tensor<?x4x8x6xf32>, %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                     %B: tensor<?x1x6xf32>) -> (tensor<?x4x8xf32>, tensor<?x4x8x6xf32>) {
  %zeros = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: mamba.ssu
  // CHECK-NOT: D(
  // CHECK-SAME: z(%[[Z]] : tensor<?x4x8xf32>) state_batch_indices(%[[SLOT]] : tensor<?xi32>)
  %y, %new = mamba.ssu state(%state : tensor<?x4x8x6xf32>) x(%z : tensor<?x4x8xf32>)
      dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<?x1x6xf32>)
      C(%B : tensor<?x1x6xf32>) D(%zeros : tensor<4xf32>) z(%z : tensor<?x4x8xf32>)
      dt_bias(%zeros : tensor<4xf32>) state_batch_indices(%slot : tensor<?xi32>)
      -> y(tensor<?x4x8xf32>) new_state(tensor<?x4x8x6xf32>)
  return %y, %new : tensor<?x4x8xf32>, tensor<?x4x8x6xf32>
}

// -----

// A is an operand that every operation needs, and a zero z or state means
// something: neither is dropped.
// CHECK-LABEL: func @other_zeros_stay
// CHECK-DAG:     %[[ZA:.+]] = arith.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-DAG:     %[[ZZ:.+]] = arith.constant dense<0.000000e+00> : tensor<2x16x4x8xf32>
func.func @other_zeros_stay(%x: tensor<2x16x4x8xf32>, %dt: tensor<2x16x4xf32>,
                            %B: tensor<2x16x1x6xf32>) -> tensor<2x16x4x8xf32> {
  %A = arith.constant dense<0.0> : tensor<4xf32>
  %z = arith.constant dense<0.0> : tensor<2x16x4x8xf32>
  %id = arith.constant dense<0> : tensor<2x16xi32>
  // CHECK: mamba.ssd {{.*}} A(%[[ZA]] : tensor<4xf32>) {{.*}} z(%[[ZZ]] : tensor<2x16x4x8xf32>)
  // CHECK-SAME: seq_idx(
  %y = mamba.ssd chunk_size(16) x(%x : tensor<2x16x4x8xf32>) dt(%dt : tensor<2x16x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x16x1x6xf32>) C(%B : tensor<2x16x1x6xf32>)
      z(%z : tensor<2x16x4x8xf32>) seq_idx(%id : tensor<2x16xi32>)
      -> y(tensor<2x16x4x8xf32>)
  return %y : tensor<2x16x4x8xf32>
}

// -----

// CHECK-LABEL: func @not_zero
// CHECK-DAG:     %[[BIAS:.+]] = arith.constant dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]>
// CHECK-DAG:     %[[D:.+]] = arith.constant dense<1.000000e+00>
// CHECK-DAG:     %[[INIT:.+]] = linalg.fill ins(%{{[a-z0-9]+}} : f32)
func.func @not_zero(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                    %B: tensor<2x?x1x6xf32>, %value: f32) -> tensor<2x?x4x8xf32> {
  %bias = arith.constant dense<[0.0, 0.0, 0.0, 1.0]> : tensor<4xf32>
  %D = arith.constant dense<1.0> : tensor<4xf32>
  %empty = tensor.empty() : tensor<2x4x8x6xf32>
  %init = linalg.fill ins(%value : f32) outs(%empty : tensor<2x4x8x6xf32>)
      -> tensor<2x4x8x6xf32>
  // CHECK: mamba.ssd
  // CHECK-SAME: D(%[[D]] : tensor<4xf32>) dt_bias(%[[BIAS]] : tensor<4xf32>)
  // CHECK-SAME: initial_state(%[[INIT]] : tensor<2x4x8x6xf32>)
  %y = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      D(%D : tensor<4xf32>) dt_bias(%bias : tensor<4xf32>)
      initial_state(%init : tensor<2x4x8x6xf32>) -> y(tensor<2x?x4x8xf32>)
  return %y : tensor<2x?x4x8xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Results that nothing reads
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @unused_results_of_state_pass
func.func @unused_results_of_state_pass(%s: tensor<2x?x4x8x6xf32>,
                                        %cs: tensor<2x4x?x16xf32>)
    -> (tensor<2x?x4x8x6xf32>, tensor<2x4xf32>) {
  // CHECK: %[[H:.+]], %[[DECAY:.+]] = mamba.state_pass
  // CHECK-SAME: {kept} -> chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x4xf32>)
  // CHECK: return %[[H]], %[[DECAY]]
  %h, %last, %decay = mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>)
      dA_cumsum(%cs : tensor<2x4x?x16xf32>) {kept}
      -> chunk_states(tensor<2x?x4x8x6xf32>) final_state(tensor<2x4x8x6xf32>)
         total_decay(tensor<2x4xf32>)
  return %h, %decay : tensor<2x?x4x8x6xf32>, tensor<2x4xf32>
}

// -----

// Result 0 stays even where nothing reads it.
// CHECK-LABEL: func @unused_y
func.func @unused_y(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                    %B: tensor<2x?x1x6xf32>) -> tensor<2x4x8x6xf32> {
  // CHECK: %{{.+}}, %[[LAST:.+]] = mamba.ssd
  // CHECK-SAME: -> y(tensor<2x?x4x8xf32>) final_state(tensor<2x4x8x6xf32>){{$}}
  // CHECK: return %[[LAST]]
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
      chunk_states(tensor<2x?x4x8x6xf32>) final_state(tensor<2x4x8x6xf32>)
      total_decay(tensor<2x4xf32>)
  return %last : tensor<2x4x8x6xf32>
}

// -----

// CHECK-LABEL: func @dead
// CHECK-NEXT:    return
func.func @dead(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                %B: tensor<2x?x1x6xf32>) {
  %y, %last = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
      final_state(tensor<2x4x8x6xf32>)
  return
}

// -----

// CHECK-LABEL: func @unused_intermediate_states
func.func @unused_intermediate_states(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                                      %dt: tensor<?x4xf32>, %A: tensor<4xf32>,
                                      %B: tensor<?x1x6xf32>, %dst: tensor<?xi32>)
    -> (tensor<?x4x8xf32>, tensor<?x4x8x6xf32>) {
  // CHECK: %[[Y:.+]], %[[NEW:.+]] = mamba.ssu softplus pad_slot_id(3) state(
  // CHECK-SAME: dst_state_batch_indices(%{{[a-z0-9]+}} : tensor<?xi32>) {kept}
  // CHECK-SAME: -> y(tensor<?x4x8xf32>) new_state(tensor<?x4x8x6xf32>){{$}}
  // CHECK: return %[[Y]], %[[NEW]]
  %y, %new, %between = mamba.ssu softplus pad_slot_id(3) state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      dst_state_batch_indices(%dst : tensor<?xi32>) {kept} -> y(tensor<?x4x8xf32>)
      new_state(tensor<?x4x8x6xf32>) intermediate_states(tensor<?x1x4x8x6xf32>)
  return %y, %new : tensor<?x4x8xf32>, tensor<?x4x8x6xf32>
}

// -----

// Without a reader of the new state no slot is updated.
// CHECK-LABEL: func @unused_new_state
func.func @unused_new_state(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                            %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>,
                            %src: tensor<?xi32>, %dst: tensor<?xi32>)
    -> (tensor<?x4x8xf32>, tensor<?x1x4x8x6xf32>) {
  // CHECK: %[[Y:.+]], %[[BETWEEN:.+]] = mamba.ssu disable_state_update state(
  // CHECK-SAME: C(%{{[a-z0-9]+}} : tensor<?x1x6xf32>) state_batch_indices(%{{[a-z0-9]+}} : tensor<?xi32>)
  // CHECK-SAME: -> y(tensor<?x4x8xf32>) intermediate_states(tensor<?x1x4x8x6xf32>)
  // CHECK: return %[[Y]], %[[BETWEEN]]
  %y, %new, %between = mamba.ssu state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      state_batch_indices(%src : tensor<?xi32>) dst_state_batch_indices(%dst : tensor<?xi32>)
      -> y(tensor<?x4x8xf32>) new_state(tensor<?x4x8x6xf32>)
         intermediate_states(tensor<?x1x4x8x6xf32>)
  return %y, %between : tensor<?x4x8xf32>, tensor<?x1x4x8x6xf32>
}
