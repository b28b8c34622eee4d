// The clamp of time steps: dt_limit(lo, hi), by default (0, inf). Bounds that
// cannot bind go; every other bound stays.

// RUN: mamba-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @without_softplus
func.func @without_softplus(%dt: tensor<1x?x1xf32>, %A: tensor<1xf32>)
    -> (tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
        tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) {
  // (0, inf) is the default.
  // CHECK: mamba.chunk_cumsum chunk_size(8) dt(
  %a:2 = mamba.chunk_cumsum chunk_size(8) dt_limit(0.0, inf) dt(%dt : tensor<1x?x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // So is an upper bound that f32 does not reach.
  // CHECK: mamba.chunk_cumsum chunk_size(8) dt(
  %b:2 = mamba.chunk_cumsum chunk_size(8) dt_limit(0.0, 1.0e308) dt(%dt : tensor<1x?x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // Unlike the default, this lets negative steps through.
  // CHECK: mamba.chunk_cumsum chunk_size(8) dt_limit(-inf, inf)
  %c:2 = mamba.chunk_cumsum chunk_size(8) dt_limit(-inf, 1.0e39) dt(%dt : tensor<1x?x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // CHECK: mamba.chunk_cumsum chunk_size(8) dt_limit(-1.000000e+00, inf)
  %d:2 = mamba.chunk_cumsum chunk_size(8) dt_limit(-1.0, inf) dt(%dt : tensor<1x?x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // CHECK: mamba.chunk_cumsum chunk_size(8) dt_limit(0.000000e+00, 9.9999999999999997E+37)
  %e:2 = mamba.chunk_cumsum chunk_size(8) dt_limit(0.0, 1.0e38) dt(%dt : tensor<1x?x1xf32>)
      A(%A : tensor<1xf32>) -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  return %a#0, %b#0, %c#0, %d#0, %e#0 : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
      tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
}

// softplus is not negative: a lower bound of at most 0 does not bind.
// CHECK-LABEL: func @with_softplus
func.func @with_softplus(%dt: tensor<1x?x1xf32>, %A: tensor<1xf32>)
    -> (tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
        tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) {
  // CHECK: mamba.chunk_cumsum chunk_size(8) softplus dt(
  %a:2 = mamba.chunk_cumsum chunk_size(8) softplus dt_limit(-1.0, inf)
      dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // CHECK: mamba.chunk_cumsum chunk_size(8) softplus dt_limit(0.000000e+00, 1.000000e-01)
  %b:2 = mamba.chunk_cumsum chunk_size(8) softplus dt_limit(-inf, 0.1)
      dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // CHECK: mamba.chunk_cumsum chunk_size(8) softplus dt_limit(1.000000e-03, inf)
  %c:2 = mamba.chunk_cumsum chunk_size(8) softplus dt_limit(1.0e-3, 1.0e308)
      dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // CHECK: mamba.chunk_cumsum chunk_size(8) softplus dt_limit(1.000000e-03, 1.000000e-01)
  %d:2 = mamba.chunk_cumsum chunk_size(8) softplus dt_limit(1.0e-3, 0.1)
      dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  // The bounds stay in order.
  // CHECK: mamba.chunk_cumsum chunk_size(8) softplus dt_limit(-5.000000e+00, -1.000000e+00)
  %e:2 = mamba.chunk_cumsum chunk_size(8) softplus dt_limit(-5.0, -1.0)
      dt(%dt : tensor<1x?x1xf32>) A(%A : tensor<1xf32>)
      -> tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
  return %a#0, %b#0, %c#0, %d#0, %e#0 : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>,
      tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>
}

// CHECK-LABEL: func @ssd
func.func @ssd(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
               %B: tensor<2x?x1x6xf32>) -> tensor<2x?x4x8xf32> {
  // CHECK: mamba.ssd chunk_size(16) softplus x(
  %y = mamba.ssd chunk_size(16) softplus dt_limit(-inf, 1.0e308)
      x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      B(%B : tensor<2x?x1x6xf32>) C(%B : tensor<2x?x1x6xf32>) -> y(tensor<2x?x4x8xf32>)
  return %y : tensor<2x?x4x8xf32>
}
