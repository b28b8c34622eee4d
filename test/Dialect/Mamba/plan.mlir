// Schedule chunk_parallel; three_kernel: plan-three-kernel.mlir.

// RUN: mamba-opt %s --mamba-plan="target=sm_120a schedule=chunk_parallel" \
// RUN:   --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-plan="shared-bytes=8192 schedule=chunk_parallel" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SMALL

// A block computes a unit tile, or a few heads of it. Only warps depend on the kind of operation.
// CHECK-LABEL: func @chunk_cumsum
func.func @chunk_cumsum(%dt: tensor<?x?x24xbf16>, %A: tensor<24xf32>)
    -> (tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>) {
  // CHECK: mamba.chunk_cumsum
  // CHECK-SAME: mamba.plan = #mamba.plan<chunk_parallel tile[1, 8, 1]>}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<?x?x24xbf16>)
      A(%A : tensor<24xf32>) -> tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>
  return %d, %cs : tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>
}

// -----

// Tiles of heads divide a number that is known; else the last one is short.
// CHECK-LABEL: func @heads
func.func @heads(%dt: tensor<?x?x6xbf16>, %A: tensor<6xf32>, %dtd: tensor<?x?x?xbf16>, %Ad: tensor<?xf32>)
    -> (tensor<?x6x?x128xf32>, tensor<?x?x?x128xf32>) {
  // CHECK: mamba.plan = #mamba.plan<chunk_parallel tile[1, 6, 1]>}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<?x?x6xbf16>)
      A(%A : tensor<6xf32>) -> tensor<?x6x?x128xf32>, tensor<?x6x?x128xf32>
  // CHECK: mamba.plan = #mamba.plan<chunk_parallel tile[1, 8, 1]>}
  %dd, %csd = mamba.chunk_cumsum chunk_size(128) dt(%dtd : tensor<?x?x?xbf16>)
      A(%Ad : tensor<?xf32>) -> tensor<?x?x?x128xf32>, tensor<?x?x?x128xf32>
  return %cs, %csd : tensor<?x6x?x128xf32>, tensor<?x?x?x128xf32>
}

// -----

// Columns of the state at a time, so that the weighted B of a chunk fits.
// CHECK-LABEL: func @chunk_state
// SMALL-LABEL: func @chunk_state
func.func @chunk_state(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
                       %d: tensor<?x24x?x128xf32>) -> tensor<?x?x24x64x128xf32> {
  // CHECK: #mamba.plan<chunk_parallel tile[1, 1, 1, 0, 0] inner[0, 64, 0] warps 8>
  // SMALL: #mamba.plan<chunk_parallel tile[1, 1, 1, 16, 0] inner[0, 8, 0] warps 8>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x64xbf16>) B(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x64x128xf32>
  return %s : tensor<?x?x24x64x128xf32>
}

// -----

// 64 and 32 columns do not divide 48; wider elements leave room for fewer.
// CHECK-LABEL: func @chunk_state_f32
// SMALL-LABEL: func @chunk_state_f32
func.func @chunk_state_f32(%x: tensor<?x?x24x80xf32>, %B: tensor<?x?x1x48xf32>,
                           %d: tensor<?x24x?x128xf32>) -> tensor<?x?x24x80x48xf32> {
  // CHECK: #mamba.plan<chunk_parallel tile[1, 1, 1, 0, 0] inner[0, 48, 0] warps 8>
  // SMALL: #mamba.plan<chunk_parallel tile[1, 1, 1, 8, 0] inner[0, 4, 0] warps 8>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x80xf32>) B(%B : tensor<?x?x1x48xf32>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x80x48xf32>
  return %s : tensor<?x?x24x80x48xf32>
}

// -----

// Head-dim rows of the recurrence are independent: blocks share them.
// CHECK-LABEL: func @state_pass
// SMALL-LABEL: func @state_pass
func.func @state_pass(%s: tensor<?x?x24x64x128xf32>, %cs: tensor<?x24x?x128xf32>)
    -> tensor<?x?x24x64x128xbf16> {
  // CHECK: #mamba.plan<chunk_parallel tile[1, 1, 16, 0] warps 8>
  // SMALL: #mamba.plan<chunk_parallel tile[1, 1, 8, 0] warps 8>
  %h = mamba.state_pass states(%s : tensor<?x?x24x64x128xf32>)
      dA_cumsum(%cs : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x64x128xbf16>)
  return %h : tensor<?x?x24x64x128xbf16>
}

// -----

// The row tile divides the head dim.
// CHECK-LABEL: func @state_pass_odd
func.func @state_pass_odd(%s: tensor<?x?x24x36x7xf32>, %cs: tensor<?x24x?x128xf32>)
    -> tensor<?x?x24x36x7xf32> {
  // CHECK: #mamba.plan<chunk_parallel tile[1, 1, 4, 0] warps 8>
  %h = mamba.state_pass states(%s : tensor<?x?x24x36x7xf32>)
      dA_cumsum(%cs : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x36x7xf32>)
  return %h : tensor<?x?x24x36x7xf32>
}

// -----

// Rows of the chunk at a time.
// CHECK-LABEL: func @chunk_out
// SMALL-LABEL: func @chunk_out
func.func @chunk_out(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x32xbf16>,
                     %d: tensor<?x24x?x128xf32>, %h: tensor<?x?x24x64x32xbf16>)
    -> tensor<?x?x24x64xbf16> {
  // CHECK: #mamba.plan<chunk_parallel tile[1, 1, 1, 0] inner[64, 0] reduction 64 stages 1 blocks 3>
  // SMALL: #mamba.plan<chunk_parallel tile[1, 1, 1, 16] inner[16, 0] reduction 16 stages 1 blocks 4>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x?x24x64xbf16>)
      B(%B : tensor<?x?x1x32xbf16>) C(%B : tensor<?x?x1x32xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      chunk_states(%h : tensor<?x?x24x64x32xbf16>) -> tensor<?x?x24x64xbf16>
  return %y : tensor<?x?x24x64xbf16>
}

// -----

// Where nothing fits, one row or column at a time is left.
// SMALL-LABEL: func @chunk_out_too_large
func.func @chunk_out_too_large(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
                               %d: tensor<?x24x?x128xf32>, %h: tensor<?x?x24x64x128xbf16>)
    -> tensor<?x?x24x64xbf16> {
  // SMALL: #mamba.plan<chunk_parallel tile[1, 1, 1, 16] inner[4, 0] reduction 4 stages 1 blocks 4>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x?x24x64xbf16>)
      B(%B : tensor<?x?x1x128xbf16>) C(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      chunk_states(%h : tensor<?x?x24x64x128xbf16>) -> tensor<?x?x24x64xbf16>
  return %y : tensor<?x?x24x64xbf16>
}

// -----

// Rows by the bytes of the state that a thread then holds: 16 of 128 f32 in 4
// warps.
// CHECK-LABEL: func @ssu(
// SMALL-LABEL: func @ssu(
func.func @ssu(%state: tensor<?x24x64x128xf32>, %x: tensor<?x24x64xbf16>,
               %dt: tensor<?x24xbf16>, %A: tensor<24xf32>, %B: tensor<?x1x128xbf16>)
    -> (tensor<?x24x64xbf16>, tensor<?x24x64x128xf32>) {
  // CHECK: #mamba.plan<simple tile[1, 1, 16]>
  // SMALL: #mamba.plan<simple tile[1, 1, 8] warps 2>
  %y, %new = mamba.ssu state(%state : tensor<?x24x64x128xf32>) x(%x : tensor<?x24x64xbf16>)
      dt(%dt : tensor<?x24xbf16>) A(%A : tensor<24xf32>) B(%B : tensor<?x1x128xbf16>)
      C(%B : tensor<?x1x128xbf16>) -> y(tensor<?x24x64xbf16>)
      new_state(tensor<?x24x64x128xf32>)
  return %y, %new : tensor<?x24x64xbf16>, tensor<?x24x64x128xf32>
}

// -----

// Narrower elements: more rows. Rows divide the head dim.
// CHECK-LABEL: func @ssu_narrow(
func.func @ssu_narrow(%state: tensor<?x24x80x64xbf16>, %x: tensor<?x24x80xbf16>,
                      %dt: tensor<?x24xbf16>, %A: tensor<24xf32>, %B: tensor<?x1x64xbf16>)
    -> (tensor<?x24x80xbf16>, tensor<?x24x80x64xbf16>) {
  // CHECK: #mamba.plan<simple tile[1, 1, 16] warps 1>
  %y, %new = mamba.ssu state(%state : tensor<?x24x80x64xbf16>) x(%x : tensor<?x24x80xbf16>)
      dt(%dt : tensor<?x24xbf16>) A(%A : tensor<24xf32>) B(%B : tensor<?x1x64xbf16>)
      C(%B : tensor<?x1x64xbf16>) -> y(tensor<?x24x80xbf16>)
      new_state(tensor<?x24x80x64xbf16>)
  return %y, %new : tensor<?x24x80xbf16>, tensor<?x24x80x64xbf16>
}

// -----

// A plan written by hand stays; ssd itself is not planned.
// CHECK-LABEL: func @by_hand
func.func @by_hand(%x: tensor<?x?x24x64xbf16>, %dt: tensor<?x?x24xbf16>, %A: tensor<24xf32>,
                   %B: tensor<?x?x1x128xbf16>)
    -> (tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>, tensor<?x?x24x64xbf16>) {
  // CHECK: mamba.chunk_cumsum
  // CHECK-SAME: {mamba.plan = #mamba.plan<chunk_parallel tile[1, 0, 2] warps 16>}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<?x?x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 0, 2] warps 16>}
      -> tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>
  // CHECK: mamba.ssd
  // CHECK-NOT: mamba.plan
  // CHECK: return
  %y = mamba.ssd chunk_size(128) x(%x : tensor<?x?x24x64xbf16>) dt(%dt : tensor<?x?x24xbf16>)
      A(%A : tensor<24xf32>) B(%B : tensor<?x?x1x128xbf16>) C(%B : tensor<?x?x1x128xbf16>)
      -> y(tensor<?x?x24x64xbf16>)
  return %d, %cs, %y : tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>, tensor<?x?x24x64xbf16>
}

// -----

// Operations inside loops are tiles already.
// CHECK-LABEL: func @in_loop
// CHECK-NOT:     mamba.plan
func.func @in_loop(%dt: tensor<?x?x24xbf16>, %A: tensor<24xf32>, %n: index,
                   %init: tensor<?x24x?x128xf32>) -> tensor<?x24x?x128xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %init)
      -> tensor<?x24x?x128xf32> {
    %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<?x?x24xbf16>)
        A(%A : tensor<24xf32>) -> tensor<?x24x?x128xf32>, tensor<?x24x?x128xf32>
    scf.yield %cs : tensor<?x24x?x128xf32>
  }
  return %r : tensor<?x24x?x128xf32>
}
