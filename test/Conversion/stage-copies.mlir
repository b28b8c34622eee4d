// RUN: mamba-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse))' \
// RUN:   | FileCheck %s

#map_mk = affine_map<(m, n, k) -> (m, k)>
#map_nk = affine_map<(m, n, k) -> (n, k)>
#map_kn = affine_map<(m, n, k) -> (k, n)>
#map_mn = affine_map<(m, n, k) -> (m, n)>
#rows = affine_map<(d0)[s0] -> (64, s0 - d0)>
gpu.module @kernels {
  // Both operands of a product, in a loop over the sum.
  // CHECK-LABEL: gpu.func @matmul
  // CHECK-DAG: %[[A:.*]] = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x64xbf16, #gpu.address_space<workgroup>>
  // CHECK-DAG: %[[B:.*]] = memref.alloc() {mamba.swizzle = 128 : i64} : memref<1x64x128xbf16, #gpu.address_space<workgroup>>
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK: %[[AT:.*]] = memref.subview %[[A]][0, 0, 0] [1, 64, 64] [1, 1, 1]
  // CHECK: mamba.async_copy %{{.*}} to %[[AT]] : memref<?x64xbf16, strided<[?, 1], offset: ?>>
  // CHECK: %[[BT:.*]] = memref.subview %[[B]][0, 0, 0] [1, 64, 128] [1, 1, 1]
  // CHECK: mamba.async_copy %{{.*}} to %[[BT]]
  // CHECK-NEXT: %[[GROUP:.*]] = nvgpu.device_async_create_group
  // CHECK-NEXT: nvgpu.device_async_wait %[[GROUP]] {numGroups = 0 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: vector.transfer_read %[[AT]][%c0, %c0], %{{.*}} {in_bounds = [true, true]}
  // CHECK-NEXT: vector.transfer_read %[[BT]]
  // CHECK-NEXT: vector.contract
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

  // Tiles of the outer loop are copied in it, those that are needed after the
  // inner loop in a group of their own.
  // CHECK-LABEL: gpu.func @attention
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK: mamba.async_copy {{.*}}, memref<64x128xbf16
  // CHECK: mamba.async_copy {{.*}}, memref<64xf32
  // CHECK: %[[FIRST:.*]] = nvgpu.device_async_create_group
  // CHECK: mamba.async_copy {{.*}}, memref<64x64xbf16
  // CHECK-NEXT: %[[LATER:.*]] = nvgpu.device_async_create_group
  // CHECK-NEXT: nvgpu.device_async_wait %[[FIRST]] {numGroups = 1 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: vector.transfer_read
  // CHECK: scf.for
  // CHECK-NEXT: gpu.barrier
  // CHECK: mamba.async_copy {{.*}}, memref<64x128xbf16
  // CHECK: mamba.async_copy {{.*}}, memref<64xf32
  // CHECK: mamba.async_copy {{.*}}, memref<64x64xbf16
  // CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // CHECK: vector.contract
  // CHECK: vector.contract
  // CHECK: nvgpu.device_async_wait %[[LATER]] {numGroups = 0 : i32}
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: vector.transfer_read
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

  // A tile that is the same in all iterations is copied before the loop, one
  // that is read twice only once.
  // CHECK-LABEL: gpu.func @invariant
  // CHECK-COUNT-1: memref.alloc
  // CHECK-NOT: memref.alloc
  // CHECK: mamba.async_copy
  // CHECK-NEXT: nvgpu.device_async_create_group
  // CHECK: nvgpu.device_async_wait
  // CHECK-NEXT: gpu.barrier
  // CHECK-NEXT: scf.for
  // CHECK-NOT: gpu.barrier
  // CHECK: vector.transfer_read
  // CHECK: vector.transfer_write
  gpu.func @invariant(%x: memref<64x32xf32>, %y: memref<f32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : f32
    %ys = memref.reinterpret_cast %y to offset: [0], sizes: [%n, 32], strides: [32, 1]
        : memref<f32> to memref<?x32xf32>
    scf.for %i = %c0 to %n step %c64 {
      %a = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]}
          : memref<64x32xf32>, vector<64x32xf32>
      %b = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]}
          : memref<64x32xf32>, vector<64x32xf32>
      %c = arith.addf %a, %b : vector<64x32xf32>
      vector.transfer_write %c, %ys[%i, %c0] {in_bounds = [false, true]}
          : vector<64x32xf32>, memref<?x32xf32>
    }
    gpu.return
  }

  // What stays: a tile of a buffer that the kernel writes, 16-bit elements in
  // one dimension, rows of other than 16 bytes, a read outside of loops that no
  // contraction needs.
  // CHECK-LABEL: gpu.func @direct
  // CHECK-NOT: mamba.async_copy
  // CHECK: gpu.return
  gpu.func @direct(%x: memref<64x32xf32>, %v: memref<64xbf16>, %o: memref<64x7xf32>,
                   %w: memref<64x32xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : f32
    %padb = arith.constant 0.0 : bf16
    %0 = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]}
        : memref<64x32xf32>, vector<64x32xf32>
    scf.for %i = %c0 to %n step %c1 {
      %1 = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]}
          : memref<64x32xf32>, vector<64x32xf32>
      %2 = vector.transfer_read %v[%c0], %padb {in_bounds = [true]}
          : memref<64xbf16>, vector<64xbf16>
      %3 = vector.transfer_read %o[%c0, %c0], %pad {in_bounds = [true, true]}
          : memref<64x7xf32>, vector<64x7xf32>
      "test.use"(%2, %3) : (vector<64xbf16>, vector<64x7xf32>) -> ()
      %4 = arith.addf %0, %1 : vector<64x32xf32>
      vector.transfer_write %4, %x[%c0, %c0] {in_bounds = [true, true]}
          : vector<64x32xf32>, memref<64x32xf32>
    }
    gpu.return
  }
}
