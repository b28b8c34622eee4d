// RUN: mamba-opt %s --pass-pipeline='builtin.module(gpu.module(mamba-stage-copies,canonicalize,cse,mamba-pipeline{max-shared-bytes=200000}))' \
// RUN:   | FileCheck %s

// Only the loop over whole tiles has buffers ahead; the one over the rest waits
// for what it copies.
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  // CHECK-LABEL: gpu.func @matmul
  // CHECK-DAG:     memref.alloc() {{.*}} : memref<3x64x128xbf16, #gpu.address_space<workgroup>>
  // CHECK-DAG:     memref.alloc() {{.*}} : memref<1x64x128xbf16, #gpu.address_space<workgroup>>
  // CHECK:         scf.for
  // CHECK:         scf.for
  // CHECK-NEXT:      gpu.barrier
  // CHECK:           mamba.async_copy
  // CHECK:           nvgpu.device_async_wait %{{.*}} {numGroups = 0 : i32}
  // CHECK:         } {mamba.rest}
  gpu.func @matmul(%pa: memref<bf16>, %pb: memref<bf16>, %pc: memref<f32>, %whole: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %pad = arith.constant 0.0 : bf16
    %zero = arith.constant dense<0.0> : vector<64x128xf32>
    %a = arith.constant dense<1.0> : vector<64x64xbf16>
    %b = memref.reinterpret_cast %pb to offset: [0], sizes: [%k, 128], strides: [128, 1] : memref<bf16> to memref<?x128xbf16>
    %c = memref.reinterpret_cast %pc to offset: [0], sizes: [64, 128], strides: [128, 1] : memref<f32> to memref<64x128xf32>
    %first = scf.for %i = %c0 to %whole step %c64 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
      %bt = memref.subview %b[%i, 0] [64, 128] [1, 1] : memref<?x128xbf16> to memref<64x128xbf16, strided<[128, 1], offset: ?>>
      %bv = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [true, true]} : memref<64x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
      %r = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %bv, %acc : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %r : vector<64x128xf32>
    }
    %sum = scf.for %i = %whole to %k step %c64 iter_args(%acc = %first) -> (vector<64x128xf32>) {
      %n = affine.min affine_map<(d0)[s0] -> (64, s0 - d0)>(%i)[%k]
      %bt = memref.subview %b[%i, 0] [%n, 128] [1, 1] : memref<?x128xbf16> to memref<?x128xbf16, strided<[128, 1], offset: ?>>
      %bv = vector.transfer_read %bt[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x128xbf16, strided<[128, 1], offset: ?>>, vector<64x128xbf16>
      %r = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %bv, %acc : vector<64x64xbf16>, vector<64x128xbf16> into vector<64x128xf32>
      scf.yield %r : vector<64x128xf32>
    } {mamba.rest}
    vector.transfer_write %sum, %c[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf32>, memref<64x128xf32>
    gpu.return
  }
}
