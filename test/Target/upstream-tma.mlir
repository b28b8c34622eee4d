// Shows why `mamba-to-nvvm` has its own lowering of tensor maps and mbarriers.
// When this test fails, see whether patterns of TmaPatterns.cpp can go.

// RUN: mamba-opt %s --split-input-file --convert-nvgpu-to-nvvm 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UPSTREAM
// RUN: not mamba-opt %s --split-input-file -o /dev/null \
// RUN:   --pass-pipeline='builtin.module(gpu.module(convert-nvgpu-to-nvvm,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true}))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=PARAMETER
// RUN: mamba-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s --check-prefix=OURS

!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

// mbarriers are a variable of their own, beside the dynamic shared memory; the
// wait is a loop in inline assembly, which LLVM 22 may duplicate (it does not
// know that it is convergent).
// UPSTREAM: memref.global "private" @__mbarrier : memref<2xi64, 3>
// UPSTREAM: nvvm.mbarrier.try_wait.parity
// OURS: llvm.mlir.global external @mamba_shared()
// OURS: nvvm.mbarrier.try_wait %{{.*}} -> i1
gpu.module @kernels {
  gpu.func @wait(%phase: i1) kernel attributes {mamba.shared_bytes = 16 : i64} {
    %c0 = arith.constant 0 : index
    %ticks = arith.constant 10000000 : index
    %barriers = nvgpu.mbarrier.create {mamba.shared_offset = 0 : i64} -> !barriers
    nvgpu.mbarrier.try_wait.parity %barriers[%c0], %phase, %ticks : !barriers
    gpu.return
  }
}

// -----

// No kernel takes a tensor map.
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
// PARAMETER: failed to legalize operation 'gpu.func'
// OURS: llvm.func @parameter(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
gpu.module @kernels {
  gpu.func @parameter(%map: !map) kernel {
    nvgpu.tma.prefetch.descriptor %map : !map
    gpu.return
  }
}
