// Groups with copies of both kinds, and what cannot be a group.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-pipeline{max-shared-bytes=200000},canonicalize,cse))' \
// RUN:   | FileCheck %s

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

gpu.module @kernels {
  // Threads wait for their own copies and for the engine's. The copy of each
  // thread is in the branch of all threads, the other one in an elected thread's.
  // CHECK-LABEL: gpu.func @mixed
  // CHECK: %[[RING:.*]] = nvgpu.mbarrier.create -> {{.*}}num_barriers = 3
  // CHECK: scf.if
  // CHECK: mamba.async_copy
  // CHECK: nvvm.elect.sync
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%c0], %c8192
  // CHECK: mamba.tensor_copy
  // CHECK: nvgpu.device_async_create_group
  // CHECK: mamba.async_copy
  // CHECK: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%c1], %c8192
  // CHECK: %[[TOKEN:.*]] = nvgpu.device_async_create_group
  // CHECK: scf.for
  // CHECK-NEXT: nvgpu.device_async_wait %[[TOKEN]] {numGroups = 1 : i32}
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[RING]]
  // CHECK-NEXT: gpu.barrier
  // CHECK: mamba.async_copy
  // CHECK: mamba.tensor_copy
  // CHECK: nvgpu.device_async_create_group
  // A group outside of the loop: the barrier behind the waits stays.
  // CHECK: %[[GROUP:.*]] = nvgpu.device_async_create_group
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %{{.*}}[%c0], %false
  // CHECK-NEXT: nvgpu.device_async_wait %[[GROUP]]
  // CHECK-NEXT: gpu.barrier
  gpu.func @mixed(%p: memref<bf16>, %y: memref<64x64xbf16>, %n: index, %map: !map) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %c = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %d = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : bf16
    %x = memref.reinterpret_cast %p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
    %zero = arith.constant dense<0.0> : vector<64x64xbf16>
    %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<64x64xbf16>) {
      gpu.barrier
      %ta = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %xt = memref.subview %x[%i, 0] [64, 64] [1, 1] : memref<?x64xbf16> to memref<64x64xbf16, strided<[64, 1], offset: ?>>
      mamba.async_copy %xt to %ta : memref<64x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %tb = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      mamba.tensor_copy %map[%i, %c0] to %tb : !map to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %group = nvgpu.device_async_create_group {mamba.group}
      nvgpu.device_async_wait %group {numGroups = 0 : i32}
      gpu.barrier
      %va = vector.transfer_read %ta[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16, strided<[64, 1]>, #workgroup>, vector<64x64xbf16>
      %vb = vector.transfer_read %tb[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16, strided<[64, 1]>, #workgroup>, vector<64x64xbf16>
      %s = arith.addf %va, %vb : vector<64x64xbf16>
      %next = arith.addf %acc, %s : vector<64x64xbf16>
      scf.yield %next : vector<64x64xbf16>
    }
    %tc = memref.subview %c[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    mamba.tensor_copy %map[%c0, %c0] to %tc : !map to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    %td = memref.subview %d[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    %first = memref.subview %x[0, 0] [64, 64] [1, 1] : memref<?x64xbf16> to memref<64x64xbf16, strided<[64, 1]>>
    mamba.async_copy %first to %td : memref<64x64xbf16, strided<[64, 1]>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    %last = nvgpu.device_async_create_group {mamba.group}
    nvgpu.device_async_wait %last {numGroups = 0 : i32}
    gpu.barrier
    %vc = vector.transfer_read %tc[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16, strided<[64, 1]>, #workgroup>, vector<64x64xbf16>
    %vd = vector.transfer_read %td[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x64xbf16, strided<[64, 1]>, #workgroup>, vector<64x64xbf16>
    %t = arith.addf %vc, %vd : vector<64x64xbf16>
    %out = arith.addf %sum, %t : vector<64x64xbf16>
    vector.transfer_write %out, %y[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.return
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

gpu.module @kernels {
  gpu.func @no_group(%map: !map) kernel attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %ta = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    // expected-error @below {{expected to be part of a group}}
    mamba.tensor_copy %map[%c0, %c0] to %ta : !map to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    gpu.return
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>

gpu.module @kernels {
  gpu.func @no_wait(%map: !map) kernel attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %ta = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    mamba.tensor_copy %map[%c0, %c0] to %ta : !map to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    // expected-error @below {{expected one wait for a group with copies by tensor map, in the same block}}
    %group = nvgpu.device_async_create_group {mamba.group}
    gpu.return
  }
}
