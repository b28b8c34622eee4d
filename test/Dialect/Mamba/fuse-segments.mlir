// RUN: mamba-opt %s --mamba-fuse --canonicalize --cse --split-input-file \
// RUN:   --verify-diagnostics | FileCheck %s

#row = affine_map<(i) -> (i)>

// A decayed sum of rows, of which every step's value is a result, in segments
// of 4 steps.
// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: #[[END:.*]] = affine_map<(d0)[s0] -> (s0, d0 * 4 + 4)>
// CHECK-DAG: #[[PART:.*]] = affine_map<(d0)[s0] -> (d0 * -4 + s0, 4)>
// CHECK-DAG: #[[PLACE:.*]] = affine_map<(d0, d1) -> (d0 - d1 * 4)>
// CHECK-LABEL: func @decayed_sum
// CHECK-SAME: %[[X:.*]]: tensor<?x?x8xf32>, %[[A:.*]]: tensor<?x?xf32>
// CHECK: %[[S:.*]] = affine.apply #{{.*}}()[%[[M:.*]]]

// What a segment makes of 0, and its factors; nothing of the rounded rows.
// CHECK: %[[E:.*]]:2 = scf.forall (%[[B:.*]], %[[I:.*]]) in (%{{.*}}, %[[S]]) {{.*}} -> (tensor<?x?x8xf32>, tensor<?x?xf32>) {
// CHECK-DAG:   %[[C0:.*]] = affine.apply #[[FIRST]](%[[I]])
// CHECK-DAG:   %[[C1:.*]] = affine.min #[[END]](%[[I]])[%[[M]]]
// CHECK-DAG:   %[[ZEROS:.*]] = linalg.fill
// CHECK:   %[[R:.*]]:2 = scf.for %[[C:.*]] = %[[C0]] to %[[C1]] step %c1 iter_args(%[[H:.*]] = %[[ZEROS]], %[[F:.*]] = %{{.*}}) -> (tensor<8xf32>, f32) {
// CHECK:     %[[D:.*]] = tensor.extract %[[A]]
// CHECK-NOT: truncf
// CHECK:     linalg.generic
// CHECK:     arith.mulf %[[F]], %[[D]]
// CHECK:   tensor.parallel_insert_slice %[[R]]#0 into %{{.*}}[%[[B]], %[[I]], 0] [1, 1, 8] [1, 1, 1]
// CHECK: mamba.kernel = "sum_segments"

// What the segments start from, and what the last one leaves.
// CHECK: %[[H:.*]]:2 = scf.forall (%[[B:.*]]) in (%{{.*}}) {{.*}} -> (tensor<?x?x8xf32>, tensor<?x8xf32>) {
// CHECK:   scf.for %[[I:.*]] = %c0 to %[[S]] step %c1 iter_args(%[[C:.*]] = %{{.*}}, %[[T:.*]] = %{{.*}})
// CHECK:     tensor.insert_slice %[[C]] into %[[T]][0, %[[I]], 0] [1, 1, 8] [1, 1, 1]
// CHECK:     tensor.extract %[[E]]#1[%[[B]], %[[I]]]
// CHECK:     tensor.extract_slice %[[E]]#0[%[[B]], %[[I]], 0] [1, 1, 8] [1, 1, 1]
// CHECK: mamba.kernel = "sum_scan"

// The rest, from there.
// CHECK: %[[Y:.*]] = scf.forall (%[[B:.*]], %[[I:.*]]) in (%{{.*}}, %[[S]]) shared_outs(%[[O:.*]] = %{{.*}}) -> (tensor<?x?x8xf16>) {
// CHECK:   %[[AT:.*]] = affine.apply #[[FIRST]](%[[I]])
// CHECK:   tensor.extract_slice %[[H]]#0[%[[B]], %[[I]], 0] [1, 1, 8] [1, 1, 1]
// CHECK:   %[[N:.*]] = affine.min #[[PART]](%[[I]])[%[[M]]]
// CHECK:   tensor.extract_slice %[[O]][%[[B]], %[[AT]], 0] [1, %[[N]], 8] [1, 1, 1]
// CHECK:   scf.for %[[C:.*]] = %{{.*}} to
// CHECK:     arith.truncf
// CHECK:     %[[P:.*]] = affine.apply #[[PLACE]](%[[C]], %[[I]])
// CHECK:     tensor.insert_slice %{{.*}} into %{{.*}}[0, %[[P]], 0] [1, 1, 8] [1, 1, 1]
// CHECK:   tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[B]], %[[AT]], 0] [1, %[[N]], 8] [1, 1, 1]
// CHECK: mamba.kernel = "sum"
// CHECK: return %[[Y]], %[[H]]#1
func.func @decayed_sum(%x: tensor<?x?x8xf32>, %a: tensor<?x?xf32>) -> (tensor<?x?x8xf16>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?x8xf16>
  %e1 = tensor.empty(%n) : tensor<?x8xf32>
  %y:2 = scf.forall (%b) in (%n) shared_outs(%o = %e, %l = %e1) -> (tensor<?x?x8xf16>, tensor<?x8xf32>) {
    %e0 = tensor.empty() : tensor<8xf32>
    %init = linalg.fill ins(%one : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
    %rows = tensor.extract_slice %o[%b, 0, 0] [1, %m, 8] [1, 1, 1] : tensor<?x?x8xf16> to tensor<1x?x8xf16>
    %r:2 = scf.for %c = %c0 to %m step %c1 iter_args(%s = %init, %t = %rows) -> (tensor<8xf32>, tensor<1x?x8xf16>) {
      %d = tensor.extract %a[%b, %c] : tensor<?x?xf32>
      %xc = tensor.extract_slice %x[%b, %c, 0] [1, 1, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<8xf32>
      %next = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%xc : tensor<8xf32>) outs(%s : tensor<8xf32>) {
      ^bb0(%v: f32, %h: f32):
        %k = arith.mulf %d, %h : f32
        %p = arith.addf %k, %v : f32
        linalg.yield %p : f32
      } -> tensor<8xf32>
      %e2 = tensor.empty() : tensor<8xf16>
      %w = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%next : tensor<8xf32>) outs(%e2 : tensor<8xf16>) {
      ^bb0(%v: f32, %h: f16):
        %p = arith.truncf %v : f32 to f16
        linalg.yield %p : f16
      } -> tensor<8xf16>
      %u = tensor.insert_slice %w into %t[0, %c, 0] [1, 1, 8] [1, 1, 1] : tensor<8xf16> into tensor<1x?x8xf16>
      scf.yield %next, %u : tensor<8xf32>, tensor<1x?x8xf16>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#1 into %o[%b, 0, 0] [1, %m, 8] [1, 1, 1] : tensor<1x?x8xf16> into tensor<?x?x8xf16>
      tensor.parallel_insert_slice %r#0 into %l[%b, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "sum", mamba.plan = #mamba.plan<segmented tile [1] segment 4>}
  return %y#0, %y#1 : tensor<?x?x8xf16>, tensor<?x8xf32>
}

// -----

// A product of rows has no scalar factor.
// CHECK-LABEL: func @product
// CHECK-COUNT-1: scf.forall (
// CHECK-NOT: scf.forall (
#row = affine_map<(i) -> (i)>
func.func @product(%x: tensor<?x8xf32>) -> tensor<1x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty() : tensor<1x8xf32>
  // expected-remark @+1 {{expected what the loop carries to be multiplied by a scalar of the iteration and added to to cut it into segments}}
  %y = scf.forall (%b) in (1) shared_outs(%o = %e) -> (tensor<1x8xf32>) {
    %e0 = tensor.empty() : tensor<8xf32>
    %init = linalg.fill ins(%one : f32) outs(%e0 : tensor<8xf32>) -> tensor<8xf32>
    %r = scf.for %c = %c0 to %m step %c1 iter_args(%s = %init) -> (tensor<8xf32>) {
      %xc = tensor.extract_slice %x[%c, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
      %next = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%xc : tensor<8xf32>) outs(%s : tensor<8xf32>) {
      ^bb0(%v: f32, %h: f32):
        %p = arith.mulf %h, %v : f32
        linalg.yield %p : f32
      } -> tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<1x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "product", mamba.plan = #mamba.plan<segmented tile [1] segment 4>}
  return %y : tensor<1x8xf32>
}
