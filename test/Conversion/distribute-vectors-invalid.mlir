// RUN: mamba-opt %s -pass-pipeline='builtin.module(gpu.module(mamba-distribute))' -split-input-file -verify-diagnostics

gpu.module @kernels {
  gpu.func @none() kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    // expected-error @+1 {{expected 'mamba.layouts' with a layout for each vector it gives}}
    %c = arith.constant dense<1.0> : vector<32xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @size() kernel attributes {known_block_size = array<i32: 32, 1, 1>, mamba.vectorized} {
    // expected-error @+1 {{expected 'mamba.layouts' with a layout for each vector it gives}}
    %c = arith.constant {mamba.layouts = [#mamba.layout<"lane[1,2,4,8] -> dim0[16]">]} dense<1.0> : vector<32xf32>
    gpu.return
  }
}
