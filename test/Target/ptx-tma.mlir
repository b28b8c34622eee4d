// Tensor maps through to PTX: the address of the parameter itself, no copy of it
// in local memory; the wait is a loop that is not duplicated.

// RUN: rm -rf %t && mkdir %t
// RUN: mamba-opt %s -o %t/out.mlir --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm),mamba-serialize,mamba-write-bundle{folder=%t/f})'
// RUN: FileCheck %s --input-file=%t/f/f.ptx --implicit-check-not=.local

// CHECK: .param .align 64 .b8 fetch_param_1[128]
// CHECK: mov.b64 %[[ADDRESS:.*]], fetch_param_1;
// CHECK: cvta.param.u64 %[[MAP:.*]], %[[ADDRESS]];
// CHECK: elect.sync
// CHECK: mbarrier.init.shared.b64 [mamba_shared+8192], %{{.*}};
// CHECK-NEXT: fence.mbarrier_init.release.cluster;
// CHECK: mbarrier.arrive.expect_tx.shared.b64 {{.*}}, [mamba_shared+8192], %{{.*}};
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [mamba_shared], [%[[MAP]], {%{{.*}}, %{{.*}}}], [mamba_shared+8192];
// CHECK: bar.sync 0;
// CHECK: $[[WAIT:.*]]:
// CHECK: mbarrier.try_wait.parity.shared.b64 %[[COMPLETE:.*]], [mamba_shared+8192], %{{.*}};
// CHECK: bra $[[WAIT]];
// CHECK-NOT: mbarrier.try_wait
// CHECK: ld.shared.b32
module attributes {gpu.container_module} {
  gpu.module @f_kernels {
    gpu.func @fetch(%y: memref<64x32xf32>,
        %map: !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>, mamba.shared_bytes = 8208 : i64} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %bytes = arith.constant 8192 : index
      %ticks = arith.constant 10000000 : index
      %even = arith.constant false
      %barrier = nvgpu.mbarrier.create {mamba.shared_offset = 8192 : i64} -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64x32xf32, #gpu.address_space<workgroup>>
      %thread = gpu.thread_id x
      %c32 = arith.constant 32 : index
      %is_first_warp = arith.cmpi ult, %thread, %c32 : index
      %block = gpu.block_id x
      %row = arith.muli %block, %c64 : index
      scf.if %is_first_warp {
        %elected = nvvm.elect.sync -> i1
        scf.if %elected {
          nvgpu.mbarrier.init %barrier[%c0], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
          nvvm.fence.mbarrier.init
          nvgpu.mbarrier.arrive.expect_tx %barrier[%c0], %bytes : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
          nvgpu.tma.async.load %map[%row, %c0], %barrier[%c0] to %tile : !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<64x32xf32, #gpu.address_space<workgroup>>
        }
      }
      gpu.barrier
      nvgpu.mbarrier.try_wait.parity %barrier[%c0], %even, %ticks : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
      %v = memref.load %tile[%thread, %c0] : memref<64x32xf32, #gpu.address_space<workgroup>>
      memref.store %v, %y[%thread, %c0] : memref<64x32xf32>
      gpu.return
    }
  }
  func.func @f(%y: memref<64x32xf32> {mamba.name = "y", mamba.result}, %x: memref<?x32xf32> {mamba.name = "x"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : memref<?x32xf32>
    %p = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: [] : memref<?x32xf32> to memref<f32>
    %map = mamba.tensor_map %p[%c0] sizes(%n, %c32) strides(%c32, %c1) : memref<f32> -> !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
    gpu.launch_func @f_kernels::@fetch blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%y : memref<64x32xf32>, %map : !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>)
    return
  }
}
