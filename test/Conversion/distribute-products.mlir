// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts,mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s

// bf16 by tensor cores: one warp, two steps of the sum read from registers.

// CHECK-LABEL: gpu.func @bf16(
// CHECK-COUNT-2: nvgpu.mma.sync{{.*}}mmaShape = [16, 8, 16]{{.*}}(vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>)
// CHECK-NOT:     nvgpu.mma.sync
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @bf16(%a: memref<16x32xbf16>, %b: memref<8x32xbf16>, %c: memref<16x8xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : bf16
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %av = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x32xbf16>, vector<16x32xbf16>
    %bv = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x32xbf16>, vector<8x32xbf16>
    %s = vector.contract {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %av, %bv, %zero : vector<16x32xbf16>, vector<8x32xbf16> into vector<16x8xf32>
    vector.transfer_write %s, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
}

// -----

// f32: multiply-adds, unless the plan allows tf32.

// CHECK-LABEL: gpu.func @f32(
// CHECK-NOT:     nvgpu.mma.sync
// CHECK:         arith.mulf %{{.*}} fastmath<contract> : f32
// CHECK:         arith.addf %{{.*}} fastmath<contract> : f32
// Sums stay with the loads, whoever needs them.
// CHECK:         llvm.inline_asm has_side_effects "", "f,f,f,f" %{{.*}} : (f32, f32, f32, f32) -> ()
// CHECK-LABEL: gpu.func @tf32(
// CHECK-COUNT-2: nvgpu.mma.sync{{.*}}mmaShape = [16, 8, 8], tf32Enabled{{.*}}(vector<4x1xf32>, vector<2x1xf32>, vector<2x2xf32>)
// CHECK-NOT:     nvgpu.mma.sync
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @f32(%a: memref<16x16xf32>, %b: memref<8x16xf32>, %c: memref<16x8xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %av = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %bv = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x16xf32>, vector<8x16xf32>
    %s = vector.contract {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %av, %bv, %zero : vector<16x16xf32>, vector<8x16xf32> into vector<16x8xf32>
    vector.transfer_write %s, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
  gpu.func @tf32(%a: memref<16x16xf32>, %b: memref<8x16xf32>, %c: memref<16x8xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized,
                  mamba.plan = #mamba.plan<three_kernel tile [1] warps 1 tf32 true>} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<16x8xf32>
    %av = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %bv = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x16xf32>, vector<8x16xf32>
    %s = vector.contract {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %av, %bv, %zero : vector<16x16xf32>, vector<8x16xf32> into vector<16x8xf32>
    vector.transfer_write %s, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
}
