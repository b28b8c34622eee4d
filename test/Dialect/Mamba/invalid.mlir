// One case for every message of the verifiers; mamba.ssu: invalid-ssu.mlir.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Sizes: dimensions of one role have one size
//===----------------------------------------------------------------------===//

func.func @batch(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected dimension 0 (batch) of 'dt_out' to be 2 as in 'dt', got 3}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      -> tensor<3x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @heads(%dt: tensor<2x?x4xf32>, %A: tensor<5xf32>) {
  // expected-error @+1 {{expected dimension 0 (heads) of 'A' to be 4 as in 'dt', got 5}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<5xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @heads_of_bias(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>, %bias: tensor<1xf32>) {
  // expected-error @+1 {{expected dimension 0 (heads) of 'dt_bias' to be 4 as in 'dt', got 1}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      dt_bias(%bias : tensor<1xf32>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @chunk_size(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected dimension 3 (chunk size) of 'dA_cumsum' to be 16 as in 'chunk_size', got 32}}
  "mamba.chunk_cumsum"(%dt, %A) <{chunk_size = 16 : i64}>
      : (tensor<2x?x4xf32>, tensor<4xf32>) -> (tensor<2x4x?x16xf32>, tensor<2x4x?x32xf32>)
  return
}

// -----

func.func @length(%x: tensor<2x40x4x8xf32>, %B: tensor<2x41x1x6xf32>,
                  %d: tensor<2x4x3x16xf32>) {
  // expected-error @+1 {{expected dimension 1 (length) of 'B' to be 40 as in 'x', got 41}}
  mamba.chunk_state x(%x : tensor<2x40x4x8xf32>) B(%B : tensor<2x41x1x6xf32>)
      dt(%d : tensor<2x4x3x16xf32>) dA_cumsum(%d : tensor<2x4x3x16xf32>)
      -> tensor<2x3x4x8x6xf32>
  return
}

// -----

func.func @length_of_seq_idx(%x: tensor<2x40x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                             %d: tensor<2x4x?x16xf32>, %id: tensor<2x39xi32>) {
  // expected-error @+1 {{expected dimension 1 (length) of 'seq_idx' to be 40 as in 'x', got 39}}
  mamba.chunk_state x(%x : tensor<2x40x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      seq_idx(%id : tensor<2x39xi32>) -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @chunks(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                  %d: tensor<2x4x3x16xf32>, %cs: tensor<2x4x2x16xf32>) {
  // expected-error @+1 {{expected dimension 2 (chunks) of 'dA_cumsum' to be 3 as in 'dt', got 2}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x3x16xf32>) dA_cumsum(%cs : tensor<2x4x2x16xf32>)
      -> tensor<2x3x4x8x6xf32>
  return
}

// -----

func.func @state_dim(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>,
                     %init: tensor<2x4x8x7xf32>) {
  // expected-error @+1 {{expected dimension 3 (state dim) of 'initial_state' to be 6 as in 'states', got 7}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      initial_state(%init : tensor<2x4x8x7xf32>) -> chunk_states(tensor<2x?x4x8x6xf32>)
  return
}

// -----

func.func @chunks_of_results(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected dimension 2 (chunks) of 'dA_cumsum' to be 4 as in 'dt_out', got 3}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      -> tensor<2x4x4x16xf32>, tensor<2x4x3x16xf32>
  return
}

// -----

func.func @head_dim(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected dimension 3 (head dim) of 'chunk_states' to be 8 as in 'states', got 9}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      -> chunk_states(tensor<2x?x4x9x6xf32>)
  return
}

// -----

func.func @heads_of_total_decay(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected dimension 1 (heads) of 'total_decay' to be 4 as in 'states', got 8}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x16xf32>)
      -> chunk_states(tensor<2x?x4x8x6xf32>) total_decay(tensor<2x8xf32>)
  return
}

// -----

func.func @groups(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x2x6xf32>, %C: tensor<2x?x1x6xf32>,
                  %d: tensor<2x4x?x16xf32>, %h: tensor<2x?x4x8x6xf32>) {
  // expected-error @+1 {{expected dimension 2 (groups) of 'C' to be 2 as in 'B', got 1}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x2x6xf32>)
      C(%C : tensor<2x?x1x6xf32>) dt(%d : tensor<2x4x?x16xf32>)
      dA_cumsum(%d : tensor<2x4x?x16xf32>) chunk_states(%h : tensor<2x?x4x8x6xf32>)
      -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @head_dim_of_D(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                         %D: tensor<4x6xf32>, %d: tensor<2x4x?x16xf32>,
                         %h: tensor<2x?x4x8x6xf32>) {
  // expected-error @+1 {{expected dimension 1 (head dim) of 'D' to be 8 as in 'x', got 6}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) dt(%d : tensor<2x4x?x16xf32>)
      dA_cumsum(%d : tensor<2x4x?x16xf32>) chunk_states(%h : tensor<2x?x4x8x6xf32>)
      D(%D : tensor<4x6xf32>) -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @chunks_of_prev_seq_idx(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                                  %id: tensor<2x?xi32>, %prev: tensor<2x4xi32>,
                                  %d: tensor<2x4x3x16xf32>, %h: tensor<2x3x4x8x6xf32>) {
  // expected-error @+1 {{expected dimension 1 (chunks) of 'prev_seq_idx' to be 3 as in 'dt', got 4}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) dt(%d : tensor<2x4x3x16xf32>)
      dA_cumsum(%d : tensor<2x4x3x16xf32>) chunk_states(%h : tensor<2x3x4x8x6xf32>)
      seq_idx(%id : tensor<2x?xi32>) prev_seq_idx(%prev : tensor<2x4xi32>)
      -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @result_of_ssd(%x: tensor<2x40x4x8xf32>, %dt: tensor<2x40x4xf32>,
                         %A: tensor<4xf32>, %B: tensor<2x40x1x6xf32>) {
  // expected-error @+1 {{expected dimension 1 (length) of 'y' to be 40 as in 'x', got 48}}
  mamba.ssd chunk_size(16) x(%x : tensor<2x40x4x8xf32>) dt(%dt : tensor<2x40x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x40x1x6xf32>) C(%B : tensor<2x40x1x6xf32>)
      -> y(tensor<2x48x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Sizes that must be static
//===----------------------------------------------------------------------===//

func.func @dynamic_head_dim(%x: tensor<?x?x4x?xf32>, %B: tensor<?x?x1x6xf32>,
                            %d: tensor<?x4x?x16xf32>) {
  // expected-error @+1 {{expected dimension 3 (head dim) of 'x' to be static}}
  mamba.chunk_state x(%x : tensor<?x?x4x?xf32>) B(%B : tensor<?x?x1x6xf32>)
      dt(%d : tensor<?x4x?x16xf32>) dA_cumsum(%d : tensor<?x4x?x16xf32>)
      -> tensor<?x?x4x8x6xf32>
  return
}

// -----

func.func @dynamic_chunk_size(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x?xf32>) {
  // expected-error @+1 {{expected dimension 3 (chunk size) of 'dA_cumsum' to be static}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x?xf32>)
      -> chunk_states(tensor<2x?x4x8x6xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Relations between sizes
//===----------------------------------------------------------------------===//

func.func @no_group(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x0x6xf32>,
                    %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected at least 1 group, got 0}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x0x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @heads_of_groups(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x3x6xf32>,
                           %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected heads (4) to be a multiple of groups (3)}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x3x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @empty_head_dim(%x: tensor<2x?x4x0xf32>, %B: tensor<2x?x1x6xf32>,
                          %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected head dim to be at least 1, got 0}}
  mamba.chunk_state x(%x : tensor<2x?x4x0xf32>) B(%B : tensor<2x?x1x6xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x0x6xf32>
  return
}

// -----

func.func @empty_state_dim(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x0xf32>,
                           %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected state dim to be at least 1, got 0}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x0xf32>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x0xf32>
  return
}

// -----

func.func @empty_chunk(%s: tensor<2x?x4x8x6xf32>, %cs: tensor<2x4x?x0xf32>) {
  // expected-error @+1 {{expected chunk size to be at least 1, got 0}}
  mamba.state_pass states(%s : tensor<2x?x4x8x6xf32>) dA_cumsum(%cs : tensor<2x4x?x0xf32>)
      -> chunk_states(tensor<2x?x4x8x6xf32>)
  return
}

// -----

func.func @chunks_of_length(%x: tensor<2x33x4x8xf32>, %dt: tensor<2x33x4xf32>,
                            %A: tensor<4xf32>, %B: tensor<2x33x1x6xf32>) {
  // expected-error @+1 {{expected 3 chunks of 16 for length 33, got 2}}
  mamba.ssd chunk_size(16) x(%x : tensor<2x33x4x8xf32>) dt(%dt : tensor<2x33x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x33x1x6xf32>) C(%B : tensor<2x33x1x6xf32>)
      -> y(tensor<2x33x4x8xf32>) chunk_states(tensor<2x2x4x8x6xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

func.func @element_type_of_B(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x6xf16>,
                             %d: tensor<2x4x?x16xf32>) {
  // expected-error @+1 {{expected 'B' to have the element type 'bf16' of 'x', got 'f16'}}
  mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x6xf16>)
      dt(%d : tensor<2x4x?x16xf32>) dA_cumsum(%d : tensor<2x4x?x16xf32>)
      -> tensor<2x?x4x8x6xf32>
  return
}

// -----

func.func @element_type_of_C(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                             %C: tensor<2x?x1x6xbf16>, %d: tensor<2x4x?x16xf32>,
                             %h: tensor<2x?x4x8x6xf32>) {
  // expected-error @+1 {{expected 'C' to have the element type 'f32' of 'x', got 'bf16'}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%C : tensor<2x?x1x6xbf16>) dt(%d : tensor<2x4x?x16xf32>)
      dA_cumsum(%d : tensor<2x4x?x16xf32>) chunk_states(%h : tensor<2x?x4x8x6xf32>)
      -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @element_type_of_z(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>,
                             %A: tensor<4xf32>, %B: tensor<2x?x1x6xf32>,
                             %z: tensor<2x?x4x8xf16>) {
  // expected-error @+1 {{expected 'z' to have the element type 'f32' of 'x', got 'f16'}}
  mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      z(%z : tensor<2x?x4x8xf16>) -> y(tensor<2x?x4x8xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// dt_limit and chunk_size
//===----------------------------------------------------------------------===//

func.func @three_limits(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected 'dt_limit' to hold 2 bounds, got 3}}
  "mamba.chunk_cumsum"(%dt, %A) <{chunk_size = 16 : i64, dt_limit = array<f64: 0.0, 1.0, 2.0>}>
      : (tensor<2x?x4xf32>, tensor<4xf32>) -> (tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>)
  return
}

// -----

func.func @limits_out_of_order(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{expected 'dt_limit' to be ordered, got (1.000000e+00, 5.000000e-01)}}
  mamba.chunk_cumsum chunk_size(16) dt_limit(1.0, 0.5) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @limit_not_a_number(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>,
                              %A: tensor<4xf32>, %B: tensor<2x?x1x6xf32>) {
  // expected-error @+1 {{expected 'dt_limit' to be ordered, got (0.000000e+00, nan)}}
  mamba.ssd chunk_size(16) dt_limit(0.0, 0x7FF8000000000000) x(%x : tensor<2x?x4x8xf32>)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
  return
}

// -----

func.func @limit_not_a_float(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+2 {{unexpected decimal integer literal for a floating point value}}
  // expected-note @+1 {{add a trailing dot to make the literal a float}}
  mamba.chunk_cumsum chunk_size(16) dt_limit(0, 0.5) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

func.func @chunk_size_zero(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>,
                           %A: tensor<4xf32>, %B: tensor<2x?x1x6xf32>) {
  // expected-error @+1 {{attribute 'chunk_size' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  mamba.ssd chunk_size(0) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>)
      -> y(tensor<2x?x4x8xf32>)
  return
}

// -----

func.func @chunk_size_negative(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'chunk_size' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  mamba.chunk_cumsum chunk_size(-16) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// seq_idx
//===----------------------------------------------------------------------===//

func.func @prev_seq_idx_alone(%x: tensor<2x?x4x8xf32>, %B: tensor<2x?x1x6xf32>,
                              %prev: tensor<2x?xi32>, %d: tensor<2x4x?x16xf32>,
                              %h: tensor<2x?x4x8x6xf32>) {
  // expected-error @+1 {{expected 'seq_idx' beside 'prev_seq_idx'}}
  mamba.chunk_out mask<causal> x(%x : tensor<2x?x4x8xf32>) B(%B : tensor<2x?x1x6xf32>)
      C(%B : tensor<2x?x1x6xf32>) dt(%d : tensor<2x4x?x16xf32>)
      dA_cumsum(%d : tensor<2x4x?x16xf32>) chunk_states(%h : tensor<2x?x4x8x6xf32>)
      prev_seq_idx(%prev : tensor<2x?xi32>) -> tensor<2x?x4x8xf32>
  return
}

// -----

func.func @large_block(%dt: tensor<?x?x?xf32>, %A: tensor<?xf32>) {
  // expected-error @+1 {{expected chunk size to be at most 1048576, got 1048577}}
  mamba.chunk_cumsum chunk_size(1048577) dt(%dt : tensor<?x?x?xf32>) A(%A : tensor<?xf32>)
      -> tensor<?x?x?x1048577xf32>, tensor<?x?x?x1048577xf32>
  return
}

// -----

func.func @many_elements(%dt: tensor<4294967296x?x268435456xf32>, %A: tensor<268435456xf32>) {
  // expected-error @+1 {{expected the product of all static sizes to be less than 2^60}}
  mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<4294967296x?x268435456xf32>) A(%A : tensor<268435456xf32>)
      -> tensor<4294967296x268435456x?x16xf32>, tensor<4294967296x268435456x?x16xf32>
  return
}
