// RUN: mamba-opt %s --mamba-tile --split-input-file --verify-diagnostics
// RUN: not mamba-opt %s --mamba-tile=loops=while --split-input-file 2>&1 \
// RUN:   | FileCheck %s

// CHECK: error: expected option 'loops' to be 'forall' or 'for', got 'while'

func.func @too_few_sizes(%dt: tensor<2x?x24xbf16>, %A: tensor<24xf32>) -> tensor<2x24x?x128xf32> {
  // expected-error @+1 {{'mamba.chunk_cumsum' op expected 3 tile sizes, got 2}}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x?x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1]>}
      -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
  return %cs : tensor<2x24x?x128xf32>
}

// -----

func.func @too_many_sizes(%dt: tensor<2x?x24xbf16>, %A: tensor<24xf32>) -> tensor<2x24x?x128xf32> {
  // expected-error @+1 {{expected 3 tile sizes, got 4}}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x?x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 1, 0]>}
      -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
  return %cs : tensor<2x24x?x128xf32>
}

// -----

func.func @does_not_divide(%dt: tensor<2x?x24xbf16>, %A: tensor<24xf32>) -> tensor<2x24x?x128xf32> {
  // expected-error @+1 {{expected tile size 5 of loop 1 to divide a static extent, got 24}}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x?x24xbf16>)
      A(%A : tensor<24xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 5, 1]>}
      -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
  return %cs : tensor<2x24x?x128xf32>
}

// -----

func.func @larger_than_extent(%s: tensor<2x?x24x8x16xf32>, %cs: tensor<2x24x?x128xf32>)
    -> tensor<2x?x24x8x16xf32> {
  // expected-error @+1 {{expected tile size 16 of loop 2 to divide a static extent, got 8}}
  %h = mamba.state_pass states(%s : tensor<2x?x24x8x16xf32>)
      dA_cumsum(%cs : tensor<2x24x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 16, 0]>}
      -> chunk_states(tensor<2x?x24x8x16xf32>)
  return %h : tensor<2x?x24x8x16xf32>
}

// -----

func.func @dynamic_extent(%dt: tensor<2x?x?xbf16>, %A: tensor<?xf32>) -> tensor<2x?x?x128xf32> {
  // expected-error @+1 {{expected tile size 2 of loop 2 to divide a static extent}}
  %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : tensor<2x?x?xbf16>)
      A(%A : tensor<?xf32>) {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 2]>}
      -> tensor<2x?x?x128xf32>, tensor<2x?x?x128xf32>
  return %cs : tensor<2x?x?x128xf32>
}

// -----

// The tiling driver adds errors of its own to those of the operation.

func.func @heads_of_two_groups(%x: tensor<2x?x6x64xbf16>, %B: tensor<2x?x3x128xbf16>,
                               %d: tensor<2x6x?x128xf32>) -> tensor<2x?x6x64x128xf32> {
  // expected-error @+3 {{expected a tile of 1 head, one group's heads or all heads}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %s = mamba.chunk_state x(%x : tensor<2x?x6x64xbf16>) B(%B : tensor<2x?x3x128xbf16>)
      dt(%d : tensor<2x6x?x128xf32>) dA_cumsum(%d : tensor<2x6x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 3, 0, 0]>} -> tensor<2x?x6x64x128xf32>
  return %s : tensor<2x?x6x64x128xf32>
}

// -----

func.func @heads_of_dynamic_groups(%x: tensor<2x?x6x64xbf16>, %B: tensor<2x?x?x128xbf16>,
                                   %d: tensor<2x6x?x128xf32>) -> tensor<2x?x6x64x128xf32> {
  // expected-error @+3 {{expected a tile of 1 head, one group's heads or all heads}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %s = mamba.chunk_state x(%x : tensor<2x?x6x64xbf16>) B(%B : tensor<2x?x?x128xbf16>)
      dt(%d : tensor<2x6x?x128xf32>) dA_cumsum(%d : tensor<2x6x?x128xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 2, 0, 0]>} -> tensor<2x?x6x64x128xf32>
  return %s : tensor<2x?x6x64x128xf32>
}

// -----

func.func @ids_of_several_chunks(%x: tensor<2x256x8x64xbf16>, %B: tensor<2x256x1x32xbf16>,
                                 %id: tensor<2x256xi32>, %d: tensor<2x8x4x64xf32>,
                                 %h: tensor<2x4x8x64x32xbf16>) -> tensor<2x256x8x64xbf16> {
  // expected-error @+3 {{expected a tile of 1 sequence and 1 chunk with 'seq_idx'}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %y = mamba.chunk_out mask<causal> x(%x : tensor<2x256x8x64xbf16>)
      B(%B : tensor<2x256x1x32xbf16>) C(%B : tensor<2x256x1x32xbf16>)
      dt(%d : tensor<2x8x4x64xf32>) dA_cumsum(%d : tensor<2x8x4x64xf32>)
      chunk_states(%h : tensor<2x4x8x64x32xbf16>) seq_idx(%id : tensor<2x256xi32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 2, 1, 0]>} -> tensor<2x256x8x64xbf16>
  return %y : tensor<2x256x8x64xbf16>
}

// -----

func.func @several_rows(%state: tensor<8x6x16x8xf32>, %x: tensor<4x6x16xf32>,
                        %dt: tensor<4x6xf32>, %A: tensor<6xf32>, %B: tensor<4x1x8xf32>)
    -> tensor<4x6x16xf32> {
  // expected-error @+3 {{expected a tile of 1 row or all rows}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %y = mamba.ssu disable_state_update state(%state : tensor<8x6x16x8xf32>)
      x(%x : tensor<4x6x16xf32>) dt(%dt : tensor<4x6xf32>) A(%A : tensor<6xf32>)
      B(%B : tensor<4x1x8xf32>) C(%B : tensor<4x1x8xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [2, 1, 0]>} -> y(tensor<4x6x16xf32>)
  return %y : tensor<4x6x16xf32>
}

// -----

func.func @heads_of_rows(%state: tensor<8x6x16x8xf32>, %x: tensor<4x6x16xf32>,
                         %dt: tensor<4x6xf32>, %A: tensor<6xf32>, %B: tensor<4x3x8xf32>)
    -> tensor<4x6x16xf32> {
  // expected-error @+3 {{expected a tile of 1 head, one group's heads or all heads}}
  // expected-error @+2 {{tile operation}}
  // expected-error @+1 {{failed to generate tiling loops}}
  %y = mamba.ssu disable_state_update state(%state : tensor<8x6x16x8xf32>)
      x(%x : tensor<4x6x16xf32>) dt(%dt : tensor<4x6xf32>) A(%A : tensor<6xf32>)
      B(%B : tensor<4x3x8xf32>) C(%B : tensor<4x3x8xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 3, 0]>} -> y(tensor<4x6x16xf32>)
  return %y : tensor<4x6x16xf32>
}
