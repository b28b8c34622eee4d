// RUN: mamba-opt %s -o %t.mlir --mamba-print-manifest=target=sm_90a | FileCheck %s

// Strides that the caller chooses are sizes with names, and i64 parameters.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<bf16>, %pitch: index, %other: index) kernel {
      gpu.return
    }
  }
  // The name of a size is taken; other names have no letters first.
  func.func @f(%x: memref<?x?x?x64xbf16, strided<[?, ?, 64, 1]>>
                   {mamba.name = "x", mamba.dims = ["x_pitch_0", "", "heads", ""]},
               %y: memref<?x?xf32, strided<[?, 1]>> {mamba.name = "1.y"})
      attributes {mamba.constraints = ["heads > 1"]} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %base, %offset, %sizes:4, %strides:4 = memref.extract_strided_metadata %x
        : memref<?x?x?x64xbf16, strided<[?, ?, 64, 1]>>
        -> memref<bf16>, index, index, index, index, index, index, index, index, index
    %yBase, %yOffset, %ySizes:2, %yStrides:2 = memref.extract_strided_metadata %y
        : memref<?x?xf32, strided<[?, 1]>> -> memref<f32>, index, index, index, index, index
    %pitch = arith.divsi %strides#1, %c8 : index
    %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
        : memref<?x?x?x64xbf16, strided<[?, ?, 64, 1]>> to memref<bf16>
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1)
        args(%px : memref<bf16>, %pitch : index, %yStrides#0 : index)
    return
  }
}

// CHECK:      "name": "x",
// CHECK:      "strides": [
// CHECK-NEXT:   "x_pitch_0_",
// CHECK-NEXT:   "x_pitch_1",
// CHECK-NEXT:   64,
// CHECK-NEXT:   1
// CHECK-NEXT: ]
// CHECK:      "name": "1.y",
// CHECK:      "strides": [
// CHECK-NEXT:   "_1_y_pitch_0",
// CHECK-NEXT:   1
// CHECK-NEXT: ]
// CHECK:      "constraints": [
// CHECK-NEXT:   "heads > 1",
// CHECK-NEXT:   "mod(x_pitch_0_, 8) == 0",
// CHECK-NEXT:   "mod(x_pitch_1, 8) == 0"
// CHECK-NEXT: ]
// CHECK:      "kind": "pointer"
// CHECK:      "value": "floordiv(x_pitch_1, 8)"
// CHECK:      "value": "_1_y_pitch_0"
// CHECK:      "sizes": {
// CHECK-NEXT:   "_1_y_pitch_0": {
// CHECK-NEXT:     "argument": "1.y",
// CHECK-NEXT:     "stride": 0
// CHECK-NEXT:   },
// CHECK:        "x_pitch_0_": {
// CHECK-NEXT:     "argument": "x",
// CHECK-NEXT:     "stride": 0
// CHECK:      "version": 2
