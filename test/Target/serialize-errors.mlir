// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mamba-serialize=target=sm_120a

gpu.module @not_lowered {
  gpu.func @k(%x: memref<f32>) kernel {
    // expected-error @below {{no lowering of 'memref.load' to sm_120a}}
    %0 = memref.load %x[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @library_call {
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.load %x : !llvm.ptr -> f32
    // expected-error @below {{no lowering of 'llvm.intr.log2' to sm_120a}}
    %1 = llvm.intr.log2(%0) : (f32) -> f32
    llvm.store %1, %x : f32, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @undefined {
  llvm.func @__nv_sinf(f32) -> f32
  llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.load %x : !llvm.ptr -> f32
    // expected-error @below {{expected '__nv_sinf' to have a body, because nothing is linked to kernels}}
    %1 = llvm.call @__nv_sinf(%0) : (f32) -> f32
    llvm.store %1, %x : f32, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @too_much_shared_memory {
  // expected-error @below {{expected at most 101376 bytes of dynamic shared memory, which is what a block of sm_120a can have, got 101377}}
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel, mamba.shared_bytes = 101377 : i64} {
    llvm.return
  }
}

// -----

// What only the code generator finds out does not end the process.
// expected-error @below {{code generation for sm_120a failed: Cannot select: intrinsic %llvm.nvvm.wgmma.fence.sync.aligned}}
gpu.module @wrong_target {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.wgmma.fence.aligned
    llvm.return
  }
}

// -----

// After such an error the next module is compiled as if nothing had happened.
gpu.module @good {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}
