// In a vectorized kernel two buffers share bytes only with a barrier between
// their uses. Buffers that a loop uses from outside are live in all of it.

// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts,mamba-distribute))' \
// RUN:   | FileCheck %s

!staged = memref<1x64x64xbf16, #gpu.address_space<workgroup>>
!tile = memref<64x64xbf16, strided<[64, 1]>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @apart
  // CHECK-SAME: mamba.shared_bytes = 8192 : i64
  gpu.func @apart(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %at = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    %bt = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    mamba.async_copy %x to %at : memref<64x64xbf16>, !tile
    %0 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %0
    gpu.barrier
    %v = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.barrier
    mamba.async_copy %x to %bt : memref<64x64xbf16>, !tile
    %1 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %1
    gpu.barrier
    %w = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_barrier
  // CHECK-SAME: mamba.shared_bytes = 16384 : i64
  gpu.func @no_barrier(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %at = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    %bt = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    mamba.async_copy %x to %at : memref<64x64xbf16>, !tile
    %0 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %0
    gpu.barrier
    %v = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    mamba.async_copy %x to %bt : memref<64x64xbf16>, !tile
    %1 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %1
    gpu.barrier
    %w = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @loop
  // CHECK-SAME: mamba.shared_bytes = 16384 : i64
  gpu.func @loop(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %at = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    %bt = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    scf.for %i = %c0 to %n step %c1 {
    mamba.async_copy %x to %at : memref<64x64xbf16>, !tile
    %0 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %0
    gpu.barrier
    %v = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.barrier
    mamba.async_copy %x to %bt : memref<64x64xbf16>, !tile
    %1 = nvgpu.device_async_create_group
    nvgpu.device_async_wait %1
    gpu.barrier
    %w = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
        : !tile, vector<64x64xbf16>
    vector.transfer_write %w, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xbf16>, memref<64x64xbf16>
    }
    gpu.return
  }

  // Loops in turn: a barrier at the start of an iteration comes before all uses.
  // CHECK-LABEL: gpu.func @in_turn
  // CHECK-SAME: mamba.shared_bytes = 8192 : i64
  gpu.func @in_turn(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %at = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    %bt = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
      mamba.async_copy %x to %at : memref<64x64xbf16>, !tile
      %0 = nvgpu.device_async_create_group
      nvgpu.device_async_wait %0
      gpu.barrier
      %v = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [true, true]}
          : !tile, vector<64x64xbf16>
      vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
          : vector<64x64xbf16>, memref<64x64xbf16>
    }
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
      mamba.async_copy %x to %bt : memref<64x64xbf16>, !tile
      %0 = nvgpu.device_async_create_group
      nvgpu.device_async_wait %0
      gpu.barrier
      %v = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
          : !tile, vector<64x64xbf16>
      vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
          : vector<64x64xbf16>, memref<64x64xbf16>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @in_turn_no_barrier
  // CHECK-SAME: mamba.shared_bytes = 16384 : i64
  gpu.func @in_turn_no_barrier(%x: memref<64x64xbf16>, %y: memref<64x64xbf16>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %a = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %b = memref.alloc() {mamba.swizzle = 128 : i64} : !staged
    %at = memref.subview %a[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    %bt = memref.subview %b[0, 0, 0] [1, 64, 64] [1, 1, 1] : !staged to !tile
    scf.for %i = %c0 to %n step %c1 {
      gpu.barrier
      mamba.async_copy %x to %at : memref<64x64xbf16>, !tile
      %0 = nvgpu.device_async_create_group
      nvgpu.device_async_wait %0
      gpu.barrier
      %v = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [true, true]}
          : !tile, vector<64x64xbf16>
      vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
          : vector<64x64xbf16>, memref<64x64xbf16>
    }
    scf.for %i = %c0 to %n step %c1 {
      mamba.async_copy %x to %bt : memref<64x64xbf16>, !tile
      %0 = nvgpu.device_async_create_group
      nvgpu.device_async_wait %0
      gpu.barrier
      %v = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
          : !tile, vector<64x64xbf16>
      vector.transfer_write %v, %y[%c0, %c0] {in_bounds = [true, true]}
          : vector<64x64xbf16>, memref<64x64xbf16>
    }
    gpu.return
  }
}
