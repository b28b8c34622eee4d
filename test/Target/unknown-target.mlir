// RUN: not mamba-opt %s 2>&1 \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_90}))' \
// RUN:   | FileCheck %s
// RUN: not mamba-opt %s --mamba-serialize=target=sm_90 2>&1 | FileCheck %s

// CHECK: error: unknown GPU target 'sm_90', did you mean 'sm_90a'?
// CHECK-SAME: (known targets: sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_120a)
gpu.module @empty {
}
