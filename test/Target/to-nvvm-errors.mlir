// RUN: mamba-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(gpu.module(mamba-to-nvvm{target=sm_120a}))'

gpu.module @unknown_math {
  gpu.func @k(%p: memref<f32>) kernel {
    %x = memref.load %p[] : memref<f32>
    // expected-error @below {{no lowering of 'math.sin' on 'f32' to sm_120a}}
    %0 = math.sin %x : f32
    // One message for each operation.
    %1 = math.sin %0 : f32
    // expected-error @below {{no lowering of 'math.powf' on 'f32' to sm_120a}}
    %2 = math.powf %1, %x : f32
    memref.store %2, %p[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @double_precision {
  gpu.func @k(%p: memref<f64>) kernel {
    %x = memref.load %p[] : memref<f64>
    %0 = math.sqrt %x : f64
    // expected-error @below {{no lowering of 'math.exp' on 'f64' to sm_120a}}
    %1 = math.exp %0 : f64
    memref.store %1, %p[] : memref<f64>
    gpu.return
  }
}

// -----

gpu.module @host_runtime {
  gpu.func @k(%p: memref<64xf32>) kernel {
    // expected-error @below {{no lowering of 'memref.alloc' to sm_120a}}
    %0 = memref.alloc() : memref<64xf32>
    // expected-error @below {{no lowering of 'memref.copy' to sm_120a}}
    memref.copy %0, %p : memref<64xf32> to memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @tensors {
  gpu.func @k(%p: memref<f32>, %i: index) kernel {
    // expected-error @below {{no lowering of 'tensor.empty' to sm_120a}}
    %0 = tensor.empty() : tensor<4xf32>
    // expected-error @below {{no lowering of 'tensor.extract' to sm_120a}}
    %1 = tensor.extract %0[%i] : tensor<4xf32>
    memref.store %1, %p[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @dynamic_argument {
  // expected-error @below {{expected argument 1 to be an index, an integer, a float, a tensor map or a memref of rank 0 or static shape, got 'memref<?xf32>'}}
  gpu.func @k(%n: index, %p: memref<?xf32>) kernel {
    gpu.return
  }
}

// -----

gpu.module @shared_bytes {
  // expected-error @below {{expected the integer attribute 'mamba.shared_bytes', because the kernel uses dynamic shared memory}}
  gpu.func @k(%p: memref<f32>) kernel {
    %bytes = gpu.dynamic_shared_memory
        : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
