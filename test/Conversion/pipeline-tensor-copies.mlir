// Copies by tensor map report to mbarriers: one for each stage of a pipelined
// loop, one for each other group.

// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies),canonicalize,cse,mamba-select-tma-layout,gpu.module(mamba-pipeline{max-shared-bytes=200000}),canonicalize,cse)' \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies),canonicalize,cse,mamba-select-tma-layout,gpu.module(mamba-pipeline{stages=1}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=ONE

#map_mk = affine_map<(m, n, k) -> (m, k)>
#map_nk = affine_map<(m, n, k) -> (n, k)>
#map_kn = affine_map<(m, n, k) -> (k, n)>
#map_mn = affine_map<(m, n, k) -> (m, n)>
#rows = affine_map<(d0)[s0] -> (64, s0 - d0)>
module attributes {gpu.container_module} {
  func.func @host(%pq: memref<bf16>, %pk: memref<bf16>, %pv: memref<bf16>, %pg: memref<f32>, %py: memref<bf16>, %len: index) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    gpu.launch_func @kernels::@attention blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%pq : memref<bf16>, %pk : memref<bf16>, %pv : memref<bf16>, %pg : memref<f32>, %py : memref<bf16>, %len : index)
    return
  }
gpu.module @kernels {
  // The first thread initializes all mbarriers and fetches the maps; then all
  // threads may wait.
  // CHECK-LABEL: gpu.func @attention
  // CHECK-SAME: %[[LEN:[a-z0-9]+]]: index, %[[MAP_Q:[a-z0-9]+]]: !nvgpu.tensormap.descriptor<tensor = memref<64x64xbf16, 3>
  // CHECK: %[[THREAD:.*]] = gpu.thread_id x
  // CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[THREAD]], %c0
  // CHECK-NEXT: %[[RING:.*]] = nvgpu.mbarrier.create -> {{.*}}num_barriers = 3
  // CHECK-NEXT: %[[FIRST:.*]] = nvgpu.mbarrier.create
  // CHECK-NEXT: %[[LATER:.*]] = nvgpu.mbarrier.create
  // CHECK-NEXT: scf.if %[[IS_FIRST]] {
  // CHECK-COUNT-4: nvgpu.tma.prefetch.descriptor
  // CHECK-NEXT: nvgpu.mbarrier.init %[[RING]][%c0], %c1
  // CHECK-NEXT: nvgpu.mbarrier.init %[[RING]][%c1], %c1
  // CHECK-NEXT: nvgpu.mbarrier.init %[[RING]][%c2], %c1
  // CHECK-NEXT: nvgpu.mbarrier.init %[[FIRST]][%c0], %c1
  // CHECK-NEXT: nvgpu.mbarrier.init %[[LATER]][%c0], %c1
  // CHECK-NEXT: nvvm.fence.mbarrier.init
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.barrier
  // The outer loop carries the stage and phase of the inner one's ring; those of
  // its own groups are a bit of the induction variable.
  // CHECK: scf.for %[[I:.*]] = %c0 to %[[LEN]] step %c64 iter_args(%[[STAGE0:.*]] = %c0, %[[PHASE0:.*]] = %false)
  // CHECK-NEXT: %[[BIT:.*]] = arith.andi %[[I]], %c64
  // CHECK-NEXT: %[[ODD:.*]] = arith.cmpi ne, %[[BIT]], %c0
  // CHECK-NEXT: gpu.barrier
  // CHECK: scf.if %[[IS_FIRST]] {
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[FIRST]][%c0], %c16640
  // CHECK-NEXT: mamba.tensor_copy %{{.*}}, %[[FIRST]][%c0] : {{.*}} to memref<64x128xbf16
  // CHECK-NEXT: mamba.tensor_copy %{{.*}}, %[[FIRST]][%c0] : {{.*}} to memref<64xf32
  // CHECK: scf.if %[[IS_FIRST]] {
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[LATER]][%c0], %c8192
  // CHECK-NEXT: mamba.tensor_copy %{{.*}}, %[[LATER]][%c0] : {{.*}} to memref<64x64xbf16
  // The prologue, up to two iterations.
  // CHECK: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[STAGE0]]], %c24832
  // CHECK-COUNT-3: mamba.tensor_copy %{{.*}}, %[[RING]][%[[STAGE0]]]
  // CHECK: %[[STAGE1:.*]] = arith.select
  // CHECK: scf.if
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[STAGE1]]], %c24832
  // CHECK-COUNT-3: mamba.tensor_copy %{{.*}}, %[[RING]][%[[STAGE1]]]
  // The mbarrier tells all threads; no barrier follows.
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[FIRST]][%c0], %[[ODD]]
  // CHECK-NEXT: vector.transfer_read
  // CHECK: %[[DONE:.*]]:3 = scf.for %{{.*}} iter_args(%{{.*}}, %[[STAGE:.*]] = %[[STAGE0]], %[[PHASE:.*]] = %[[PHASE0]])
  // CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[RING]][%[[STAGE]]], %[[PHASE]]
  // The tiles of the previous iteration are free behind the barrier.
  // CHECK-NEXT: gpu.barrier
  // CHECK: %[[FREE:.*]] = arith.select
  // CHECK: %[[EXISTS:.*]] = arith.cmpi slt
  // CHECK-NEXT: %[[STARTS:.*]] = arith.andi %[[EXISTS]], %[[IS_FIRST]]
  // CHECK-NEXT: scf.if %[[STARTS]] {
  // CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[RING]][%[[FREE]]], %c24832
  // CHECK-COUNT-3: mamba.tensor_copy %{{.*}}, %[[RING]][%[[FREE]]]
  // CHECK-NOT: gpu.barrier
  // CHECK: %[[WRAPS:.*]] = arith.cmpi eq, %[[STAGE]], %c2
  // CHECK: %[[NEXT_PHASE:.*]] = arith.xori %[[PHASE]], %[[WRAPS]]
  // CHECK-NEXT: scf.yield %{{.*}}, %{{.*}}, %[[NEXT_PHASE]]
  // CHECK: nvgpu.mbarrier.try_wait.parity %[[LATER]][%c0], %[[ODD]]
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.yield %[[DONE]]#1, %[[DONE]]#2 :
  // CHECK-NOT: nvgpu.device_async

  // With one stage each group has an mbarrier; the phase of the inner loop's is
  // carried round both loops.
  // ONE-LABEL: gpu.func @attention
  // ONE: scf.for %{{.*}} iter_args(%[[OUTER:.*]] = %false)
  // ONE: %[[DONE:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}}, %[[INNER:.*]] = %[[OUTER]])
  // ONE-NEXT: gpu.barrier
  // ONE: nvgpu.mbarrier.arrive.expect_tx %[[BARRIER:.*]][%c0], %c24832
  // ONE-COUNT-3: mamba.tensor_copy
  // ONE: nvgpu.mbarrier.try_wait.parity %[[BARRIER]][%c0], %[[INNER]]
  // ONE-NOT: gpu.barrier
  // ONE: %[[NEXT:.*]] = arith.xori %[[INNER]], %true
  // ONE: scf.yield %{{.*}}, %[[NEXT]]
  // ONE: scf.yield %[[DONE]]#1 :
  gpu.func @attention(%pq: memref<bf16>, %pk: memref<bf16>, %pv: memref<bf16>, %pg: memref<f32>, %py: memref<bf16>, %len: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : bf16
    %padf = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %zerob = arith.constant dense<0.0> : vector<64x64xbf16>
    %q = memref.reinterpret_cast %pq to offset: [0], sizes: [%len, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16>
    %k = memref.reinterpret_cast %pk to offset: [0], sizes: [%len, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16>
    %v = memref.reinterpret_cast %pv to offset: [0], sizes: [%len, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
    %g = memref.reinterpret_cast %pg to offset: [0], sizes: [%len], strides: [1] : memref<f32> to memref<?xf32>
    %y = memref.reinterpret_cast %py to offset: [0], sizes: [%len, 64], strides: [64, 1] : memref<bf16> to memref<?x64xbf16>
    scf.for %i = %c0 to %len step %c64 {
      %rows = affine.min #rows(%i)[%len]
      %qt = memref.subview %q[%i, 0] [%rows, 128] [1, 1] : memref<?x128xbf16> to memref<?x128xbf16, strided<[128, 1], offset: ?>>
      %qv = vector.transfer_read %qt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
      %gi = memref.subview %g[%i] [%rows] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
      %giv = vector.transfer_read %gi[%c0], %padf : memref<?xf32, strided<[1], offset: ?>>, vector<64xf32>
      %last = arith.addi %i, %c64 : index
      %end = arith.minsi %len, %last : index
      %sum = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %cols = affine.min #rows(%j)[%len]
        %kt = memref.subview %k[%j, 0] [%cols, 128] [1, 1] : memref<?x128xbf16> to memref<?x128xbf16, strided<[128, 1], offset: ?>>
        %vt = memref.subview %v[%j, 0] [%cols, 64] [1, 1] : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
        %gj = memref.subview %g[%j] [%cols] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
        %kv = vector.transfer_read %kt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
        %s = vector.contract {indexing_maps = [#map_mk, #map_nk, #map_mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %qv, %kv, %zero : vector<64x128xbf16>, vector<64x128xbf16> into vector<64x64xf32>
        %gjv = vector.transfer_read %gj[%c0], %padf : memref<?xf32, strided<[1], offset: ?>>, vector<64xf32>
        %gjb = vector.broadcast %gjv : vector<64xf32> to vector<64x64xf32>
        %gib0 = vector.broadcast %giv : vector<64xf32> to vector<64x64xf32>
        %gib = vector.transpose %gib0, [1, 0] : vector<64x64xf32> to vector<64x64xf32>
        %d = arith.subf %gib, %gjb : vector<64x64xf32>
        %e = math.exp %d : vector<64x64xf32>
        %w = arith.mulf %s, %e : vector<64x64xf32>
        %wb = arith.truncf %w : vector<64x64xf32> to vector<64x64xbf16>
        %step = vector.step : vector<64xindex>
        %off = vector.broadcast %j : index to vector<64xindex>
        %col = arith.addi %step, %off : vector<64xindex>
        %colb = vector.broadcast %col : vector<64xindex> to vector<64x64xindex>
        %offi = vector.broadcast %i : index to vector<64xindex>
        %row = arith.addi %step, %offi : vector<64xindex>
        %rowb0 = vector.broadcast %row : vector<64xindex> to vector<64x64xindex>
        %rowb = vector.transpose %rowb0, [1, 0] : vector<64x64xindex> to vector<64x64xindex>
        %mask = arith.cmpi sle, %colb, %rowb : vector<64x64xindex>
        %wm = arith.select %mask, %wb, %zerob : vector<64x64xi1>, vector<64x64xbf16>
        %vv = vector.transfer_read %vt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x64xbf16, strided<[64, 1], offset: ?>>, vector<64x64xbf16>
        %r = vector.contract {indexing_maps = [#map_mk, #map_kn, #map_mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %wm, %vv, %acc : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
        scf.yield %r : vector<64x64xf32>
      }
      %vi = memref.subview %v[%i, 0] [%rows, 64] [1, 1] : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
      %viv = vector.transfer_read %vi[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x64xbf16, strided<[64, 1], offset: ?>>, vector<64x64xbf16>
      %vif = arith.extf %viv : vector<64x64xbf16> to vector<64x64xf32>
      %out = arith.addf %sum, %vif : vector<64x64xf32>
      %outb = arith.truncf %out : vector<64x64xf32> to vector<64x64xbf16>
      %yt = memref.subview %y[%i, 0] [%rows, 64] [1, 1] : memref<?x64xbf16> to memref<?x64xbf16, strided<[64, 1], offset: ?>>
      vector.transfer_write %outb, %yt[%c0, %c0] {in_bounds = [false, true]} : vector<64x64xbf16>, memref<?x64xbf16, strided<[64, 1], offset: ?>>
    }
    gpu.return
  }

}
}
