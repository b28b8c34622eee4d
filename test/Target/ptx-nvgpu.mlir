// A thread's share of tensor core code, through to PTX: no vector may end in
// local memory, and bf16 is converted a register at a time.

// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm),mamba-serialize,mamba-write-bundle{folder=%t/f})'
// RUN: FileCheck %s --input-file=%t/f/f.ptx --implicit-check-not=.local --implicit-check-not=cvt.rn.bf16.f32
// RUN: %ptxas -arch=sm_90a -v %t/f/f.ptx -o %t/f.cubin 2>&1 | FileCheck %s --check-prefix=PTXAS --implicit-check-not=warning

// PTXAS: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// CHECK: cp.async.cg.shared.global [%{{.*}}], [%{{.*}}], 16, %{{.*}};
// CHECK-NEXT: cp.async.commit_group;
// CHECK-NEXT: cp.async.wait_group 1;
// CHECK-NEXT: bar.sync 0;
// CHECK-NEXT: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%[[A:.*]], %{{.*}}, %{{.*}}, %{{.*}}}, [%{{.*}}];
// CHECK: shl.b32 %{{.*}}, %[[A]], 16;
// CHECK-NEXT: and.b32 %{{.*}}, %[[A]], -65536;
// CHECK: cvt.rn.bf16x2.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-2: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK-COUNT-8: cvt.rn.bf16x2.f32
// CHECK-COUNT-2: st.global.v4.b32
module attributes {gpu.container_module} {
  gpu.module @f_kernels {
    gpu.func @tensor(%x: memref<bf16>, %y: memref<f32>, %n: index, %m: index) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, mamba.shared_bytes = 65536 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant dense<0.0> : vector<64xf32>
      %tid = gpu.thread_id x
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %bytes[%c0][]
          : memref<?xi8, #gpu.address_space<workgroup>> to memref<2x64x64xbf16, #gpu.address_space<workgroup>>
      %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 64], strides: [64, 1]
          : memref<bf16> to memref<?x64xbf16>
      %ys = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 64], strides: [64, 1]
          : memref<f32> to memref<?x64xf32>
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<64xf32>) {
        %st = arith.remui %k, %c1 : index
        %t0 = nvgpu.device_async_copy %xs[%k, %c0], %tile[%st, %tid, %c0], 8, %m {bypassL1}
            : memref<?x64xbf16> to memref<2x64x64xbf16, #gpu.address_space<workgroup>>
        %g = nvgpu.device_async_create_group %t0
        nvgpu.device_async_wait %g {numGroups = 1 : i32}
        gpu.barrier
        %a = nvgpu.ldmatrix %tile[%st, %tid, %c0] {numTiles = 4 : i32, transpose = false}
            : memref<2x64x64xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
        %af = vector.shape_cast %a : vector<4x2xbf16> to vector<8xbf16>
        %aw = arith.extf %af : vector<8xbf16> to vector<8xf32>
        %ae = math.exp2 %aw : vector<8xf32>
        %at = arith.truncf %ae : vector<8xf32> to vector<8xbf16>
        %as = vector.shape_cast %at : vector<8xbf16> to vector<4x2xbf16>
        %r = scf.for %j = %c0 to %m step %c8 iter_args(%acc2 = %acc) -> (vector<64xf32>) {
          %b = nvgpu.ldmatrix %tile[%st, %tid, %j] {numTiles = 4 : i32, transpose = true}
              : memref<2x64x64xbf16, #gpu.address_space<workgroup>> -> vector<4x2xbf16>
          %bf = vector.shape_cast %b : vector<4x2xbf16> to vector<8xbf16>
          %b0f = vector.extract_strided_slice %bf {offsets = [0], sizes = [4], strides = [1]}
              : vector<8xbf16> to vector<4xbf16>
          %b1f = vector.extract_strided_slice %bf {offsets = [4], sizes = [4], strides = [1]}
              : vector<8xbf16> to vector<4xbf16>
          %b0 = vector.shape_cast %b0f : vector<4xbf16> to vector<2x2xbf16>
          %b1 = vector.shape_cast %b1f : vector<4xbf16> to vector<2x2xbf16>
          %c0f = vector.extract_strided_slice %acc2 {offsets = [0], sizes = [4], strides = [1]}
              : vector<64xf32> to vector<4xf32>
          %c1f = vector.extract_strided_slice %acc2 {offsets = [32], sizes = [4], strides = [1]}
              : vector<64xf32> to vector<4xf32>
          %c0s = vector.shape_cast %c0f : vector<4xf32> to vector<2x2xf32>
          %c1s = vector.shape_cast %c1f : vector<4xf32> to vector<2x2xf32>
          %d0 = nvgpu.mma.sync (%as, %b0, %c0s) {mmaShape = [16, 8, 16]}
              : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
          %d1 = nvgpu.mma.sync (%as, %b1, %c1s) {mmaShape = [16, 8, 16]}
              : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
          %d0f = vector.shape_cast %d0 : vector<2x2xf32> to vector<4xf32>
          %d1f = vector.shape_cast %d1 : vector<2x2xf32> to vector<4xf32>
          %e0 = vector.insert_strided_slice %d0f, %acc2 {offsets = [0], strides = [1]}
              : vector<4xf32> into vector<64xf32>
          %e1 = vector.insert_strided_slice %d1f, %e0 {offsets = [32], strides = [1]}
              : vector<4xf32> into vector<64xf32>
          scf.yield %e1 : vector<64xf32>
        }
        %step = vector.step : vector<64xindex>
        %bound = vector.broadcast %n : index to vector<64xindex>
        %mask = arith.cmpi slt, %step, %bound : vector<64xindex>
        %kept = arith.select %mask, %r, %zero : vector<64xi1>, vector<64xf32>
        %two = arith.constant dense<2.0> : vector<64xf32>
        %scaled = arith.mulf %kept, %two : vector<64xf32>
        gpu.barrier
        scf.yield %scaled : vector<64xf32>
      } {loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}
      %big = arith.maximumf %sum, %zero : vector<64xf32>
      %h = arith.truncf %big : vector<64xf32> to vector<64xbf16>
      %p0 = vector.extract_strided_slice %h {offsets = [0], sizes = [8], strides = [1]}
          : vector<64xbf16> to vector<8xbf16>
      %p1 = vector.extract_strided_slice %h {offsets = [32], sizes = [8], strides = [1]}
          : vector<64xbf16> to vector<8xbf16>
      vector.store %p0, %xs[%tid, %c0] {alignment = 16 : i64} : memref<?x64xbf16>, vector<8xbf16>
      vector.store %p1, %xs[%tid, %c16] {alignment = 16 : i64} : memref<?x64xbf16>, vector<8xbf16>
      vector.store %sum, %ys[%tid, %c0] {alignment = 16 : i64} : memref<?x64xf32>, vector<64xf32>
      gpu.return
    }
  }

  func.func @f(%x: memref<?x64xbf16>, %y: memref<?x64xf32> {mamba.result}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %n = memref.dim %x, %c0 : memref<?x64xbf16>
    %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
        : memref<?x64xbf16> to memref<bf16>
    %py = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: []
        : memref<?x64xf32> to memref<f32>
    gpu.launch_func @f_kernels::@tensor blocks in (%c1, %c1, %c1)
        threads in (%c128, %c1, %c1)
        args(%px : memref<bf16>, %py : memref<f32>, %n : index, %n : index)
    return
  }
}
