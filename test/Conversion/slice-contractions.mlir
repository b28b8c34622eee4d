// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-slice-contractions,canonicalize,cse))' \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-slice-contractions{slice=32},canonicalize,cse))' \
// RUN:   | FileCheck %s --check-prefix=WIDE

#map_mk = affine_map<(m, n, k) -> (m, k)>
#map_km = affine_map<(m, n, k) -> (k, m)>
#map_nk = affine_map<(m, n, k) -> (n, k)>
#map_kn = affine_map<(m, n, k) -> (k, n)>
#map_mn = affine_map<(m, n, k) -> (m, n)>

!staged = memref<64x32xbf16, strided<[32, 1]>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // A sum of x^T * (w * B): the tile x is read transposed, the weights are
  // computed slice by slice.
  // CHECK-LABEL: gpu.func @weighted
  // WIDE-LABEL: gpu.func @weighted
  // WIDE-COUNT-2: vector.contract {{.*}} : vector<32x32xbf16>, vector<32x32xbf16> into vector<32x32xf32>
  // WIDE-NOT: vector.contract
  // WIDE: gpu.return
  gpu.func @weighted(%x: memref<bf16>, %b: memref<bf16>, %w: memref<f32>, %y: memref<32x32xf32>,
                     %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : bf16
    %padf = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<32x32xf32>
    %zeros = arith.constant dense<0.0> : vector<64x32xbf16>
    %xb = memref.alloc() {mamba.swizzle = 64 : i64}
        : memref<1x64x32xbf16, #gpu.address_space<workgroup>>
    %bb = memref.alloc() {mamba.swizzle = 64 : i64}
        : memref<1x64x32xbf16, #gpu.address_space<workgroup>>
    %wb = memref.alloc() {mamba.swizzle = 0 : i64}
        : memref<1x64xf32, #gpu.address_space<workgroup>>
    %xt = memref.subview %xb[0, 0, 0] [1, 64, 32] [1, 1, 1]
        : memref<1x64x32xbf16, #gpu.address_space<workgroup>> to !staged
    %bt = memref.subview %bb[0, 0, 0] [1, 64, 32] [1, 1, 1]
        : memref<1x64x32xbf16, #gpu.address_space<workgroup>> to !staged
    %wt = memref.subview %wb[0, 0] [1, 64] [1, 1]
        : memref<1x64xf32, #gpu.address_space<workgroup>>
          to memref<64xf32, strided<[1]>, #gpu.address_space<workgroup>>
    %sum = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<32x32xf32>) {
      %xv = vector.transfer_read %xt[%c0, %c0], %pad {in_bounds = [true, true]}
          : !staged, vector<64x32xbf16>
      %bv = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]}
          : !staged, vector<64x32xbf16>
      %wv = vector.transfer_read %wt[%c0], %padf {in_bounds = [true]}
          : memref<64xf32, strided<[1]>, #gpu.address_space<workgroup>>, vector<64xf32>
      %wv0 = vector.broadcast %wv : vector<64xf32> to vector<32x64xf32>
      %wv1 = vector.transpose %wv0, [1, 0] : vector<32x64xf32> to vector<64x32xf32>
      %bf = arith.extf %bv : vector<64x32xbf16> to vector<64x32xf32>
      %p = arith.mulf %wv1, %bf : vector<64x32xf32>
      %pb = arith.truncf %p : vector<64x32xf32> to vector<64x32xbf16>
      %step = vector.step : vector<64xindex>
      %left = arith.subi %n, %i : index
      %bound = vector.broadcast %left : index to vector<64xindex>
      %in = arith.cmpi slt, %step, %bound : vector<64xindex>
      %in0 = vector.broadcast %in : vector<64xi1> to vector<32x64xi1>
      %mask = vector.transpose %in0, [1, 0] : vector<32x64xi1> to vector<64x32xi1>
      %pm = arith.select %mask, %pb, %zeros : vector<64x32xi1>, vector<64x32xbf16>
      // CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
      // CHECK: %[[X:.*]] = vector.transfer_read %[[XT:.*]][%c0, %c0], {{.*}} vector<16x32xbf16>
      // CHECK: %[[B:.*]] = vector.transfer_read %[[BT:.*]][%c0, %c0], {{.*}} vector<16x32xbf16>
      // CHECK: arith.extf %[[B]] : vector<16x32xbf16>
      // CHECK: arith.truncf %{{.*}} : vector<16x32xf32>
      // CHECK: %[[R0:.*]] = vector.contract {{.*}} %[[X]], %{{.*}}, %[[ACC]] : vector<16x32xbf16>, vector<16x32xbf16> into vector<32x32xf32>
      // CHECK: %[[X1:.*]] = vector.transfer_read %[[XT]][%c16, %c0]
      // The second slice of the mask starts at 16, of the weights too.
      // CHECK: arith.addi %{{.*}}, %[[SIXTEEN:.*]] : vector<16xindex>
      // CHECK: vector.transfer_read %{{.*}}[%c16], {{.*}} vector<16xf32>
      // CHECK: %[[R1:.*]] = vector.contract {{.*}} %[[X1]], %{{.*}}, %[[R0]]
      // CHECK-COUNT-2: vector.contract
      // CHECK-NOT: vector.contract
      // CHECK-NOT: vector.extract_strided_slice
      // CHECK: scf.yield
      %r = vector.contract {indexing_maps = [#map_km, #map_kn, #map_mn],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
          %xv, %pm, %acc : vector<64x32xbf16>, vector<64x32xbf16> into vector<32x32xf32>
      scf.yield %r : vector<32x32xf32>
    }
    vector.transfer_write %sum, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<32x32xf32>, memref<32x32xf32>
    gpu.return
  }

  // Two products in a row: the first one's result is cut, what else uses it is
  // not.
  // CHECK-LABEL: gpu.func @chain
  gpu.func @chain(%a: vector<64x32xbf16>, %b: vector<32x32xbf16>, %c: vector<64x32xf32>,
                  %y: memref<64x32xf32>)
      attributes {mamba.vectorized} {
    %c0 = arith.constant 0 : index
    // CHECK: %[[A0:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0, 0], sizes = [64, 16], strides = [1, 1]}
    // CHECK: %[[B0:.*]] = vector.extract_strided_slice %{{.*}} {offsets = [0, 0], sizes = [16, 32], strides = [1, 1]}
    // CHECK: vector.contract {{.*}} %[[A0]], %[[B0]]
    // CHECK: %[[S:.*]] = vector.contract
    %s = vector.contract {indexing_maps = [#map_mk, #map_kn, #map_mn],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %a, %b, %c : vector<64x32xbf16>, vector<32x32xbf16> into vector<64x32xf32>
    // CHECK: %[[E:.*]] = math.exp %[[S]] : vector<64x32xf32>
    %e = math.exp %s : vector<64x32xf32>
    // CHECK: %[[E0:.*]] = vector.extract_strided_slice %[[E]] {offsets = [0, 0], sizes = [64, 16]
    // CHECK: arith.truncf %[[E0]] : vector<64x16xf32> to vector<64x16xbf16>
    %p = arith.truncf %e : vector<64x32xf32> to vector<64x32xbf16>
    %r = vector.contract {indexing_maps = [#map_mk, #map_kn, #map_mn],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %p, %b, %e : vector<64x32xbf16>, vector<32x32xbf16> into vector<64x32xf32>
    vector.transfer_write %r, %y[%c0, %c0] {in_bounds = [true, true]}
        : vector<64x32xf32>, memref<64x32xf32>
    gpu.return
  }

  // A cast of a staged tile is cut even where it stands outside of the loop:
  // the whole tile would not fit into registers.
  // CHECK-LABEL: gpu.func @cast_before_loop
  gpu.func @cast_before_loop(%a: vector<16x16xf32>, %c: vector<16x8xf32>, %n: index)
      -> vector<16x8xf32> attributes {mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : f16
    %buffer = memref.alloc() {mamba.swizzle = 0 : i64}
        : memref<1x8x16xf16, #gpu.address_space<workgroup>>
    %tile = memref.subview %buffer[0, 0, 0] [1, 8, 16] [1, 1, 1]
        : memref<1x8x16xf16, #gpu.address_space<workgroup>>
          to memref<8x16xf16, strided<[16, 1]>, #gpu.address_space<workgroup>>
    %h = vector.transfer_read %tile[%c0, %c0], %pad {in_bounds = [true, true]}
        : memref<8x16xf16, strided<[16, 1]>, #gpu.address_space<workgroup>>, vector<8x16xf16>
    %f = arith.extf %h : vector<8x16xf16> to vector<8x16xf32>
    // CHECK: scf.for
    // CHECK: %[[H0:.*]] = vector.transfer_read {{.*}}, vector<8x8xf16>
    // CHECK: %[[F0:.*]] = arith.extf %[[H0]] : vector<8x8xf16> to vector<8x8xf32>
    // CHECK: vector.contract {{.*}} %[[F0]], %{{.*}} : vector<16x8xf32>, vector<8x8xf32>
    // CHECK: vector.transfer_read {{.*}}, vector<8x8xf16>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> vector<16x8xf32> {
      %s = vector.contract {indexing_maps = [#map_mk, #map_nk, #map_mn],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
          %a, %f, %acc : vector<16x16xf32>, vector<8x16xf32> into vector<16x8xf32>
      scf.yield %s : vector<16x8xf32>
    }
    gpu.return %r : vector<16x8xf32>
  }

  // Slices of 8 for f32; nothing to do for a sum of one slice, or of a length
  // that no slice divides.
  // CHECK-LABEL: gpu.func @sizes
  gpu.func @sizes(%a: vector<16x16xf32>, %b: vector<8x16xf32>, %c: vector<16x8xf32>,
                  %d: vector<16x16xbf16>, %e: vector<8x16xbf16>,
                  %f: vector<16x24xbf16>, %g: vector<8x24xbf16>)
      -> (vector<16x8xf32>, vector<16x8xf32>, vector<16x8xf32>)
      attributes {mamba.vectorized} {
    // CHECK-COUNT-2: vector.contract {{.*}} : vector<16x8xf32>, vector<8x8xf32> into vector<16x8xf32>
    %0 = vector.contract {indexing_maps = [#map_mk, #map_nk, #map_mn],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %a, %b, %c : vector<16x16xf32>, vector<8x16xf32> into vector<16x8xf32>
    // CHECK: vector.contract {{.*}} : vector<16x16xbf16>, vector<8x16xbf16> into vector<16x8xf32>
    %1 = vector.contract {indexing_maps = [#map_mk, #map_nk, #map_mn],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %d, %e, %c : vector<16x16xbf16>, vector<8x16xbf16> into vector<16x8xf32>
    // CHECK: vector.contract {{.*}} : vector<16x24xbf16>, vector<8x24xbf16> into vector<16x8xf32>
    %2 = vector.contract {indexing_maps = [#map_mk, #map_nk, #map_mn],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %f, %g, %c : vector<16x24xbf16>, vector<8x24xbf16> into vector<16x8xf32>
    gpu.return %0, %1, %2 : vector<16x8xf32>, vector<16x8xf32>, vector<16x8xf32>
  }
}
