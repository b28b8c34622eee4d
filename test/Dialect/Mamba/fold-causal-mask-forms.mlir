// RUN: mamba-opt %s --mamba-fold-causal-mask="guard=false peel-at-least=1 peel runs tails-at-least=1" --canonicalize --split-input-file \
// RUN:   | FileCheck %s

// Every order of a row and a column, from either side. Static bounds: with rows
// 32 to 47, columns 0 to 31 are left of all, 48 and up right of all.
// CHECK-LABEL: func @less_equal
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c64 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @less_equal(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sle, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// Strict: the last row does not count its own column.
// CHECK-LABEL: func @less
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c63 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @less(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi slt, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// CHECK-LABEL: func @greater
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c63 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @greater(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sgt, %row, %column : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// CHECK-LABEL: func @unsigned_greater
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c63 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @unsigned_greater(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi ugt, %row, %column : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// Selected to be 0 where the opposite holds.
// CHECK-LABEL: func @negated
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c64 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @negated(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %other = arith.cmpi sgt, %column, %row : index
      %masked = arith.select %other, %zero, %one : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// The other side: columns from the diagonal on count; the accumulator is handed
// from the diagonal to what lies right of it.
// CHECK-LABEL: func @at_least
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c32 to %c64 step
// CHECK:           arith.cmpi
// CHECK:         scf.for %{{.+}} = %c64 to %c128 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK-NOT:       arith.cmpi
// CHECK:         return
func.func @at_least(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sge, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// CHECK-LABEL: func @after
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c32 to %c64 step
// CHECK:           arith.cmpi
// CHECK:         scf.for %{{.+}} = %c64 to %c128 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK-NOT:       arith.cmpi
// CHECK:         return
func.func @after(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi ult, %row, %column : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// A window: as of the fifth column left of the row, up to the row.
// CHECK-LABEL: func @window
// CHECK:         tensor.extract_slice %{{.+}}[16, 0]
// CHECK:         arith.cmpi sge
// CHECK-NOT:     arith.cmpi
// CHECK:         %[[A:.+]] = linalg.matmul
// CHECK:         scf.for %{{.+}} = %c32 to %c64 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi sle
// CHECK:           arith.cmpi sge
// CHECK:         return
func.func @window(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %c5 = arith.constant 5 : index
      %causal = arith.cmpi sle, %column, %row : index
      %from = arith.addi %column, %c5 : index
      %recent = arith.cmpi sge, %from, %row : index
      %counts = arith.andi %causal, %recent : i1
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// Masked before a multiplication.
// CHECK-LABEL: func @multiplied
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %c0 to %c32 step
// CHECK-NOT:       arith.cmpi
// CHECK:         scf.for %{{.+}} = %c32 to %c64 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK:           arith.cmpi
// CHECK:         return
func.func @multiplied(%v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %row0 = arith.constant 32 : index
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sle, %column, %row : index
      %kept = arith.select %counts, %old, %zero : f32
      %masked = arith.mulf %kept, %one : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}

// -----

// Rows that are known at run time.
// CHECK-DAG:   #[[$FIRST:.+]] = affine_map<()[s0] -> ((s0 floordiv 16) * 16, 0)>
// CHECK-DAG:   #[[$ALL:.+]] = affine_map<()[s0] -> (((s0 + 46) floordiv 16) * 16, 0)>
// CHECK-LABEL: func @dynamic
// CHECK-SAME:    %[[ROW:[a-z0-9]+]]: index
// CHECK-DAG:     %[[FIRST:.+]] = affine.max #[[$FIRST]]()[%[[ROW]]]
// CHECK-DAG:     %[[ALL:.+]] = affine.max #[[$ALL]]()[%[[ROW]]]
// CHECK:         %[[MIDDLE:.+]] = affine.min #{{.+}}()[%[[ALL]]]
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %[[FIRST]] to %[[MIDDLE]] step
// CHECK:           arith.select
// CHECK:         scf.for %{{.+}} = %[[MIDDLE]] to %c128 step %c16 iter_args(%{{.+}} = %[[A]])
// CHECK-NOT:       arith.select
// CHECK:         return
func.func @dynamic(%row0: index, %v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> tensor<32x8xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x16xf32>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<32x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sge, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum : tensor<32x8xf32>
}
