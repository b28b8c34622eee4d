// Tensor maps and mbarriers, one pattern each (TmaPatterns.cpp).

// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm))' \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_120a}))' \
// RUN:   | FileCheck %s --check-prefix=BLOCK

// PTX 8.6 has copies to the memory of the block.
// BLOCK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x64x32xf32, 3>, swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
!row = !nvgpu.tensormap.descriptor<tensor = memref<64xf32, 3>, swizzle = none, l2promo = l2promo_128b, oob = zero, interleave = none>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
!tile = memref<1x64x32xf32, strided<[2048, 32, 1], offset: ?>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // The pointer is the address of the parameter.
  // CHECK: llvm.mlir.global external @mamba_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
  // CHECK-LABEL: llvm.func @parameters(
  // CHECK-SAME: %{{.*}}: !llvm.ptr, %[[MAP:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}, %{{.*}}: i64, %[[ROW:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant})
  gpu.func @parameters(%p: memref<f32>, %map: !map, %n: index, %row: !row) kernel {
    // CHECK: nvvm.prefetch tensormap in_param_space, %[[MAP]] : !llvm.ptr
    nvgpu.tma.prefetch.descriptor %map : !map
    // CHECK: nvvm.prefetch tensormap in_param_space, %[[ROW]] : !llvm.ptr
    nvgpu.tma.prefetch.descriptor %row : !row
    gpu.return
  }

  // CHECK-LABEL: llvm.func @mbarriers
  gpu.func @mbarriers(%map: !map, %i: index, %x: index, %y: index, %z: index, %phase: i1) kernel
      attributes {mamba.shared_bytes = 65536 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 8192 : index
    %ticks = arith.constant 10000000 : index
    // In the dynamic shared memory, where mamba-distribute placed them.
    // CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @mamba_shared : !llvm.ptr<3>
    // CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[SHARED]][32768] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
    %barriers = nvgpu.mbarrier.create {mamba.shared_offset = 32768 : i64} -> !barriers
    // CHECK: %[[NUMBER:.*]] = llvm.getelementptr %[[FIRST]][%{{.*}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
    // CHECK: nvvm.mbarrier.init %[[NUMBER]], %{{.*}} : !llvm.ptr<3>, i32
    nvgpu.mbarrier.init %barriers[%i], %c1 : !barriers
    nvvm.fence.mbarrier.init
    // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
    nvgpu.mbarrier.arrive.expect_tx %barriers[%i], %bytes : !barriers

    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8192xf32, #gpu.address_space<workgroup>>
    %tile = memref.reinterpret_cast %view to offset: [%i], sizes: [1, 64, 32], strides: [2048, 32, 1] : memref<8192xf32, #gpu.address_space<workgroup>> to !tile
    // The innermost coordinate is the first one; no predicate, no assembly.
    // CHECK-DAG: %[[X:.*]] = llvm.trunc %arg2 : i64 to i32
    // CHECK-DAG: %[[Y:.*]] = llvm.trunc %arg3 : i64 to i32
    // CHECK-DAG: %[[Z:.*]] = llvm.trunc %arg4 : i64 to i32
    // CHECK-DAG: %[[TO:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<7>
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %arg0, %{{.*}}, box[%[[Z]], %[[Y]], %[[X]]] : !llvm.ptr<7>, !llvm.ptr
    nvgpu.tma.async.load %map[%x, %y, %z], %barriers[%i] to %tile : !map, !barriers -> !tile

    // CHECK: %[[PARITY:.*]] = llvm.zext %{{.*}} : i1 to i32
    // CHECK: llvm.br ^[[WAIT:.*]]
    // CHECK: ^[[WAIT]]:
    // CHECK: %[[COMPLETE:.*]] = nvvm.mbarrier.try_wait %{{.*}}, %[[PARITY]] : !llvm.ptr<3>, i32 -> i1
    // CHECK: llvm.cond_br %[[COMPLETE]], ^[[AFTER:.*]], ^[[WAIT]]
    // CHECK: ^[[AFTER]]:
    nvgpu.mbarrier.try_wait.parity %barriers[%i], %phase, %ticks : !barriers
    gpu.return
  }
}
