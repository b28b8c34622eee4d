// RUN: mamba-opt %s --mamba-copies-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @copies
// CHECK-NEXT:    linalg.copy ins(%{{.*}} : memref<8x4xf32, strided<[16, 1]>>) outs(%{{.*}} : memref<8x4xf32>)
// CHECK-NEXT:    memref.copy
func.func @copies(%strided: memref<8x4xf32, strided<[16, 1]>>,
                  %dense: memref<8x4xf32>, %other: memref<8x4xf32>) {
  memref.copy %strided, %dense
      : memref<8x4xf32, strided<[16, 1]>> to memref<8x4xf32>
  memref.copy %dense, %other : memref<8x4xf32> to memref<8x4xf32>
  return
}
