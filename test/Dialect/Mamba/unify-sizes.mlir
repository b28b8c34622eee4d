// RUN: mamba-opt %s --mamba-unify-sizes | FileCheck %s

// CHECK-LABEL: func @named
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<?x?xf32> {{[^%]*}}, %[[Y:[a-z0-9]+]]: memref<4x?x?xf32>
func.func @named(%x: memref<?x?xf32> {mamba.dims = ["batch", ""]},
                 %y: memref<4x?x?xf32> {mamba.dims = ["", "length", "batch"]}, %axis: index)
    -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.+]] = arith.constant 1 : index
  // CHECK-DAG: %[[BATCH:.+]] = memref.dim %[[X]], %[[ZERO:.+]] : memref<?x?xf32>
  // CHECK-DAG: %[[FIRST:.+]] = memref.dim %[[X]], %[[C0]] : memref<?x?xf32>
  // Without a name, with a name of its own, and at an axis of no constant.
  // CHECK-DAG: %[[OTHER:.+]] = memref.dim %[[X]], %[[C1]]
  // CHECK-DAG: %[[LENGTH:.+]] = memref.dim %[[Y]], %[[C1]]
  // CHECK-DAG: %[[ANY:.+]] = memref.dim %[[Y]], %{{[a-z0-9]+}} : memref<4x?x?xf32>
  // CHECK: return
  %batch = memref.dim %y, %c2 : memref<4x?x?xf32>
  %first = memref.dim %x, %c0 : memref<?x?xf32>
  %other = memref.dim %x, %c1 : memref<?x?xf32>
  %length = memref.dim %y, %c1 : memref<4x?x?xf32>
  %any = memref.dim %y, %axis : memref<4x?x?xf32>
  return %batch, %first, %other, %length, %any : index, index, index, index, index
}
