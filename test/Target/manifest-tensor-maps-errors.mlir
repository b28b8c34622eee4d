// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mamba-print-manifest=target=sm_90a

// Tensor maps that no loader can encode.

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x72xbf16, 3>,
    swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected rows of the box of at most 128 bytes, the span of the swizzle, got 144}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x36xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected rows of the box to be whole 16 bytes, got 72 bytes}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x300x64xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected a box of 1 to 256 elements in every dimension, got 'memref<1x300x64xbf16, 3>'}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = interleave_16b>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected a tensor map without interleave}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xi16, 3>,
    swizzle = none, l2promo = none, oob = nan, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xi16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected floats to be filled with NaN, got 'i16'}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xi16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xi1, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xi1>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected elements of 8 to 64 bits that the copy engine knows, got 'i1'}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xi1> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected the offset to be whole 16 bytes, got 4 elements of 2 bytes}}
    %map = mamba.tensor_map %x[%c4] sizes(%c1, %c64, %c64) strides(%c64, %c64, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected strides but the last to be whole 16 bytes, got 4 elements of 2 bytes}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c64, %c4, %c1)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xbf16, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<?x128x64xbf16>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected the last stride to be 1, got 64}}
    %map = mamba.tensor_map %x[%c0] sizes(%c1, %c64, %c64) strides(%c1, %c64, %c64)
        : memref<?x128x64xbf16> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>,
    swizzle = none, l2promo = none, oob = zero, interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%m: !map) kernel {
      gpu.return
    }
  }
  func.func @f(%x: memref<64x64xf32>) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %part = memref.subview %x[1, 0] [8, 64] [1, 1]
        : memref<64x64xf32> to memref<8x64xf32, strided<[64, 1], offset: 64>>
    // expected-error @below {{expected the base to be the start of an argument or of an allocation of the function}}
    %map = mamba.tensor_map %part[%c64] sizes(%c64, %c64) strides(%c64, %c1)
        : memref<8x64xf32, strided<[64, 1], offset: 64>> -> !map
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%map : !map)
    return
  }
}
