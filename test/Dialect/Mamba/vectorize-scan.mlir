// RUN: mamba-opt %s --mamba-vectorize --canonicalize --split-input-file | FileCheck %s

// Prefix sums in a block.

// Of the squares in a short row, padded with zeros. What is past the end of the
// padded row is all there is: no mask in the sum.

// CHECK-LABEL: func.func @row(
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : vector<1xf32>
// CHECK-DAG:     %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<64xf32>
// CHECK:         %[[LEN:.+]] = affine.min
// CHECK:         %[[X:.+]] = vector.transfer_read {{.+}} : tensor<?xf32>, vector<64xf32>
// CHECK:         %[[XX:.+]] = arith.mulf %[[X]], %[[X]] : vector<64xf32>
// CHECK:         %[[STEP:.+]] = vector.step : vector<64xindex>
// CHECK:         %[[LIMIT:.+]] = vector.broadcast %[[LEN]] : index to vector<64xindex>
// CHECK:         %[[WITHIN:.+]] = arith.cmpi ult, %[[STEP]], %[[LIMIT]]
// CHECK:         %[[PADDED:.+]] = arith.select %[[WITHIN]], %[[XX]], %[[ZEROS]]
// CHECK:         %[[ROW:.+]] = vector.broadcast %[[PADDED]] : vector<64xf32> to vector<1x64xf32>
// CHECK:         %[[SUMS:.+]], %{{.+}} = vector.scan <add>, %[[ROW]], %[[NONE]] {inclusive = true, reduction_dim = 1 : i64} : vector<1x64xf32>, vector<1xf32>
// CHECK:         %[[SUM:.+]] = vector.extract %[[SUMS]][0] : vector<64xf32> from vector<1x64xf32>
// CHECK:         vector.transfer_write %[[SUM]]
// CHECK:         mamba.vectorized
func.func @row(%x: tensor<?xf32>, %blocks: index) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%blocks) : tensor<?x64xf32>
  %y = scf.forall (%b) in (%blocks) shared_outs(%out = %empty) -> (tensor<?x64xf32>) {
    %len = affine.min affine_map<(d0)[s0] -> (s0 - d0 * 64, 64)>(%b)[%n]
    %at = affine.apply affine_map<(d0) -> (d0 * 64)>(%b)
    %xb = tensor.extract_slice %x[%at] [%len] [1] : tensor<?xf32> to tensor<?xf32>
    %e = tensor.empty(%len) : tensor<?xf32>
    %xx = linalg.mul ins(%xb, %xb : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %f = tensor.empty() : tensor<64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%f : tensor<64xf32>) -> tensor<64xf32>
    %p = tensor.insert_slice %xx into %zeros[0] [%len] [1] : tensor<?xf32> into tensor<64xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<64xf32>) outs(%zeros : tensor<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c = arith.cmpi ule, %j, %i : index
      %t = arith.select %c, %a, %zero : f32
      %u = arith.addf %o, %t : f32
      linalg.yield %u : f32
    } -> tensor<64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %out[%b, 0] [1, 64] [1, 1] : tensor<64xf32> into tensor<?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x64xf32>
}

// -----

// Along the columns of a matrix, onto another one; the place is the larger side
// of the comparison, whichever that is.

// CHECK-LABEL: func.func @columns(
// CHECK:         %[[Y:.+]] = vector.transfer_read {{.+}} vector<16x32xf32>
// CHECK:         %[[X:.+]] = vector.transfer_read {{.+}} vector<16x32xf32>
// CHECK:         %[[SUMS:.+]], %{{.+}} = vector.scan <add>, %{{.+}}, %{{.+}} {inclusive = true, reduction_dim = 0 : i64} : vector<16x32xf32>, vector<32xf32>
// CHECK:         %[[R:.+]] = arith.addf %{{.+}}, %[[SUMS]]
// CHECK:         vector.transfer_write %[[R]]
func.func @columns(%x: tensor<4x16x32xf32>, %y: tensor<4x16x32xf32>) -> tensor<4x16x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x16x32xf32>
  %r = scf.forall (%b) in (4) shared_outs(%out = %empty) -> (tensor<4x16x32xf32>) {
    %xb = tensor.extract_slice %x[%b, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<4x16x32xf32> to tensor<16x32xf32>
    %yb = tensor.extract_slice %y[%b, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<4x16x32xf32> to tensor<16x32xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%xb : tensor<16x32xf32>) outs(%yb : tensor<16x32xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 2 : index
      %c = arith.cmpi sge, %i, %j : index
      %t = arith.select %c, %a, %zero : f32
      %u = arith.addf %t, %o : f32
      linalg.yield %u : f32
    } -> tensor<16x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %out[%b, 0, 0] [1, 16, 32] [1, 1, 1] : tensor<16x32xf32> into tensor<4x16x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %r : tensor<4x16x32xf32>
}
