// What keeps copies from tensor maps.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics --mamba-select-tma-layout \
// RUN:   | FileCheck %s --implicit-check-not=mamba.tensor

#workgroup = #gpu.address_space<workgroup>

// The rows of the tensor may have an odd number of elements.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, %n], strides: [%n, 1] : memref<bf16> to memref<?x?xbf16, strided<[?, 1]>>
      %tile = memref.subview %x[%id, 0] [64, 64] [1, 1] : memref<?x?xbf16, strided<[?, 1]>> to memref<64x64xbf16, strided<[?, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': the tensor's stride in dimension 0 may not be a multiple of 16 bytes}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[?, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// A row of the tile starts at any column.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16>, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 256], strides: [256, 1] : memref<bf16> to memref<?x256xbf16>
      %tile = memref.subview %x[0, %id] [64, 64] [1, 1] : memref<?x256xbf16> to memref<64x64xbf16, strided<[256, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of argument 0: its rows may not start at a multiple of 16 bytes}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[256, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// The tile ends before the tensor does, and its rest must be zero.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %rows = affine.min affine_map<()[s0] -> (s0, 64)>()[%id]
      %tile = memref.subview %x[%n, 0] [%rows, 64] [1, 1] : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': elements past its end in dimension 0 have to be zero, but are elements of the tensor}}
      mamba.async_copy %tile to %to : memref<?x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// It may end at either of two places.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %rows = affine.min affine_map<(d0)[s0, s1] -> (s0 - d0, s1 - d0, 64)>(%id)[%m, %n]
      %tile = memref.subview %x[%id, 0] [%rows, 64] [1, 1] : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its size in dimension 0 has several bounds}}
      mamba.async_copy %tile to %to : memref<?x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// More dimensions than a tensor map has.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, %n, 2, 3, 64, 64], strides: [%n, 24576, 12288, 4096, 64, 1] : memref<bf16> to memref<?x?x2x3x64x64xbf16, strided<[?, 24576, 12288, 4096, 64, 1]>>
      %tile = memref.subview %x[%id, 0, 0, 0, 0, 0] [1, 1, 1, 1, 64, 64] [1, 1, 1, 1, 1, 1] : memref<?x?x2x3x64x64xbf16, strided<[?, 24576, 12288, 4096, 64, 1]>> to memref<64x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its tensor has 6 dimensions, more than 5}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// Every other row.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %tile = memref.subview %x[%id, 0] [64, 64] [2, 1] : memref<?x64xbf16> to memref<64x64xbf16, strided<[128, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its elements are not side by side}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[128, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// Each block has a tensor of its own.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [%id, 1] : memref<bf16> to memref<?x64xbf16, strided<[?, 1]>>
      %tile = memref.subview %x[0, 0] [64, 64] [1, 1] : memref<?x64xbf16, strided<[?, 1]>> to memref<64x64xbf16, strided<[?, 1]>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its tensor's sizes or strides differ from block to block}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[?, 1]>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// The tensor starts somewhere in the argument.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [%n], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
      %tile = memref.subview %x[0, 0] [64, 64] [1, 1] : memref<?x64xbf16, strided<[64, 1], offset: ?>> to memref<64x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': it is not part of a tensor that starts at an argument}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// A box has at most 256 rows.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x512x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 512, 64] [1, 1, 1] : memref<1x512x64xbf16, #workgroup> to memref<512x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %tile = memref.subview %x[%id, 0] [512, 64] [1, 1] : memref<?x64xbf16> to memref<512x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': it has 512 rows, more than 256}}
      mamba.async_copy %tile to %to : memref<512x64xbf16, strided<[64, 1], offset: ?>>, memref<512x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// 40 rows, where a tile has room for 64, and more of them behind.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x40x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 40, 64] [1, 1, 1] : memref<1x40x64xbf16, #workgroup> to memref<40x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %tile = memref.subview %x[%id, 0] [40, 64] [1, 1] : memref<?x64xbf16> to memref<40x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': elements past its end in dimension 0 have to be zero, but are elements of the tensor}}
      mamba.async_copy %tile to %to : memref<40x64xbf16, strided<[64, 1], offset: ?>>, memref<40x64xbf16, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// A few elements are not worth a box.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 32 : i64} : memref<1x2x16xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 2, 16] [1, 1, 1] : memref<1x2x16xbf16, #workgroup> to memref<2x16xbf16, strided<[16, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 16], strides: [16, 1] : memref<bf16> to memref<?x16xbf16>
      %tile = memref.subview %x[%id, 0] [2, 16] [1, 1] : memref<?x16xbf16> to memref<2x16xbf16, strided<[16, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its rows of 16 elements are no boxes of whole 128 bytes}}
      mamba.async_copy %tile to %to : memref<2x16xbf16, strided<[16, 1], offset: ?>>, memref<2x16xbf16, strided<[16, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// Elements of 64 bits.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<i64>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<i64>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<i64> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xi64, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xi64, #workgroup> to memref<64x64xi64, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<i64> to memref<?x64xi64>
      %tile = memref.subview %x[%id, 0] [64, 64] [1, 1] : memref<?x64xi64> to memref<64x64xi64, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': its elements have neither 16 nor 32 bits}}
      mamba.async_copy %tile to %to : memref<64x64xi64, strided<[64, 1], offset: ?>>, memref<64x64xi64, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// Threads count the phases of loops, not of branches.
module attributes {gpu.container_module} {
  func.func @host(%p: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@k blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      %id = gpu.block_id x
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%m, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
      %c0 = arith.constant 0 : index
      %isFirst = arith.cmpi eq, %id, %c0 : index
      scf.if %isFirst {
      %tile = memref.subview %x[%id, 0] [64, 64] [1, 1] : memref<?x64xbf16> to memref<64x64xbf16, strided<[64, 1], offset: ?>>
      // CHECK: mamba.async_copy
      // expected-remark @below {{no tensor map for a tile of 'x': it is copied in 'scf.if', not in a loop or the kernel itself}}
      mamba.async_copy %tile to %to : memref<64x64xbf16, strided<[64, 1], offset: ?>>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
      }
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>

// Nothing passes a tensor map to a kernel that the module does not launch.
gpu.module @kernels {
  gpu.func @k(%p: memref<64x64xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #workgroup>
    %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xbf16, #workgroup> to memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    // CHECK: mamba.async_copy
    mamba.async_copy %p to %to : memref<64x64xbf16>, memref<64x64xbf16, strided<[64, 1]>, #workgroup>
    gpu.return
  }
}
