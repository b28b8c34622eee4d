// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-distribute{max-shared-bytes=4096}))' -split-input-file -verify-diagnostics

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op expected known_block_size}}
  gpu.func @no_block_size() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op expected a one-dimensional known_block_size, got 8, 4, 1}}
  gpu.func @two_dimensions() kernel attributes {known_block_size = array<i32: 8, 4, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op expected at most 4096 bytes of shared memory, got 5216 in 'too_much'}}
  gpu.func @too_much(%x: memref<1024xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-note@+1 {{'memref<1024xf32>' takes 4096 bytes}}
    %a = memref.alloc() : memref<1024xf32>
    // expected-note@+1 {{'memref<256xf32>' takes 1024 bytes}}
    %b = memref.alloc() : memref<256xf32>
    // expected-note@+1 {{'memref<16xf32>' takes 64 bytes}}
    %c = memref.alloc() : memref<16xf32>
    %d = memref.alloc() : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%d : memref<8xf32>)
    linalg.fill ins(%zero : f32) outs(%c : memref<16xf32>)
    linalg.fill ins(%zero : f32) outs(%b : memref<256xf32>)
    linalg.fill ins(%zero : f32) outs(%a : memref<1024xf32>)
    linalg.fill ins(%zero : f32) outs(%b : memref<256xf32>)
    linalg.fill ins(%zero : f32) outs(%c : memref<16xf32>)
    linalg.fill ins(%zero : f32) outs(%d : memref<8xf32>)
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-note@+1 {{size 1 has no bound}}
  gpu.func @unbounded(%n: index) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error@+1 {{'memref.alloc' op expected a buffer of a block to have static sizes or a constant upper bound for them, got 'memref<4x?xf32>'}}
    %a = memref.alloc(%n) : memref<4x?xf32>
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%a : memref<4x?xf32>)
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @private() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error@+1 {{'memref.alloca' op expected a buffer in workgroup memory or without a memory space, got #gpu.address_space<private>}}
    %a = memref.alloca() : memref<4xf32, #gpu.address_space<private>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @strided() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error@+1 {{'memref.alloc' op expected a buffer in the identity layout, got 'memref<4xf32, strided<[2]>>'}}
    %a = memref.alloc() : memref<4xf32, strided<[2]>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @unknown_root(%x: memref<4xf32>, %y: memref<4xf32>, %c: i1) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %z = arith.select %c, %x, %y : memref<4xf32>
    // expected-error@+1 {{'memref.load' op expected memrefs to be views of the kernel's arguments or of buffers it allocates, got one whose buffer is not known}}
    %v = memref.load %z[%c0] : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @swapped(%n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = memref.alloc() : memref<4xf32>
    %b = memref.alloc() : memref<4xf32>
    scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<4xf32>, memref<4xf32>) {
      // expected-error@+1 {{'memref.copy' op expected memrefs to be views of the kernel's arguments or of buffers it allocates, got one whose buffer is not known}}
      memref.copy %x, %y : memref<4xf32> to memref<4xf32>
      scf.yield %y, %x : memref<4xf32>, memref<4xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @thread_code() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error@+1 {{'gpu.thread_id' op expected code of a whole block, got a thread's}}
    %t = gpu.thread_id x
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @parallel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // expected-error@+1 {{'scf.parallel' op cannot be distributed over threads: expected linalg, memref, scf.for, scf.if, scf.while and scalar operations}}
    scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error@+1 {{'gpu.func' op expected structured control flow}}
  gpu.func @blocks() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    cf.br ^next
  ^next:
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @tensors() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    // expected-error@+1 {{'linalg.fill' op expected buffer semantics}}
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @shared_output(%x: memref<4x8xf32>, %y: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error@+1 {{'linalg.generic' op expected output 0 to be indexed by exactly the parallel dimensions, got map affine_map<(d0, d1) -> (d0)>}}
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    gpu.return
  }
}
