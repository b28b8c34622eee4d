// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts))' -split-input-file | FileCheck %s

// Fragments of mma.sync, four warps along the rows. The result is written in
// contiguous pieces of 16 bytes.

// CHECK-DAG: #[[$C:.*]] = #mamba.layout<"register[(0,1),(8,0),(0,8),(0,16),(0,32)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)], warp[(16,0),(32,0)] -> dim0[64], dim1[64]">
// CHECK-DAG: #[[$A:.*]] = #mamba.layout<"register[(0,1),(8,0),(0,8)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)], warp[(16,0),(32,0)] -> dim0[64], dim1[16]">
// CHECK-DAG: #[[$B:.*]] = #mamba.layout<"register[(0,1),(0,8),(8,0),(16,0),(32,0)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)], warp[(0,0),(0,0)] -> dim0[64], dim1[16]">
// CHECK-DAG: #[[$W:.*]] = #mamba.layout<"register[(0,1),(0,2),(0,4),(8,0),(0,32)], lane[(0,8),(0,16),(1,0),(2,0),(4,0)], warp[(16,0),(32,0)] -> dim0[64], dim1[64]">
// CHECK-LABEL: gpu.func @product(
// CHECK:         vector.transfer_read {{.*}} mamba.layouts = [#[[$A]]]
// CHECK:         vector.transfer_read {{.*}} mamba.layouts = [#[[$B]]]
// CHECK:         vector.contract {{.*}} {mamba.layouts = [#[[$C]]]}
// CHECK:         %[[R:.*]] = arith.truncf {{.*}} {mamba.layouts = [#[[$C]]]}
// CHECK:         %[[V:.*]] = mamba.convert_layout %[[R]] to #[[$W]]
// CHECK:         vector.transfer_write %[[V]]
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @product(%a: memref<64x16xbf16>, %b: memref<64x16xbf16>, %c: memref<64x64xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : bf16
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %av = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x16xbf16>, vector<64x16xbf16>
    %bv = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x16xbf16>, vector<64x16xbf16>
    %s = vector.contract {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %av, %bv, %zero : vector<64x16xbf16>, vector<64x16xbf16> into vector<64x64xf32>
    %r = arith.truncf %s : vector<64x64xf32> to vector<64x64xbf16>
    vector.transfer_write %r, %c[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xbf16>, memref<64x64xbf16>
    gpu.return
  }
}

// -----

// A side that is computed is split between the warps, here the columns. The
// row vector that scales it follows, and the result in a loop keeps its place.

// CHECK-DAG: #[[$C:.*]] = #mamba.layout<"register[(0,1),(8,0),(16,0),(32,0)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)], warp[(0,8),(0,16)] -> dim0[64], dim1[32]">
// CHECK-DAG: #[[$B:.*]] = #mamba.layout<"register[(1,0),(8,0)], lane[(2,0),(4,0),(0,1),(0,2),(0,4)], warp[(0,8),(0,16)] -> dim0[16], dim1[32]">
// CHECK-DAG: #[[$V:.*]] = #mamba.layout<"register[1,8], lane[2,4,0,0,0], warp[0,0] -> dim0[16]">
// CHECK-LABEL: gpu.func @scaled(
// CHECK:         scf.for
// CHECK:           vector.transfer_read {{.*}} mamba.layouts = [#[[$V]]]
// CHECK:           vector.transfer_read {{.*}} mamba.layouts = [#[[$B]]]
// CHECK:           arith.truncf {{.*}} {mamba.layouts = [#[[$B]]]}
// CHECK:           vector.contract {{.*}} {mamba.layouts = [#[[$C]]]}
// CHECK:         } {mamba.layouts = [#[[$C]]]}
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @scaled(%x: memref<16x64xbf16>, %b: memref<16x32xbf16>, %w: memref<16xf32>, %h: memref<64x32xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %padf = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<64x32xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<64x32xf32>) {
      %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x64xbf16>, vector<16x64xbf16>
      %wv = vector.transfer_read %w[%c0], %padf {in_bounds = [true]} : memref<16xf32>, vector<16xf32>
      %wb = vector.broadcast %wv : vector<16xf32> to vector<32x16xf32>
      %wt = vector.transpose %wb, [1, 0] : vector<32x16xf32> to vector<16x32xf32>
      %bv = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x32xbf16>, vector<16x32xbf16>
      %be = arith.extf %bv : vector<16x32xbf16> to vector<16x32xf32>
      %bw = arith.mulf %be, %wt : vector<16x32xf32>
      %bt = arith.truncf %bw : vector<16x32xf32> to vector<16x32xbf16>
      %s = vector.contract {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
          %xv, %bt, %acc : vector<16x64xbf16>, vector<16x32xbf16> into vector<64x32xf32>
      scf.yield %s : vector<64x32xf32>
    }
    vector.transfer_write %r, %h[%c0, %c0] {in_bounds = [true, true]} : vector<64x32xf32>, memref<64x32xf32>
    gpu.return
  }
}
