// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts))' -split-input-file | FileCheck %s
// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts,mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s --check-prefix=THREAD

// Sums along rows: eight lanes read a line of 128 bytes of a row, 16 bytes
// each, and what is left of the row comes after it in the thread. Other lanes
// and the warps have rows of their own; a thread's rows are neighbours. What is
// computed from a row, or from a column, follows. The read stands in a branch,
// the sum in a loop, and nothing is converted.

// CHECK-DAG: #[[$M:.*]] = #mamba.layout<"register[(0,1),(0,2),(0,4),(1,0),(0,64)], lane[(0,8),(0,16),(0,32),(2,0),(4,0)], warp[(8,0),(16,0)] -> dim0[32], dim1[128]">
// CHECK-DAG: #[[$R:.*]] = #mamba.layout<"register[1], lane[0,0,0,2,4], warp[8,16] -> dim0[32]">
// CHECK-DAG: #[[$C:.*]] = #mamba.layout<"register[1,2,4,64], lane[8,16,32,0,0], warp[0,0] -> dim0[128]">
// CHECK-LABEL: gpu.func @rows(
// CHECK-NOT:     convert_layout
// CHECK:         scf.if
// CHECK:           vector.transfer_read {{.*}} mamba.layouts = [#[[$M]]]
// CHECK:         } {mamba.layouts = [#[[$M]]]}
// CHECK:         arith.extf {{.*}} {mamba.layouts = [#[[$M]]]}
// CHECK:         scf.for
// CHECK:           vector.transfer_read {{.*}} mamba.layouts = [#[[$C]]]
// CHECK:           vector.multi_reduction {{.*}} {mamba.layouts = [#[[$R]]]}
// CHECK:         } {mamba.layouts = [#[[$M]], #[[$R]]]}
// CHECK-NOT:     convert_layout
// CHECK:         gpu.return

// Four reads of 16 bytes in one branch, three shuffles for each of two rows;
// the matrix that may not be there is written in one branch, and the sums,
// which are little, by all lanes that have them.
// THREAD-LABEL: gpu.func @rows(
// THREAD:         scf.if
// THREAD-COUNT-4:   vector.load {{.*}} {alignment = 16 : i64} : memref<32x128xbf16>, vector<8xbf16>
// THREAD-NOT:       vector.load
// THREAD:         scf.for
// THREAD-COUNT-6:   gpu.shuffle xor
// THREAD-NOT:       gpu.shuffle
// THREAD:         }
// THREAD:         %[[THERE:.*]] = arith.cmpi sgt, %{{.*}}, %c0 : index
// THREAD-NEXT:    scf.if %[[THERE]] {
// THREAD-COUNT-4:   vector.store {{.*}} {alignment = 16 : i64}
// THREAD-NOT:       scf.if
// THREAD:         }
// THREAD-NOT:     scf.if
// THREAD:         vector.store {{.*}} : memref<32xf32>, vector<2xf32>
// THREAD:         gpu.return
gpu.module @kernels {
  gpu.func @rows(%x: memref<32x128xbf16>, %v: memref<?x128xf32>, %y: memref<?x32x128xbf16>, %s: memref<32xf32>, %n: index, %c: i1) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %pad = arith.constant 0.0 : bf16
    %padf = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<32x128xbf16>
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %old = scf.if %c -> (vector<32x128xbf16>) {
      %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<32x128xbf16>, vector<32x128xbf16>
      scf.yield %xv : vector<32x128xbf16>
    } else {
      scf.yield %none : vector<32x128xbf16>
    }
    %wide = arith.extf %old : vector<32x128xbf16> to vector<32x128xf32>
    %h:2 = scf.for %i = %c0 to %n step %c1 iter_args(%hi = %wide, %si = %zero) -> (vector<32x128xf32>, vector<32xf32>) {
      %vi = memref.subview %v[%i, 0] [1, 128] [1, 1] : memref<?x128xf32> to memref<128xf32, strided<[1], offset: ?>>
      %vv = vector.transfer_read %vi[%c0], %padf {in_bounds = [true]} : memref<128xf32, strided<[1], offset: ?>>, vector<128xf32>
      %vb = vector.broadcast %vv : vector<128xf32> to vector<32x128xf32>
      %next = arith.addf %hi, %vb : vector<32x128xf32>
      %p = arith.mulf %next, %vb : vector<32x128xf32>
      %r = vector.multi_reduction <add>, %p, %si [1] : vector<32x128xf32> to vector<32xf32>
      scf.yield %next, %r : vector<32x128xf32>, vector<32xf32>
    }
    %narrow = arith.truncf %h#0 : vector<32x128xf32> to vector<32x128xbf16>
    %unit = vector.shape_cast %narrow : vector<32x128xbf16> to vector<1x32x128xbf16>
    vector.transfer_write %unit, %y[%c0, %c0, %c0] {in_bounds = [false, true, true]} : vector<1x32x128xbf16>, memref<?x32x128xbf16>
    vector.transfer_write %h#1, %s[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
    gpu.return
  }
}

// -----

// Few rows: more lanes along each. 160 of 256 columns exist, so that some lanes
// have nothing to add in what is past the first 128. Two of the warps compute
// what the others do, and do not write it.

// CHECK-DAG: #[[$M:.*]] = #mamba.layout<"register[(0,1),(0,2),(0,128)], lane[(0,4),(0,8),(0,16),(0,32),(0,64)], warp[(1,0),(0,0)] -> dim0[2], dim1[256]">
// CHECK-LABEL: gpu.func @few_rows(
// CHECK:         vector.transfer_read {{.*}} mamba.layouts = [#[[$M]]]
// THREAD-LABEL: gpu.func @few_rows(
// THREAD:         %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c160_i32 : i32
// THREAD:         arith.select %[[INSIDE]], %{{.*}}, %cst
// THREAD-COUNT-5: gpu.shuffle xor
// THREAD:         scf.if
// THREAD-NEXT:      memref.store
gpu.module @kernels {
  gpu.func @few_rows(%x: memref<2x160xf32>, %s: memref<2xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<2xf32>
    %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<2x160xf32>, vector<2x160xf32>
    %e = math.exp %xv : vector<2x160xf32>
    %r = vector.multi_reduction <add>, %e, %zero [1] : vector<2x160xf32> to vector<2xf32>
    vector.transfer_write %r, %s[%c0] {in_bounds = [true]} : vector<2xf32>, memref<2xf32>
    gpu.return
  }
}

// -----

// Sums along columns: the warps split the columns, lanes a line of each row.

// CHECK-DAG: #[[$M:.*]] = #mamba.layout<"register[(0,1),(0,2),(4,0),(8,0)], lane[(0,4),(0,8),(0,16),(1,0),(2,0)], warp[(0,32),(0,64)] -> dim0[16], dim1[128]">
// CHECK-LABEL: gpu.func @columns(
// CHECK:         vector.transfer_read {{.*}} mamba.layouts = [#[[$M]]]
// THREAD-LABEL: gpu.func @columns(
// THREAD-COUNT-8: gpu.shuffle xor
gpu.module @kernels {
  gpu.func @columns(%x: memref<16x128xf32>, %s: memref<128xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<128xf32>
    %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [true, true]} : memref<16x128xf32>, vector<16x128xf32>
    %r = vector.multi_reduction <add>, %xv, %zero [0] : vector<16x128xf32> to vector<128xf32>
    vector.transfer_write %r, %s[%c0] {in_bounds = [true]} : vector<128xf32>, memref<128xf32>
    gpu.return
  }
}

// -----

// A dimension of which there is one element or none; of a vector of one row.

// THREAD-LABEL: gpu.func @one_or_none(
// THREAD:         %[[ROW:.*]] = scf.if %{{.*}} -> (vector<4xf32>) {
// THREAD:           %[[V:.*]] = vector.load
// THREAD:           scf.yield %[[V]]
// THREAD-NEXT:    } else {
// THREAD-NEXT:      scf.yield %cst
// THREAD:         vector.shuffle %[[ROW]], %[[ROW]] [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]
gpu.module @kernels {
  gpu.func @one_or_none(%x: memref<?x128xf32>, %y: memref<4x128xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f32
    %xv = vector.transfer_read %x[%c0, %c0], %pad {in_bounds = [false, true]} : memref<?x128xf32>, vector<1x128xf32>
    %yv = vector.broadcast %xv : vector<1x128xf32> to vector<4x128xf32>
    vector.transfer_write %yv, %y[%c0, %c0] {in_bounds = [true, true]} : vector<4x128xf32>, memref<4x128xf32>
    gpu.return
  }
}
