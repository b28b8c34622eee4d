// RUN: mamba-opt %s --mamba-name-sizes --split-input-file | FileCheck %s

// Dimensions of one role have one name, in arguments and results; static ones
// need none. The number of chunks follows from the length.
// CHECK-LABEL: func @ssd
// CHECK-SAME:    (%{{[a-z0-9]+}}: tensor<?x?x?x8xf32> {mamba.dims = ["batch", "length", "heads", ""]},
// CHECK-SAME:    tensor<?x?x?xf32> {mamba.dims = ["batch", "length", "heads"]},
// CHECK-SAME:    tensor<?xf32> {mamba.dims = ["heads"]},
// CHECK-SAME:    tensor<?x?x?x6xf32> {mamba.dims = ["batch", "length", "groups", ""], mamba.name = "B"},
// CHECK-SAME:    %{{[a-z0-9]+}}: f32)
// CHECK-SAME:    -> (tensor<?x?x?x8xf32> {mamba.dims = ["batch", "length", "heads", ""]},
// CHECK-SAME:    tensor<2x?x?x8x6xf32> {mamba.dims = ["", "ceildiv(length, 16)", "heads", "", ""]})
// CHECK-SAME:    attributes {mamba.constraints = ["mod(heads, groups) == 0"]}
func.func @ssd(%x: tensor<?x?x?x8xf32>, %dt: tensor<?x?x?xf32>, %A: tensor<?xf32>,
               %B: tensor<?x?x?x6xf32> {mamba.name = "B"}, %other: f32)
    -> (tensor<?x?x?x8xf32>, tensor<2x?x?x8x6xf32>) {
  %y, %h = mamba.ssd chunk_size(16) x(%x : tensor<?x?x?x8xf32>) dt(%dt : tensor<?x?x?xf32>)
      A(%A : tensor<?xf32>) B(%B : tensor<?x?x?x6xf32>) C(%B : tensor<?x?x?x6xf32>)
      -> y(tensor<?x?x?x8xf32>) chunk_states(tensor<2x?x?x8x6xf32>)
  return %y, %h : tensor<?x?x?x8xf32>, tensor<2x?x?x8x6xf32>
}

// -----

// Through values between operations: these agree in the number of chunks, from
// which the length does not follow. A number where the other size is static.
// CHECK-LABEL: func @through
// CHECK-SAME:    (%{{[a-z0-9]+}}: tensor<2x?x12xf32> {mamba.dims = ["", "length", ""]},
// CHECK-SAME:    tensor<2x?x12x8xf32> {mamba.dims = ["", "length_1", "", ""]},
// CHECK-SAME:    tensor<2x?x?x6xf32> {mamba.dims = ["", "length_1", "groups", ""]})
// CHECK-SAME:    -> (tensor<2x?x12x8x6xf32> {mamba.dims = ["", "ceildiv(length, 16)", "", "", ""]})
// CHECK-SAME:    attributes {mamba.constraints = ["mod(12, groups) == 0"]}
func.func @through(%dt: tensor<2x?x12xf32>, %A: tensor<12xf32>, %x: tensor<2x?x12x8xf32>,
                   %B: tensor<2x?x?x6xf32>) -> tensor<2x?x12x8x6xf32> {
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x?x12xf32>) A(%A : tensor<12xf32>)
      -> tensor<2x12x?x16xf32>, tensor<2x12x?x16xf32>
  %s = mamba.chunk_state x(%x : tensor<2x?x12x8xf32>) B(%B : tensor<2x?x?x6xf32>)
      dt(%d : tensor<2x12x?x16xf32>) dA_cumsum(%cs : tensor<2x12x?x16xf32>)
      -> tensor<2x?x12x8x6xf32>
  return %s : tensor<2x?x12x8x6xf32>
}

// -----

// Sizes of one role that may differ have two names.
// CHECK-LABEL: func @two
// CHECK-SAME:    tensor<?x?x2xf32> {mamba.dims = ["batch", "length", ""]},
// CHECK-SAME:    tensor<?x?x2xf32> {mamba.dims = ["batch_1", "length_1", ""]},
// CHECK-NOT:     mamba.constraints
// CHECK:         return
func.func @two(%a: tensor<?x?x2xf32>, %b: tensor<?x?x2xf32>, %A: tensor<2xf32>)
    -> (tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>) {
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%a : tensor<?x?x2xf32>) A(%A : tensor<2xf32>)
      -> tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>
  %e, %es = mamba.chunk_cumsum chunk_size(32) dt(%b : tensor<?x?x2xf32>) A(%A : tensor<2xf32>)
      -> tensor<?x2x?x32xf32>, tensor<?x2x?x32xf32>
  return %cs, %es : tensor<?x2x?x16xf32>, tensor<?x2x?x32xf32>
}

// -----

// Only what mamba and linalg operations say has names.
// CHECK-LABEL: func @others
// CHECK-NOT:     mamba.dims
// CHECK:         return
func.func @others(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %z = arith.select %c, %x, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}

// -----

// CHECK-LABEL: func private @not_called_from_outside
// CHECK-NOT:     mamba.dims
// CHECK:         return
func.func private @not_called_from_outside(%dt: tensor<?x?x2xf32>, %A: tensor<2xf32>)
    -> tensor<?x2x?x16xf32> {
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<?x?x2xf32>) A(%A : tensor<2xf32>)
      -> tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>
  return %cs : tensor<?x2x?x16xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Dimensions that a loop of linalg goes through agree.
// CHECK-LABEL: func @loops
// CHECK-SAME:    (%{{[a-z0-9]+}}: tensor<?x4xf32> {mamba.dims = ["heads", ""]},
// CHECK-SAME:    tensor<?xf32> {mamba.dims = ["heads"]},
// CHECK-SAME:    tensor<2x16x?xf32> {mamba.dims = ["", "", "heads"]})
func.func @loops(%x: tensor<?x4xf32>, %A: tensor<?xf32>, %dt: tensor<2x16x?xf32>) -> tensor<2x?x1x16xf32> {
  %sums = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x4xf32>) outs(%A : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.subf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %d, %cs = mamba.chunk_cumsum chunk_size(16) dt(%dt : tensor<2x16x?xf32>) A(%sums : tensor<?xf32>)
      -> tensor<2x?x1x16xf32>, tensor<2x?x1x16xf32>
  return %cs : tensor<2x?x1x16xf32>
}

// -----

#a = affine_map<(i, j) -> (j, i)>
#r = affine_map<(i, j) -> (i, j)>

// Without an operation of the dialect they have no roles.
// CHECK-LABEL: func @transpose
// CHECK-SAME:    (%{{[a-z0-9]+}}: tensor<?x?xf32> {mamba.dims = ["size", "size_1"]},
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<?x?xf32> {mamba.dims = ["size_1", "size"]})
// CHECK-SAME:    -> (tensor<?x?xf32> {mamba.dims = ["size_1", "size"]})
func.func @transpose(%x: tensor<?x?xf32>, %init: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {indexing_maps = [#a, #r], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
