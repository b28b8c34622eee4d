// RUN: mamba-opt %s --mamba-decompose-ssd --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-decompose-ssd=target=sm_90a --split-input-file \
// RUN:   | FileCheck %s --check-prefix=GPU
// RUN: mamba-opt %s --mamba-decompose-ssd=chunk=32 --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SMALL

// CHECK-LABEL: func @least
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x4x8xbf16>, %[[DT:[a-z0-9]+]]: tensor<?x?x4xf16>, %[[A:[a-z0-9]+]]: tensor<4xf32>, %[[B:[a-z0-9]+]]: tensor<?x?x2x6xbf16>, %[[C:[a-z0-9]+]]: tensor<?x?x2x6xbf16>
func.func @least(%x: tensor<?x?x4x8xbf16>, %dt: tensor<?x?x4xf16>, %A: tensor<4xf32>,
                 %B: tensor<?x?x2x6xbf16>, %C: tensor<?x?x2x6xbf16>)
    -> tensor<?x?x4x8xbf16> {
  // CHECK: %[[D:.+]], %[[CS:.+]] = mamba.chunk_cumsum chunk_size(16) dt(%[[DT]] : tensor<?x?x4xf16>) A(%[[A]] : tensor<4xf32>)
  // CHECK-SAME: -> tensor<?x4x?x16xf32>, tensor<?x4x?x16xf32>
  // CHECK: %[[S:.+]] = mamba.chunk_state x(%[[X]] : {{.*}}) B(%[[B]] : {{.*}}) dt(%[[D]] : {{.*}}) dA_cumsum(%[[CS]] : tensor<?x4x?x16xf32>)
  // CHECK-SAME: -> tensor<?x?x4x8x6xf32>
  // The states have the type in which chunk_out multiplies them.
  // CHECK: %[[H:.+]] = mamba.state_pass states(%[[S]] : {{.*}}) dA_cumsum(%[[CS]] : tensor<?x4x?x16xf32>)
  // CHECK-SAME: -> chunk_states(tensor<?x?x4x8x6xbf16>){{$}}
  // CHECK: %[[Y:.+]] = mamba.chunk_out mask<causal> x(%[[X]] : {{.*}}) B(%[[B]] : {{.*}}) C(%[[C]] : {{.*}}) dt(%[[D]] : {{.*}}) dA_cumsum(%[[CS]] : {{.*}}) chunk_states(%[[H]] : tensor<?x?x4x8x6xbf16>)
  // CHECK-SAME: -> tensor<?x?x4x8xbf16>
  // CHECK: return %[[Y]]
  %y = mamba.ssd chunk_size(16) x(%x : tensor<?x?x4x8xbf16>) dt(%dt : tensor<?x?x4xf16>)
      A(%A : tensor<4xf32>) B(%B : tensor<?x?x2x6xbf16>) C(%C : tensor<?x?x2x6xbf16>)
      -> y(tensor<?x?x4x8xbf16>)
  return %y : tensor<?x?x4x8xbf16>
}

// -----

// CHECK-LABEL: func @all
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x4x8xbf16>, %[[Z:[a-z0-9]+]]: tensor<?x?x4x8xbf16>, %[[D:[a-z0-9]+]]: tensor<4xf32>, %[[BIAS:[a-z0-9]+]]: tensor<4xf16>, %[[INIT:[a-z0-9]+]]: tensor<?x4x8x6xf16>, %[[ID:[a-z0-9]+]]: tensor<?x?xi32> {mamba.runs}
func.func @all(%x: tensor<?x?x4x8xbf16>, %z: tensor<?x?x4x8xbf16>, %D: tensor<4xf32>,
               %bias: tensor<4xf16>, %init: tensor<?x4x8x6xf16>, %id: tensor<?x?xi32>,
               %dt: tensor<?x?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x?x2x6xbf16>)
    -> (tensor<?x?x4x8xbf16>, tensor<?x?x4x8x6xf32>, tensor<?x4x8x6xf16>, tensor<?x4xf32>) {
  // CHECK: mamba.chunk_cumsum chunk_size(16) softplus dt_limit(1.000000e-03, inf)
  // CHECK-SAME: dt_bias(%[[BIAS]] : tensor<4xf16>)
  // CHECK: mamba.chunk_state {{.*}} seq_idx(%[[ID]] : tensor<?x?xi32>)
  // The caller reads the states: they keep the caller's type.
  // CHECK: %[[H:.+]], %[[LAST:.+]], %[[DECAY:.+]] = mamba.state_pass
  // CHECK-SAME: initial_state(%[[INIT]] : tensor<?x4x8x6xf16>) seq_idx(%[[ID]] : tensor<?x?xi32>)
  // CHECK-SAME: -> chunk_states(tensor<?x?x4x8x6xf32>) final_state(tensor<?x4x8x6xf16>) total_decay(tensor<?x4xf32>)
  // CHECK: %[[Y:.+]] = mamba.chunk_out
  // CHECK-SAME: chunk_states(%[[H]] : tensor<?x?x4x8x6xf32>) D(%[[D]] : tensor<4xf32>) z(%[[Z]] : tensor<?x?x4x8xbf16>)
  // CHECK-SAME: seq_idx(%[[ID]] : tensor<?x?xi32>)
  // CHECK-NOT: prev_seq_idx
  // CHECK: return %[[Y]], %[[H]], %[[LAST]], %[[DECAY]]
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) softplus dt_limit(1.0e-3, inf)
      x(%x : tensor<?x?x4x8xbf16>) dt(%dt : tensor<?x?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x?x2x6xbf16>) C(%B : tensor<?x?x2x6xbf16>) D(%D : tensor<4xf32>)
      z(%z : tensor<?x?x4x8xbf16>) dt_bias(%bias : tensor<4xf16>)
      initial_state(%init : tensor<?x4x8x6xf16>) seq_idx(%id : tensor<?x?xi32>)
      -> y(tensor<?x?x4x8xbf16>) chunk_states(tensor<?x?x4x8x6xf32>)
         final_state(tensor<?x4x8x6xf16>) total_decay(tensor<?x4xf32>)
  return %y, %h, %last, %decay : tensor<?x?x4x8xbf16>, tensor<?x?x4x8x6xf32>,
      tensor<?x4x8x6xf16>, tensor<?x4xf32>
}

// -----

// One of the optional results; nested operations and several in a function.
// CHECK-LABEL: func @nested
func.func @nested(%x: tensor<?x?x4x8xf32>, %dt: tensor<?x?x4xf32>, %A: tensor<4xf32>,
                  %B: tensor<?x?x1x6xf32>, %again: i1)
    -> (tensor<?x?x4x8xf32>, tensor<?x4xf32>) {
  // CHECK: %{{.+}}, %[[DECAY:.+]] = mamba.state_pass
  // CHECK-SAME: -> chunk_states(tensor<?x?x4x8x6xf32>) total_decay(tensor<?x4xf32>)
  // CHECK: %[[FIRST:.+]] = mamba.chunk_out
  %first, %decay = mamba.ssd chunk_size(16) x(%x : tensor<?x?x4x8xf32>)
      dt(%dt : tensor<?x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>)
      C(%B : tensor<?x?x1x6xf32>) -> y(tensor<?x?x4x8xf32>) total_decay(tensor<?x4xf32>)
  // CHECK: scf.if
  // CHECK:   mamba.chunk_state x(%[[FIRST]] :
  // CHECK:   %[[SECOND:.+]] = mamba.chunk_out mask<causal> x(%[[FIRST]] :
  // CHECK:   scf.yield %[[SECOND]]
  %y = scf.if %again -> tensor<?x?x4x8xf32> {
    %second = mamba.ssd chunk_size(16) x(%first : tensor<?x?x4x8xf32>)
        dt(%dt : tensor<?x?x4xf32>) A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>)
        C(%B : tensor<?x?x1x6xf32>) -> y(tensor<?x?x4x8xf32>)
    scf.yield %second : tensor<?x?x4x8xf32>
  } else {
    scf.yield %first : tensor<?x?x4x8xf32>
  }
  return %y, %decay : tensor<?x?x4x8xf32>, tensor<?x4xf32>
}

// -----

// A GPU computes in chunks of its own choice, unless the caller sees the
// chunks: in their states, or in what padding in front of a sequence ends.
// CHECK-LABEL: func @chunks
// GPU-LABEL:   func @chunks
// SMALL-LABEL: func @chunks
func.func @chunks(%x: tensor<?x?x4x8xf32>, %dt: tensor<?x?x4xf32>, %A: tensor<4xf32>,
                  %B: tensor<?x?x1x6xf32>, %id: tensor<?x?xi32>)
    -> (tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32>, tensor<?x?x4x8x6xf32>, tensor<?x?x4x8xf32>,
        tensor<?x?x4x8xf32>) {
  // CHECK: mamba.chunk_cumsum chunk_size(256)
  // GPU: mamba.chunk_cumsum chunk_size(128)
  // SMALL: mamba.chunk_cumsum chunk_size(32)
  %r0 = mamba.ssd chunk_size(256) x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>) C(%B : tensor<?x?x1x6xf32>)
      -> y(tensor<?x?x4x8xf32>)
  // CHECK: mamba.chunk_cumsum chunk_size(256)
  // GPU: mamba.chunk_cumsum chunk_size(256)
  // SMALL: mamba.chunk_cumsum chunk_size(256)
  %r1, %h = mamba.ssd chunk_size(256) x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>) C(%B : tensor<?x?x1x6xf32>)
      -> y(tensor<?x?x4x8xf32>) chunk_states(tensor<?x?x4x8x6xf32>)
  // CHECK: mamba.chunk_cumsum chunk_size(256)
  // GPU: mamba.chunk_cumsum chunk_size(256)
  // SMALL: mamba.chunk_cumsum chunk_size(256)
  %r2 = mamba.ssd chunk_size(256) x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>) C(%B : tensor<?x?x1x6xf32>)
      seq_idx(%id : tensor<?x?xi32>) -> y(tensor<?x?x4x8xf32>)
  // CHECK: mamba.chunk_cumsum chunk_size(64)
  // GPU: mamba.chunk_cumsum chunk_size(64)
  // SMALL: mamba.chunk_cumsum chunk_size(32)
  %r3 = mamba.ssd chunk_size(64) x(%x : tensor<?x?x4x8xf32>) dt(%dt : tensor<?x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<?x?x1x6xf32>) C(%B : tensor<?x?x1x6xf32>)
      -> y(tensor<?x?x4x8xf32>)
  return %r0, %r1, %h, %r2, %r3 : tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32>,
      tensor<?x?x4x8x6xf32>, tensor<?x?x4x8xf32>, tensor<?x?x4x8xf32>
}
