// Shows why tensor maps become parameters after the conversion of a kernel
// (passTensorMaps in ToNVVM.cpp): upstream's drops `llvm.byval`. When this test
// fails, see whether the attributes can be on the gpu.func.

// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-nvvm))' \
// RUN:   | FileCheck %s --implicit-check-not=llvm.byval

gpu.module @kernels {
  // CHECK: llvm.func @k(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64})
  gpu.func @k(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64}) kernel {
    gpu.return
  }
}
