// Sizes that `mamba.dims` gives one name are one size.

// RUN: mamba-opt %s -o %t.mlir --mamba-print-manifest | FileCheck %s

// CHECK:      "arguments": [
// CHECK:        "name": "x",
// CHECK-NEXT:   "role": "input",
// CHECK-NEXT:   "shape": [
// CHECK-NEXT:     "batch",
// CHECK-NEXT:     "d0",
// CHECK-NEXT:     "d1"
// CHECK-NEXT:   ]
// CHECK:        "name": "y",
// CHECK-NEXT:   "role": "output",
// CHECK-NEXT:   "shape": [
// CHECK-NEXT:     "batch",
// CHECK-NEXT:     "ceildiv(d0, 64)",
// CHECK-NEXT:     "d2"
// CHECK-NEXT:   ]
// CHECK:      "grid": [
// CHECK-NEXT:   "batch",
// CHECK-NEXT:   "ceildiv(d0, 64)",
// CHECK-NEXT:   "d2"
// CHECK:      "sizes": {
// CHECK-NEXT:   "batch": {
// CHECK-NEXT:     "argument": "x",
// CHECK-NEXT:     "axis": 0
// CHECK-NEXT:   },
// CHECK-NEXT:   "d0": {
// CHECK-NEXT:     "argument": "x",
// CHECK-NEXT:     "axis": 1
// CHECK-NEXT:   },
// CHECK-NEXT:   "d1": {
// CHECK-NEXT:     "argument": "x",
// CHECK-NEXT:     "axis": 2
// CHECK-NEXT:   },
// CHECK-NEXT:   "d2": {
// CHECK-NEXT:     "argument": "y",
// CHECK-NEXT:     "axis": 2
// CHECK-NEXT:   }
// CHECK-NEXT: },

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%n: index) kernel {
      gpu.return
    }
  }
  // "d0" is a given name, so the sizes without one are called d1 and d2.
  func.func @f(
      %x: memref<?x?x?xf32> {mamba.name = "x", mamba.dims = ["batch", "d0", ""]},
      %y: memref<?x?x?xf32> {mamba.name = "y", mamba.result,
                             mamba.dims = ["batch", "ceildiv(d0, 64)", ""]}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %b = memref.dim %y, %c0 : memref<?x?x?xf32>
    %chunks = memref.dim %y, %c1 : memref<?x?x?xf32>
    %n = memref.dim %y, %c2 : memref<?x?x?xf32>
    gpu.launch_func @kernels::@k blocks in (%b, %chunks, %n)
        threads in (%c1, %c1, %c1) args(%n : index)
    return
  }
}
