// RUN: mamba-opt %s -o %t.mlir --mamba-print-manifest=target=sm_90a \
// RUN:   | FileCheck %s --match-full-lines --strict-whitespace
// RUN: mamba-opt %s --mamba-print-manifest=target=sm_90a -o %t.mlir \
// RUN:   | FileCheck %s --check-prefix=VERSION

// A tile of 128 positions of one head, as a copy engine moves it, and one of an
// intermediate array. Numbers are innermost first, as the driver has them.

!x_map = !nvgpu.tensormap.descriptor<
    tensor = memref<1x128x1x64xbf16, 3>, swizzle = swizzle_128b,
    l2promo = l2promo_256b, oob = zero, interleave = none>
!w_map = !nvgpu.tensormap.descriptor<
    tensor = memref<16x8xf32, 3>, swizzle = none, l2promo = none, oob = nan,
    interleave = none>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: !x_map, %n: index, %w: !w_map) kernel {
      gpu.return
    }
  }

  // VERSION: "version": 2
  func.func @f(%x: memref<?x?x?x64xbf16> {mamba.name = "x",
                   mamba.dims = ["batch", "length", "heads", unit]}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %b = memref.dim %x, %c0 : memref<?x?x?x64xbf16>
    %l = memref.dim %x, %c1 : memref<?x?x?x64xbf16>
    %h = memref.dim %x, %c2 : memref<?x?x?x64xbf16>
    %row = arith.muli %h, %c64 : index
    %matrix = arith.muli %row, %l : index
    %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
        : memref<?x?x?x64xbf16> to memref<bf16>
    %x_map = mamba.tensor_map %px[%c0] sizes(%b, %l, %h, %c64)
        strides(%matrix, %row, %c64, %c1) : memref<bf16> -> !x_map
    %w = memref.alloc(%b) : memref<?x8xf32>
    %w_map = mamba.tensor_map %w[%row] sizes(%b, %c8) strides(%c8, %c1)
        : memref<?x8xf32> -> !w_map
    gpu.launch_func @kernels::@k blocks in (%h, %b, %c1)
        threads in (%c128, %c1, %c1)
        args(%x_map : !x_map, %l : index, %w_map : !w_map)
    return
  }
}

//      CHECK:          "parameters": [
// CHECK-NEXT:            {
// CHECK-NEXT:              "argument": "x",
// CHECK-NEXT:              "box": [
// CHECK-NEXT:                64,
// CHECK-NEXT:                1,
// CHECK-NEXT:                128,
// CHECK-NEXT:                1
// CHECK-NEXT:              ],
// CHECK-NEXT:              "dtype": "bf16",
// CHECK-NEXT:              "element_strides": [
// CHECK-NEXT:                1,
// CHECK-NEXT:                1,
// CHECK-NEXT:                1,
// CHECK-NEXT:                1
// CHECK-NEXT:              ],
// CHECK-NEXT:              "fill": "zero",
// CHECK-NEXT:              "kind": "tensor_map",
// CHECK-NEXT:              "l2_promotion": 256,
// CHECK-NEXT:              "offset": "0",
// CHECK-NEXT:              "sizes": [
// CHECK-NEXT:                "64",
// CHECK-NEXT:                "heads",
// CHECK-NEXT:                "length",
// CHECK-NEXT:                "batch"
// CHECK-NEXT:              ],
// CHECK-NEXT:              "strides": [
// CHECK-NEXT:                "64",
// CHECK-NEXT:                "heads * 64",
// CHECK-NEXT:                "heads * 64 * length"
// CHECK-NEXT:              ],
// CHECK-NEXT:              "swizzle": 128
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "kind": "i64",
// CHECK-NEXT:              "value": "length"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "box": [
// CHECK-NEXT:                8,
// CHECK-NEXT:                16
// CHECK-NEXT:              ],
// CHECK-NEXT:              "dtype": "f32",
// CHECK-NEXT:              "element_strides": [
// CHECK-NEXT:                1,
// CHECK-NEXT:                1
// CHECK-NEXT:              ],
// CHECK-NEXT:              "fill": "nan",
// CHECK-NEXT:              "kind": "tensor_map",
// CHECK-NEXT:              "l2_promotion": 0,
// CHECK-NEXT:              "offset": "heads * 64",
// CHECK-NEXT:              "sizes": [
// CHECK-NEXT:                "8",
// CHECK-NEXT:                "batch"
// CHECK-NEXT:              ],
// CHECK-NEXT:              "strides": [
// CHECK-NEXT:                "8"
// CHECK-NEXT:              ],
// CHECK-NEXT:              "swizzle": 0,
// CHECK-NEXT:              "workspace": "w0"
// CHECK-NEXT:            }
// CHECK-NEXT:          ],
