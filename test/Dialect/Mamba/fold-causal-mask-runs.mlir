// RUN: mamba-opt %s --mamba-fold-causal-mask="runs peel tails-at-least=1" --canonicalize --cse --split-input-file | FileCheck %s

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>

// Packed sequences, each in one run: if the first id is the last one, no
// comparison of ids is needed; otherwise the last loop has all of them.
// CHECK-LABEL: func @packed
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<128xi32> {mamba.runs}
// CHECK:         scf.for %[[I:.+]] = %c0 to %c128 step %c32
// CHECK:           %[[END:.+]] = affine.apply
// CHECK:           %[[FIRST:.+]] = tensor.extract %[[IDS]][%c0]
// CHECK:           %[[LAST:.+]] = tensor.extract %[[IDS]][%c127]
// CHECK:           %[[ONE:.+]] = arith.cmpi eq, %[[FIRST]], %[[LAST]]
// CHECK:           %[[POSITIVE:.+]] = arith.cmpi sge, %[[FIRST]], %c0_i32
// CHECK:           %[[FREE:.+]] = arith.andi %[[ONE]], %[[POSITIVE]]
// CHECK:           %[[SPLIT:.+]] = arith.select %[[FREE]], %[[END]], %c0
// CHECK:           %[[A:.+]] = scf.for %{{.+}} = %c0 to %[[MIDDLE:.+]] step %c32
// CHECK-NOT:         arith.select
// CHECK:           %[[B:.+]] = scf.for %{{.+}} = %[[MIDDLE]] to %[[SPLIT]] step %c32 iter_args(%{{.+}} = %[[A]])
// CHECK-NOT:         arith.cmpi {{.*}}i32
// CHECK:             %[[LE:.+]] = arith.cmpi ule
// CHECK:             arith.select %[[LE]]
// CHECK:           scf.for %{{.+}} = %[[SPLIT]] to %[[END]] step %c32 iter_args(%{{.+}} = %[[B]])
// CHECK:             arith.cmpi eq
// CHECK:             arith.cmpi sge
// CHECK:             arith.select
func.func @packed(%ids: tensor<128xi32> {mamba.runs}, %v: tensor<128x8xf32>, %out: tensor<128x8xf32>)
    -> tensor<128x8xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %none = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %e0 = tensor.empty() : tensor<32x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x8xf32>) -> tensor<32x8xf32>
  %r = scf.for %i0 = %c0 to %c128 step %c32 iter_args(%o = %out) -> tensor<128x8xf32> {
    %idi = tensor.extract_slice %ids[%i0] [32] [1] : tensor<128xi32> to tensor<32xi32>
    %sum = scf.for %j0 = %c0 to %c128 step %c32 iter_args(%acc = %zeros) -> tensor<32x8xf32> {
      %idj = tensor.extract_slice %ids[%j0] [32] [1] : tensor<128xi32> to tensor<32xi32>
      %vj = tensor.extract_slice %v[%j0, 0] [32, 8] [1, 1] : tensor<128x8xf32> to tensor<32x8xf32>
      %w = linalg.generic {indexing_maps = [#row, #col, #all], iterator_types = ["parallel", "parallel"]}
          ins(%idi, %idj : tensor<32xi32>, tensor<32xi32>) outs(%e : tensor<32x32xf32>) {
      ^bb0(%a: i32, %b: i32, %old: f32):
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %row = arith.addi %i0, %i : index
        %column = arith.addi %j0, %j : index
        %causal = arith.cmpi ule, %column, %row : index
        %same = arith.cmpi eq, %a, %b : i32
        %valid = arith.cmpi sge, %a, %none : i32
        %both = arith.andi %same, %valid : i1
        %counts = arith.andi %causal, %both : i1
        %masked = arith.select %counts, %one, %zero : f32
        linalg.yield %masked : f32
      } -> tensor<32x32xf32>
      %next = linalg.matmul ins(%w, %vj : tensor<32x32xf32>, tensor<32x8xf32>)
          outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
      scf.yield %next : tensor<32x8xf32>
    }
    %new = tensor.insert_slice %sum into %o[%i0, 0] [32, 8] [1, 1]
        : tensor<32x8xf32> into tensor<128x8xf32>
    scf.yield %new : tensor<128x8xf32>
  }
  return %r : tensor<128x8xf32>
}

// -----

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>

// Ids in any order, and ids of different tensors: equal ends say nothing.
// CHECK-LABEL: func @others
// CHECK-NOT:     tensor.extract %
// CHECK-COUNT-2: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @others(%any: tensor<128xi32>, %a: tensor<128xi32> {mamba.runs},
                  %b: tensor<128xi32> {mamba.runs}, %v: tensor<128x8xf32>, %init: tensor<32x8xf32>)
    -> (tensor<32x8xf32>, tensor<32x8xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %anyi = tensor.extract_slice %any[32] [32] [1] : tensor<128xi32> to tensor<32xi32>
  %ai = tensor.extract_slice %a[32] [32] [1] : tensor<128xi32> to tensor<32xi32>
  %sum = scf.for %j0 = %c0 to %c128 step %c32 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %idj = tensor.extract_slice %any[%j0] [32] [1] : tensor<128xi32> to tensor<32xi32>
    %vj = tensor.extract_slice %v[%j0, 0] [32, 8] [1, 1] : tensor<128x8xf32> to tensor<32x8xf32>
    %w = linalg.generic {indexing_maps = [#row, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%anyi, %idj : tensor<32xi32>, tensor<32xi32>) outs(%e : tensor<32x32xf32>) {
    ^bb0(%p: i32, %q: i32, %old: f32):
      %same = arith.cmpi eq, %p, %q : i32
      %masked = arith.select %same, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x32xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x32xf32>, tensor<32x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  %sum2 = scf.for %j0 = %c0 to %c128 step %c32 iter_args(%acc = %init) -> tensor<32x8xf32> {
    %idj = tensor.extract_slice %b[%j0] [32] [1] : tensor<128xi32> to tensor<32xi32>
    %vj = tensor.extract_slice %v[%j0, 0] [32, 8] [1, 1] : tensor<128x8xf32> to tensor<32x8xf32>
    %w = linalg.generic {indexing_maps = [#row, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ai, %idj : tensor<32xi32>, tensor<32xi32>) outs(%e : tensor<32x32xf32>) {
    ^bb0(%p: i32, %q: i32, %old: f32):
      %same = arith.cmpi eq, %p, %q : i32
      %masked = arith.select %same, %one, %zero : f32
      linalg.yield %masked : f32
    } -> tensor<32x32xf32>
    %next = linalg.matmul ins(%w, %vj : tensor<32x32xf32>, tensor<32x8xf32>)
        outs(%acc : tensor<32x8xf32>) -> tensor<32x8xf32>
    scf.yield %next : tensor<32x8xf32>
  }
  return %sum, %sum2 : tensor<32x8xf32>, tensor<32x8xf32>
}
