// RUN: mamba-opt %s -mamba-outline-kernels -canonicalize -cse -split-input-file | FileCheck %s

// One parameter for each buffer and each different size, and the launch says
// what they are. The sizes of %w and the trip count are sizes of %x.

// CHECK: module attributes {gpu.container_module}
// CHECK-LABEL: func.func @scale(
// CHECK-SAME:    %[[X:.*]]: memref<?x?xf32>
// CHECK-DAG:     %[[ROWS:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[COLUMNS:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[W:.*]] = memref.alloc(%[[ROWS]], %[[COLUMNS]])
// CHECK:         %[[XP:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [], strides: [] : memref<?x?xf32> to memref<f32>
// CHECK:         %[[WP:.*]] = memref.reinterpret_cast %[[W]] to offset: [0], sizes: [], strides: [] : memref<?x?xf32> to memref<f32>
// CHECK:         gpu.launch_func @scale_kernels::@scale_rows
// CHECK-SAME:      blocks in (%[[ROWS]], %c1, %c1) threads in (%c128, %c1, %c1)
// CHECK-SAME:      args(%[[XP]] : memref<f32>, %[[WP]] : memref<f32>, %[[COLUMNS]] : index, %[[ROWS]] : index)

// CHECK-LABEL: gpu.module @scale_kernels
// CHECK:       gpu.func @scale_rows(
// CHECK-SAME:    %[[XP:.*]]: memref<f32> {mamba.name = "x"}, %[[WP:.*]]: memref<f32>,
// CHECK-SAME:    %[[COLUMNS:.*]]: index, %[[ROWS:.*]]: index) kernel
// CHECK-SAME:    known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME:    mamba.kernel = "rows"
// CHECK-SAME:    some.note
// CHECK-DAG:     %[[FACTOR:.*]] = arith.constant 2.0
// CHECK-DAG:     %[[X:.*]] = memref.reinterpret_cast %[[XP]] to offset: [0], sizes: [%[[ROWS]], %[[COLUMNS]]], strides: [%[[COLUMNS]], 1] : memref<f32> to memref<?x?xf32>
// CHECK-DAG:     %[[W:.*]] = memref.reinterpret_cast %[[WP]] to offset: [0], sizes: [%[[ROWS]], %[[COLUMNS]]], strides: [%[[COLUMNS]], 1] : memref<f32> to memref<?x?xf32>
// CHECK:         %[[I:.*]] = gpu.block_id x
// CHECK:         memref.subview %[[X]][%[[I]], 0] [1, %[[COLUMNS]]]
// CHECK:         memref.subview %[[W]][%[[I]], 0] [1, %[[COLUMNS]]]
// CHECK:         arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK:         gpu.return
#id = affine_map<(d0) -> (d0)>
func.func @scale(%x: memref<?x?xf32> {mamba.name = "x"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %rows = memref.dim %x, %c0 : memref<?x?xf32>
  %columns = memref.dim %x, %c1 : memref<?x?xf32>
  %w = memref.alloc(%rows, %columns) : memref<?x?xf32>
  scf.forall (%i) in (%rows) {
    %n = memref.dim %x, %c1 : memref<?x?xf32>
    %xr = memref.subview %x[%i, 0] [1, %n] [1, 1]
        : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %wr = memref.subview %w[%i, 0] [1, %n] [1, 1]
        : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%xr : memref<?xf32, strided<[1], offset: ?>>)
        outs(%wr : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %scaled = arith.mulf %in, %two : f32
      linalg.yield %scaled : f32
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "rows", some.note}
  return
}

// -----

// The grid is the product of the trip counts; the dimension of the lowest id is
// the fastest. A dimension with one trip takes no part.

// CHECK-LABEL: func.func @grid(
// CHECK-SAME:    %{{.*}}: memref<8xf32>, %[[N:.*]]: index, %[[LO:.*]]: index
// CHECK:         %[[SPAN:.*]] = arith.subi %[[N]], %[[LO]]
// CHECK:         %[[TRIPS:.*]] = arith.ceildivsi %[[SPAN]], %c4
// CHECK:         %[[BLOCKS:.*]] = arith.muli %[[TRIPS]], %c3
// CHECK:         gpu.launch_func @grid_kernels::@grid_kernel
// CHECK-SAME:      blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c256, %c1, %c1)
// CHECK-SAME:      args(%{{.*}} : memref<f32>, %[[LO]] : index)

// CHECK:       gpu.func @grid_kernel(%{{.*}}: memref<f32>, %[[LO:.*]]: index) kernel
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK:         %[[ID:.*]] = gpu.block_id x
// CHECK:         %[[J:.*]] = arith.remui %[[ID]], %c3
// CHECK:         %[[REST:.*]] = arith.divui %[[ID]], %c3
// CHECK:         %[[STEPS:.*]] = arith.muli %[[REST]], %c4
// CHECK:         %[[I:.*]] = arith.addi %[[STEPS]], %[[LO]]
// CHECK:         %[[SUM:.*]] = arith.addi %[[I]], %[[J]]
// CHECK:         memref.store %{{.*}}, %{{.*}}[%[[SUM]]]
func.func @grid(%x: memref<8xf32>, %n: index, %lo: index) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i, %j, %k) = (%lo, 0, 0) to (%n, 3, 1) step (4, 1, 1) {
    %ij = arith.addi %i, %j : index
    %ijk = arith.addi %ij, %k : index
    memref.store %zero, %x[%ijk] : memref<8xf32>
  } {mapping = [#gpu.block<linear_dim_2>, #gpu.block<linear_dim_0>,
                #gpu.block<linear_dim_1>],
     mamba.plan = #mamba.plan<chunk_parallel tile [4, 1, 1] warps 8>}
  return
}

// -----

// The kernels of a function share a module, and their names are different. A
// scalar that is computed from an index is computed again, and a view is made
// again.

// CHECK-LABEL: func.func @twice(
// CHECK:         gpu.launch_func @twice_kernels_1::@twice_step
// CHECK-SAME:      args(%[[X:.*]] : memref<bf16>, %[[N:.*]] : index)
// CHECK:         gpu.launch_func @twice_kernels_1::@twice_step_1
// CHECK-SAME:      args(%[[X]] : memref<bf16>, %[[N]] : index)

// CHECK-LABEL: gpu.module @twice_kernels_1
// CHECK:       gpu.func @twice_step(%[[P:.*]]: memref<bf16>, %[[N:.*]]: index)
// CHECK:         %[[X:.*]] = memref.reinterpret_cast %[[P]] to offset: [0], sizes: [%[[N]], 4], strides: [4, 1]
// CHECK:         %[[INT:.*]] = arith.index_cast %[[N]]
// CHECK:         %[[VALUE:.*]] = arith.sitofp %[[INT]]
// CHECK:         %[[TAIL:.*]] = memref.subview %[[X]][1, 0] [3, 4]
// CHECK:         memref.store %[[VALUE]], %[[TAIL]]
// CHECK:       gpu.func @twice_step_1(
// CHECK:       gpu.module @twice_kernels
func.func @twice(%x: memref<?x4xbf16>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x4xbf16>
  %n32 = arith.index_cast %n : index to i32
  %value = arith.sitofp %n32 : i32 to bf16
  %tail = memref.subview %x[1, 0] [3, 4] [1, 1]
      : memref<?x4xbf16> to memref<3x4xbf16, strided<[4, 1], offset: 4>>
  scf.forall (%i) in (3) {
    memref.store %value, %tail[%i, %c0] : memref<3x4xbf16, strided<[4, 1], offset: 4>>
  } {mapping = [#gpu.block<x>], mamba.kernel = "step"}
  scf.forall (%i) in (%n) {
    memref.store %value, %x[%i, %c0] : memref<?x4xbf16>
  } {mapping = [#gpu.block<x>], mamba.kernel = "step"}
  return
}
gpu.module @twice_kernels {
}

// -----

// The minimum that bounds the size of a temporary is computed in the kernel.

// CHECK-LABEL: func.func @bound(
// CHECK-SAME:    %{{.*}}: memref<8xf32>, %[[N:.*]]: index
// CHECK-NOT:     arith.minsi
// CHECK:         args(%{{.*}} : memref<f32>, %[[N]] : index)
// CHECK:       gpu.func @bound_kernel(%{{.*}}: memref<f32>, %[[N:.*]]: index)
// CHECK:         %[[SIZE:.*]] = arith.minsi %[[N]], %c8
// CHECK:         memref.alloc(%[[SIZE]])
func.func @bound(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %size = arith.minsi %n, %c8 : index
  scf.forall (%i) in (8) {
    %t = memref.alloc(%size) : memref<?xf32>
    %part = memref.subview %x[0] [%size] [1] : memref<8xf32> to memref<?xf32, strided<[1]>>
    memref.copy %part, %t : memref<?xf32, strided<[1]>> to memref<?xf32>
    %v = memref.load %t[%c0] : memref<?xf32>
    memref.store %v, %x[%i] : memref<8xf32>
  } {mapping = [#gpu.block<x>]}
  return
}

// -----

// Loops that are not over blocks stay, and the module is not marked.

// CHECK-NOT:   gpu.container_module
// CHECK-LABEL: func.func @host
// CHECK:         scf.forall
// CHECK-NOT:   gpu.module
func.func @host(%x: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    memref.store %zero, %x[%i] : memref<8xf32>
  }
  return
}

// -----

// Strides that the caller chooses are parameters. Those of rows of whole 16
// bytes are passed by 8 elements, so that the kernel sees what they are
// multiples of.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:.*]]: memref<?x?x64xbf16, strided<[?, 64, 1]>>, %[[Y:.*]]: memref<?x?xbf16, strided<[?, 1]>>
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}:3, %[[PITCH:.*]]:3 = memref.extract_strided_metadata %[[X]]
// CHECK:         %[[BY8:[a-z0-9_]+]] = arith.divsi %[[PITCH]]#0, %c8
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}:2, %[[OTHER:[a-z0-9_]+]]:2 = memref.extract_strided_metadata %[[Y]]
// CHECK:         args({{.*}}%[[BY8]] : index, {{.*}}%[[OTHER]]#0 : index, %{{[a-z0-9_]+}} : index)
// CHECK:       gpu.func @rows_kernel(%[[PX:[^:]*]]: memref<bf16>, %[[PY:[^:]*]]: memref<bf16>
// CHECK:         %[[STRIDE:.*]] = arith.muli %{{.*}}, %c8
// CHECK:         memref.reinterpret_cast %[[PX]] to offset: [0], sizes: [{{.*}}, 64], strides: [%[[STRIDE]], 64, 1]
// CHECK:         memref.reinterpret_cast %[[PY]] to offset: [0], sizes: [{{.*}}], strides: [%{{.*}}, 1]
func.func @rows(%x: memref<?x?x64xbf16, strided<[?, 64, 1]>>,
                %y: memref<?x?xbf16, strided<[?, 1]>>, %z: memref<?xbf16>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x?x64xbf16, strided<[?, 64, 1]>>
  scf.forall (%i) in (%n) {
    %a = memref.load %x[%i, %c0, %c0] : memref<?x?x64xbf16, strided<[?, 64, 1]>>
    %b = memref.load %y[%i, %c0] : memref<?x?xbf16, strided<[?, 1]>>
    %c = arith.addf %a, %b : bf16
    memref.store %c, %z[%i] : memref<?xbf16>
  } {mapping = [#gpu.block<x>]}
  return
}
