// RUN: mamba-opt %s --mamba-fuse --canonicalize --cse --split-input-file \
// RUN:   --verify-diagnostics | FileCheck %s

#row = affine_map<(i) -> (i)>

// The output of a step is computed in the loop that carries the state; the
// states are no result any more.
// CHECK-LABEL: func @into_loop
// CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x?x64xf16>
// CHECK: %[[Y:.*]] = scf.forall (%[[B:.*]]) in (%[[N:.*]]) shared_outs(%[[O:.*]] = %[[OUT]]) -> (tensor<?x?x64xf16>) {
// CHECK:   %[[ROWS:.*]] = tensor.extract_slice %[[O]][%[[B]], 0, 0] [1, %[[M:.*]], 64] [1, 1, 1]
// CHECK:   %[[R:.*]]:2 = scf.for %[[C:[a-z0-9]+]] = %c0 to %[[M]] step %c1 iter_args(%[[S:.*]] = %{{.*}}, %[[T:.*]] = %[[ROWS]])
// The tile's reader comes before the step that overwrites it.
// CHECK:     %[[V:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<64xf32>) outs(%{{.*}} : tensor<64xf16>)
// CHECK:     %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[C]], 0] [1, 1, 64]
// CHECK:     %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<64xf32>) outs(%[[S]] : tensor<64xf32>)
// CHECK:     %[[U:.*]] = tensor.insert_slice %[[V]] into %[[T]][0, %[[C]], 0] [1, 1, 64] [1, 1, 1]
// CHECK:     scf.yield %[[NEXT]], %[[U]]
// CHECK:   tensor.parallel_insert_slice %[[R]]#1 into %[[O]][%[[B]], 0, 0] [1, %[[M]], 64] [1, 1, 1]
// CHECK: } {mamba.kernel = "states_out", mamba.plan = #mamba.plan<fused tile[1]>
// CHECK-NOT: scf.forall
// CHECK: return %[[Y]]
func.func @into_loop(%x: tensor<?x?x64xf32>) -> tensor<?x?x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?x64xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?x64xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?x64xf32>
  %h = scf.forall (%b) in (%n) shared_outs(%o = %e) -> (tensor<?x?x64xf32>) {
    %e0 = tensor.empty() : tensor<64xf32>
    %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64xf32>) -> tensor<64xf32>
    %tiles = tensor.empty(%m) : tensor<1x?x64xf32>
    %r:2 = scf.for %c = %c0 to %m step %c1 iter_args(%s = %init, %t = %tiles) -> (tensor<64xf32>, tensor<1x?x64xf32>) {
      %u = tensor.insert_slice %s into %t[0, %c, 0] [1, 1, 64] [1, 1, 1] : tensor<64xf32> into tensor<1x?x64xf32>
      %xc = tensor.extract_slice %x[%b, %c, 0] [1, 1, 64] [1, 1, 1] : tensor<?x?x64xf32> to tensor<64xf32>
      %next = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%xc : tensor<64xf32>) outs(%s : tensor<64xf32>) {
      ^bb0(%a: f32, %b0: f32):
        %p = arith.addf %a, %b0 : f32
        linalg.yield %p : f32
      } -> tensor<64xf32>
      scf.yield %next, %u : tensor<64xf32>, tensor<1x?x64xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#1 into %o[%b, 0, 0] [1, %m, 64] [1, 1, 1] : tensor<1x?x64xf32> into tensor<?x?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "states", mamba.plan = #mamba.plan<fused tile [1]>}
  %e1 = tensor.empty(%n, %m) : tensor<?x?x64xf16>
  %y = scf.forall (%c, %b) in (%m, %n) shared_outs(%o = %e1) -> (tensor<?x?x64xf16>) {
    %s = tensor.extract_slice %h[%b, %c, 0] [1, 1, 64] [1, 1, 1] : tensor<?x?x64xf32> to tensor<64xf32>
    %e2 = tensor.empty() : tensor<64xf16>
    %v = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]} ins(%s : tensor<64xf32>) outs(%e2 : tensor<64xf16>) {
    ^bb0(%a: f32, %o0: f16):
      %p = arith.truncf %a : f32 to f16
      linalg.yield %p : f16
    } -> tensor<64xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %o[%b, %c, 0] [1, 1, 64] [1, 1, 1] : tensor<64xf16> into tensor<?x?x64xf16>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>], mamba.kernel = "out", mamba.plan = #mamba.plan<fused tile [1, 1]>}
  return %y : tensor<?x?x64xf16>
}

// -----

// A block's tile is computed where it is read: once for the slice and the
// element of one chunk, in the loop that counts the chunks.
// CHECK-LABEL: func @into_reader
// CHECK: scf.forall (%[[B:.*]]) in
// CHECK:   scf.for %[[C:[a-z0-9]+]] =
// CHECK:     %[[X:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[C]], 0] [1, 1, 8]
// CHECK:     %[[T:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8xf32>)
// CHECK:     %[[LAST:.*]] = tensor.extract %[[T]][%c7]
// CHECK:     %[[S:.*]] = tensor.extract_slice %[[T]][0] [%{{.*}}] [1]
// CHECK:     linalg.generic {{.*}} ins(%[[S]] : tensor<?xf32>)
// CHECK:     arith.mulf %{{.*}}, %[[LAST]]
// CHECK-NOT: scf.forall (
#id = affine_map<(i) -> (i)>
func.func @into_reader(%x: tensor<?x?x8xf32>, %k: index) -> tensor<?x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %n = tensor.dim %x, %c0 : tensor<?x?x8xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?x8xf32>
  %e = tensor.empty(%n, %m) : tensor<?x?x8xf32>
  %s = scf.forall (%b, %c) in (%n, %m) shared_outs(%o = %e) -> (tensor<?x?x8xf32>) {
    %xc = tensor.extract_slice %x[%b, %c, 0] [1, 1, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<8xf32>
    %e0 = tensor.empty() : tensor<8xf32>
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%xc : tensor<8xf32>) outs(%e0 : tensor<8xf32>) {
    ^bb0(%a: f32, %o0: f32):
      %p = math.exp %a : f32
      linalg.yield %p : f32
    } -> tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%b, %c, 0] [1, 1, 8] [1, 1, 1] : tensor<8xf32> into tensor<?x?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>], mamba.kernel = "exp", mamba.plan = #mamba.plan<fused tile [1, 1]>}
  %e1 = tensor.empty(%n, %m) : tensor<?x?x8xf32>
  %y = scf.forall (%b) in (%n) shared_outs(%o = %e1) -> (tensor<?x?x8xf32>) {
    %whole = tensor.extract_slice %o[%b, 0, 0] [1, %m, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<1x?x8xf32>
    %rows = tensor.extract_slice %s[%b, 0, 0] [1, %m, 8] [1, 1, 1] : tensor<?x?x8xf32> to tensor<1x?x8xf32>
    %r = scf.for %c = %c0 to %m step %c1 iter_args(%t = %whole) -> (tensor<1x?x8xf32>) {
      %last = tensor.extract %rows[%c0, %c, %c7] : tensor<1x?x8xf32>
      %sc = tensor.extract_slice %s[%b, %c, 0] [1, 1, %k] [1, 1, 1] : tensor<?x?x8xf32> to tensor<?xf32>
      %e2 = tensor.empty(%k) : tensor<?xf32>
      %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%sc : tensor<?xf32>) outs(%e2 : tensor<?xf32>) {
      ^bb0(%a: f32, %o0: f32):
        %p = arith.mulf %a, %last : f32
        linalg.yield %p : f32
      } -> tensor<?xf32>
      %u = tensor.insert_slice %v into %t[0, %c, 0] [1, 1, %k] [1, 1, 1] : tensor<?xf32> into tensor<1x?x8xf32>
      scf.yield %u : tensor<1x?x8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[%b, 0, 0] [1, %m, 8] [1, 1, 1] : tensor<1x?x8xf32> into tensor<?x?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "scale", mamba.plan = #mamba.plan<fused tile [1]>}
  return %y : tensor<?x?x8xf32>
}

// -----

// Half of what an iteration inserts is not its tile.
// CHECK-LABEL: func @half
// CHECK-COUNT-2: scf.forall (
func.func @half(%x: tensor<?x8xf32>, %n: index) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%m) : tensor<?x8xf32>
  %h = scf.forall (%p) = (0) to (8) step (8) shared_outs(%o = %e) -> (tensor<?x8xf32>) {
    %tiles = tensor.empty(%m) : tensor<?x8xf32>
    %r = scf.for %c = %c0 to %m step %c1 iter_args(%t = %tiles) -> (tensor<?x8xf32>) {
      %xc = tensor.extract_slice %x[%c, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
      %u = tensor.insert_slice %xc into %t[%c, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
      scf.yield %u : tensor<?x8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[0, 0] [%m, 8] [1, 1] : tensor<?x8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "states", mamba.plan = #mamba.plan<fused tile [1]>}
  %e1 = tensor.empty(%m) : tensor<?x4xf32>
  // expected-remark @+1 {{expected a slice that one iteration of the loop it reads from inserts, over the same ranges to fuse the blocks}}
  %y = scf.forall (%c) in (%m) shared_outs(%o = %e1) -> (tensor<?x4xf32>) {
    %s = tensor.extract_slice %h[%c, 0] [1, 4] [1, 1] : tensor<?x8xf32> to tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%c, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<?x4xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "out", mamba.plan = #mamba.plan<fused tile [1]>}
  return %y : tensor<?x4xf32>
}

// -----

// Steps of another number are no iterations; a plan of another schedule is left
// alone.
// CHECK-LABEL: func @other_range
// CHECK-COUNT-3: scf.forall (
func.func @other_range(%x: tensor<?x8xf32>, %k: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%m) : tensor<?x8xf32>
  %h = scf.forall (%p) = (0) to (8) step (8) shared_outs(%o = %e) -> (tensor<?x8xf32>) {
    %tiles = tensor.empty(%m) : tensor<?x8xf32>
    %r = scf.for %c = %c0 to %m step %c1 iter_args(%t = %tiles) -> (tensor<?x8xf32>) {
      %xc = tensor.extract_slice %x[%c, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
      %u = tensor.insert_slice %xc into %t[%c, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
      scf.yield %u : tensor<?x8xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[0, 0] [%m, 8] [1, 1] : tensor<?x8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "states", mamba.plan = #mamba.plan<fused tile [1]>}
  %e1 = tensor.empty(%k) : tensor<?x8xf32>
  // expected-remark @+1 {{expected loops over the same ranges as the loop it reads from to fuse the blocks}}
  %y = scf.forall (%c) in (%k) shared_outs(%o = %e1) -> (tensor<?x8xf32>) {
    %s = tensor.extract_slice %h[%c, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%c, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "out", mamba.plan = #mamba.plan<fused tile [1]>}
  %e2 = tensor.empty(%m) : tensor<?x8xf32>
  %z = scf.forall (%c) in (%m) shared_outs(%o = %e2) -> (tensor<?x8xf32>) {
    %s = tensor.extract_slice %h[%c, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%c, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<?x8xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "out", mamba.plan = #mamba.plan<three_kernel tile [1]>}
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}
