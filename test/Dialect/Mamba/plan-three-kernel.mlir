// Schedule three_kernel, which `auto` is; chunk_parallel: plan.mlir.

// RUN: mamba-opt %s --mamba-plan --split-input-file | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: mamba-opt %s --mamba-plan="target=sm_120a schedule=three_kernel" --split-input-file \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: mamba-opt %s --mamba-plan=shared-bytes=16384 --split-input-file \
// RUN:   | FileCheck %s --check-prefix=TINY

// What only a state_pass reads is computed by its blocks, which hold a tile of
// the state.
// CHECK-LABEL: func @fused
// TINY-LABEL:  func @fused
func.func @fused(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
                 %d: tensor<?x24x?x128xf32>) -> tensor<?x?x24x64x128xbf16> {
  // CHECK: mamba.chunk_state
  // CHECK-NOT: mamba.plan
  // CHECK: mamba.state_pass
  // CHECK-SAME: #mamba.plan<three_kernel tile[1, 1, 32, 64] stages 3>
  // TINY: mamba.state_pass
  // TINY-SAME: #mamba.plan<three_kernel tile[1, 1, 32, 16] stages 3>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x64xbf16>) B(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x64x128xf32>
  %h = mamba.state_pass states(%s : tensor<?x?x24x64x128xf32>)
      dA_cumsum(%d : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x64x128xbf16>)
  return %h : tensor<?x?x24x64x128xbf16>
}

// -----

// Tiles divide the state, if possible by a multiple of 16.
// CHECK-LABEL: func @odd_tiles
func.func @odd_tiles(%x: tensor<?x?x24x80xbf16>, %B: tensor<?x?x1x36xbf16>,
                     %d: tensor<?x24x?x128xf32>) -> tensor<?x?x24x80x36xbf16> {
  // CHECK: mamba.state_pass
  // CHECK-SAME: #mamba.plan<three_kernel tile[1, 1, 16, 36] stages 3>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x80xbf16>) B(%B : tensor<?x?x1x36xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x80x36xf32>
  %h = mamba.state_pass states(%s : tensor<?x?x24x80x36xf32>)
      dA_cumsum(%d : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x80x36xbf16>)
  return %h : tensor<?x?x24x80x36xbf16>
}

// -----

// Another reader needs the chunks' states whole: two kernels.
// CHECK-LABEL: func @two_readers
func.func @two_readers(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
                       %d: tensor<?x24x?x128xf32>)
    -> (tensor<?x?x24x64x128xf32>, tensor<?x?x24x64x128xbf16>) {
  // CHECK: mamba.chunk_state {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 1, 0, 0] inner[0, 64, 0] warps 8>
  // CHECK: mamba.state_pass {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 16, 0] warps 8>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x64xbf16>) B(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x64x128xf32>
  %h = mamba.state_pass states(%s : tensor<?x?x24x64x128xf32>)
      dA_cumsum(%d : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x64x128xbf16>)
  return %s, %h : tensor<?x?x24x64x128xf32>, tensor<?x?x24x64x128xbf16>
}

// -----

// Plans by hand decide: of the reader, and of what it reads.
// CHECK-LABEL: func @by_hand
func.func @by_hand(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>,
                   %d: tensor<?x24x?x128xf32>)
    -> (tensor<?x?x24x64x128xbf16>, tensor<?x?x24x64x128xbf16>) {
  // CHECK: mamba.chunk_state {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 1, 0, 0]
  // CHECK: mamba.state_pass {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 4, 0]>
  %s = mamba.chunk_state x(%x : tensor<?x?x24x64xbf16>) B(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      -> tensor<?x?x24x64x128xf32>
  %h = mamba.state_pass states(%s : tensor<?x?x24x64x128xf32>)
      dA_cumsum(%d : tensor<?x24x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 4, 0]>}
      -> chunk_states(tensor<?x?x24x64x128xbf16>)
  // CHECK: mamba.chunk_state {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 1, 8, 8]>
  // CHECK: mamba.state_pass {{.*}}#mamba.plan<chunk_parallel tile[1, 1, 16, 0] warps 8>
  %t = mamba.chunk_state x(%x : tensor<?x?x24x64xbf16>) B(%B : tensor<?x?x1x128xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 1, 8, 8]>}
      -> tensor<?x?x24x64x128xf32>
  %i = mamba.state_pass states(%t : tensor<?x?x24x64x128xf32>)
      dA_cumsum(%d : tensor<?x24x?x128xf32>) -> chunk_states(tensor<?x?x24x64x128xbf16>)
  return %h, %i : tensor<?x?x24x64x128xbf16>, tensor<?x?x24x64x128xbf16>
}

// -----

// Rows of the chunk, and columns of the weights, at a time.
// CHECK-LABEL: func @chunk_out
// TINY-LABEL:  func @chunk_out
func.func @chunk_out(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x32xbf16>,
                     %d: tensor<?x24x?x128xf32>, %h: tensor<?x?x24x64x32xbf16>)
    -> tensor<?x?x24x64xbf16> {
  // LARGE: #mamba.plan<three_kernel tile[1, 1, 1, 0] inner[64, 0] reduction 64 stages 1 blocks 2 heads 2>
  // SMALL: #mamba.plan<three_kernel tile[1, 1, 1, 0] inner[64, 0] reduction 64 stages 1 blocks 3>
  // TINY: #mamba.plan<three_kernel tile[1, 1, 1, 16] inner[32, 0] reduction 32 stages 1 blocks 4 heads 2>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x?x24x64xbf16>)
      B(%B : tensor<?x?x1x32xbf16>) C(%B : tensor<?x?x1x32xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      chunk_states(%h : tensor<?x?x24x64x32xbf16>) -> tensor<?x?x24x64xbf16>
  return %y : tensor<?x?x24x64xbf16>
}

// -----

// The target's shared memory bounds the rows; a small chunk bounds both sizes.
// CHECK-LABEL: func @limits
func.func @limits(%x: tensor<?x?x24x256xbf16>, %B: tensor<?x?x1x32xbf16>,
                  %d: tensor<?x24x?x128xf32>, %h: tensor<?x?x24x256x32xbf16>,
                  %e: tensor<?x24x?x16xf32>)
    -> (tensor<?x?x24x256xbf16>, tensor<?x?x24x256xbf16>) {
  // SMALL: #mamba.plan<three_kernel tile[1, 1, 1, 64] inner[64, 0] reduction 64 stages 1 blocks 3>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x?x24x256xbf16>)
      B(%B : tensor<?x?x1x32xbf16>) C(%B : tensor<?x?x1x32xbf16>)
      dt(%d : tensor<?x24x?x128xf32>) dA_cumsum(%d : tensor<?x24x?x128xf32>)
      chunk_states(%h : tensor<?x?x24x256x32xbf16>) -> tensor<?x?x24x256xbf16>
  // CHECK: #mamba.plan<three_kernel tile[1, 1, 1, 0] inner[16, 0] reduction 16 stages 1 blocks
  %z = mamba.chunk_out mask<causal> x(%x : tensor<?x?x24x256xbf16>)
      B(%B : tensor<?x?x1x32xbf16>) C(%B : tensor<?x?x1x32xbf16>)
      dt(%e : tensor<?x24x?x16xf32>) dA_cumsum(%e : tensor<?x24x?x16xf32>)
      chunk_states(%h : tensor<?x?x24x256x32xbf16>) -> tensor<?x?x24x256xbf16>
  return %y, %z : tensor<?x?x24x256xbf16>, tensor<?x?x24x256xbf16>
}
