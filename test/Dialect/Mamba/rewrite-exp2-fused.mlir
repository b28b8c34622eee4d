// RUN: mamba-opt %s --mamba-rewrite-exp2 --canonicalize --cse | FileCheck %s

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>

// Gated linear attention in one block: the gates, their sums, the decay of all of
// them and the weights. One multiplication serves both exponentials; the gates
// are a result themselves, so their logarithms are computed beside them.

// CHECK-LABEL: func @fused
// CHECK: scf.forall
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[T:.*]] = linalg.generic
// CHECK: math.absf
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[T]] :
// CHECK: arith.maximumf
// CHECK-NEXT: arith.minimumf
// CHECK: %[[EXPONENT:.*]] = linalg.generic {{.*}} ins(%[[G]], %[[T]] :
// CHECK: math.log2 %{{.*}} fastmath<afn>
// CHECK-NEXT: arith.subf
// CHECK: %[[LAST:.*]] = tensor.extract %[[G]][%c0, %c15]
// CHECK-NEXT: math.exp2 %[[LAST]] fastmath<afn>
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[G]]
// CHECK: %[[COLUMN:.*]] = tensor.extract_slice %[[EXPONENT]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[ROW]], %[[COLUMN]] :
// CHECK: arith.subf
// CHECK-NEXT: math.exp2
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: linalg.index
func.func @fused(%a: tensor<?xf32>, %t: tensor<?x16xf32>, %s: tensor<?x16x16xf32>)
    -> (tensor<?x16x16xbf16>, tensor<?x16xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c15 = arith.constant 15 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e0 = tensor.empty(%n) : tensor<?x16x16xbf16>
  %e1 = tensor.empty(%n) : tensor<?x16xf32>
  %e2 = tensor.empty(%n) : tensor<?xf32>
  %r:3 = scf.forall (%h) in (%n) shared_outs(%o0 = %e0, %o1 = %e1, %o2 = %e2)
      -> (tensor<?x16x16xbf16>, tensor<?x16xf32>, tensor<?xf32>) {
    %as = tensor.extract_slice %a[%h] [1] [1] : tensor<?xf32> to tensor<1xf32>
    %ts = tensor.extract_slice %t[%h, 0] [1, 16] [1, 1] : tensor<?x16xf32> to tensor<1x16xf32>
    %e3 = tensor.empty() : tensor<1x16xf32>
    %gate = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<1x16xf32>) outs(%e3 : tensor<1x16xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.absf %x : f32
      linalg.yield %y : f32
    } -> tensor<1x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e3 : tensor<1x16xf32>) -> tensor<1x16xf32>
    %g = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %gate : tensor<1xf32>, tensor<1x16xf32>) outs(%f : tensor<1x16xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %x, %y : f32
      %q = arith.select %le, %p, %zero : f32
      %sum = arith.addf %o, %q : f32
      linalg.yield %sum : f32
    } -> tensor<1x16xf32>
    %last = tensor.extract %g[%c0, %c15] : tensor<1x16xf32>
    %lowest = arith.minimumf %last, %zero : f32
    %decay = math.exp %lowest fastmath<afn> : f32
    %decays = tensor.from_elements %decay : tensor<1xf32>
    %ss = tensor.extract_slice %s[%h, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<?x16x16xf32> to tensor<16x16xf32>
    %gs = tensor.extract_slice %g[0, 0] [1, 16] [1, 1] : tensor<1x16xf32> to tensor<16xf32>
    %gates = tensor.extract_slice %gate[0, 0] [1, 16] [1, 1] : tensor<1x16xf32> to tensor<16xf32>
    %e4 = tensor.empty() : tensor<16x16xbf16>
    %w = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gs, %gs, %gates : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e4 : tensor<16x16xbf16>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: bf16):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %seen = arith.cmpi ule, %j, %i : index
      %v = arith.select %seen, %q, %zero : f32
      %round = arith.truncf %v : f32 to bf16
      linalg.yield %round : bf16
    } -> tensor<16x16xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %o0[%h, 0, 0] [1, 16, 16] [1, 1, 1] : tensor<16x16xbf16> into tensor<?x16x16xbf16>
      tensor.parallel_insert_slice %gate into %o1[%h, 0] [1, 16] [1, 1] : tensor<1x16xf32> into tensor<?x16xf32>
      tensor.parallel_insert_slice %decays into %o2[%h] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %r#0, %r#1, %r#2 : tensor<?x16x16xbf16>, tensor<?x16xf32>, tensor<?xf32>
}
