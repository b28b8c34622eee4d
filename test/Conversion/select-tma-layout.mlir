// Which copies a tensor map can do, and what keeps the others.

// RUN: mamba-opt %s --split-input-file --verify-diagnostics --mamba-select-tma-layout \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --split-input-file --mamba-select-tma-layout=target=sm_89 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OLD

// OLD-NOT: remark
// OLD-NOT: mamba.tensor_map
// OLD-NOT: mamba.tensor_copy

#workgroup = #gpu.address_space<workgroup>
#rows = affine_map<(d0)[s0] -> (64, s0 - d0)>

// A product in tiles: whole tiles of A, and tiles of B that end with the tensor.
// Two boxes of 64 columns are a row of B. Both copies of B share a map.
module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @product(
  // CHECK-SAME: %[[PA:[a-z0-9]+]]: memref<bf16>, %[[PB:[a-z0-9]+]]: memref<bf16>, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
  // CHECK: %[[STRIDE:.*]] = arith.muli %[[N]], %{{.*}} : index
  // CHECK: %[[A:.*]] = mamba.tensor_map %[[PA]][%{{.*}}] sizes(%[[M]], %{{.*}}) strides(%[[STRIDE]], %{{.*}}) : memref<bf16>
  // CHECK-SAME: tensor = memref<128x32xbf16, 3>, swizzle = swizzle_64b, l2promo = l2promo_128b, oob = zero, interleave = none
  // CHECK: %[[B:.*]] = mamba.tensor_map %[[PB]]
  // CHECK-SAME: sizes(%[[N]], %{{.*}})
  // CHECK-SAME: tensor = memref<64x64xbf16, 3>, swizzle = swizzle_128b
  // CHECK-NOT: mamba.tensor_map
  // CHECK: gpu.launch_func @kernels::@product
  // CHECK-SAME: %[[A]] : {{.*}}, %[[B]] : {{.*}})
  func.func @product(%pa: memref<bf16>, %pb: memref<bf16>, %m: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@product blocks in (%m, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%pa : memref<bf16>, %pb : memref<bf16>, %m : index, %n : index)
    return
  }
  gpu.module @kernels {
    // CHECK: gpu.func @product(
    // CHECK-SAME: %[[MAP_A:[a-z0-9]+]]: !nvgpu.tensormap.descriptor<tensor = memref<128x32xbf16, 3>
    // CHECK-SAME: %[[MAP_B:[a-z0-9]+]]: !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>
    gpu.func @product(%pa: memref<bf16>, %pb: memref<bf16>, %m: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %ta = memref.alloc() {mamba.swizzle = 64 : i64} : memref<1x128x32xbf16, #workgroup>
      %tb = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x128xbf16, #workgroup>
      %tc = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x128xbf16, #workgroup>
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %stride = arith.muli %n, %c32 : index
      %a = memref.reinterpret_cast %pa to offset: [0], sizes: [%m, 32], strides: [%stride, 1] : memref<bf16> to memref<?x32xbf16, strided<[?, 1]>>
      %b = memref.reinterpret_cast %pb to offset: [0], sizes: [%n, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16>
      %id = gpu.block_id x
      %i = arith.muli %id, %c128 : index
      %at = memref.subview %a[%i, 0] [128, 32] [1, 1] : memref<?x32xbf16, strided<[?, 1]>> to memref<128x32xbf16, strided<[?, 1], offset: ?>>
      %to = memref.subview %ta[0, 0, 0] [1, 128, 32] [1, 1, 1] : memref<1x128x32xbf16, #workgroup> to memref<128x32xbf16, strided<[32, 1]>, #workgroup>
      // CHECK: mamba.tensor_copy %[[MAP_A]][%{{.*}}, %{{.*}}] to %{{.*}} : {{.*}} to memref<128x32xbf16
      mamba.async_copy %at to %to : memref<128x32xbf16, strided<[?, 1], offset: ?>>, memref<128x32xbf16, strided<[32, 1]>, #workgroup>
      %tob = memref.subview %tb[0, 0, 0] [1, 64, 128] [1, 1, 1] : memref<1x64x128xbf16, #workgroup> to memref<64x128xbf16, strided<[128, 1]>, #workgroup>
      %toc = memref.subview %tc[0, 0, 0] [1, 64, 128] [1, 1, 1] : memref<1x64x128xbf16, #workgroup> to memref<64x128xbf16, strided<[128, 1]>, #workgroup>
      // CHECK: scf.for %[[J:.*]] = %c0
      scf.for %j = %c0 to %n step %c64 {
        %rows = affine.min #rows(%j)[%n]
        %bt = memref.subview %b[%j, 0] [%rows, 128] [1, 1] : memref<?x128xbf16> to memref<?x128xbf16, strided<[128, 1], offset: ?>>
        // CHECK: mamba.tensor_copy %[[MAP_B]][%[[J]], %{{.*}}] to %{{.*}} : {{.*}} to memref<64x128xbf16
        mamba.async_copy %bt to %tob : memref<?x128xbf16, strided<[128, 1], offset: ?>>, memref<64x128xbf16, strided<[128, 1]>, #workgroup>
        // CHECK: mamba.tensor_copy %[[MAP_B]][%[[J]], %{{.*}}] to %{{.*}} : {{.*}} to memref<64x128xbf16
        mamba.async_copy %bt to %toc : memref<?x128xbf16, strided<[128, 1], offset: ?>>, memref<64x128xbf16, strided<[128, 1]>, #workgroup>
      }
      gpu.return
    }
  }
}

// -----

#workgroup = #gpu.address_space<workgroup>
#first = affine_map<(d0) -> (128, d0)>
#chunk = affine_map<(d0)[s0] -> (128, s0 - d0 * 128)>
#inner = affine_map<(d0)[s0] -> (64, s0 - d0)>

// Tiles inside of a chunk, whose end is that of the chunk or the tensor; rows of
// chunks, which become a row of %n elements; a state of 48 columns, the rest of
// which are past the end.
module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @chunks(
  // CHECK-SAME: %[[P:[a-z0-9]+]]: memref<f16>, %[[W:[a-z0-9]+]]: memref<f32>, %[[S:[a-z0-9]+]]: memref<bf16>, %[[CHUNKS:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
  // CHECK: mamba.tensor_map %[[S]][%{{.*}}] sizes(%[[CHUNKS]], %{{.*}}, %[[C48:.*]]) strides
  // CHECK-SAME: tensor = memref<1x16x64xbf16, 3>, swizzle = swizzle_128b
  // CHECK: mamba.tensor_map %[[P]][%{{.*}}] sizes(%[[N]], %{{.*}}) strides(%{{.*}}, %{{.*}}) : memref<f16>
  // CHECK-SAME: tensor = memref<64x64xf16, 3>
  // CHECK: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: mamba.tensor_map %[[W]][%{{.*}}] sizes(%[[N]]) strides(%[[ONE]]) : memref<f32>
  // CHECK-SAME: tensor = memref<64xf32, 3>, swizzle = none
  func.func @chunks(%p: memref<f16>, %w: memref<f32>, %s: memref<bf16>, %chunks: index, %n: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@chunks blocks in (%chunks, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<f16>, %w : memref<f32>, %s : memref<bf16>, %chunks : index, %n : index)
    return
  }
  gpu.module @kernels {
    gpu.func @chunks(%p: memref<f16>, %w: memref<f32>, %s: memref<bf16>, %chunks: index, %n: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %tx = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xf16, #workgroup>
      %tw = memref.alloc() {mamba.swizzle = 0 : i64} : memref<1x64xf32, #workgroup>
      %ts = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x16x48xbf16, #workgroup>
      %tox = memref.subview %tx[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xf16, #workgroup> to memref<64x64xf16, strided<[64, 1]>, #workgroup>
      %tow = memref.subview %tw[0, 0] [1, 64] [1, 1] : memref<1x64xf32, #workgroup> to memref<64xf32, strided<[1]>, #workgroup>
      %tos = memref.subview %ts[0, 0, 0] [1, 16, 48] [1, 1, 1] : memref<1x16x48xbf16, #workgroup> to memref<16x48xbf16, strided<[48, 1]>, #workgroup>
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%n, 64], strides: [64, 1] : memref<f16> to memref<?x64xf16>
      %weights = memref.reinterpret_cast %w to offset: [0], sizes: [%chunks, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32>
      %states = memref.reinterpret_cast %s to offset: [0], sizes: [%chunks, 16, 48], strides: [768, 48, 1] : memref<bf16> to memref<?x16x48xbf16>
      %c = gpu.block_id x
      %tokens = affine.min #chunk(%c)[%n]
      %start = arith.muli %c, %c128 : index
      %xc = memref.subview %x[%start, 0] [%tokens, 64] [1, 1] : memref<?x64xf16> to memref<?x64xf16, strided<[64, 1], offset: ?>>
      %wc = memref.subview %weights[%c, 0] [1, %tokens] [1, 1] : memref<?x128xf32> to memref<?xf32, strided<[1], offset: ?>>
      %sc = memref.subview %states[%c, 0, 0] [1, 16, 48] [1, 1, 1] : memref<?x16x48xbf16> to memref<16x48xbf16, strided<[48, 1], offset: ?>>
      // CHECK: mamba.tensor_copy {{.*}} to memref<16x48xbf16
      mamba.async_copy %sc to %tos : memref<16x48xbf16, strided<[48, 1], offset: ?>>, memref<16x48xbf16, strided<[48, 1]>, #workgroup>
      scf.for %i = %c0 to %tokens step %c64 {
        %rows = affine.min #inner(%i)[%tokens]
        %xt = memref.subview %xc[%i, 0] [%rows, 64] [1, 1] : memref<?x64xf16, strided<[64, 1], offset: ?>> to memref<?x64xf16, strided<[64, 1], offset: ?>>
        %wt = memref.subview %wc[%i] [%rows] [1] : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
        // CHECK: mamba.tensor_copy {{.*}} to memref<64x64xf16
        mamba.async_copy %xt to %tox : memref<?x64xf16, strided<[64, 1], offset: ?>>, memref<64x64xf16, strided<[64, 1]>, #workgroup>
        // CHECK: %[[OF_CHUNK:.*]] = arith.muli %{{.*}}, %{{.*}} : index
        // CHECK: %[[AT:.*]] = arith.addi
        // CHECK: mamba.tensor_copy {{.*}} to memref<64xf32
        mamba.async_copy %wt to %tow : memref<?xf32, strided<[1], offset: ?>>, memref<64xf32, strided<[1]>, #workgroup>
      }
      gpu.return
    }
  }
}

// -----

// Memory of a static shape is a tensor too.
#workgroup = #gpu.address_space<workgroup>
module attributes {gpu.container_module} {
  // CHECK-LABEL: func.func @static(
  // CHECK: mamba.tensor_map %{{.*}} : memref<64x64xf32> -> {{.*}}tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b
  func.func @static(%p: memref<64x64xf32>) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@static blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%p : memref<64x64xf32>)
    return
  }
  gpu.module @kernels {
    gpu.func @static(%p: memref<64x64xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
      %buffer = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xf32, #workgroup>
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : memref<1x64x64xf32, #workgroup> to memref<64x64xf32, strided<[64, 1]>, #workgroup>
      // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
      // CHECK: mamba.tensor_copy %{{.*}}[%{{.*}}, %{{.*}}] to
      mamba.async_copy %p to %to : memref<64x64xf32>, memref<64x64xf32, strided<[64, 1]>, #workgroup>
      gpu.return
    }
  }
}
