// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --mamba-print-manifest=target=sm_120a

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%n: index) kernel {
      gpu.return
    }
  }
  // expected-error @below {{expected argument 1 to be a contiguous memref of a float or integer type, but for its leading strides, got 'index'}}
  func.func @scalar_argument(%x: memref<?xf32>, %n: index) {
    return
  }
}

// -----

module attributes {gpu.container_module} {
  // expected-error @below {{expected argument 0 to be a contiguous memref of a float or integer type, but for its leading strides, got 'memref<?xf32, strided<[2]>>'}}
  func.func @strided(%x: memref<?xf32, strided<[2]>>) {
    return
  }
}

// -----

module {
  // expected-error @below {{expected different names of arguments, got 'x' twice}}
  func.func @names(%x: memref<f32> {mamba.name = "x"},
                   %y: memref<f32> {mamba.name = "x"}) {
    return
  }
}

// -----

module {
  // expected-error @below {{expected results to be passed as arguments}}
  func.func @results(%x: memref<f32>) -> memref<f32> {
    return %x : memref<f32>
  }
}

// -----

// expected-error @below {{expected a public function with a body}}
module {
  func.func private @declared(memref<f32>)
}

// -----

module {
  func.func @host_loop(%x: memref<?xf32>, %y: memref<f32>) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{expected an operation that a manifest can express: index arithmetic, an allocation or a launch}}
    %v = memref.load %x[%c0] : memref<?xf32>
    memref.store %v, %y[] : memref<f32>
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%n: index) kernel {
      gpu.return
    }
  }
  func.func @select(%x: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    // expected-error @below {{expected a size that a manifest can express}}
    %small = arith.cmpi slt, %n, %c1 : index
    %s = arith.select %small, %c1, %n : index
    gpu.launch_func @kernels::@k blocks in (%s, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%n : index)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%n: index) kernel {
      gpu.return
    }
  }
  func.func @negative(%x: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    %m = arith.subi %n, %c1 : index
    // expected-error @below {{expected operands that cannot be negative, got 'd0 - 1'}}
    %s = arith.divsi %m, %n : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%s : index)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<f32, strided<[], offset: 4>>) kernel {
      gpu.return
    }
  }
  func.func @offset(%x: memref<?xf32>) {
    %c1 = arith.constant 1 : index
    %p = memref.reinterpret_cast %x to offset: [4], sizes: [], strides: []
        : memref<?xf32> to memref<f32, strided<[], offset: 4>>
    // expected-error @below {{expected operand 0 to be a contiguous memref of rank 0 or static shape, got 'memref<f32, strided<[], offset: 4>>'}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1)
        args(%p : memref<f32, strided<[], offset: 4>>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<4xf32>) kernel {
      gpu.return
    }
  }
  memref.global constant @table : memref<4xf32> = dense<1.0>
  func.func @not_a_buffer(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    %p = memref.get_global @table : memref<4xf32>
    // expected-error @below {{expected operand 0 to be the start of an argument or of an allocation of the function}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%p : memref<4xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<f32>) kernel
        attributes {known_block_size = array<i32: 64, 1, 1>} {
      gpu.return
    }
  }
  func.func @block(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    // expected-error @below {{expected blocks of 64x1x1 threads, as the kernel requires, got 32x1x1}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c32, %c1, %c1) args(%x : memref<f32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<f32>) kernel {
      gpu.return
    }
  }
  func.func @large_block(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    // expected-error @below {{expected 1 to 1024 threads in a block, got 64x64x1}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c64, %c64, %c1) args(%x : memref<f32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: memref<f32>) kernel
        attributes {mamba.shared_bytes = 232448 : i64} {
      gpu.return
    }
  }
  func.func @shared(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    // expected-error @below {{expected at most 101376 bytes of dynamic shared memory, which is what a block of sm_120a can have, got 232448}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @k(%x: f32) kernel {
      gpu.return
    }
  }
  func.func @float_operand(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    // expected-error @below {{expected operand 0 to be a memref, an index, an i64 or a mamba.tensor_map, got 'f32'}}
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%one : f32)
    return
  }
}
