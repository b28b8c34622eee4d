// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-assign-layouts))' -split-input-file -verify-diagnostics

gpu.module @kernels {
  // expected-error @+1 {{expected a one-dimensional known_block_size of a power of two of warps}}
  gpu.func @warps() kernel attributes {known_block_size = array<i32: 96, 1, 1>, mamba.vectorized} {
    gpu.return
  }
}

// -----

#mk = affine_map<(m, k) -> (m, k)>
#k = affine_map<(m, k) -> (k)>
#m = affine_map<(m, k) -> (m)>
gpu.module @kernels {
  gpu.func @vector(%y: memref<16xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %a = arith.constant dense<1.0> : vector<16x16xf32>
    %b = arith.constant dense<1.0> : vector<16xf32>
    // expected-error @+1 {{expected a product of two matrices into a matrix, summed by addition}}
    %s = vector.contract {indexing_maps = [#mk, #k, #m], iterator_types = ["parallel", "reduction"], kind = #vector.kind<add>}
        %a, %b, %b : vector<16x16xf32>, vector<16xf32> into vector<16xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{expected no vector as argument, got 'vector<8xf32>' as argument 0}}
  gpu.func @argument(%v: vector<8xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @rank(%m: memref<f32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %pad = arith.constant 0.0 : f32
    // expected-error @+1 {{expected vectors of fixed size with at least one dimension, got 'vector<f32>'}}
    %v = vector.transfer_read %m[], %pad : memref<f32>, vector<f32>
    gpu.return
  }
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
gpu.module @kernels {
  gpu.func @integers() kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    %a = arith.constant dense<1> : vector<16x16xi8>
    %c = arith.constant dense<1> : vector<16x16xi32>
    // expected-error @+1 {{expected factors of bf16, f16 or f32 and sums of f32, got 'i8', 'i8' and 'i32'}}
    %s = vector.contract {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
        %a, %a, %c : vector<16x16xi8>, vector<16x16xi8> into vector<16x16xi32>
    gpu.return
  }
}
