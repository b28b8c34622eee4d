// The named pipelines on prefill and decode with every option.

// RUN: mamba-opt %s --mamba-to-tiles=target=sm_90a | FileCheck %s --check-prefix=TILES
// RUN: mamba-opt %s --mamba-to-tiles=target=cpu | FileCheck %s --check-prefix=CHUNKS
// RUN: mamba-opt %s --mamba-to-linalg-pipeline=target=sm_90a \
// RUN:   | FileCheck %s --check-prefix=LINALG
// RUN: mamba-opt %s --mamba-to-buffers=target=sm_90a \
// RUN:   | FileCheck %s --check-prefixes=BUFFERS,GPU
// RUN: mamba-opt %s --mamba-to-buffers=target=cpu \
// RUN:   | FileCheck %s --check-prefixes=BUFFERS,CPU
// RUN: mamba-opt %s --mamba-to-tiles="target=sm_90a schedule=chunk_parallel" \
// RUN:   | FileCheck %s --check-prefix=PARALLEL
// RUN: mamba-opt %s --mamba-to-cpu | FileCheck %s --check-prefix=LLVM

// One loop over blocks for each step; what the chunks add to the state is
// computed in the loop that sums it. The states entering the chunks are results
// here and not rounded to bf16 for the caller.
// TILES-LABEL: func @ssd
// TILES:         scf.forall
// TILES:           mamba.chunk_cumsum {{.*}} -> tensor<1x6x1x16xf32>, tensor<1x6x1x16xf32>
// TILES:         {mamba.kernel = "chunk_cumsum", mamba.plan = #mamba.plan
// TILES:         scf.forall
// TILES:           mamba.chunk_state {{.*}} -> tensor<1x?x1x8x4xf32>
// TILES:           mamba.state_pass {{.*}} -> chunk_states(tensor<1x?x1x8x4xf32>)
// TILES:         {mamba.kernel = "state_pass", mamba.plan = #mamba.plan
// TILES:         scf.forall
// TILES:           mamba.chunk_out {{.*}} prev_seq_idx({{.*}} -> tensor<1x?x1x8xbf16>
// TILES:         {mamba.kernel = "chunk_out", mamba.plan = #mamba.plan
// TILES:         return

// PARALLEL-LABEL: func @ssd
// PARALLEL:         {mamba.kernel = "chunk_cumsum"
// PARALLEL:         {mamba.kernel = "chunk_state", mamba.plan = #mamba.plan<chunk_parallel
// PARALLEL:         {mamba.kernel = "state_pass", mamba.plan = #mamba.plan<chunk_parallel
// PARALLEL:         {mamba.kernel = "chunk_out", mamba.plan = #mamba.plan<chunk_parallel

// The CPU takes the operations whole and makes loops of them later.
// CHUNKS-LABEL: func @ssd
// CHUNKS-NOT:     scf.
// CHUNKS:         mamba.chunk_cumsum
// CHUNKS-NOT:     mamba.plan
// CHUNKS:         mamba.chunk_state
// CHUNKS:         mamba.state_pass
// CHUNKS:         mamba.chunk_out
// CHUNKS:         return

// A block computes a few rows or columns at a time and no longer has a plan.
// LINALG-LABEL: func @ssd
// LINALG-NOT:     mamba.chunk
// LINALG:         mamba.kernel = "chunk_cumsum"
// LINALG:         scf.for
// LINALG:           linalg.matmul
// LINALG:         mamba.kernel = "state_pass"
// LINALG:         scf.for
// LINALG:           linalg.matmul
// LINALG:           linalg.matmul
// LINALG:           linalg.matmul
// LINALG:         mamba.kernel = "chunk_out"
// LINALG:         return

// Of whole tensors (12 heads) only the steps, their sums and, on the CPU, the
// chunks' own states are allocated, in front of the loops; none is copied.
// BUFFERS-LABEL: func @ssd
// BUFFERS-SAME:    memref<?x?x12x8xbf16> {{[^%]*}}mamba.name = "y", mamba.result
// BUFFERS-SAME:    memref<?x?x12x8x4xf32> {{[^%]*}}mamba.name = "chunk_states", mamba.result
// BUFFERS-SAME:    memref<?x12x8x4xf16> {{[^%]*}}mamba.name = "final_state", mamba.result
// BUFFERS-SAME:    memref<?x12xf32> {{[^%]*}}mamba.name = "total_decay", mamba.result
// BUFFERS-NOT:     tensor
// BUFFERS:         memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x12x?x16xf32>
// BUFFERS-NOT:     memref.copy
// BUFFERS:         memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x12x?x16xf32>
// GPU:             scf.forall
// CPU:             scf.for
// CPU-NOT:         {{memref.(alloc|copy)}}
// CPU:             memref.alloc({{.*}}) {alignment = 64 : i64} : memref<?x?x12x8x4xf32>
// BUFFERS-NOT:     {{memref.(alloc|copy).*[x<]12x}}
// BUFFERS-NOT:     tensor
// BUFFERS:         return

// LLVM-LABEL: llvm.func @ssd
// LLVM-SAME:    llvm.emit_c_interface
// LLVM-NOT:     unrealized_conversion_cast
// LLVM-NOT:     memrefCopy
// LLVM:         llvm.func @_mlir_ciface_ssd
func.func @ssd(
    %x: tensor<?x?x12x8xbf16> {mamba.name = "x"}, %dt: tensor<?x?x12xbf16> {mamba.name = "dt"},
    %A: tensor<12xf32> {mamba.name = "A"}, %B: tensor<?x?x2x4xbf16> {mamba.name = "B"},
    %C: tensor<?x?x2x4xbf16> {mamba.name = "C"}, %D: tensor<12x8xf32> {mamba.name = "D"},
    %z: tensor<?x?x12x8xbf16> {mamba.name = "z"}, %bias: tensor<12xf32> {mamba.name = "dt_bias"},
    %init: tensor<?x12x8x4xf16> {mamba.name = "initial_state"},
    %id: tensor<?x?xi32> {mamba.name = "seq_idx"})
    -> (tensor<?x?x12x8xbf16> {mamba.name = "y"},
        tensor<?x?x12x8x4xf32> {mamba.name = "chunk_states"},
        tensor<?x12x8x4xf16> {mamba.name = "final_state"},
        tensor<?x12xf32> {mamba.name = "total_decay"}) {
  %y, %h, %last, %decay = mamba.ssd chunk_size(16) softplus dt_limit(1.0e-3, 0.5)
      x(%x : tensor<?x?x12x8xbf16>) dt(%dt : tensor<?x?x12xbf16>) A(%A : tensor<12xf32>)
      B(%B : tensor<?x?x2x4xbf16>) C(%C : tensor<?x?x2x4xbf16>) D(%D : tensor<12x8xf32>)
      z(%z : tensor<?x?x12x8xbf16>) dt_bias(%bias : tensor<12xf32>)
      initial_state(%init : tensor<?x12x8x4xf16>) seq_idx(%id : tensor<?x?xi32>)
      -> y(tensor<?x?x12x8xbf16>) chunk_states(tensor<?x?x12x8x4xf32>)
         final_state(tensor<?x12x8x4xf16>) total_decay(tensor<?x12xf32>)
  return %y, %h, %last, %decay : tensor<?x?x12x8xbf16>, tensor<?x?x12x8x4xf32>,
      tensor<?x12x8x4xf16>, tensor<?x12xf32>
}

// TILES-LABEL: func @ssu
// TILES:         scf.forall
// TILES:           mamba.ssu row
// TILES:         {mamba.kernel = "ssu", mamba.plan = #mamba.plan
// TILES:         return

// CHUNKS-LABEL: func @ssu
// CHUNKS:         mamba.ssu softplus

// LINALG-LABEL: func @ssu
// LINALG-NOT:     mamba.ssu row
// LINALG:         mamba.kernel = "ssu"

// The state is updated where it lies.
// BUFFERS-LABEL: func @ssu
// BUFFERS-SAME:    memref<?x12x8x4xf32> {{[^%]*}}mamba.name = "state", mamba.updated = "new_state"
// BUFFERS-NOT:     mamba.name = "new_state"
// BUFFERS-SAME:    mamba.name = "y", mamba.result
// BUFFERS-SAME:    mamba.name = "intermediate_states", mamba.result
// BUFFERS-NOT:     {{memref.(alloc|copy).*[x<]12x}}
// BUFFERS-NOT:     tensor
// BUFFERS:         return

// LLVM-LABEL: llvm.func @ssu
// LLVM-NOT:     memrefCopy
// LLVM:         llvm.func @_mlir_ciface_ssu
func.func @ssu(
    %state: tensor<?x12x8x4xf32> {mamba.name = "state"},
    %x: tensor<?x?x12x8xbf16> {mamba.name = "x"}, %dt: tensor<?x?x12xbf16> {mamba.name = "dt"},
    %A: tensor<12xf32> {mamba.name = "A"}, %B: tensor<?x?x2x4xbf16> {mamba.name = "B"},
    %C: tensor<?x?x2x4xbf16> {mamba.name = "C"}, %D: tensor<12xf32> {mamba.name = "D"},
    %z: tensor<?x?x12x8xbf16> {mamba.name = "z"}, %bias: tensor<12xbf16> {mamba.name = "dt_bias"},
    %src: tensor<?xi32> {mamba.name = "state_batch_indices"},
    %dst: tensor<?xi64> {mamba.name = "dst_state_batch_indices"})
    -> (tensor<?x?x12x8xbf16> {mamba.name = "y"},
        tensor<?x12x8x4xf32> {mamba.name = "new_state"},
        tensor<?x?x12x8x4xbf16> {mamba.name = "intermediate_states"}) {
  %y, %new, %between = mamba.ssu softplus pad_slot_id(0) state(%state : tensor<?x12x8x4xf32>)
      x(%x : tensor<?x?x12x8xbf16>) dt(%dt : tensor<?x?x12xbf16>) A(%A : tensor<12xf32>)
      B(%B : tensor<?x?x2x4xbf16>) C(%C : tensor<?x?x2x4xbf16>) D(%D : tensor<12xf32>)
      z(%z : tensor<?x?x12x8xbf16>) dt_bias(%bias : tensor<12xbf16>)
      state_batch_indices(%src : tensor<?xi32>) dst_state_batch_indices(%dst : tensor<?xi64>)
      -> y(tensor<?x?x12x8xbf16>) new_state(tensor<?x12x8x4xf32>)
         intermediate_states(tensor<?x?x12x8x4xbf16>)
  return %y, %new, %between : tensor<?x?x12x8xbf16>, tensor<?x12x8x4xf32>,
      tensor<?x?x12x8x4xbf16>
}
