// RUN: not mamba-opt %s --mamba-plan=target=sm_12a 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not mamba-opt %s --mamba-plan=target=cpu 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not mamba-opt %s --mamba-plan=schedule=two_kernel 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SCHEDULE
// RUN: not mamba-opt %s --mamba-decompose-ssd=chunk=-1 2>&1 | FileCheck %s --check-prefix=CHUNK

// TARGET: error: unknown GPU target 'sm_12a', did you mean 'sm_120a'?
// CPU: error: unknown GPU target 'cpu'
// SCHEDULE: error: expected option 'schedule' to be auto, three_kernel, chunk_parallel, fused or segmented, got 'two_kernel'
// CHUNK: error: expected option 'chunk' to be at least 0, got -1
func.func @nothing() {
  return
}
