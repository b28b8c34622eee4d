// One element of a vector for all threads: the lane that has it hands it on. If
// warps share the vector out, each gets all of it first.

// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts))' | FileCheck %s --check-prefix=LAYOUT
// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts,mamba-distribute,canonicalize,cse))' | FileCheck %s

// LAYOUT: #[[$ALL:.*]] = #mamba.layout<"register[1,2,128], lane[4,8,16,32,64], warp[0,0] -> dim0[256]">
// LAYOUT-LABEL: gpu.func @last(
// LAYOUT: %[[X:.*]] = math.exp %{{.*}} {mamba.layouts = [#[[$ALL]]]}
// LAYOUT: vector.extract %[[X]][255]

// CHECK-LABEL: gpu.func @last(
// CHECK:       %[[E:.*]] = vector.extract %{{.*}}[7] : f32 from vector<8xf32>
// CHECK:       %{{.*}}, %{{.*}} = gpu.shuffle idx %[[E]], %c31_i32, %c32_i32 : f32
gpu.module @kernels {
  gpu.func @last(%x: memref<256xf32>, %y: memref<256xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %v = vector.transfer_read %x[%c0], %pad {in_bounds = [true]} : memref<256xf32>, vector<256xf32>
    %w = math.exp %v : vector<256xf32>
    %last = vector.extract %w[255] : f32 from vector<256xf32>
    %b = vector.broadcast %last : f32 to vector<256xf32>
    %d = arith.subf %w, %b : vector<256xf32>
    vector.transfer_write %d, %y[%c0] {in_bounds = [true]} : vector<256xf32>, memref<256xf32>
    gpu.return
  }
}
