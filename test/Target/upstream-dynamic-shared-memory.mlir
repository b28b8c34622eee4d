// Shows why `mamba-to-nvvm` has its own lowering of gpu.dynamic_shared_memory:
// upstream's is a static array of no size and internal linkage, which the
// backend is free to lay other shared variables over, aligned to 16 bytes. When
// this test fails, see whether the pattern LowerDynamicSharedMemory can go.

// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-nvvm))' \
// RUN:   | FileCheck %s --check-prefix=UPSTREAM
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s --check-prefix=OURS

// UPSTREAM: llvm.mlir.global internal @__dynamic_shmem__0()
// UPSTREAM-SAME: alignment = 16 : i64

// OURS: llvm.mlir.global external @mamba_shared()
// OURS-SAME: alignment = 1024 : i64
gpu.module @kernels {
  gpu.func @k(%p: memref<f32>) kernel
      attributes {mamba.shared_bytes = 1024 : i64} {
    %c0 = arith.constant 0 : index
    %bytes = gpu.dynamic_shared_memory
        : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %bytes[%c0][]
        : memref<?xi8, #gpu.address_space<workgroup>>
          to memref<256xf32, #gpu.address_space<workgroup>>
    %i = gpu.thread_id x
    %v = memref.load %tile[%i] : memref<256xf32, #gpu.address_space<workgroup>>
    memref.store %v, %p[] : memref<f32>
    gpu.return
  }
}
