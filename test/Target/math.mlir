// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s --implicit-check-not=__nv_

gpu.module @math {
  // CHECK-LABEL: llvm.func @exp
  gpu.func @exp(%p: memref<f32>) kernel {
    %x = memref.load %p[] : memref<f32>
    // CHECK: %[[LOG2E:.*]] = llvm.mlir.constant(1.44269502 : f32)
    // CHECK: %[[X:.*]] = llvm.load
    // CHECK: %[[SCALED:.*]] = llvm.fmul %[[X]], %[[LOG2E]]
    // CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[SCALED]])
    %0 = math.exp %x : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"(%[[E]])
    %1 = math.exp2 %0 : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    %2 = math.exp2 %1 fastmath<afn> : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    %3 = math.exp %2 fastmath<afn> : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.f"
    %4 = math.log2 %3 fastmath<afn> : f32
    memref.store %4, %p[] : memref<f32>
    gpu.return
  }

  // For small x, 1 + x rounds to 1, the exponent field is 0 and the polynomial
  // is evaluated at x itself.
  // CHECK-LABEL: llvm.func @log1p
  gpu.func @log1p(%p: memref<f32>) kernel {
    // CHECK: %[[X:.*]] = llvm.load
    // CHECK: %[[U:.*]] = llvm.fadd %[[X]]
    // CHECK: %[[UBITS:.*]] = llvm.bitcast %[[U]] : f32 to i32
    // CHECK: llvm.sub %[[UBITS]]
    // CHECK: %[[FIELD:.*]] = llvm.and
    // CHECK: %[[XBITS:.*]] = llvm.bitcast %[[X]] : f32 to i32
    // CHECK: llvm.sub %[[XBITS]], %[[FIELD]]
    // CHECK-COUNT-11: llvm.intr.fma
    // CHECK-NOT: llvm.intr.fma
    // CHECK: llvm.store
    %x = memref.load %p[] : memref<f32>
    %0 = math.log1p %x : f32
    memref.store %0, %p[] : memref<f32>
    gpu.return
  }

  // Of what is positive: infinity and NaN are special, the pole is far.
  // CHECK-LABEL: llvm.func @softplus
  gpu.func @softplus(%p: memref<f32>) kernel {
    // CHECK: %[[E:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
    // CHECK-COUNT-11: llvm.intr.fma
    // CHECK: %[[FINITE:.*]] = llvm.fcmp "olt" %[[E]]
    // CHECK-NEXT: llvm.select %[[FINITE]], %{{.*}}, %[[E]]
    // CHECK-NOT: llvm.fcmp
    // CHECK: llvm.store
    %x = memref.load %p[] : memref<f32>
    %0 = math.exp %x : f32
    %1 = math.log1p %0 : f32
    memref.store %1, %p[] : memref<f32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @others
  gpu.func @others(%p: memref<f32>) kernel {
    %x = memref.load %p[] : memref<f32>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
    %0 = math.rsqrt %x : f32
    // CHECK: llvm.intr.sqrt
    %1 = math.sqrt %0 : f32
    // CHECK: llvm.fdiv
    %2 = arith.divf %1, %x : f32
    // CHECK: llvm.intr.maximum
    // CHECK: llvm.intr.minimum
    %3 = math.clampf %2 to [%x, %1] : f32
    // CHECK: llvm.intr.fabs
    %4 = math.absf %3 : f32
    // CHECK: llvm.frem
    %5 = arith.remf %4, %x : f32
    memref.store %5, %p[] : memref<f32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @half_precision
  gpu.func @half_precision(%p: memref<bf16>, %q: memref<f16>) kernel {
    // CHECK: llvm.fpext %{{.*}} : bf16 to f32
    // CHECK: ex2.approx.f32
    // CHECK: llvm.fptrunc %{{.*}} : f32 to bf16
    %x = memref.load %p[] : memref<bf16>
    %0 = math.exp %x : bf16
    memref.store %0, %p[] : memref<bf16>
    // CHECK: llvm.fpext %{{.*}} : f16 to f32
    // CHECK: llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
    // CHECK: llvm.fptrunc %{{.*}} : f32 to f16
    %y = memref.load %q[] : memref<f16>
    %1 = math.sqrt %y : f16
    memref.store %1, %q[] : memref<f16>
    gpu.return
  }
}
