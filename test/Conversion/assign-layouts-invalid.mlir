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
