// Where staged buffers are placed in shared memory.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-distribute{max-shared-bytes=60000}))' \
// RUN:   | FileCheck %s

#workgroup = #gpu.address_space<workgroup>

gpu.module @kernels {
  // Swizzled tiles start at multiples of 1024 bytes, with sizes padded to powers
  // of two; the others at multiples of 128, behind them.
  // CHECK-LABEL: gpu.func @aligned
  // CHECK-SAME: mamba.shared_bytes = 37264 : i64
  gpu.func @aligned(%y: memref<f32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    // CHECK: %[[LAST:.*]] = arith.constant 36864 : index
    // CHECK: memref.view %{{.*}}[%[[LAST]]][] {mamba.swizzle = 0 : i64} : {{.*}} to memref<3x33xf32
    // CHECK: %[[FIRST:.*]] = arith.constant 0 : index
    // CHECK: memref.view %{{.*}}[%[[FIRST]]][] {mamba.swizzle = 64 : i64} : {{.*}} to memref<3x60x24xbf16
    // CHECK: %[[NEXT:.*]] = arith.constant 12288 : index
    // CHECK: memref.view %{{.*}}[%[[NEXT]]][] {mamba.swizzle = 128 : i64} : {{.*}} to memref<3x64x64xbf16
    %v = memref.alloc() {mamba.swizzle = 0 : i64} : memref<3x33xf32, #workgroup>
    %a = memref.alloc() {mamba.swizzle = 64 : i64} : memref<3x60x24xbf16, #workgroup>
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : memref<3x64x64xbf16, #workgroup>
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %oneb = arith.constant 1.0 : bf16
    memref.store %one, %v[%c0, %c0] : memref<3x33xf32, #workgroup>
    memref.store %oneb, %a[%c0, %c0, %c0] : memref<3x60x24xbf16, #workgroup>
    memref.store %oneb, %b[%c0, %c0, %c0] : memref<3x64x64xbf16, #workgroup>
    %0 = memref.load %v[%c0, %c0] : memref<3x33xf32, #workgroup>
    %1 = memref.load %a[%c0, %c0, %c0] : memref<3x60x24xbf16, #workgroup>
    %2 = memref.load %b[%c0, %c0, %c0] : memref<3x64x64xbf16, #workgroup>
    %3 = arith.extf %1 : bf16 to f32
    %4 = arith.extf %2 : bf16 to f32
    %5 = arith.addf %3, %4 : f32
    %6 = arith.addf %5, %0 : f32
    memref.store %6, %y[] : memref<f32>
    gpu.return
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

gpu.module @kernels {
  // expected-error @+1 {{expected at most 60000 bytes of shared memory, got 65536 in 'large'; lower the 'inner' sizes of its plan or the stages of its pipelined copies}}
  gpu.func @large(%y: memref<f32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-note @below {{takes 65536 bytes}}
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : memref<4x64x100xbf16, #workgroup>
    %c0 = arith.constant 0 : index
    %0 = memref.load %a[%c0, %c0, %c0] : memref<4x64x100xbf16, #workgroup>
    %1 = arith.extf %0 : bf16 to f32
    memref.store %1, %y[] : memref<f32>
    gpu.return
  }
}
