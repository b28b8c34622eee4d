// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-narrow-indices,canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: gpu.func @mask(
// CHECK-SAME:    %{{.*}}: memref<64x64xi1>, %[[I:.*]]: index, %[[J:.*]]: index
// CHECK-DAG:     %[[D:.*]] = arith.subi %[[I]], %[[J]] : index
// CHECK-DAG:     %[[NEAR:.*]] = arith.minsi %[[D]], %c268435456
// CHECK-DAG:     %[[CUT:.*]] = arith.maxsi %[[NEAR]], %c-268435456
// CHECK-DAG:     %[[N:.*]] = arith.index_cast %[[CUT]] : index to i32
// CHECK-DAG:     %[[S:.*]] = vector.broadcast %[[N]] : i32 to vector<64x64xi32>
// CHECK:         %[[R:.*]] = arith.addi %{{.*}}, %[[S]] : vector<64x64xi32>
// CHECK:         arith.cmpi sle, %{{.*}}, %[[R]] : vector<64x64xi32>
// What is no sum of scalars and steps stays.
// CHECK:         arith.cmpi ult, %{{.*}} : vector<64xindex>
gpu.module @kernels {
  gpu.func @mask(%m: memref<64x64xi1>, %i: index, %j: index, %v: vector<64xindex>, %w: memref<64xi1>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %step = vector.step : vector<64xindex>
    %is = vector.broadcast %i : index to vector<64xindex>
    %rows = arith.addi %is, %step : vector<64xindex>
    %rb = vector.broadcast %rows : vector<64xindex> to vector<64x64xindex>
    %r = vector.transpose %rb, [1, 0] : vector<64x64xindex> to vector<64x64xindex>
    %js = vector.broadcast %j : index to vector<64xindex>
    %columns = arith.addi %js, %step : vector<64xindex>
    %c = vector.broadcast %columns : vector<64xindex> to vector<64x64xindex>
    %mask = arith.cmpi ule, %c, %r : vector<64x64xindex>
    vector.transfer_write %mask, %m[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xi1>, memref<64x64xi1>
    %other = arith.cmpi ult, %v, %columns : vector<64xindex>
    vector.transfer_write %other, %w[%c0] {in_bounds = [true]} : vector<64xi1>, memref<64xi1>
    gpu.return
  }
}

// Columns up to the row and before the end: one comparison, with a limit for
// each row.
// CHECK-LABEL: gpu.func @triangle(
// CHECK-SAME:    %{{.*}}: memref<64x64xi1>, %[[N:.*]]: index
// CHECK:         %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:         %[[LAST:.*]] = arith.subi %{{.*}}, %[[ONE]] : i32
// CHECK:         %[[LASTS:.*]] = vector.broadcast %[[LAST]] : i32 to vector<64xi32>
// CHECK:         %[[LIMIT:.*]] = arith.minsi %{{.*}}, %[[LASTS]] : vector<64xi32>
// CHECK:         %[[B:.*]] = vector.broadcast %[[LIMIT]] : vector<64xi32> to vector<64x64xi32>
// CHECK:         %[[R:.*]] = vector.transpose %[[B]], [1, 0]
// CHECK:         arith.cmpi sle, %{{.*}}, %[[R]] : vector<64x64xi32>
// CHECK-NOT:     arith.andi
gpu.module @more {
  gpu.func @triangle(%m: memref<64x64xi1>, %n: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %c0 = arith.constant 0 : index
    %step = vector.step : vector<64xindex>
    %rb = vector.broadcast %step : vector<64xindex> to vector<64x64xindex>
    %r = vector.transpose %rb, [1, 0] : vector<64x64xindex> to vector<64x64xindex>
    %c = vector.broadcast %step : vector<64xindex> to vector<64x64xindex>
    %seen = arith.cmpi ule, %c, %r : vector<64x64xindex>
    %ns = vector.broadcast %n : index to vector<64xindex>
    %within = arith.cmpi ult, %step, %ns : vector<64xindex>
    %w = vector.broadcast %within : vector<64xi1> to vector<64x64xi1>
    %mask = arith.andi %seen, %w : vector<64x64xi1>
    vector.transfer_write %mask, %m[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xi1>, memref<64x64xi1>
    gpu.return
  }
}
