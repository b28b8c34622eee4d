// RUN: mamba-opt %s --mamba-record-operations --split-input-file | FileCheck %s
// RUN: mamba-opt %s --mamba-record-operations=tf32=true --split-input-file | FileCheck %s --check-prefix=TF32

// In order, also those in loops, with their options and without what counts
// their operands.
// CHECK-LABEL: func @in_order
// CHECK-SAME:    mamba.operations = [
// CHECK-SAME:      {chunk_size = 16 : i64, dt_limit = array<f64: 0.000000e+00, 1.000000e+00>, op = "mamba.chunk_cumsum", softplus},
// CHECK-SAME:      {op = "mamba.state_pass"}]
func.func @in_order(%dt: tensor<2x?x4xf32>, %A: tensor<4xf32>, %s: tensor<2x?x4x8x6xf32>,
                    %n: index) -> tensor<2x?x4x8x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d, %cs = mamba.chunk_cumsum chunk_size(16) softplus dt_limit(0.0, 1.0)
      dt(%dt : tensor<2x?x4xf32>) A(%A : tensor<4xf32>)
      -> tensor<2x4x?x16xf32>, tensor<2x4x?x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %s) -> tensor<2x?x4x8x6xf32> {
    %next = mamba.state_pass states(%h : tensor<2x?x4x8x6xf32>)
        dA_cumsum(%cs : tensor<2x4x?x16xf32>) -> chunk_states(tensor<2x?x4x8x6xf32>)
    scf.yield %next : tensor<2x?x4x8x6xf32>
  }
  return %r : tensor<2x?x4x8x6xf32>
}

// -----

// CHECK-LABEL: func @none
// CHECK-NOT:     mamba.operations
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// TF32-LABEL: func @scan
// TF32-SAME:    mamba.operations = [{chunk_size = 16 : i64, op = "mamba.ssd", tf32}]
// CHECK-LABEL: func @scan
// CHECK-SAME:    mamba.operations = [{chunk_size = 16 : i64, op = "mamba.ssd"}]
func.func @scan(%x: tensor<2x?x4x8xf32>, %dt: tensor<2x?x4xf32>, %A: tensor<4xf32>,
                %B: tensor<2x?x1x16xf32>) -> tensor<2x?x4x8xf32> {
  %y = mamba.ssd chunk_size(16) x(%x : tensor<2x?x4x8xf32>) dt(%dt : tensor<2x?x4xf32>)
      A(%A : tensor<4xf32>) B(%B : tensor<2x?x1x16xf32>) C(%B : tensor<2x?x1x16xf32>)
      -> y(tensor<2x?x4x8xf32>)
  return %y : tensor<2x?x4x8xf32>
}
