// RUN: mamba-opt %s --mamba-share-heads --canonicalize --cse --split-input-file | FileCheck %s

// Linear attention with groups of heads that share queries and keys: a block
// takes two heads of a group, multiplies the scores once, and runs one loop.

#nt = {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
#nn = {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}

// CHECK: #[[$PARTS:.+]] = affine_map<()[s0] -> (s0 ceildiv 2)>
// CHECK: #[[$H0:.+]] = affine_map<(d0)[s0, s1, s2] -> (s2 - 1, s0 + s1 - 1, d0 * 2 + s0)>
// CHECK: #[[$H1:.+]] = affine_map<(d0)[s0, s1, s2] -> (s2 - 1, s0 + s1 - 1, d0 * 2 + s0 + 1)>

// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:.+]]: memref<?x?x32xf32>, %[[K:.+]]: memref<?x?x32xf32>, %[[V:.+]]: memref<?x?x64xf32>, %[[O:.+]]: memref<?x?x64xf32>, %[[HEADS:.+]]: index, %[[GROUPS:.+]]: index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
//                The loop may be empty because there are no groups.
// CHECK:         %[[G:.+]] = arith.maxui %[[GROUPS]], %[[C1]]
// CHECK:         %[[PER:.+]] = arith.divui %[[HEADS]], %[[G]]
// CHECK:         %[[SIZE:.+]] = arith.maxui %[[PER]], %[[C1]]
// CHECK:         %[[COUNT:.+]] = affine.apply #[[$PARTS]]()[%[[SIZE]]]
// CHECK:         %[[OUTER:.+]] = arith.ceildivui %[[HEADS]], %[[SIZE]]
// CHECK:         scf.forall (%[[GROUP:.+]], %[[PART:.+]]) in (%[[OUTER]], %[[COUNT]]) {
// CHECK:           %[[FIRST:.+]] = arith.muli %[[GROUP]], %[[SIZE]]
// CHECK:           %[[H0:.+]] = affine.min #[[$H0]](%[[PART]])[%[[FIRST]], %[[SIZE]], %[[HEADS]]]
// CHECK:           %[[H1:.+]] = affine.min #[[$H1]](%[[PART]])[%[[FIRST]], %[[SIZE]], %[[HEADS]]]
// CHECK:           memref.subview %[[Q]][0, %[[GROUP]], 0]
// CHECK:           %[[Y:.+]]:2 = scf.for {{.+}} iter_args(%[[ACC0:.+]] = {{.+}}, %[[ACC1:.+]] = {{.+}})
// CHECK-COUNT-1:     vector.transfer_read %{{.+}} vector<16x32xf32>
// CHECK:             %[[S:.+]] = vector.contract
// CHECK:             %[[V0:.+]] = memref.subview %[[V]][%{{.+}}, %[[H0]], 0]
// CHECK:             vector.transfer_read %[[V0]]
// CHECK:             %[[A0:.+]] = vector.contract {{.+}} %[[S]], %{{.+}}, %[[ACC0]]
// CHECK:             %[[V1:.+]] = memref.subview %[[V]][%{{.+}}, %[[H1]], 0]
// CHECK:             %[[A1:.+]] = vector.contract {{.+}} %[[S]], %{{.+}}, %[[ACC1]]
// CHECK:             scf.yield %[[A0]], %[[A1]]
// CHECK:           memref.subview %[[O]][0, %[[H0]], 0]
// CHECK:           vector.transfer_write %[[Y]]#0
// CHECK:           memref.subview %[[O]][0, %[[H1]], 0]
// CHECK:           vector.transfer_write %[[Y]]#1
// CHECK:         mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]
func.func @attention(%q: memref<?x?x32xf32>, %k: memref<?x?x32xf32>, %v: memref<?x?x64xf32>, %o: memref<?x?x64xf32>, %heads: index, %groups: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<16x64xf32>
  %nothing = arith.constant dense<0.0> : vector<16x16xf32>
  %n = memref.dim %k, %c0 : memref<?x?x32xf32>
  scf.forall (%h) in (%heads) {
    %per = arith.divui %heads, %groups : index
    %g = arith.divui %h, %per : index
    %qt = memref.subview %q[0, %g, 0] [16, 1, 32] [1, 1, 1] : memref<?x?x32xf32> to memref<16x32xf32, strided<[?, 1], offset: ?>>
    %qv = vector.transfer_read %qt[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x32xf32, strided<[?, 1], offset: ?>>, vector<16x32xf32>
    %y = scf.for %j = %c0 to %n step %c16 iter_args(%acc = %none) -> (vector<16x64xf32>) {
      %kt = memref.subview %k[%j, %g, 0] [16, 1, 32] [1, 1, 1] : memref<?x?x32xf32> to memref<16x32xf32, strided<[?, 1], offset: ?>>
      %kv = vector.transfer_read %kt[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x32xf32, strided<[?, 1], offset: ?>>, vector<16x32xf32>
      %s = vector.contract #nt %qv, %kv, %nothing : vector<16x32xf32>, vector<16x32xf32> into vector<16x16xf32>
      %vt = memref.subview %v[%j, %h, 0] [16, 1, 64] [1, 1, 1] : memref<?x?x64xf32> to memref<16x64xf32, strided<[?, 1], offset: ?>>
      %vv = vector.transfer_read %vt[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x64xf32, strided<[?, 1], offset: ?>>, vector<16x64xf32>
      %a = vector.contract #nn %s, %vv, %acc : vector<16x16xf32>, vector<16x64xf32> into vector<16x64xf32>
      scf.yield %a : vector<16x64xf32>
    }
    %ot = memref.subview %o[0, %h, 0] [16, 1, 64] [1, 1, 1] : memref<?x?x64xf32> to memref<16x64xf32, strided<[?, 1], offset: ?>>
    vector.transfer_write %y, %ot[%c0, %c0] {in_bounds = [true, true]} : vector<16x64xf32>, memref<16x64xf32, strided<[?, 1], offset: ?>>
  } {mapping = [#gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[1] heads 2>}
  return
}

// -----

// All positions of the second dimension share: no groups. The first dimension
// has nothing in common.

#nt = {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}

// CHECK-DAG: #[[$PARTS:.+]] = affine_map<()[s0] -> (s0 ceildiv 3)>
// CHECK-DAG: #[[$P0:.+]] = affine_map<(d0)[s0] -> (s0 - 1, d0 * 3)>
// CHECK-DAG: #[[$P2:.+]] = affine_map<(d0)[s0] -> (s0 - 1, d0 * 3 + 2)>
// CHECK-LABEL: func.func @scales
// CHECK:         scf.forall (%[[B:.+]], %[[PART:.+]]) in (%{{.+}}, %{{.+}}) {
// CHECK:           affine.min #[[$P0]](%[[PART]])
// CHECK:           affine.min #[[$P2]](%[[PART]])
// CHECK-COUNT-1:   vector.contract
// CHECK-COUNT-3:   vector.transfer_write
// CHECK-NOT:       vector.transfer_write
// CHECK:         return
func.func @scales(%a: memref<?x16x16xf32>, %w: memref<?xf32>, %o: memref<?x?x16x16xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %nothing = arith.constant dense<0.0> : vector<16x16xf32>
  scf.forall (%b, %h) in (%n, %m) {
    %t = memref.subview %a[%b, 0, 0] [1, 16, 16] [1, 1, 1] : memref<?x16x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    %v = vector.transfer_read %t[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf32, strided<[16, 1], offset: ?>>, vector<16x16xf32>
    %s = vector.contract #nt %v, %v, %nothing : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    %f = memref.load %w[%h] : memref<?xf32>
    %fs = vector.broadcast %f : f32 to vector<16x16xf32>
    %y = arith.mulf %s, %fs : vector<16x16xf32>
    %ot = memref.subview %o[%b, %h, 0, 0] [1, 1, 16, 16] [1, 1, 1, 1] : memref<?x?x16x16xf32> to memref<16x16xf32, strided<[16, 1], offset: ?>>
    vector.transfer_write %y, %ot[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32, strided<[16, 1], offset: ?>>
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[1, 1] heads 3>}
  return
}
