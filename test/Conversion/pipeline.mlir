// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=200000},canonicalize,cse))' \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=90000}))' \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=200000 preferred-shared-bytes=90000}))' \
// RUN:   | FileCheck %s --check-prefix=TWO
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=200000 preferred-shared-bytes=40000},canonicalize,cse))' \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s -o %t --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=60000}))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

#map_mk = affine_map<(m, n, k) -> (m, k)>
#map_nk = affine_map<(m, n, k) -> (n, k)>
#map_kn = affine_map<(m, n, k) -> (k, n)>
#map_mn = affine_map<(m, n, k) -> (m, n)>
#map_km = affine_map<(m, n, k) -> (k, m)>
#tokens = affine_map<(d0)[s0] -> (128, s0 - d0 * 128)>
#first = affine_map<(d0) -> (d0 * 128)>
#rows = affine_map<(d0)[s0] -> (64, s0 - d0)>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @matmul
  // CHECK-DAG: %[[A:.*]] = memref.alloc() {mamba.swizzle = 128 : i64} : memref<3x64x64xbf16, #gpu.address_space<workgroup>>
  // CHECK-DAG: %[[B:.*]] = memref.alloc() {mamba.swizzle = 128 : i64} : memref<3x64x128xbf16, #gpu.address_space<workgroup>>
  // The trip count may be 0 or 1.
  // CHECK: scf.if
  // CHECK-COUNT-2: mamba.async_copy
  // CHECK: nvgpu.device_async_create_group
  // CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %[[K:.*]], %c64
  // CHECK-NEXT: scf.if %[[SECOND]]
  // CHECK-COUNT-2: mamba.async_copy
  // CHECK: %[[TOKEN:.*]] = nvgpu.device_async_create_group
  // CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %[[K]] step %c64 iter_args(%{{.*}} = %{{.*}}, %[[STAGE:.*]] = %c0)
  // CHECK-NEXT: nvgpu.device_async_wait %[[TOKEN]] {numGroups = 1 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[STAGE]], %c0
  // CHECK-NEXT: %[[BEFORE:.*]] = arith.subi %[[STAGE]], %c1
  // CHECK-NEXT: %[[FREE:.*]] = arith.select %[[FIRST]], %c2, %[[BEFORE]]
  // CHECK-NEXT: %[[AHEAD:.*]] = arith.addi %[[I]], %c128
  // CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[AHEAD]], %[[K]]
  // CHECK-NEXT: scf.if %[[EXISTS]] {
  // CHECK: memref.subview %[[A]][%[[FREE]], 0, 0]
  // CHECK: mamba.async_copy
  // CHECK: memref.subview %[[B]][%[[FREE]], 0, 0]
  // CHECK: mamba.async_copy
  // CHECK-NEXT: }
  // CHECK-NEXT: nvgpu.device_async_create_group
  // CHECK-NEXT: memref.subview %[[A]][%[[STAGE]], 0, 0] [1, 64, 64] [1, 1, 1]
  // CHECK-NEXT: memref.subview %[[B]][%[[STAGE]], 0, 0] [1, 64, 128] [1, 1, 1]
  // CHECK-NOT: gpu.barrier
  // CHECK: vector.contract
  // CHECK: %[[LAST:.*]] = arith.cmpi eq, %[[STAGE]], %c2
  // CHECK: %[[NEXT:.*]] = arith.addi %[[STAGE]], %c1
  // CHECK: arith.select %[[LAST]], %c0, %[[NEXT]]

  // TWO-LABEL: gpu.func @matmul
  // TWO: memref<3x64x64xbf16
  // TWO-LABEL: gpu.func @attention
  // TWO-DAG: memref.alloc() {mamba.swizzle = 128 : i64} : memref<2x64x128xbf16
  // TWO-DAG: memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x128xbf16
  // TWO: scf.for
  // TWO: scf.for
  // TWO-NEXT: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  gpu.func @matmul(%pa: memref<bf16>, %pb: memref<bf16>, %pc: memref<f32>, %m: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : bf16
    %zero = arith.constant dense<0.0> : vector<64x128xf32>
    %a = memref.reinterpret_cast %pa to offset: [0], sizes: [%m, %k], strides: [%k, 1] : memref<bf16> to memref<?x?xbf16, strided<[?, 1]>>
    %b = memref.reinterpret_cast %pb to offset: [0], sizes: [%k, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16>
    %c = memref.reinterpret_cast %pc to offset: [0], sizes: [%m, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32>
    %id = gpu.block_id x
    %row = arith.muli %id, %c64 : index
    %rows = affine.min affine_map<()[s0, s1] -> (64, s0 - s1)>()[%m, %row]
    // REMARK-NOT: remark
    %sum = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
      %at = memref.subview %a[%row, %i] [%rows, 64] [1, 1] : memref<?x?xbf16, strided<[?, 1]>> to memref<?x64xbf16, strided<[?, 1], offset: ?>>
      %n = affine.min affine_map<(d0)[s0] -> (64, s0 - d0)>(%i)[%k]
      %bt = memref.subview %b[%i, 0] [%n, 128] [1, 1] : memref<?x128xbf16> to memref<?x128xbf16, strided<[128, 1], offset: ?>>
      %av = vector.transfer_read %at[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x64xbf16, strided<[?, 1], offset: ?>>, vector<64x64xbf16>
      %bv = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
      %r = vector.contract {indexing_maps = [#map_mk, #map_kn, #map_mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %av, %bv, %acc : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %r : vector<64x128xf32>
    }
    %ct = memref.subview %c[%row, 0] [%rows, 128] [1, 1] : memref<?x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    vector.transfer_write %sum, %ct[%c0, %c0] {in_bounds = [false, true]} : vector<64x128xf32>, memref<?x128xf32, strided<[128, 1], offset: ?>>
    gpu.return
  }

  // The prologue of the inner loop starts before the outer loop's own tiles are
  // waited for, behind the barrier at the start of the iteration.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK: mamba.async_copy {{.*}}, memref<64x128xbf16
  // CHECK: %[[FIRST:.*]] = nvgpu.device_async_create_group
  // CHECK: mamba.async_copy {{.*}}, memref<64x64xbf16
  // CHECK: %[[LATER:.*]] = nvgpu.device_async_create_group
  // CHECK: scf.if
  // CHECK-COUNT-3: mamba.async_copy
  // CHECK: nvgpu.device_async_create_group
  // CHECK: scf.if
  // CHECK-COUNT-3: mamba.async_copy
  // CHECK: %[[TOKEN:.*]] = nvgpu.device_async_create_group
  // CHECK-NEXT: nvgpu.device_async_wait %[[FIRST]] {numGroups = 3 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK: scf.for
  // CHECK-NEXT: nvgpu.device_async_wait %[[TOKEN]] {numGroups = 1 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK: scf.if
  // CHECK-COUNT-3: mamba.async_copy
  // CHECK: nvgpu.device_async_create_group
  // CHECK-NOT: gpu.barrier
  // CHECK: scf.yield
  // CHECK: nvgpu.device_async_wait %[[LATER]] {numGroups = 0 : i32}
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
      // REMARK: pipeline.mlir:[[#@LINE+1]]:{{.*}}: remark: not pipelined: two stages take 74496 bytes of shared memory, of which 60000 may be used; lower the plan's inner sizes
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

  // A loop that carries the accumulator x^T * (w * B), and the decay of which
  // is loaded one iteration ahead.
  // CHECK-LABEL: gpu.func @state
  // CHECK-COUNT-2: nvgpu.device_async_create_group
  // CHECK: %[[ELEMENT:.*]] = scf.if %{{.*}} -> (f32) {
  // CHECK: memref.load
  // CHECK: } else {
  // CHECK: scf.for %[[C:.*]] = %c0 to %[[CHUNKS:.*]] step %c1 iter_args(%{{.*}} = %{{.*}}, %[[DECAY:.*]] = %[[ELEMENT]], %{{.*}} = %c0)
  // CHECK: %[[NEXT:.*]] = arith.addi %[[C]], %c1
  // CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[NEXT]], %[[CHUNKS]]
  // CHECK-NEXT: %[[LOADED:.*]] = scf.if %[[EXISTS]] -> (f32) {
  // CHECK: memref.load
  // CHECK-NOT: memref.load
  // CHECK: vector.broadcast %[[DECAY]] : f32
  // CHECK: scf.yield %{{.*}}, %[[LOADED]], %{{.*}} : vector<64x32xf32>, f32, index
  gpu.func @state(%px: memref<bf16>, %pb: memref<bf16>, %pw: memref<f32>, %pi: memref<f32>, %ps: memref<bf16>, %chunks: index, %len: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %pad = arith.constant 0.0 : bf16
    %padf = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<64x32xf32>
    %x = memref.reinterpret_cast %px to offset: [0], sizes: [%len, 64], strides: [1536, 1] : memref<bf16> to memref<?x64xbf16, strided<[1536, 1]>>
    %b = memref.reinterpret_cast %pb to offset: [0], sizes: [%len, 32], strides: [128, 1] : memref<bf16> to memref<?x32xbf16, strided<[128, 1]>>
    %w = memref.reinterpret_cast %pw to offset: [0], sizes: [%chunks, 128], strides: [128, 1] : memref<f32> to memref<?x128xf32>
    %s = memref.reinterpret_cast %ps to offset: [0], sizes: [%chunks, 64, 32], strides: [2048, 32, 1] : memref<bf16> to memref<?x64x32xbf16>
    %i = memref.reinterpret_cast %pi to offset: [0], sizes: [64, 32], strides: [32, 1] : memref<f32> to memref<64x32xf32>
    %init = vector.transfer_read %i[%c0, %c0], %padf {in_bounds = [true, true]} : memref<64x32xf32>, vector<64x32xf32>
    %h = scf.for %c = %c0 to %chunks step %c1 iter_args(%acc = %init) -> (vector<64x32xf32>) {
      %st = memref.subview %s[%c, 0, 0] [1, 64, 32] [1, 1, 1] : memref<?x64x32xbf16> to memref<64x32xbf16, strided<[32, 1], offset: ?>>
      %hb = arith.truncf %acc : vector<64x32xf32> to vector<64x32xbf16>
      vector.transfer_write %hb, %st[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xbf16>, memref<64x32xbf16, strided<[32, 1], offset: ?>>
      %t = affine.apply #first(%c)
      %rows = affine.min #tokens(%c)[%len]
      %xt = memref.subview %x[%t, 0] [%rows, 64] [1, 1] : memref<?x64xbf16, strided<[1536, 1]>> to memref<?x64xbf16, strided<[1536, 1], offset: ?>>
      %bt = memref.subview %b[%t, 0] [%rows, 32] [1, 1] : memref<?x32xbf16, strided<[128, 1]>> to memref<?x32xbf16, strided<[128, 1], offset: ?>>
      %wt = memref.subview %w[%c, 0] [1, 128] [1, 1] : memref<?x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      %last = memref.load %wt[%c0] : memref<128xf32, strided<[1], offset: ?>>
      %decay = vector.broadcast %last : f32 to vector<64x32xf32>
      %xv = vector.transfer_read %xt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x64xbf16, strided<[1536, 1], offset: ?>>, vector<128x64xbf16>
      %bv = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x32xbf16, strided<[128, 1], offset: ?>>, vector<128x32xbf16>
      %wv = vector.transfer_read %wt[%c0], %padf {in_bounds = [true]} : memref<128xf32, strided<[1], offset: ?>>, vector<128xf32>
      %wv0 = vector.broadcast %wv : vector<128xf32> to vector<32x128xf32>
      %wv1 = vector.transpose %wv0, [1, 0] : vector<32x128xf32> to vector<128x32xf32>
      %bf = arith.extf %bv : vector<128x32xbf16> to vector<128x32xf32>
      %p = arith.mulf %wv1, %bf : vector<128x32xf32>
      %pb2 = arith.truncf %p : vector<128x32xf32> to vector<128x32xbf16>
      %r = vector.contract {indexing_maps = [#map_km, #map_kn, #map_mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %xv, %pb2, %zero : vector<128x64xbf16>, vector<128x32xbf16> into vector<64x32xf32>
      %hd = arith.mulf %acc, %decay : vector<64x32xf32>
      %hn = arith.addf %hd, %r : vector<64x32xf32>
      scf.yield %hn : vector<64x32xf32>
    }
    vector.transfer_write %h, %i[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xf32>, memref<64x32xf32>
    gpu.return
  }

  // The place of a tile is read in the iteration itself.
  gpu.func @gather(%x: memref<bf16>, %ids: memref<i32>, %y: memref<f32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %xs = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 64, 64], strides: [4096, 64, 1]
        : memref<bf16> to memref<?x64x64xbf16>
    %is = memref.reinterpret_cast %ids to offset: [0], sizes: [%n], strides: [1]
        : memref<i32> to memref<?xi32>
    // REMARK: pipeline.mlir:[[#@LINE+1]]:{{.*}}: remark: not pipelined: the place of a tile is only known in the iteration itself
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %id = memref.load %is[%i] : memref<?xi32>
      %row = arith.index_cast %id : i32 to index
      %tile = memref.subview %xs[%row, 0, 0] [1, 64, 64] [1, 1, 1]
          : memref<?x64x64xbf16> to memref<64x64xbf16, strided<[64, 1], offset: ?>>
      %v = vector.transfer_read %tile[%c0, %c0], %pad {in_bounds = [true, true]}
          : memref<64x64xbf16, strided<[64, 1], offset: ?>>, vector<64x64xbf16>
      %r = vector.contract {indexing_maps = [#map_mk, #map_kn, #map_mn],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
          %v, %v, %acc : vector<64x64xbf16>, vector<64x64xbf16> into vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    %ys = memref.reinterpret_cast %y to offset: [0], sizes: [64, 64], strides: [64, 1]
        : memref<f32> to memref<64x64xf32>
    vector.transfer_write %sum, %ys[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x64xf32>, memref<64x64xf32>
    gpu.return
  }
}
