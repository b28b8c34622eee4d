// Chunk states fused into the blocks of state_pass, and into its loop over
// chunks.

// RUN: mamba-opt %s --mamba-tile --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --mamba-tile --canonicalize --cse --mamba-to-linalg --canonicalize --cse \
// RUN:   --split-input-file | FileCheck %s --check-prefix=LINALG

// A block computes what the chunks add to its tile of the state, from its
// columns of x and B.
// CHECK-LABEL: func @fused
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x?x24x64xbf16>, %[[B:[a-z0-9]+]]: tensor<2x?x1x128xbf16>
// CHECK:         scf.forall (%[[I:.+]], %[[H:.+]], %[[P:.+]], %[[N:.+]]) = (0, 0, 0, 0) to (2, 24, 64, 128) step (1, 1, 32, 16)
// CHECK-DAG:       %[[L:.+]] = tensor.dim %[[X]], %c1
// CHECK-DAG:       %[[XT:.+]] = tensor.extract_slice %[[X]][%[[I]], 0, %[[H]], %[[P]]] [1, %[[L]], 1, 32]
// CHECK-DAG:       %[[BT:.+]] = tensor.extract_slice %[[B]][%[[I]], 0, 0, %[[N]]] [1, %[[L]], 1, 16]
// CHECK:           %[[S:.+]] = mamba.chunk_state x(%[[XT]] : tensor<1x?x1x32xbf16>) B(%[[BT]] : tensor<1x?x1x16xbf16>)
// CHECK-NOT:         mamba.plan
// CHECK-SAME:        -> tensor<1x?x1x32x16xf32>
// CHECK:           mamba.state_pass states(%[[S]] : tensor<1x?x1x32x16xf32>)
// CHECK:         {mamba.kernel = "state_pass"
// CHECK-NOT:     mamba.chunk_state

// Chunk by chunk: no tensor holds what all chunks add.
// LINALG-LABEL: func @fused
// LINALG-NOT:     tensor<1x?x1x32x16xf32>
// LINALG:         scf.forall
// LINALG:           %[[ZERO:.+]] = linalg.fill {{.*}} -> tensor<32x16xf32>
// LINALG:           scf.for %[[C:.+]] = %c0 to %{{.+}} step %c1 iter_args(%[[STATE:.+]] = %[[ZERO]], %[[OUT:.+]] = %{{.+}})
// LINALG:             %[[ROUNDED:.+]] = linalg.generic {{.*}} ins(%[[STATE]] : tensor<32x16xf32>) outs(%{{.+}} : tensor<32x16xbf16>)
// LINALG:             tensor.insert_slice %[[ROUNDED]] into %[[OUT]][0, %[[C]], 0, 0, 0]
// LINALG:             %[[LEN:.+]] = affine.min
// LINALG:             tensor.extract_slice %{{.+}} [1, %[[LEN]], 1, 32] {{.*}} to tensor<?x32xbf16>
// LINALG:             tensor.extract_slice %{{.+}} [1, %[[LEN]], 1, 16] {{.*}} to tensor<?x16xbf16>
// LINALG:             %[[ADDED:.+]] = linalg.matmul {{.*}} -> tensor<32x16xf32>
// LINALG:             %[[NEXT:.+]] = linalg.generic {{.*}} ins(%[[ADDED]] : tensor<32x16xf32>) outs(%[[STATE]] : tensor<32x16xf32>)
// LINALG:             scf.yield %[[NEXT]]
// LINALG-NOT:     tensor<1x?x1x32x16xf32>
func.func @fused(%x: tensor<2x?x24x64xbf16>, %B: tensor<2x?x1x128xbf16>,
                 %d: tensor<2x24x?x64xf32>)
    -> (tensor<2x?x24x64x128xbf16>, tensor<2x24x64x128xf32>) {
  %s = mamba.chunk_state x(%x : tensor<2x?x24x64xbf16>) B(%B : tensor<2x?x1x128xbf16>)
      dt(%d : tensor<2x24x?x64xf32>) dA_cumsum(%d : tensor<2x24x?x64xf32>)
      -> tensor<2x?x24x64x128xf32>
  %h, %last = mamba.state_pass states(%s : tensor<2x?x24x64x128xf32>)
      dA_cumsum(%d : tensor<2x24x?x64xf32>)
      {mamba.plan = #mamba.plan<three_kernel tile [1, 1, 32, 16]>}
      -> chunk_states(tensor<2x?x24x64x128xbf16>) final_state(tensor<2x24x64x128xf32>)
  return %h, %last : tensor<2x?x24x64x128xbf16>, tensor<2x24x64x128xf32>
}

// -----

// One block: its tile is the whole.
// CHECK-LABEL: func @one_block
// CHECK:         scf.forall
// CHECK:           %[[S:.+]] = mamba.chunk_state
// CHECK:           mamba.state_pass states(%[[S]] :
// LINALG-LABEL: func @one_block
// LINALG:         scf.for
// LINALG:           linalg.matmul
func.func @one_block(%x: tensor<1x?x1x8xbf16>, %d: tensor<1x1x?x64xf32>)
    -> tensor<1x?x1x8x8xbf16> {
  %s = mamba.chunk_state x(%x : tensor<1x?x1x8xbf16>) B(%x : tensor<1x?x1x8xbf16>)
      dt(%d : tensor<1x1x?x64xf32>) dA_cumsum(%d : tensor<1x1x?x64xf32>)
      -> tensor<1x?x1x8x8xf32>
  %h = mamba.state_pass states(%s : tensor<1x?x1x8x8xf32>)
      dA_cumsum(%d : tensor<1x1x?x64xf32>)
      {mamba.plan = #mamba.plan<three_kernel tile [1, 1, 8, 8]>}
      -> chunk_states(tensor<1x?x1x8x8xbf16>)
  return %h : tensor<1x?x1x8x8xbf16>
}

// -----

// A plan of its own, or the other schedule, makes it a kernel of its own.
// CHECK-LABEL: func @not_fused
// CHECK:         {mamba.kernel = "chunk_state"
// CHECK:         {mamba.kernel = "state_pass"
// CHECK:         {mamba.kernel = "chunk_state"
// CHECK:         {mamba.kernel = "state_pass"
// LINALG-LABEL: func @not_fused
func.func @not_fused(%x: tensor<2x?x4x8xbf16>, %B: tensor<2x?x1x8xbf16>,
                     %d: tensor<2x4x?x64xf32>)
    -> (tensor<2x?x4x8x8xbf16>, tensor<2x?x4x8x8xbf16>) {
  %s = mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x8xbf16>)
      dt(%d : tensor<2x4x?x64xf32>) dA_cumsum(%d : tensor<2x4x?x64xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 1, 0, 0]>} -> tensor<2x?x4x8x8xf32>
  %h = mamba.state_pass states(%s : tensor<2x?x4x8x8xf32>)
      dA_cumsum(%d : tensor<2x4x?x64xf32>)
      {mamba.plan = #mamba.plan<three_kernel tile [1, 1, 8, 8]>}
      -> chunk_states(tensor<2x?x4x8x8xbf16>)
  %t = mamba.chunk_state x(%x : tensor<2x?x4x8xbf16>) B(%B : tensor<2x?x1x8xbf16>)
      dt(%d : tensor<2x4x?x64xf32>) dA_cumsum(%d : tensor<2x4x?x64xf32>)
      -> tensor<2x?x4x8x8xf32>
  %i = mamba.state_pass states(%t : tensor<2x?x4x8x8xf32>)
      dA_cumsum(%d : tensor<2x4x?x64xf32>)
      {mamba.plan = #mamba.plan<chunk_parallel tile [1, 1, 8, 8]>}
      -> chunk_states(tensor<2x?x4x8x8xbf16>)
  return %h, %i : tensor<2x?x4x8x8xbf16>, tensor<2x?x4x8x8xbf16>
}
