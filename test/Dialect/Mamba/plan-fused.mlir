// Plans of scans in one kernel: tiles that meet, as many warps as hold the state.

// RUN: mamba-opt %s --mamba-decompose-ssd="target=sm_90a schedule=fused" \
// RUN:   --mamba-plan=schedule=fused --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-decompose-ssd="target=sm_90a schedule=segmented" \
// RUN:   --mamba-plan=schedule=segmented --split-input-file | FileCheck %s --check-prefix=SEGMENT

// CHECK-LABEL: func @small
// CHECK: mamba.chunk_cumsum chunk_size(64) {{.*}}#mamba.plan<fused tile[1, 1, 1] stages 2>
// CHECK-NOT: mamba.chunk_state {{.*}}mamba.plan
// CHECK: mamba.state_pass {{.*}}#mamba.plan<fused tile[1, 1, 64, 64] stages 2>
// CHECK: mamba.chunk_out {{.*}}#mamba.plan<fused tile[1, 1, 1, 0] stages 2>
// SEGMENT-LABEL: func @small
// SEGMENT: mamba.state_pass {{.*}}#mamba.plan<segmented tile[1, 1, 64, 64] stages 2 segment 32>
func.func @small(%x: tensor<?x?x8x64xbf16>, %dt: tensor<?x?x8xf32>, %A: tensor<8xf32>, %B: tensor<?x?x1x64xbf16>, %C: tensor<?x?x1x64xbf16>)
    -> tensor<?x?x8x64xbf16> {
  %y = mamba.ssd chunk_size(128) x(%x : tensor<?x?x8x64xbf16>) dt(%dt : tensor<?x?x8xf32>) A(%A : tensor<8xf32>)
      B(%B : tensor<?x?x1x64xbf16>) C(%C : tensor<?x?x1x64xbf16>) -> y(tensor<?x?x8x64xbf16>)
  return %y : tensor<?x?x8x64xbf16>
}

// -----

// Half of the head dim's rows in a block of 8 warps.
// CHECK-LABEL: func @large
// CHECK: mamba.state_pass {{.*}}#mamba.plan<fused tile[1, 1, 64, 128] warps 8 stages 2>
// CHECK: mamba.chunk_out {{.*}}#mamba.plan<fused tile[1, 1, 1, 64] warps 8 stages 2>
func.func @large(%x: tensor<?x?x8x128xbf16>, %dt: tensor<?x?x8xf32>, %A: tensor<8xf32>, %B: tensor<?x?x1x128xbf16>, %C: tensor<?x?x1x128xbf16>)
    -> tensor<?x?x8x128xbf16> {
  %y = mamba.ssd chunk_size(64) x(%x : tensor<?x?x8x128xbf16>) dt(%dt : tensor<?x?x8xf32>) A(%A : tensor<8xf32>)
      B(%B : tensor<?x?x1x128xbf16>) C(%C : tensor<?x?x1x128xbf16>) -> y(tensor<?x?x8x128xbf16>)
  return %y : tensor<?x?x8x128xbf16>
}

// -----

// The chunk belongs to the states: its sums stay a kernel, its rows are taken
// some at a time.
// CHECK-LABEL: func @own_chunk
// CHECK: mamba.chunk_cumsum chunk_size(128) {{.*}}#mamba.plan<chunk_parallel
// CHECK: mamba.state_pass {{.*}}#mamba.plan<fused tile[1, 1, 64, 64] reduction 64 warps 8 stages 2>
// CHECK: mamba.chunk_out {{.*}}#mamba.plan<fused tile[1, 1, 1, 0] inner[32, 0] reduction 64 warps 8 stages 2>
func.func @own_chunk(%x: tensor<?x?x8x64xbf16>, %dt: tensor<?x?x8xf32>, %A: tensor<8xf32>, %B: tensor<?x?x1x64xbf16>, %C: tensor<?x?x1x64xbf16>)
    -> (tensor<?x?x8x64xbf16>, tensor<?x?x8x64x64xf32>) {
  %y, %s = mamba.ssd chunk_size(128) x(%x : tensor<?x?x8x64xbf16>) dt(%dt : tensor<?x?x8xf32>) A(%A : tensor<8xf32>)
      B(%B : tensor<?x?x1x64xbf16>) C(%C : tensor<?x?x1x64xbf16>) -> y(tensor<?x?x8x64xbf16>) chunk_states(tensor<?x?x8x64x64xf32>)
  return %y, %s : tensor<?x?x8x64xbf16>, tensor<?x?x8x64x64xf32>
}
