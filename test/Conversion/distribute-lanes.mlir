// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-distribute,canonicalize,cse))' -split-input-file | FileCheck %s

// Reductions that several lanes of a warp share.

// 6 points for 64 threads: 8 lanes a point. There is room for 8 points, so that
// two groups have no steps; they still take part in the shuffles.

// CHECK-LABEL: gpu.func @few_points(
// CHECK-SAME:    %[[X:.*]]: memref<100x6xf32>, %[[Y:.*]]: memref<6xf32>
// CHECK-DAG:     %[[NEUTRAL:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[TID:.*]] = gpu.thread_id x
// CHECK-DAG:     %[[LANE:.*]] = arith.remui %[[TID]], %c8
// CHECK-DAG:     %[[POINT:.*]] = arith.divui %[[TID]], %c8
// CHECK:         %[[ACTIVE:.*]] = arith.cmpi ult, %[[POINT]], %c6
// CHECK:         %[[STEPS:.*]] = arith.select %[[ACTIVE]], %c100, %c0
// CHECK:         %[[PART:.*]] = scf.for %[[K:.*]] = %[[LANE]] to %[[STEPS]] step %c8 iter_args(%[[ACC:.*]] = %[[NEUTRAL]]) -> (f32) {
// CHECK:           %[[V:.*]] = memref.load %[[X]][%[[K]], %[[POINT]]]
// CHECK:           arith.maximumf %[[ACC]], %[[V]]
// CHECK:         }
// CHECK:         %[[OTHER:.*]], %{{.*}} = gpu.shuffle xor %[[PART]], %c4_i32, %c32_i32
// CHECK:         arith.maximumf %[[PART]], %[[OTHER]]
// CHECK:         gpu.shuffle xor %{{.*}}, %c2_i32, %c32_i32
// CHECK:         gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32
// CHECK:         %[[MAX:.*]] = arith.maximumf
// CHECK:         %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK:         %[[WRITER:.*]] = arith.andi %[[FIRST]], %[[ACTIVE]]
// CHECK:         scf.if %[[WRITER]] {
// CHECK:           %[[OLD:.*]] = memref.load %[[Y]][%[[POINT]]]
// CHECK:           %[[NEW:.*]] = arith.maximumf %[[OLD]], %[[MAX]]
// CHECK:           memref.store %[[NEW]], %[[Y]][%[[POINT]]]
gpu.module @kernels {
  gpu.func @few_points(%x: memref<100x6xf32>, %y: memref<6xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    linalg.reduce { arith.maximumf } ins(%x : memref<100x6xf32>)
                                     outs(%y : memref<6xf32>) dimensions = [0]
    gpu.return
  }
}

// -----

// Both inputs are contiguous in global memory where the reduction goes, so that
// the lanes of a warp read neighbours. 64 threads make 2 groups, which divide the
// 48 points.

// CHECK-LABEL: gpu.func @contiguous_steps(
// CHECK-SAME:    %[[X:.*]]: memref<6x64xf32>, %[[Y:.*]]: memref<8x64xf32>
// CHECK-DAG:     %[[LANE:.*]] = arith.remui %{{.*}}, %c32
// CHECK-DAG:     %[[GROUP:.*]] = arith.divui %{{.*}}, %c32
// CHECK:         scf.for %[[FIRST:.*]] = %c0 to %c48 step %c2 {
// CHECK-NEXT:      %[[POINT:.*]] = arith.addi %[[FIRST]], %[[GROUP]]
// CHECK-DAG:       %[[N:.*]] = arith.remui %[[POINT]], %c8
// CHECK-DAG:       %[[M:.*]] = arith.divui %[[POINT]], %c8
// CHECK:           scf.for %[[K:.*]] = %[[LANE]] to %c64 step %c32
// CHECK-DAG:         memref.load %[[X]][%[[M]], %[[K]]]
// CHECK-DAG:         memref.load %[[Y]][%[[N]], %[[K]]]
// CHECK:             arith.mulf %{{.*}}, %{{.*}} fastmath<contract>
// CHECK:           gpu.shuffle xor %{{.*}}, %c16_i32, %c32_i32
// CHECK:           %[[WRITER:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK:           scf.if %[[WRITER]]
#m = affine_map<(m, n, k) -> (m, k)>
#n = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @contiguous_steps(%x: memref<6x64xf32>, %y: memref<8x64xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c = memref.alloc() : memref<6x8xf32>
    linalg.matmul indexing_maps = [#m, #n, #c]
        ins(%x, %y : memref<6x64xf32>, memref<8x64xf32>) outs(%c : memref<6x8xf32>)
    gpu.return
  }
}

// -----

// A reduction to one element is finished by the first thread, which also wrote
// the element before: no barrier.

// CHECK-LABEL: gpu.func @one_point(
// CHECK-NOT:     gpu.barrier
// CHECK:         gpu.shuffle xor
// CHECK:         gpu.return
gpu.module @kernels {
  gpu.func @one_point(%x: memref<?xi32>, %y: memref<i32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : i32
    linalg.fill ins(%zero : i32) outs(%y : memref<i32>)
    linalg.reduce { arith.addi } ins(%x : memref<?xi32>)
                                 outs(%y : memref<i32>) dimensions = [0]
    gpu.return
  }
}

// -----

// One thread a point: a short reduction, one in a type that is not shuffled,
// and one whose order matters.

// CHECK-LABEL: gpu.func @not_shared(
// CHECK-NOT:     gpu.shuffle
// CHECK:         gpu.return
#in = affine_map<(d0) -> (d0)>
#out = affine_map<(d0) -> ()>
gpu.module @kernels {
  gpu.func @not_shared(%short: memref<16xf32>, %x: memref<64xf32>, %h: memref<64xbf16>,
                       %y0: memref<f32>, %y1: memref<f32>, %y2: memref<bf16>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    linalg.reduce { arith.addf } ins(%short : memref<16xf32>)
                                 outs(%y0 : memref<f32>) dimensions = [0]
    linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction"]}
        ins(%x : memref<64xf32>) outs(%y1 : memref<f32>) {
    ^bb0(%in: f32, %out: f32):
      %product = arith.mulf %out, %out : f32
      %sum = arith.addf %product, %in : f32
      linalg.yield %sum : f32
    }
    linalg.reduce { arith.addf } ins(%h : memref<64xbf16>)
                                 outs(%y2 : memref<bf16>) dimensions = [0]
    gpu.return
  }
}
