// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s

!shared = memref<16x64xbf16, #gpu.address_space<workgroup>>
!words = memref<16x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @matrices
  gpu.func @matrices(%tile: !shared, %words: !words, %a: vector<4x2xf16>,
                     %b: vector<2x2xf16>, %c: vector<2x2xf32>)
      -> (vector<2xbf16>, vector<4x2xbf16>, vector<2x1xf32>, vector<2x2xf32>) {
    %i = gpu.thread_id x
    %c8 = arith.constant 8 : index
    // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 1 : i32{{.*}} -> i32
    %0 = nvgpu.ldmatrix %tile[%i, %c8] {numTiles = 1 : i32, transpose = false}
        : !shared -> vector<1x2xbf16>
    %row = vector.extract %0[0] : vector<2xbf16> from vector<1x2xbf16>
    // CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32{{.*}} -> !llvm.struct<(i32, i32, i32, i32)>
    %1 = nvgpu.ldmatrix %tile[%i, %c8] {numTiles = 4 : i32, transpose = true}
        : !shared -> vector<4x2xbf16>
    // CHECK: nvvm.ldmatrix {{.*}}num = 2 : i32{{.*}} -> !llvm.struct<(i32, i32)>
    %2 = nvgpu.ldmatrix %words[%i, %c8] {numTiles = 2 : i32, transpose = false}
        : !words -> vector<2x1xf32>
    // CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %3 = nvgpu.mma.sync (%a, %b, %c) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    gpu.return %row, %1, %2, %3
        : vector<2xbf16>, vector<4x2xbf16>, vector<2x1xf32>, vector<2x2xf32>
  }

  // CHECK-LABEL: llvm.func @copies
  gpu.func @copies(%x: memref<128x64xbf16>, %tile: !shared, %n: index) {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    // CHECK: %[[TO:.*]] = llvm.getelementptr {{.*}} -> !llvm.ptr<3>, bf16
    // CHECK: %[[FROM:.*]] = llvm.addrspacecast %{{.*}} : !llvm.ptr to !llvm.ptr<1>
    // CHECK: nvvm.cp.async.shared.global %[[TO]], %[[FROM]], 16, cache = cg
    %0 = nvgpu.device_async_copy %x[%i, %c0], %tile[%i, %c0], 8 {bypassL1}
        : memref<128x64xbf16> to !shared
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, 16, cache = ca
    %1 = nvgpu.device_async_copy %x[%i, %c0], %tile[%i, %c0], 8
        : memref<128x64xbf16> to !shared
    // The elements past %n become zero.
    // CHECK: %[[N:.*]] = llvm.trunc %{{.*}} : i64 to i32
    // CHECK: %[[BYTES:.*]] = llvm.mul %[[N]], %{{.*}} : i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, 4, cache = ca, %[[BYTES]]
    %2 = nvgpu.device_async_copy %x[%i, %c0], %tile[%i, %c0], 2, %n
        : memref<128x64xbf16> to !shared
    // CHECK: nvvm.cp.async.commit.group
    %g = nvgpu.device_async_create_group %0, %1, %2
    // CHECK: nvvm.cp.async.wait.group 2
    nvgpu.device_async_wait %g {numGroups = 2 : i32}
    // CHECK: nvvm.cp.async.wait.group 0
    nvgpu.device_async_wait %g
    gpu.return
  }

  // CHECK-LABEL: llvm.func @vectors
  gpu.func @vectors(%x: vector<8xbf16>, %y: vector<4xf32>, %z: vector<4xf32>)
      -> (vector<4x2xbf16>, vector<8xbf16>, vector<4xf32>) {
    // CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ex2.approx.f32"
    %0 = math.exp2 %y : vector<4xf32>
    // CHECK-COUNT-4: llvm.intr.maximum({{.*}}) : (f32, f32) -> f32
    %1 = arith.maximumf %0, %z : vector<4xf32>
    // Plain arithmetic stays on vectors.
    // CHECK: llvm.fmul %{{.*}} : vector<4xf32>
    %2 = arith.mulf %1, %z : vector<4xf32>
    // CHECK-COUNT-2: llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>
    %3 = arith.truncf %2 : vector<4xf32> to vector<4xbf16>
    %4 = vector.insert_strided_slice %3, %x {offsets = [4], strides = [1]}
        : vector<4xbf16> into vector<8xbf16>
    // CHECK: llvm.bitcast %{{.*}} : vector<4xbf16> to vector<2xi32>
    // CHECK: llvm.shl
    // CHECK: llvm.and
    %5 = arith.extf %3 : vector<4xbf16> to vector<4xf32>
    // CHECK: llvm.shufflevector %{{.*}} [0, 1] : vector<8xbf16>
    %6 = vector.shape_cast %4 : vector<8xbf16> to vector<4x2xbf16>
    gpu.return %6, %4, %5 : vector<4x2xbf16>, vector<8xbf16>, vector<4xf32>
  }
}
