// Every operation with and without its optional clauses, as text in the custom
// and in the generic form, and as bytecode.

// RUN: mamba-opt %s | FileCheck %s
// RUN: mamba-opt %s | mamba-opt | FileCheck %s
// RUN: mamba-opt %s --mlir-print-op-generic | mamba-opt | FileCheck %s
// RUN: mamba-opt %s --emit-bytecode | mamba-opt | FileCheck %s

//===----------------------------------------------------------------------===//
// chunk_cumsum
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @chunk_cumsum_least
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<2x?x4xbf16>, %[[A:[a-z0-9]+]]: tensor<4xf32>
func.func @chunk_cumsum_least(%dt: tensor<2x?x4xbf16>, %A: tensor<4xf32>)
    -> (tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>) {
  // CHECK: mamba.chunk_cumsum chunk_size(16) dt(%[[DT]] : tensor<2x?x4xbf16>)
  // CHECK-SAME: A(%[[A]] : tensor<4xf32>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xbf16>)
      A(%A : tensor<4xf32>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return %d, %cs : tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
}

// CHECK-LABEL: func @chunk_cumsum_all
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<2x33x4xf16>, %[[A:[a-z0-9]+]]: tensor<4xf32>, %[[BIAS:[a-z0-9]+]]: tensor<4xbf16>
func.func @chunk_cumsum_all(%dt: tensor<2x33x4xf16>, %A: tensor<4xf32>,
                            %bias: tensor<4xbf16>)
    -> (tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>) {
  // CHECK: mamba.chunk_cumsum chunk_size(16) softplus dt_limit(1.000000e-03, 1.000000e-01)
  // CHECK-SAME: dt(%[[DT]] : tensor<2x33x4xf16>) A(%[[A]] : tensor<4xf32>)
  // CHECK-SAME: dt_bias(%[[BIAS]] : tensor<4xbf16>) {note = "kept"}
  // CHECK-SAME: -> tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(16) softplus dt_limit(1.0e-3, 0.1)
      dt(%dt : tensor<2x33x4xf16>) A(%A : tensor<4xf32>)
      dt_bias(%bias : tensor<4xbf16>) {note = "kept"}
      -> tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
  return %d, %cs : tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
}

// CHECK-LABEL: func @dt_limits
func.func @dt_limits(%dt: tensor<1x8x1xf32>, %A: tensor<1xf32>) {
  // CHECK: dt_limit(0.000000e+00, inf)
  mamba.chunk_cumsum chunk_size(8) dt_limit(0.0, inf) dt(%dt : tensor<1x8x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>
  // CHECK: dt_limit(-inf, -1.000000e+00)
  mamba.chunk_cumsum chunk_size(8) dt_limit(-inf, -1.0) dt(%dt : tensor<1x8x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>
  // No digit of a bound is lost.
  // CHECK: dt_limit(0.30000000000000004, 1.000000e+308)
  mamba.chunk_cumsum chunk_size(8) dt_limit(0.30000000000000004, 1.0e308)
      dt(%dt : tensor<1x8x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>
  return
}

//===----------------------------------------------------------------------===//
// chunk_state
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @chunk_state_least
func.func @chunk_state_least(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x2x6xbf16>,
                             %d: tensor<2x4x?x16xf32>, %cs: tensor<2x4x?x16xf32>)
    -> tensor<2x?x4x8x6xf32> {
  // CHECK: mamba.chunk_state x(%{{[a-z0-9]+}} : tensor<2x?x4x8xbf16>) B(%{{[a-z0-9]+}} : tensor<2x?x2x6xbf16>)
  // CHECK-SAME: dt(%{{[a-z0-9]+}} : tensor<2x4x?x16xf32>) dA_cumsum(%{{[a-z0-9]+}} : tensor<2x4x?x16xf32>)
  // CHECK-SAME: -> tensor<2x?x4x8x6xf32>
  %s = mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x2x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return %s : tensor<2x?x4x8x6xf32>
}

// CHECK-LABEL: func @chunk_state_all
// CHECK-SAME:    %[[ID:[a-z0-9]+]]: tensor<?x?xi32>
func.func @chunk_state_all(%id: tensor<?x?xi32>, %x: tensor<?x?x?x8xf32>,
                           %B: tensor<?x?x?x6xf32>, %d: tensor<?x?x?x16xf32>,
                           %cs: tensor<?x?x?x16xf32>) -> tensor<?x?x?x8x6xf32> {
  // CHECK: mamba.chunk_state
  // CHECK-SAME: seq_idx(%[[ID]] : tensor<?x?xi32>) -> tensor<?x?x?x8x6xf32>
  %s = mamba.chunk_state x(%x : tensor<?x?x?x8xf32>) B(%B : tensor<?x?x?x6xf32>)
      dt(%d : tensor<?x?x?x16xf32>) dA_cumsum(%cs : tensor<?x?x?x16xf32>)
      seq_idx(%id : tensor<?x?xi32>) -> tensor<?x?x?x8x6xf32>
  return %s : tensor<?x?x?x8x6xf32>
}

//===----------------------------------------------------------------------===//
// state_pass
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @state_pass_least
func.func @state_pass_least(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>)
    -> tensor<2x?x4x8x6xbf16> {
  // CHECK: mamba.state_pass states(%{{[a-z0-9]+}} : tensor<2x?x4x8x6xf32>)
  // CHECK-SAME: dA_cumsum(%{{[a-z0-9]+}} : tensor<2x4x?x16xf32>)
  // CHECK-SAME: -> chunk_states(tensor<2x?x4x8x6xbf16>){{$}}
  %h = mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>)
      dA_cumsum(%cs : tensor<2x4x?x16xf32>) -> chunk_states(tensor<2x?x4x8x6xbf16>)
  return %h : tensor<2x?x4x8x6xbf16>
}

// CHECK-LABEL: func @state_pass_all
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<2x4x8x6xf16>, %[[ID:[a-z0-9]+]]: tensor<2x?xi32>
func.func @state_pass_all(%init: tensor<2x4x8x6xf16>, %id: tensor<2x?xi32>,
                          %s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>)
    -> (tensor<2x?x4x8x6xf32>, tensor<2x4x8x6xf16>, tensor<2x4xf32>) {
  // CHECK: mamba.state_pass
  // CHECK-SAME: initial_state(%[[INIT]] : tensor<2x4x8x6xf16>) seq_idx(%[[ID]] : tensor<2x?xi32>)
  // CHECK-SAME: -> chunk_states(tensor<2x?x4x8x6xf32>) final_state(tensor<2x4x8x6xf16>)
  // CHECK-SAME: total_decay(tensor<2x4xf32>)
  %h, %last, %decay = mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>)
      dA_cumsum(%cs : tensor<2x4x?x16xf32>) initial_state(%init : tensor<2x4x8x6xf16>)
      seq_idx(%id : tensor<2x?xi32>) -> chunk_states(tensor<2x?x4x8x6xf32>)
      final_state(tensor<2x4x8x6xf16>) total_decay(tensor<2x4xf32>)
  return %h, %last, %decay
      : tensor<2x?x4x8x6xf32>, tensor<2x4x8x6xf16>, tensor<2x4xf32>
}

// CHECK-LABEL: func @state_pass_only_decay
func.func @state_pass_only_decay(%s: tensor<2x?x4x8x6xf32>,
                                 %cs: tensor<2x4x?x16xf32>) -> tensor<2x4xf32> {
  // CHECK: -> chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x4xf32>)
  %h, %decay = mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>)
      dA_cumsum(%cs : tensor<2x4x?x16xf32>) -> chunk_states(tensor<2x?x4x8x6xf32>)
      total_decay(tensor<2x4xf32>)
  // CHECK: return %total_decay
  return %decay : tensor<2x4xf32>
}

//===----------------------------------------------------------------------===//
// chunk_out
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @chunk_out_least
func.func @chunk_out_least(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x6xbf16>,
                           %C: tensor<2x?x1x6xbf16>, %d: tensor<2x4x?x16xf32>,
                           %h: tensor<2x?x4x8x6xbf16>) -> tensor<2x?x4x8xbf16> {
  // CHECK: mamba.chunk_out mask<causal> x(%{{[a-z0-9]+}} : tensor<2x?x4x8xbf16>)
  // CHECK-SAME: B(%{{[a-z0-9]+}} : tensor<2x?x1x6xbf16>) C(%{{[a-z0-9]+}} : tensor<2x?x1x6xbf16>)
  // CHECK-SAME: dt(%{{[a-z0-9]+}} : tensor<2x4x?x16xf32>) dA_cumsum(%{{[a-z0-9]+}} : tensor<2x4x?x16xf32>)
  // CHECK-SAME: chunk_states(%{{[a-z0-9]+}} : tensor<2x?x4x8x6xbf16>) -> tensor<2x?x4x8xbf16>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xbf16>)
      B(%B : tensor<2x?x1x6xbf16>) C(%C : tensor<2x?x1x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      chunk_states(%h : tensor<2x?x4x8x6xbf16>) -> tensor<2x?x4x8xbf16>
  return %y : tensor<2x?x4x8xbf16>
}

// CHECK-LABEL: func @chunk_out_all
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<4x8xf16>, %[[Z:[a-z0-9]+]]: tensor<2x?x4x8xbf16>, %[[ID:[a-z0-9]+]]: tensor<2x?xi32>, %[[PREV:[a-z0-9]+]]: tensor<2x?xi32>
func.func @chunk_out_all(%D: tensor<4x8xf16>, %z: tensor<2x?x4x8xbf16>,
                         %id: tensor<2x?xi32>, %prev: tensor<2x?xi32>,
                         %B: tensor<2x?x1x6xbf16>, %d: tensor<2x4x?x16xf32>,
                         %h: tensor<2x?x4x8x6xf32>) -> tensor<2x?x4x8xbf16> {
  // CHECK: mamba.chunk_out mask<causal>
  // CHECK-SAME: D(%[[D]] : tensor<4x8xf16>) z(%[[Z]] : tensor<2x?x4x8xbf16>)
  // CHECK-SAME: seq_idx(%[[ID]] : tensor<2x?xi32>) prev_seq_idx(%[[PREV]] : tensor<2x?xi32>)
  // CHECK-SAME: {mamba.plan = #mamba.plan<chunk_parallel tile[1, 1, 1, 0] inner[32, 0] warps 8>}
  %y = mamba.chunk_out mask<causal> x(%z : tensor<2x?x4x8xbf16>)
      B(%B : tensor<2x?x1x6xbf16>) C(%B : tensor<2x?x1x6xbf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      chunk_states(%h : tensor<2x?x4x8x6xf32>) D(%D : tensor<4x8xf16>)
      z(%z : tensor<2x?x4x8xbf16>) seq_idx(%id : tensor<2x?xi32>)
      prev_seq_idx(%prev : tensor<2x?xi32>) {mamba.plan =
        #mamba.plan<chunk_parallel tile [1, 1, 1, 0] inner [32, 0] warps 8>}
      -> tensor<2x?x4x8xbf16>
  return %y : tensor<2x?x4x8xbf16>
}

//===----------------------------------------------------------------------===//
// ssd
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @ssd_least
func.func @ssd_least(%x: tensor<?x?x4x8xbf16>, %dt: tensor<?x?x4xbf16>,
                     %A: tensor<4xf32>, %B: tensor<?x?x1x6xbf16>,
                     %C: tensor<?x?x1x6xbf16>) -> tensor<?x?x4x8xbf16> {
  // CHECK: mamba.ssd chunk_size(16) x(%{{[a-z0-9]+}} : tensor<?x?x4x8xbf16>)
  // CHECK-SAME: dt(%{{[a-z0-9]+}} : tensor<?x?x4xbf16>) A(%{{[a-z0-9]+}} : tensor<4xf32>)
  // CHECK-SAME: B(%{{[a-z0-9]+}} : tensor<?x?x1x6xbf16>) C(%{{[a-z0-9]+}} : tensor<?x?x1x6xbf16>)
  // CHECK-SAME: -> y(tensor<?x?x4x8xbf16>){{$}}
  %y = mamba.ssd chunk_size(16) x(%x : tensor<?x?x4x8xbf16>)
      dt(%dt : tensor<?x?x4xbf16>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x?x1x6xbf16>) C(%C : tensor<?x?x1x6xbf16>)
      -> y(tensor<?x?x4x8xbf16>)
  return %y : tensor<?x?x4x8xbf16>
}

// CHECK-LABEL: func @ssd_all
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<4xf32>, %[[Z:[a-z0-9]+]]: tensor<2x40x4x8xf32>, %[[BIAS:[a-z0-9]+]]: tensor<4xf16>, %[[INIT:[a-z0-9]+]]: tensor<2x4x8x6xbf16>, %[[ID:[a-z0-9]+]]: tensor<2x40xi32>
func.func @ssd_all(%D: tensor<4xf32>, %z: tensor<2x40x4x8xf32>, %bias: tensor<4xf16>,
                   %init: tensor<2x4x8x6xbf16>, %id: tensor<2x40xi32>,
                   %dt: tensor<2x40x4xbf16>, %B: tensor<2x40x2x6xf32>)
    -> (tensor<2x40x4x8xf32>, tensor<2x3x4x8x6xf16>, tensor<2x4x8x6xbf16>,
        tensor<2x4xf32>) {
  // CHECK: mamba.ssd chunk_size(16) softplus dt_limit(0.000000e+00, 2.500000e-01)
  // CHECK-SAME: D(%[[D]] : tensor<4xf32>) z(%[[Z]] : tensor<2x40x4x8xf32>)
  // CHECK-SAME: dt_bias(%[[BIAS]] : tensor<4xf16>) initial_state(%[[INIT]] : tensor<2x4x8x6xbf16>)
  // CHECK-SAME: seq_idx(%[[ID]] : tensor<2x40xi32>)
  // CHECK-SAME: -> y(tensor<2x40x4x8xf32>) chunk_states(tensor<2x3x4x8x6xf16>)
  // CHECK-SAME: final_state(tensor<2x4x8x6xbf16>) total_decay(tensor<2x4xf32>)
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) softplus dt_limit(0.0, 0.25)
      x(%z : tensor<2x40x4x8xf32>) dt(%dt : tensor<2x40x4xbf16>)
      A(%D : tensor<4xf32>) B(%B : tensor<2x40x2x6xf32>)
      C(%B : tensor<2x40x2x6xf32>) D(%D : tensor<4xf32>)
      z(%z : tensor<2x40x4x8xf32>) dt_bias(%bias : tensor<4xf16>)
      initial_state(%init : tensor<2x4x8x6xbf16>) seq_idx(%id : tensor<2x40xi32>)
      -> y(tensor<2x40x4x8xf32>) chunk_states(tensor<2x3x4x8x6xf16>)
         final_state(tensor<2x4x8x6xbf16>) total_decay(tensor<2x4xf32>)
  return %y, %h, %last, %decay : tensor<2x40x4x8xf32>, tensor<2x3x4x8x6xf16>,
      tensor<2x4x8x6xbf16>, tensor<2x4xf32>
}

// The results that are present are told apart by their names alone.
// CHECK-LABEL: func @ssd_result_subsets
func.func @ssd_result_subsets(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>,
                              %A: tensor<4xf32>, %B: tensor<2x?x1x6xf32>) {
  // CHECK: -> y(tensor<2x?x4x8xf32>) chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x4xf32>)
  %y:3 = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
      chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x4xf32>)
  // CHECK: -> y(tensor<2x?x4x8xf32>) final_state(tensor<2x4x8x6xf32>)
  %z:2 = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
      final_state(tensor<2x4x8x6xf32>)
  return
}

//===----------------------------------------------------------------------===//
// ssu
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @ssu_least
func.func @ssu_least(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xbf16>,
                     %dt: tensor<?x4xbf16>, %A: tensor<4xf32>,
                     %B: tensor<?x1x6xbf16>) -> tensor<?x4x8xbf16> {
  // CHECK: mamba.ssu disable_state_update state(%{{[a-z0-9]+}} : tensor<?x4x8x6xf32>)
  // CHECK-SAME: x(%{{[a-z0-9]+}} : tensor<?x4x8xbf16>) dt(%{{[a-z0-9]+}} : tensor<?x4xbf16>)
  // CHECK-SAME: A(%{{[a-z0-9]+}} : tensor<4xf32>) B(%{{[a-z0-9]+}} : tensor<?x1x6xbf16>)
  // CHECK-SAME: C(%{{[a-z0-9]+}} : tensor<?x1x6xbf16>) -> y(tensor<?x4x8xbf16>){{$}}
  %y = mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xbf16>) dt(%dt : tensor<?x4xbf16>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xbf16>) C(%B : tensor<?x1x6xbf16>) -> y(tensor<?x4x8xbf16>)
  return %y : tensor<?x4x8xbf16>
}

// CHECK-LABEL: func @ssu_all
// CHECK-SAME:    %[[D:[a-z0-9]+]]: tensor<4x8xf32>, %[[Z:[a-z0-9]+]]: tensor<3x2x4x8xf16>, %[[BIAS:[a-z0-9]+]]: tensor<4xf32>, %[[SRC:[a-z0-9]+]]: tensor<3xi32>, %[[DST:[a-z0-9]+]]: tensor<3xi64>
func.func @ssu_all(%D: tensor<4x8xf32>, %z: tensor<3x2x4x8xf16>, %bias: tensor<4xf32>,
                   %src: tensor<3xi32>, %dst: tensor<3xi64>,
                   %state: tensor<9x4x8x6xbf16>, %dt: tensor<3x2x4xf32>,
                   %B: tensor<3x2x2x6xf16>)
    -> (tensor<3x2x4x8xf16>, tensor<9x4x8x6xbf16>, tensor<3x2x4x8x6xf32>) {
  // CHECK: mamba.ssu softplus pad_slot_id(0) state(%{{[a-z0-9]+}} : tensor<9x4x8x6xbf16>)
  // CHECK-SAME: D(%[[D]] : tensor<4x8xf32>) z(%[[Z]] : tensor<3x2x4x8xf16>)
  // CHECK-SAME: dt_bias(%[[BIAS]] : tensor<4xf32>) state_batch_indices(%[[SRC]] : tensor<3xi32>)
  // CHECK-SAME: dst_state_batch_indices(%[[DST]] : tensor<3xi64>)
  // CHECK-SAME: -> y(tensor<3x2x4x8xf16>) new_state(tensor<9x4x8x6xbf16>)
  // CHECK-SAME: intermediate_states(tensor<3x2x4x8x6xf32>)
  %y, %new, %between = mamba.ssu softplus pad_slot_id(0)
      state(%state : tensor<9x4x8x6xbf16>) x(%z : tensor<3x2x4x8xf16>)
      dt(%dt : tensor<3x2x4xf32>) A(%bias : tensor<4xf32>)
      B(%B : tensor<3x2x2x6xf16>) C(%B : tensor<3x2x2x6xf16>)
      D(%D : tensor<4x8xf32>) z(%z : tensor<3x2x4x8xf16>) dt_bias(%bias : tensor<4xf32>)
      state_batch_indices(%src : tensor<3xi32>)
      dst_state_batch_indices(%dst : tensor<3xi64>)
      -> y(tensor<3x2x4x8xf16>) new_state(tensor<9x4x8x6xbf16>)
         intermediate_states(tensor<3x2x4x8x6xf32>)
  return %y, %new, %between
      : tensor<3x2x4x8xf16>, tensor<9x4x8x6xbf16>, tensor<3x2x4x8x6xf32>
}

// CHECK-LABEL: func @ssu_row
func.func @ssu_row(%state: tensor<?x1x8x6xf32>, %x: tensor<1x1x8xbf16>,
                   %dt: tensor<1x1xbf16>, %A: tensor<1xf32>, %B: tensor<1x1x6xbf16>)
    -> (tensor<1x1x8xbf16>, tensor<1x1x1x8x6xf32>) {
  // The default of pad_slot_id is not printed.
  // CHECK: mamba.ssu row disable_state_update state(
  // CHECK-SAME: -> y(tensor<1x1x8xbf16>) intermediate_states(tensor<1x1x1x8x6xf32>)
  %y, %between = mamba.ssu row pad_slot_id(-1) disable_state_update
      state(%state : tensor<?x1x8x6xf32>) x(%x : tensor<1x1x8xbf16>)
      dt(%dt : tensor<1x1xbf16>) A(%A : tensor<1xf32>) B(%B : tensor<1x1x6xbf16>)
      C(%B : tensor<1x1x6xbf16>) -> y(tensor<1x1x8xbf16>)
      intermediate_states(tensor<1x1x1x8x6xf32>)
  return %y, %between : tensor<1x1x8xbf16>, tensor<1x1x1x8x6xf32>
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @plans
func.func @plans() attributes {
  // The default of warps is 4 and not printed.
  // CHECK-SAME: a = #mamba.plan<chunk_parallel tile[1, 0, 16]>
  a = #mamba.plan<chunk_parallel tile [1, 0, 16] warps 4>,
  // CHECK-SAME: b = #mamba.plan<chunk_parallel tile[0] inner[0, 64, 0] warps 32>
  b = #mamba.plan<chunk_parallel tile [0] inner [0, 64, 0] warps 32>,
  // CHECK-SAME: b2 = #mamba.plan<three_kernel tile[1, 0] inner[64, 0] reduction 32>
  b2 = #mamba.plan<three_kernel tile [1, 0] inner [64, 0] reduction 32 warps 4>,
  // CHECK-SAME: b3 = #mamba.plan<three_kernel tile[1, 0] reduction 32 warps 8>
  b3 = #mamba.plan<three_kernel tile [1, 0] reduction 32 warps 8>,
  // CHECK-SAME: c = #mamba.mask<causal>
  c = #mamba.mask<causal>
} {
  return
}

// CHECK-LABEL: func @names
// CHECK-SAME:    tensor<4xf32> {mamba.name = "x", mamba.updated = "y"}
// CHECK-SAME:    memref<4xf32> {mamba.name = "y", mamba.result}
// CHECK-SAME:    -> (tensor<4xf32> {mamba.name = "z"})
func.func @names(%x: tensor<4xf32> {mamba.name = "x", mamba.updated = "y"},
                 %y: memref<4xf32> {mamba.name = "y", mamba.result})
    -> (tensor<4xf32> {mamba.name = "z"}) {
  return %x : tensor<4xf32>
}
