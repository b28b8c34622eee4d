// Operations of which a static size says that there is nothing to loop over.
// Their tensors cannot be sliced, so they are not tiled.

// RUN: mamba-opt %s --mamba-tile=loops=for --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-to-linalg --split-input-file | FileCheck %s

// CHECK-LABEL: func @no_token
func.func @no_token(%x: tensor<?x0x4x8xbf16>, %dt: tensor<?x0x4xbf16>, %A: tensor<4xf32>,
                    %B: tensor<?x0x1x6xbf16>, %h: tensor<?x0x4x8x6xbf16>)
    -> (tensor<?x4x0x16xf32>, tensor<?x0x4x8x6xf32>, tensor<?x0x4x8xbf16>) {
  // CHECK-NOT: scf
  // CHECK-NOT: mamba.
  // CHECK-DAG: %[[S:.+]] = tensor.empty(%{{.+}}) : tensor<?x0x4x8x6xf32>
  // CHECK-DAG: %[[Y:.+]] = tensor.empty(%{{.+}}) : tensor<?x0x4x8xbf16>
  // CHECK: return %{{.+}}, %[[S]], %[[Y]] : tensor<?x4x0x16xf32>,
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x0x4xbf16>) A(%A : tensor<4xf32>)
      -> tensor<?x4x0x16xf32>, tensor<?x4x0x16xf32>
  %s = mamba.chunk_state x(%x : tensor<?x0x4x8xbf16>) B(%B : tensor<?x0x1x6xbf16>)
      dt(%d : tensor<?x4x0x16xf32>) dA_cumsum(%cs : tensor<?x4x0x16xf32>)
      -> tensor<?x0x4x8x6xf32>
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x0x4x8xbf16>) B(%B : tensor<?x0x1x6xbf16>)
      C(%B : tensor<?x0x1x6xbf16>) dt(%d : tensor<?x4x0x16xf32>)
      dA_cumsum(%cs : tensor<?x4x0x16xf32>) chunk_states(%h : tensor<?x0x4x8x6xbf16>)
      -> tensor<?x0x4x8xbf16>
  return %cs, %s, %y : tensor<?x4x0x16xf32>, tensor<?x0x4x8x6xf32>, tensor<?x0x4x8xbf16>
}

// -----

// An empty sequence passes the initial state, in the type of the final one.
// CHECK-LABEL: func @no_chunk
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<?x4x8x6xbf16>
func.func @no_chunk(%init: tensor<?x4x8x6xbf16>, %s: tensor<?x0x4x8x6xf32>,
                    %cs: tensor<?x4x0x16xf32>)
    -> (tensor<?x0x4x8x6xbf16>, tensor<?x4x8x6xf16>, tensor<?x4xf32>) {
  // CHECK-NOT: scf
  // CHECK: %[[H:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x0x4x8x6xbf16>)
  // CHECK: %[[LAST:.+]] = linalg.generic {{.*}} ins(%[[INIT]] : tensor<?x4x8x6xbf16>) outs(%{{.+}} : tensor<?x4x8x6xf16>)
  // CHECK: %[[WIDE:.+]] = arith.extf %{{.+}} : bf16 to f32
  // CHECK: arith.truncf %[[WIDE]] : f32 to f16
  // CHECK: %[[DECAY:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x4xf32>)
  // CHECK: linalg.yield %cst{{.*}} : f32
  // CHECK: return %[[H]], %[[LAST]], %[[DECAY]]
  %h, %last, %decay = mamba.state_pass states(%s : tensor<?x0x4x8x6xf32>)
      dA_cumsum(%cs : tensor<?x4x0x16xf32>) initial_state(%init : tensor<?x4x8x6xbf16>)
      -> chunk_states(tensor<?x0x4x8x6xbf16>) final_state(tensor<?x4x8x6xf16>)
         total_decay(tensor<?x4xf32>)
  return %h, %last, %decay : tensor<?x0x4x8x6xbf16>, tensor<?x4x8x6xf16>, tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func @no_row
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x4x8x6xf32>
func.func @no_row(%state: tensor<?x4x8x6xf32>, %x: tensor<0x4x8xbf16>, %dt: tensor<0x4xbf16>,
                  %A: tensor<4xf32>, %B: tensor<0x1x6xbf16>)
    -> (tensor<0x4x8xbf16>, tensor<9x4x8x6xf32>) {
  // CHECK-NOT: scf
  // CHECK: %[[NEW:.+]] = tensor.cast %[[STATE]] : tensor<?x4x8x6xf32> to tensor<9x4x8x6xf32>
  // CHECK: return %{{.+}}, %[[NEW]] : tensor<0x4x8xbf16>
  %y, %new = mamba.ssu state(%state : tensor<?x4x8x6xf32>) x(%x : tensor<0x4x8xbf16>)
      dt(%dt : tensor<0x4xbf16>) A(%A : tensor<4xf32>) B(%B : tensor<0x1x6xbf16>)
      C(%B : tensor<0x1x6xbf16>) -> y(tensor<0x4x8xbf16>) new_state(tensor<9x4x8x6xf32>)
  return %y, %new : tensor<0x4x8xbf16>, tensor<9x4x8x6xf32>
}

// -----

// Without a slot every row is a pad.
// CHECK-LABEL: func @no_slot
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<0x4x8x6xf32>
func.func @no_slot(%state: tensor<0x4x8x6xf32>, %x: tensor<?x4x8xbf16>, %dt: tensor<?x4xbf16>,
                   %A: tensor<4xf32>, %B: tensor<?x1x6xbf16>)
    -> (tensor<?x4x8xbf16>, tensor<0x4x8x6xf32>, tensor<?x1x4x8x6xf32>) {
  // CHECK-NOT: scf
  // CHECK: %[[Y:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x4x8xbf16>)
  // CHECK: %[[BETWEEN:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x1x4x8x6xf32>)
  // CHECK: return %[[Y]], %[[STATE]], %[[BETWEEN]]
  %y, %new, %between = mamba.ssu state(%state : tensor<0x4x8x6xf32>) x(%x : tensor<?x4x8xbf16>)
      dt(%dt : tensor<?x4xbf16>) A(%A : tensor<4xf32>) B(%B : tensor<?x1x6xbf16>)
      C(%B : tensor<?x1x6xbf16>) -> y(tensor<?x4x8xbf16>) new_state(tensor<0x4x8x6xf32>)
      intermediate_states(tensor<?x1x4x8x6xf32>)
  return %y, %new, %between
      : tensor<?x4x8xbf16>, tensor<0x4x8x6xf32>, tensor<?x1x4x8x6xf32>
}
