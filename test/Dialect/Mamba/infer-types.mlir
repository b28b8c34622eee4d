// Operands and results may know different sizes statically, as long as the
// sizes agree.

// RUN: mamba-opt %s | FileCheck %s
// RUN: mamba-opt %s --mamba-decompose-ssd --canonicalize \
// RUN:   | FileCheck %s --check-prefix=CHUNKS

// CHECK-LABEL: func @static_operands
func.func @static_operands(%dt: tensor<2x33x4xf32>, %A: tensor<4xf32>)
    -> (tensor<?x?x?x16xf32>, tensor<2x?x3x16xf32>) {
  // CHECK: -> tensor<?x?x?x16xf32>, tensor<2x?x3x16xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x33x4xf32>)
      A(%A : tensor<4xf32>) -> tensor<?x?x?x16xf32>, tensor<2x?x3x16xf32>
  return %d, %cs : tensor<?x?x?x16xf32>, tensor<2x?x3x16xf32>
}

// CHECK-LABEL: func @static_results
func.func @static_results(%dt: tensor<?x?x?xf32>, %A: tensor<?xf32>)
    -> (tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>) {
  // CHECK: -> tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x?x?xf32>)
      A(%A : tensor<?xf32>) -> tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
  return %d, %cs : tensor<2x4x3x16xf32>, tensor<2x4x3x16xf32>
}

// CHECK-LABEL: func @mixed_chunk_state
func.func @mixed_chunk_state(%x: tensor<2x?x?x8xf32>, %B: tensor<?x33x2x6xf32>,
                             %d: tensor<?x4x?x16xf32>) -> tensor<?x3x?x8x6xf32> {
  // CHECK: -> tensor<?x3x?x8x6xf32>
  %s = mamba.chunk_state x(%x : tensor<2x?x?x8xf32>) B(%B : tensor<?x33x2x6xf32>)
      dt(%d : tensor<?x4x?x16xf32>) dA_cumsum(%d : tensor<?x4x?x16xf32>)
      -> tensor<?x3x?x8x6xf32>
  return %s : tensor<?x3x?x8x6xf32>
}

// The chunk operations that replace ssd infer their types from its operands,
// and the results keep the types that ssd had.
// CHECK-LABEL:  func @mixed_ssd
// CHUNKS-LABEL: func @mixed_ssd
func.func @mixed_ssd(%x: tensor<?x?x?x8xbf16>, %dt: tensor<?x40x?xbf16>, %A: tensor<?xf32>,
                     %B: tensor<2x?x?x6xbf16>)
    -> (tensor<2x40x4x8xbf16>, tensor<?x?x4x8x6xbf16>, tensor<2x?x8x6xf32>, tensor<?x4xf32>) {
  // CHUNKS: mamba.chunk_cumsum {{.*}} -> tensor<?x?x3x16xf32>, tensor<?x?x3x16xf32>
  // CHUNKS: mamba.chunk_state {{.*}} -> tensor<?x3x?x8x6xf32>
  // CHUNKS: mamba.state_pass {{.*}} -> chunk_states(tensor<?x?x4x8x6xbf16>)
  // CHUNKS-SAME: final_state(tensor<2x?x8x6xf32>) total_decay(tensor<?x4xf32>)
  // CHUNKS: mamba.chunk_out {{.*}} -> tensor<2x40x4x8xbf16>
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) x(%x : tensor<?x?x?x8xbf16>)
      dt(%dt : tensor<?x40x?xbf16>) A(%A : tensor<?xf32>) B(%B : tensor<2x?x?x6xbf16>)
      C(%B : tensor<2x?x?x6xbf16>) -> y(tensor<2x40x4x8xbf16>)
      chunk_states(tensor<?x?x4x8x6xbf16>) final_state(tensor<2x?x8x6xf32>)
      total_decay(tensor<?x4xf32>)
  return %y, %h, %last, %decay : tensor<2x40x4x8xbf16>, tensor<?x?x4x8x6xbf16>,
      tensor<2x?x8x6xf32>, tensor<?x4xf32>
}
