// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts))' -split-input-file | FileCheck %s --check-prefix=LAYOUT
// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts,mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s

// Rows of a matrix that is turned on the way: memory is read with lanes side by
// side, converted, and summed with four neighbours in a thread and lanes along
// the row. Each warp has its own rows.

// LAYOUT-DAG: #[[$X:.*]] = #mamba.layout<"register[(0,1),(0,2),(64,0)], lane[(0,4),(1,0),(2,0),(4,0),(8,0)], warp[(16,0),(32,0)] -> dim0[128], dim1[8]">
// LAYOUT-DAG: #[[$T:.*]] = #mamba.layout<"register[(1,0),(2,0),(0,4)], lane[(4,0),(8,0),(16,0),(32,0),(64,0)], warp[(0,1),(0,2)] -> dim0[128], dim1[8]">
// LAYOUT-DAG: #[[$S:.*]] = #mamba.layout<"register[(0,1),(0,2),(4,0)], lane[(0,4),(0,8),(0,16),(0,32),(0,64)], warp[(1,0),(2,0)] -> dim0[8], dim1[128]">
// LAYOUT-DAG: #[[$SUM:.*]] = #mamba.layout<"register[4], lane[0,0,0,0,0], warp[1,2] -> dim0[8]">
// LAYOUT-LABEL: gpu.func @rows(
// LAYOUT:         %[[R:.*]] = vector.transfer_read {{.*}} mamba.layouts = [#[[$X]]]
// LAYOUT:         %[[X:.*]] = mamba.convert_layout %[[R]] to #[[$T]]
// LAYOUT:         vector.transpose %[[X]], [1, 0] {mamba.layouts = [#[[$S]]]}
// LAYOUT:         vector.scan {{.*}} mamba.layouts = [#[[$S]], #[[$SUM]]]

// Sums of four in a thread, here of two rows, then of 2, 4 .. lanes.
// CHECK-LABEL: gpu.func @rows(
// CHECK:         %[[X:.*]] = vector.load %{{.*}} #gpu.address_space<workgroup>>, vector<4xf32>
// CHECK-DAG:     %[[E0:.*]] = vector.extract %[[X]][0]
// CHECK-DAG:     %[[E1:.*]] = vector.extract %[[X]][1]
// CHECK-DAG:     %[[E2:.*]] = vector.extract %[[X]][2]
// CHECK-DAG:     %[[E3:.*]] = vector.extract %[[X]][3]
// CHECK-DAG:     %[[S1:.*]] = arith.addf %[[E0]], %[[E1]]
// CHECK-DAG:     %[[S23:.*]] = arith.addf %[[E2]], %[[E3]]
// CHECK-DAG:     %[[S2:.*]] = arith.addf %[[S1]], %[[E2]]
// CHECK-DAG:     %[[S3:.*]] = arith.addf %[[S1]], %[[S23]]
// CHECK:         %[[ODD:.*]] = arith.cmpi ne, %{{.*}}, %c0_i32
// CHECK:         %[[O1:.*]], %{{.*}} = gpu.shuffle xor %[[S3]], %c1_i32
// CHECK:         %[[M1:.*]] = arith.select %[[ODD]], %[[O1]], %{{.*}} : f32
// CHECK:         %[[T2:.*]] = arith.addf %[[S3]], %[[O1]]
// CHECK:         %[[O2:.*]], %{{.*}} = gpu.shuffle xor %[[T2]], %c2_i32
// CHECK:         %[[M2:.*]] = arith.select %{{.*}}, %[[O2]], %{{.*}} : f32
// CHECK:         arith.addf %[[M2]], %[[M1]]
// CHECK:         gpu.shuffle xor %{{.*}}, %c16_i32
// CHECK:         %[[BEFORE:.*]] = arith.addf
// CHECK:         arith.addf %[[BEFORE]], %[[E0]]
// CHECK:         arith.addf %[[BEFORE]], %[[S1]]
gpu.module @kernels {
  gpu.func @rows(%x: memref<128x8xf32>, %y: memref<8x128xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<8xf32>
    %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<128x8xf32>, vector<128x8xf32>
    %t = vector.transpose %xv, [1, 0] : vector<128x8xf32> to vector<8x128xf32>
    %s, %last = vector.scan <add>, %t, %none {inclusive = true, reduction_dim = 1} : vector<8x128xf32>, vector<8xf32>
    vector.transfer_write %s, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x128xf32>, memref<8x128xf32>
    gpu.return
  }
}

// -----

// Down the columns: a thread holds its column, whose sums need no shuffle.
// The last ones and what enters are vectors of columns.

// LAYOUT-DAG: #[[$S:.*]] = #mamba.layout<"register[(1,0),(2,0),(4,0)], lane[(0,1),(0,2),(0,4),(0,8),(0,16)], warp[] -> dim0[8], dim1[32]">
// LAYOUT-DAG: #[[$SUM:.*]] = #mamba.layout<"register[], lane[1,2,4,8,16], warp[] -> dim0[32]">
// LAYOUT-LABEL: gpu.func @columns(
// LAYOUT-NOT:     convert_layout
// LAYOUT:         vector.scan {{.*}} mamba.layouts = [#[[$S]], #[[$SUM]]]
// CHECK-LABEL: gpu.func @columns(
// CHECK-SAME:    %{{.*}}: memref<8x32xf32>, %[[H:[a-z0-9]+]]: memref<32xf32>, %{{.*}}: memref<8x32xf32>, %[[Z:[a-z0-9]+]]: memref<32xf32>
// CHECK-NOT:     gpu.shuffle
// CHECK:         %[[START:.*]] = memref.load %[[H]]
// CHECK-NOT:     gpu.shuffle
// CHECK:         %[[LAST:.*]] = arith.addf %[[START]], %{{.*}} : f32
// CHECK:         memref.store %{{.*}}, %[[Z]]
gpu.module @kernels {
  gpu.func @columns(%x: memref<8x32xf32>, %h: memref<32xf32>, %y: memref<8x32xf32>, %z: memref<32xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x32xf32>, vector<8x32xf32>
    %hv = vector.transfer_read %h[%c0], %pad {in_bounds = [true]} : memref<32xf32>, vector<32xf32>
    %s, %last = vector.scan <add>, %xv, %hv {inclusive = true, reduction_dim = 0} : vector<8x32xf32>, vector<32xf32>
    vector.transfer_write %s, %y[%c0, %c0] {in_bounds = [true, true]} : vector<8x32xf32>, memref<8x32xf32>
    vector.transfer_write %last, %z[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
    gpu.return
  }
}
