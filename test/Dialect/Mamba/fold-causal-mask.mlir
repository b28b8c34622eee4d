// RUN: mamba-opt %s --mamba-fold-causal-mask="peel=false tails=false runs" --canonicalize --split-input-file \
// RUN:   | FileCheck %s
// RUN: mamba-opt %s --mamba-fold-causal-mask="tails=false peel runs" --canonicalize --split-input-file \
// RUN:   | FileCheck %s --check-prefix=PEEL

// Causal linear attention in tiles: weights right of the diagonal are 0.
// CHECK:       #[[$LAST:.+]] = affine_map<(d0, d1)[s0] -> (s0, d0 + d1)>
// CHECK-LABEL: func @attention
// CHECK-SAME:    %[[LEN:[a-z0-9]+]]: index
// CHECK:         scf.for %[[I:.+]] = %c0 to %[[LEN]] step %c64
// CHECK:           %[[ROWS:.+]] = affine.min
// CHECK:           %[[END:.+]] = affine.min #[[$LAST]](%[[I]], %[[ROWS]])[%[[LEN]]]
// CHECK:           scf.for %{{.+}} = %c0 to %[[END]] step %c32
// Peeled: without a mask up to the tile on the diagonal.
// PEEL-LABEL:  func @attention
// PEEL:          scf.for %[[I:.+]] = %c0
// PEEL:            affine.min
// PEEL:            %[[END:.+]] = affine.min
// PEEL:            %[[LEFT:.+]] = scf.for %{{.+}} = %c0 to %[[I]] step %c32
// PEEL-NOT:          arith.select
// PEEL:            scf.for %{{.+}} = %[[I]] to %[[END]] step %c32 iter_args(%{{.+}} = %[[LEFT]])
// PEEL:              arith.select
func.func @attention(%len: index, %q: tensor<?x16xf32>, %k: tensor<?x16xf32>,
                     %v: tensor<?x8xf32>, %out: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %len step %c64 iter_args(%o = %out) -> tensor<?x8xf32> {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%len]
    %qi = tensor.extract_slice %q[%i, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
    %e = tensor.empty(%rows) : tensor<?x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
    %sum = scf.for %j = %c0 to %len step %c32 iter_args(%acc = %zeros) -> tensor<?x8xf32> {
      %columns = affine.min affine_map<(d0)[s0] -> (s0 - d0, 32)>(%j)[%len]
      %kj = tensor.extract_slice %k[%j, 0] [%columns, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
      %vj = tensor.extract_slice %v[%j, 0] [%columns, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
      %es = tensor.empty(%rows, %columns) : tensor<?x?xf32>
      %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<?x?xf32>) -> tensor<?x?xf32>
      %s = linalg.matmul
          indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                           affine_map<(m, n, k) -> (m, n)>]
          ins(%qi, %kj : tensor<?x16xf32>, tensor<?x16xf32>)
          outs(%zs : tensor<?x?xf32>) -> tensor<?x?xf32>
      %w = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]
      } ins(%s : tensor<?x?xf32>) outs(%es : tensor<?x?xf32>) {
      ^bb0(%in: f32, %old: f32):
        %di = linalg.index 0 : index
        %dj = linalg.index 1 : index
        %row = arith.addi %i, %di : index
        %column = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%dj)[%j]
        %counts = arith.cmpi ule, %column, %row : index
        %masked = arith.select %counts, %in, %zero : f32
        linalg.yield %masked : f32
      } -> tensor<?x?xf32>
      %next = linalg.matmul ins(%w, %vj : tensor<?x?xf32>, tensor<?x8xf32>)
          outs(%acc : tensor<?x8xf32>) -> tensor<?x8xf32>
      scf.yield %next : tensor<?x8xf32>
    }
    %new = tensor.insert_slice %sum into %o[%i, 0] [%rows, 8] [1, 1]
        : tensor<?x8xf32> into tensor<?x8xf32>
    scf.yield %new : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}

// -----

// Static tiles; rounding after the mask, one condition of several, the
// comparison from the other side, and a window that ends a column earlier.
// CHECK:       #[[$END:.+]] = affine_map<()[s0] -> (128, s0 + 15)>
// CHECK-LABEL: func @variants
// CHECK-SAME:    %[[ROW:[a-z0-9]+]]: index
// CHECK:         %[[END:.+]] = affine.min #[[$END]]()[%[[ROW]]]
// CHECK:         scf.for %{{.+}} = %c0 to %[[END]] step %c16
// The other condition stays where the mask goes.
// PEEL-LABEL:  func @variants
// PEEL-SAME:     %[[ALSO:[a-z0-9]+]]: i1
// PEEL:          scf.for
// PEEL:            arith.select %[[ALSO]]
// PEEL:          scf.for
// PEEL:            %[[BOTH:.+]] = arith.andi
// PEEL:            arith.select %[[BOTH]]
func.func @variants(%row0: index, %v: tensor<128x8xbf16>, %init: tensor<16x8xf32>, %also: i1)
    -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<16x16xbf16>
  %sum = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xbf16> to tensor<16x8xbf16>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<16x16xbf16>) {
    ^bb0(%old: bf16):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %after = arith.addi %column, %c1 : index
      %causal = arith.cmpi sge, %row, %after : index
      %counts = arith.andi %causal, %also : i1
      %masked = arith.select %counts, %one, %zero : f32
      %rounded = arith.truncf %masked : f32 to bf16
      linalg.yield %rounded : bf16
    } -> tensor<16x16xbf16>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xbf16>, tensor<16x8xbf16>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  return %sum : tensor<16x8xf32>
}

// -----

// Where columns up to the row are 0, the loop starts later; a row that may be
// negative counts as a large unsigned number; and what is not summed is needed.
// CHECK-LABEL: func @others
// CHECK-COUNT-2: scf.for %{{.+}} = %{{[0-9]+}} to %c128 step %c16
// CHECK-COUNT-2: scf.for %{{.+}} = %c0 to %c128 step %c16
// CHECK-NOT:   scf.for
// CHECK:       return
func.func @others(%row0: index, %v: tensor<128x8xf32>, %init: tensor<16x8xf32>)
    -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %left = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sle, %row, %column : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  %value = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sle, %column, %row : index
      %masked = arith.select %counts, %zero, %one : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  %negative = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %init) -> tensor<16x8xf32> {
    %vj = tensor.extract_slice %v[%j, 0] [16, 8] [1, 1] : tensor<128x8xf32> to tensor<16x8xf32>
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%e : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi ule, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<16x16xf32>, tensor<16x8xf32>)
        outs(%acc : tensor<16x8xf32>) -> tensor<16x8xf32>
    scf.yield %next : tensor<16x8xf32>
  }
  %kept = scf.for %j = %c0 to %c128 step %c16 iter_args(%acc = %e) -> tensor<16x16xf32> {
    %w = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } outs(%acc : tensor<16x16xf32>) {
    ^bb0(%old: f32):
      %di = linalg.index 0 : index
      %dj = linalg.index 1 : index
      %row = arith.addi %row0, %di : index
      %column = arith.addi %j, %dj : index
      %counts = arith.cmpi sle, %column, %row : index
      %masked = arith.select %counts, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<16x16xf32>
    scf.yield %w : tensor<16x16xf32>
  }
  return %left, %value, %negative, %kept
      : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x16xf32>
}
