// RUN: mamba-opt %s -o %t.mlir --mamba-print-manifest=target=sm_100a \
// RUN:   | FileCheck %s --match-full-lines --strict-whitespace

module attributes {gpu.container_module} {
  gpu.module @scan_kernels {
    gpu.func @first(%x: memref<bf16>, %w: memref<f32>, %h: memref<4xi32>, %n: index)
        kernel attributes {known_block_size = array<i32: 64, 2, 1>,
                           mamba.shared_bytes = 69632 : i64} {
      gpu.return
    }
    gpu.func @second(%w: memref<f32>, %y: memref<f32>, %l: i64) kernel {
      gpu.return
    }
  }

  func.func @scan(%x: memref<?x?x64xbf16> {mamba.name = "x"},
                  %state: memref<?x16xf32> {mamba.name = "state",
                                            mamba.updated = "new_state"},
                  %h: memref<4xi32>,
                  %y: memref<?x?x64xf32> {mamba.name = "y", mamba.result},
                  %z: memref<f16> {mamba.result})
      attributes {mamba.constraints = ["y.0 == x.0"]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %b = memref.dim %x, %c0 : memref<?x?x64xbf16>
    %l = memref.dim %x, %c1 : memref<?x?x64xbf16>
    %slots = memref.dim %state, %c0 : memref<?x16xf32>
    %p = memref.dim %x, %c2 : memref<?x?x64xbf16>
    %chunks = arith.ceildivsi %l, %c256 : index
    %w = memref.alloc(%b, %chunks) : memref<2x?x?x8xf32>
    // Sizes of an allocation are those it was made with.
    %chunksAgain = memref.dim %w, %c2 : memref<2x?x?x8xf32>
    %pairs = affine.apply affine_map<()[s0, s1] -> ((s0 + 1) floordiv 2 - s1)>()[%chunksAgain, %b]
    %least = affine.min affine_map<()[s0] -> (s0 mod 4, 2, s0 * -2 + 7)>()[%l]
    %most = arith.maxsi %least, %slots : index
    %bytes = arith.muli %pairs, %most : index
    %bool = memref.alloc() : memref<3xi1>
    %flags = memref.alloc(%least) : memref<?xbf16>

    %px = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
        : memref<?x?x64xbf16> to memref<bf16>
    %pw = memref.reinterpret_cast %w to offset: [0], sizes: [], strides: []
        : memref<2x?x?x8xf32> to memref<f32>
    %py = memref.reinterpret_cast %y to offset: [0], sizes: [], strides: []
        : memref<?x?x64xf32> to memref<f32>
    gpu.launch_func @scan_kernels::@first
        blocks in (%chunks, %b, %c1) threads in (%p, %c2, %c1)
        args(%px : memref<bf16>, %pw : memref<f32>, %h : memref<4xi32>,
             %bytes : index)
    %i = arith.index_cast %l : index to i64
    %shared = arith.constant 1024 : i32
    gpu.launch_func @scan_kernels::@second clusters in (%c2, %c1, %c1)
        blocks in (%c64, %c1, %c1) threads in (%c256, %c1, %c1)
        dynamic_shared_memory_size %shared
        args(%pw : memref<f32>, %py : memref<f32>, %i : i64)
    memref.dealloc %w : memref<2x?x?x8xf32>
    return
  }

  func.func private @helper() {
    return
  }
}

//      CHECK:{
// CHECK-NEXT:  "functions": [
// CHECK-NEXT:    {
// CHECK-NEXT:      "arguments": [
// CHECK-NEXT:        {
// CHECK-NEXT:          "dtype": "bf16",
// CHECK-NEXT:          "name": "x",
// CHECK-NEXT:          "role": "input",
// CHECK-NEXT:          "shape": [
// CHECK-NEXT:            "d0",
// CHECK-NEXT:            "d1",
// CHECK-NEXT:            64
// CHECK-NEXT:          ]
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "dtype": "f32",
// CHECK-NEXT:          "name": "state",
// CHECK-NEXT:          "result": "new_state",
// CHECK-NEXT:          "role": "inout",
// CHECK-NEXT:          "shape": [
// CHECK-NEXT:            "d2",
// CHECK-NEXT:            16
// CHECK-NEXT:          ]
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "dtype": "i32",
// CHECK-NEXT:          "name": "arg2",
// CHECK-NEXT:          "role": "input",
// CHECK-NEXT:          "shape": [
// CHECK-NEXT:            4
// CHECK-NEXT:          ]
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "dtype": "f32",
// CHECK-NEXT:          "name": "y",
// CHECK-NEXT:          "role": "output",
// CHECK-NEXT:          "shape": [
// CHECK-NEXT:            "d3",
// CHECK-NEXT:            "d4",
// CHECK-NEXT:            64
// CHECK-NEXT:          ]
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "dtype": "f16",
// CHECK-NEXT:          "name": "result1",
// CHECK-NEXT:          "role": "output",
// CHECK-NEXT:          "shape": []
// CHECK-NEXT:        }
// CHECK-NEXT:      ],
// CHECK-NEXT:      "constraints": [
// CHECK-NEXT:        "y.0 == x.0"
// CHECK-NEXT:      ],
// CHECK-NEXT:      "launches": [
// CHECK-NEXT:        {
// CHECK-NEXT:          "block": [
// CHECK-NEXT:            64,
// CHECK-NEXT:            2,
// CHECK-NEXT:            1
// CHECK-NEXT:          ],
// CHECK-NEXT:          "cluster": [
// CHECK-NEXT:            1,
// CHECK-NEXT:            1,
// CHECK-NEXT:            1
// CHECK-NEXT:          ],
// CHECK-NEXT:          "grid": [
// CHECK-NEXT:            "ceildiv(d1, 256)",
// CHECK-NEXT:            "d0",
// CHECK-NEXT:            "1"
// CHECK-NEXT:          ],
// CHECK-NEXT:          "kernel": "first",
// CHECK-NEXT:          "parameters": [
// CHECK-NEXT:            {
// CHECK-NEXT:              "argument": "x",
// CHECK-NEXT:              "kind": "pointer"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "kind": "pointer",
// CHECK-NEXT:              "workspace": "w0"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "argument": "arg2",
// CHECK-NEXT:              "kind": "pointer"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "kind": "i64",
// CHECK-NEXT:              "value": "(floordiv(ceildiv(d1, 256) + 1, 2) - d0) * max(min(min(mod(d1, 4), 2), 7 - d1 * 2), d2)"
// CHECK-NEXT:            }
// CHECK-NEXT:          ],
// CHECK-NEXT:          "ptx": "scan.ptx",
// CHECK-NEXT:          "shared_bytes": 69632
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "block": [
// CHECK-NEXT:            256,
// CHECK-NEXT:            1,
// CHECK-NEXT:            1
// CHECK-NEXT:          ],
// CHECK-NEXT:          "cluster": [
// CHECK-NEXT:            2,
// CHECK-NEXT:            1,
// CHECK-NEXT:            1
// CHECK-NEXT:          ],
// CHECK-NEXT:          "grid": [
// CHECK-NEXT:            "64",
// CHECK-NEXT:            "1",
// CHECK-NEXT:            "1"
// CHECK-NEXT:          ],
// CHECK-NEXT:          "kernel": "second",
// CHECK-NEXT:          "parameters": [
// CHECK-NEXT:            {
// CHECK-NEXT:              "kind": "pointer",
// CHECK-NEXT:              "workspace": "w0"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "argument": "y",
// CHECK-NEXT:              "kind": "pointer"
// CHECK-NEXT:            },
// CHECK-NEXT:            {
// CHECK-NEXT:              "kind": "i64",
// CHECK-NEXT:              "value": "d1"
// CHECK-NEXT:            }
// CHECK-NEXT:          ],
// CHECK-NEXT:          "ptx": "scan.ptx",
// CHECK-NEXT:          "shared_bytes": 1024
// CHECK-NEXT:        }
// CHECK-NEXT:      ],
// CHECK-NEXT:      "name": "scan",
// CHECK-NEXT:      "sizes": {
// CHECK-NEXT:        "d0": {
// CHECK-NEXT:          "argument": "x",
// CHECK-NEXT:          "axis": 0
// CHECK-NEXT:        },
// CHECK-NEXT:        "d1": {
// CHECK-NEXT:          "argument": "x",
// CHECK-NEXT:          "axis": 1
// CHECK-NEXT:        },
// CHECK-NEXT:        "d2": {
// CHECK-NEXT:          "argument": "state",
// CHECK-NEXT:          "axis": 0
// CHECK-NEXT:        },
// CHECK-NEXT:        "d3": {
// CHECK-NEXT:          "argument": "y",
// CHECK-NEXT:          "axis": 0
// CHECK-NEXT:        },
// CHECK-NEXT:        "d4": {
// CHECK-NEXT:          "argument": "y",
// CHECK-NEXT:          "axis": 1
// CHECK-NEXT:        }
// CHECK-NEXT:      },
// CHECK-NEXT:      "workspace": [
// CHECK-NEXT:        {
// CHECK-NEXT:          "bytes": "d0 * ceildiv(d1, 256) * 64",
// CHECK-NEXT:          "name": "w0"
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "bytes": "3",
// CHECK-NEXT:          "name": "w1"
// CHECK-NEXT:        },
// CHECK-NEXT:        {
// CHECK-NEXT:          "bytes": "min(min(mod(d1, 4), 2), 7 - d1 * 2) * 2",
// CHECK-NEXT:          "name": "w2"
// CHECK-NEXT:        }
// CHECK-NEXT:      ]
// CHECK-NEXT:    }
// CHECK-NEXT:  ],
// CHECK-NEXT:  "target": "sm_100a",
// CHECK-NEXT:  "version": 1
// CHECK-NEXT:}
