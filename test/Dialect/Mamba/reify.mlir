// RUN: mamba-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize \
// RUN:   --cse --split-input-file | FileCheck %s

// CHECK: #[[$CHUNKS:.+]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-LABEL: func @chunk_cumsum
// CHECK-SAME:    %[[DT:[a-z0-9]+]]: tensor<?x?x?xf32>, %[[A:[a-z0-9]+]]: tensor<?xf32>
func.func @chunk_cumsum(%dt: tensor<?x?x?xf32>, %A: tensor<?xf32>)
    -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // CHECK-DAG: %[[Q:.+]] = arith.constant 16 : index
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[DT]], %c0
  // CHECK-DAG: %[[LENGTH:.+]] = tensor.dim %[[DT]], %c1
  // CHECK-DAG: %[[HEADS:.+]] = tensor.dim %[[DT]], %c2
  // CHECK-DAG: %[[NC:.+]] = affine.apply #[[$CHUNKS]]()[%[[LENGTH]]]
  // CHECK: return %[[BATCH]], %[[HEADS]], %[[NC]], %[[Q]]
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x?x?xf32>)
      A(%A : tensor<?xf32>) -> tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>
  %b = tensor.dim %d, %c0 : tensor<?x?x?x16xf32>
  %h = tensor.dim %cs, %c1 : tensor<?x?x?x16xf32>
  %nc = tensor.dim %cs, %c2 : tensor<?x?x?x16xf32>
  %q = tensor.dim %cs, %c3 : tensor<?x?x?x16xf32>
  return %b, %h, %nc, %q : index, index, index, index
}

// -----

// What another operand knows statically is a constant.
// CHECK-LABEL: func @chunk_cumsum_static_elsewhere
func.func @chunk_cumsum_static_elsewhere(%dt: tensor<?x33x?xf32>, %A: tensor<4xf32>)
    -> (index, index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[C3:.+]] = arith.constant 3 : index
  // CHECK-DAG: %[[C4:.+]] = arith.constant 4 : index
  // CHECK-NOT: mamba.chunk_cumsum
  // CHECK: return %[[C4]], %[[C3]]
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x33x?xf32>)
      A(%A : tensor<4xf32>) -> tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>
  %h = tensor.dim %cs, %c1 : tensor<?x?x?x16xf32>
  %nc = tensor.dim %cs, %c2 : tensor<?x?x?x16xf32>
  return %h, %nc : index, index
}

// -----

// The number of chunks is a dimension of an operand: nothing to compute.
// CHECK-LABEL: func @chunk_state
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x?x8xf32>, %[[B:[a-z0-9]+]]: tensor<?x?x?x6xf32>, %[[D:[a-z0-9]+]]: tensor<?x?x?x16xf32>
func.func @chunk_state(%x: tensor<?x?x?x8xf32>, %B: tensor<?x?x?x6xf32>,
                       %d: tensor<?x?x?x16xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[NC:.+]] = tensor.dim %[[D]], %c2
  // CHECK-DAG: %[[HEADS:.+]] = tensor.dim %[[X]], %c2
  // CHECK: return %[[BATCH]], %[[NC]], %[[HEADS]]
  %s = mamba.chunk_state x(%x : tensor<?x?x?x8xf32>) B(%B : tensor<?x?x?x6xf32>)
      dt(%d : tensor<?x?x?x16xf32>) dA_cumsum(%d : tensor<?x?x?x16xf32>)
      -> tensor<?x?x?x8x6xf32>
  %b = tensor.dim %s, %c0 : tensor<?x?x?x8x6xf32>
  %nc = tensor.dim %s, %c1 : tensor<?x?x?x8x6xf32>
  %h = tensor.dim %s, %c2 : tensor<?x?x?x8x6xf32>
  return %b, %nc, %h : index, index, index
}

// -----

// CHECK-LABEL: func @state_pass
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<?x?x?x8x6xf32>
func.func @state_pass(%s: tensor<?x?x?x8x6xf32>, %cs: tensor<?x?x?x16xf32>)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-DAG: %[[NC:.+]] = tensor.dim %[[S]], %c1
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[S]], %c0
  // CHECK-DAG: %[[HEADS:.+]] = tensor.dim %[[S]], %c2
  // CHECK: return %[[NC]], %[[BATCH]], %[[HEADS]]
  %h, %last, %decay = mamba.state_pass states(%s : tensor<?x?x?x8x6xf32>)
      dA_cumsum(%cs : tensor<?x?x?x16xf32>) -> chunk_states(tensor<?x?x?x8x6xbf16>)
      final_state(tensor<?x?x8x6xf32>) total_decay(tensor<?x?xf32>)
  %nc = tensor.dim %h, %c1 : tensor<?x?x?x8x6xbf16>
  %b = tensor.dim %last, %c0 : tensor<?x?x8x6xf32>
  %heads = tensor.dim %decay, %c1 : tensor<?x?xf32>
  return %nc, %b, %heads : index, index, index
}

// -----

// CHECK-LABEL: func @chunk_out
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x?x8xf32>
func.func @chunk_out(%x: tensor<?x?x?x8xf32>, %B: tensor<?x?x?x6xf32>,
                     %d: tensor<?x?x?x16xf32>, %h: tensor<?x?x?x8x6xf32>)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[LENGTH:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[HEADS:.+]] = tensor.dim %[[X]], %c2
  // CHECK: return %[[BATCH]], %[[LENGTH]], %[[HEADS]]
  %y = mamba.chunk_out mask<causal> x(%x : tensor<?x?x?x8xf32>)
      B(%B : tensor<?x?x?x6xf32>) C(%B : tensor<?x?x?x6xf32>)
      dt(%d : tensor<?x?x?x16xf32>) dA_cumsum(%d : tensor<?x?x?x16xf32>)
      chunk_states(%h : tensor<?x?x?x8x6xf32>) -> tensor<?x?x?x8xf32>
  %b = tensor.dim %y, %c0 : tensor<?x?x?x8xf32>
  %l = tensor.dim %y, %c1 : tensor<?x?x?x8xf32>
  %heads = tensor.dim %y, %c2 : tensor<?x?x?x8xf32>
  return %b, %l, %heads : index, index, index
}

// -----

// CHECK: #[[$CHUNKS:.+]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-LABEL: func @ssd
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x?x?x8xf32>
func.func @ssd(%x: tensor<?x?x?x8xf32>, %dt: tensor<?x?x?xf32>, %A: tensor<?xf32>,
               %B: tensor<?x?x?x6xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[LENGTH:.+]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[HEADS:.+]] = tensor.dim %[[X]], %c2
  // CHECK-DAG: %[[NC:.+]] = affine.apply #[[$CHUNKS]]()[%[[LENGTH]]]
  // CHECK: return %[[LENGTH]], %[[NC]], %[[HEADS]], %[[BATCH]]
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) x(%x : tensor<?x?x?x8xf32>)
      dt(%dt : tensor<?x?x?xf32>) A(%A : tensor<?xf32>) B(%B : tensor<?x?x?x6xf32>)
      C(%B : tensor<?x?x?x6xf32>) -> y(tensor<?x?x?x8xf32>)
      chunk_states(tensor<?x?x?x8x6xf32>) final_state(tensor<?x?x8x6xf32>)
      total_decay(tensor<?x?xf32>)
  %l = tensor.dim %y, %c1 : tensor<?x?x?x8xf32>
  %nc = tensor.dim %h, %c1 : tensor<?x?x?x8x6xf32>
  %heads = tensor.dim %last, %c1 : tensor<?x?x8x6xf32>
  %b = tensor.dim %decay, %c0 : tensor<?x?xf32>
  return %l, %nc, %heads, %b : index, index, index, index
}

// -----

// CHECK-LABEL: func @ssu
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<?x?x8x6xf32>, %[[X:[a-z0-9]+]]: tensor<?x?x?x8xf32>
func.func @ssu(%state: tensor<?x?x8x6xf32>, %x: tensor<?x?x?x8xf32>,
               %dt: tensor<?x?x?xf32>, %A: tensor<4xf32>, %B: tensor<?x?x?x6xf32>)
    -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[HEADS:.+]] = arith.constant 4 : index
  // CHECK-DAG: %[[BATCH:.+]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[SLOTS:.+]] = tensor.dim %[[STATE]], %c0
  // CHECK-DAG: %[[TOKENS:.+]] = tensor.dim %[[X]], %c1
  // CHECK: return %[[BATCH]], %[[HEADS]], %[[SLOTS]], %[[TOKENS]]
  %y, %new, %between = mamba.ssu state(%state : tensor<?x?x8x6xf32>)
      x(%x : tensor<?x?x?x8xf32>) dt(%dt : tensor<?x?x?xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x?x?x6xf32>) C(%B : tensor<?x?x?x6xf32>)
      -> y(tensor<?x?x?x8xf32>) new_state(tensor<?x?x8x6xf32>)
         intermediate_states(tensor<?x?x?x8x6xf32>)
  %b = tensor.dim %y, %c0 : tensor<?x?x?x8xf32>
  %heads = tensor.dim %y, %c2 : tensor<?x?x?x8xf32>
  %slots = tensor.dim %new, %c0 : tensor<?x?x8x6xf32>
  %t = tensor.dim %between, %c1 : tensor<?x?x?x8x6xf32>
  return %b, %heads, %slots, %t : index, index, index, index
}

// -----

// One token has no dimension of tokens; its intermediate states do.
// CHECK-LABEL: func @ssu_one_token
func.func @ssu_one_token(%state: tensor<?x4x8x6xf32>, %x: tensor<?x4x8xf32>,
                         %dt: tensor<?x4xf32>, %A: tensor<4xf32>, %B: tensor<?x1x6xf32>)
    -> index {
  %c1 = arith.constant 1 : index
  // CHECK: %[[C1:.+]] = arith.constant 1 : index
  // CHECK: return %[[C1]]
  %y, %between = mamba.ssu disable_state_update state(%state : tensor<?x4x8x6xf32>)
      x(%x : tensor<?x4x8xf32>) dt(%dt : tensor<?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<?x1x6xf32>) C(%B : tensor<?x1x6xf32>)
      -> y(tensor<?x4x8xf32>) intermediate_states(tensor<?x?x4x8x6xf32>)
  %t = tensor.dim %between, %c1 : tensor<?x?x4x8x6xf32>
  return %t : index
}
