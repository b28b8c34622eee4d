// Parts of computed tiles: a row without its unit dimension, and one element.

// RUN: mamba-opt %s --mamba-vectorize=all=true --split-input-file --verify-diagnostics | FileCheck %s

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i) -> (i)>

// CHECK-LABEL: func @row_and_element
// CHECK: %[[E:.*]] = math.exp %{{.*}} : vector<1x8xf32>
// CHECK: %[[LAST:.*]] = vector.extract %[[E]][0, 7] : f32 from vector<1x8xf32>
// CHECK: %[[ROW:.*]] = vector.shape_cast %[[E]] : vector<1x8xf32> to vector<8xf32>
// CHECK: %[[B:.*]] = vector.broadcast %[[LAST]] : f32 to vector<8xf32>
// CHECK: %[[Y:.*]] = arith.subf %[[B]], %[[ROW]] : vector<8xf32>
// CHECK: vector.transfer_write %[[Y]], %{{.*}} : vector<8xf32>, tensor<?xf32>
func.func @row_and_element(%x: tensor<?x8xf32>, %n: index) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %y = scf.forall (%b) in (%m) shared_outs(%o = %empty) -> (tensor<?x8xf32>) {
    %t = affine.min affine_map<(d0)[s0] -> (8, s0)>(%b)[%n]
    %xb = tensor.extract_slice %x[%b, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<1x8xf32>
    %e = tensor.empty() : tensor<1x8xf32>
    %exp = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%xb : tensor<1x8xf32>) outs(%e : tensor<1x8xf32>) {
    ^bb0(%a: f32, %b0: f32):
      %v = math.exp %a : f32
      linalg.yield %v : f32
    } -> tensor<1x8xf32>
    %last = tensor.extract %exp[%c0, %c7] : tensor<1x8xf32>
    %row = tensor.extract_slice %exp[0, 0] [1, %t] [1, 1] : tensor<1x8xf32> to tensor<?xf32>
    %e1 = tensor.empty(%t) : tensor<?xf32>
    %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%row : tensor<?xf32>) outs(%e1 : tensor<?xf32>) {
    ^bb0(%a: f32, %b0: f32):
      %v = arith.subf %last, %a : f32
      linalg.yield %v : f32
    } -> tensor<?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[%b, 0] [1, %t] [1, 1] : tensor<?xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x8xf32>
}

// -----

// Who has the element has to be known.
#i = affine_map<(i) -> (i)>
func.func @any_element(%x: tensor<?x8xf32>, %k: index) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %y = scf.forall (%b) in (%m) shared_outs(%o = %empty) -> (tensor<?x8xf32>) {
    %xb = tensor.extract_slice %x[%b, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
    %e = tensor.empty() : tensor<8xf32>
    %exp = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%xb : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b0: f32):
      %v = math.exp %a : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    // expected-remark @+1 {{expected elements of computed tiles at known places outside of conditions to keep the block's tiles in vectors}}
    %one = tensor.extract %exp[%k] : tensor<8xf32>
    %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%xb : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b0: f32):
      %v = arith.subf %one, %a : f32
      linalg.yield %v : f32
    } -> tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[%b, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x8xf32>
}
