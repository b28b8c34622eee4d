// RUN: mamba-opt %s --mamba-rewrite-exp2=separate --canonicalize --cse | FileCheck %s
// RUN: mamba-opt %s "--mamba-rewrite-exp2=separate clamp-terms=false" --canonicalize --cse | FileCheck %s --check-prefix=CLAMPED
// RUN: mamba-opt %s --mamba-rewrite-exp2 --canonicalize --cse | FileCheck %s --check-prefix=OFF

// Linear attention with decays: y = tril(s * exp(min(g_i - g_j, 0)) * t_j) x, in
// tiles: those left of the diagonal in a loop, then the one on it.

// CHECK-LABEL: func @applied
// CHECK: %[[G:.*]]:2 = scf.forall
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: %[[ROWS:.*]] = tensor.extract_slice %[[G]]#1
// CHECK: %[[FIRST:.*]] = tensor.extract %[[ROWS]][%c0]
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[COLUMN:.*]] = linalg.generic
// CHECK-NEXT: ^bb0(%[[GJ:.*]]: f32, %[[TJ:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.subf %[[FIRST]], %[[GJ]]
// CHECK-NEXT: %[[POWER:.*]] = math.exp2 %[[EXPONENT]] fastmath<afn>
// CHECK-NEXT: arith.mulf %[[POWER]], %[[TJ]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[COLUMN]] : tensor<8x8xf32>, tensor<8xf32>)
// CHECK-NOT: exp
// CHECK: linalg.matmul
// CHECK: %[[ROW:.*]] = linalg.generic {{.*}} ins(%[[ROWS]] : tensor<8xf32>)
// CHECK-NEXT: ^bb0(%[[GI:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[EXPONENT:.*]] = arith.subf %[[GI]], %[[FIRST]]
// CHECK-NEXT: math.exp2 %[[EXPONENT]] fastmath<afn>
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[ROW]] :
// CHECK: math.exp2
// CHECK: linalg.matmul {{.*}} outs(%[[SCALED]] :

// Without clamped terms both factors have a minimum.
// CLAMPED-LABEL: func @applied
// CLAMPED: tensor.extract
// CLAMPED: %[[MIN:.*]] = arith.minimumf
// CLAMPED-NEXT: math.exp2 %[[MIN]]
// CLAMPED: linalg.matmul
// CLAMPED: %[[MIN:.*]] = arith.minimumf
// CLAMPED-NEXT: math.exp2 %[[MIN]]

// OFF-LABEL: func @applied
// OFF-COUNT-2: math.exp2
// OFF-NOT: math.exp2

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>
func.func @applied(%a: tensor<?xf32>, %t: tensor<?x32xf32>, %s: tensor<?x32x32xf32>, %x: tensor<?x32x5xf32>)
    -> tensor<?x32x5xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %c32 = arith.constant 32 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x32xf32>
  %g:2 = scf.forall (%h) = (0) to (%n) step (4) shared_outs(%o0 = %e, %o1 = %e)
      -> (tensor<?x32xf32>, tensor<?x32xf32>) {
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%h)[%n]
    %as = tensor.extract_slice %a[%h] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %ts = tensor.extract_slice %t[%h, 0] [%m, 32] [1, 1] : tensor<?x32xf32> to tensor<?x32xf32>
    %e1 = tensor.empty(%m) : tensor<?x32xf32>
    %step = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<?x32xf32>) outs(%e1 : tensor<?x32xf32>) {
    ^bb0(%in: f32, %o: f32):
      %y = math.absf %in : f32
      linalg.yield %y : f32
    } -> tensor<?x32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x32xf32>) -> tensor<?x32xf32>
    %sum = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi],
                           iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %step : tensor<?xf32>, tensor<?x32xf32>) outs(%f : tensor<?x32xf32>) {
    ^bb0(%c: f32, %d: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %c, %d : f32
      %q = arith.select %le, %p, %zero : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
    } -> tensor<?x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %step into %o0[%h, 0] [%m, 32] [1, 1]
        : tensor<?x32xf32> into tensor<?x32xf32>
      tensor.parallel_insert_slice %sum into %o1[%h, 0] [%m, 32] [1, 1]
        : tensor<?x32xf32> into tensor<?x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}

  %e3 = tensor.empty(%n) : tensor<?x32x5xf32>
  %y = scf.forall (%h, %block) = (0, 0) to (%n, 32) step (1, 32) shared_outs(%o = %e3)
      -> (tensor<?x32x5xf32>) {
    %e4 = tensor.empty() : tensor<32x5xf32>
    %tiles = scf.for %i0 = %c0 to %c32 step %c8 iter_args(%out = %e4) -> (tensor<32x5xf32>) {
      %gi = tensor.extract_slice %g#1[%h, %i0] [1, 8] [1, 1] : tensor<?x32xf32> to tensor<8xf32>
      %e5 = tensor.empty() : tensor<8x5xf32>
      %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<8x5xf32>) -> tensor<8x5xf32>
      %e2 = tensor.empty() : tensor<8x8xf32>
      %left = scf.for %j0 = %c0 to %i0 step %c8 iter_args(%sum = %f5) -> (tensor<8x5xf32>) {
        %ss = tensor.extract_slice %s[%h, %i0, %j0] [1, 8, 8] [1, 1, 1]
          : tensor<?x32x32xf32> to tensor<8x8xf32>
        %gj = tensor.extract_slice %g#1[%h, %j0] [1, 8] [1, 1] : tensor<?x32xf32> to tensor<8xf32>
        %tj = tensor.extract_slice %g#0[%h, %j0] [1, 8] [1, 1] : tensor<?x32xf32> to tensor<8xf32>
        %xj = tensor.extract_slice %x[%h, %j0, 0] [1, 8, 5] [1, 1, 1]
          : tensor<?x32x5xf32> to tensor<8x5xf32>
        %w = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all],
                             iterator_types = ["parallel", "parallel"]}
            ins(%ss, %gi, %gj, %tj : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
            outs(%e2 : tensor<8x8xf32>) {
        ^bb0(%p: f32, %b: f32, %c: f32, %d: f32, %u: f32):
          %diff = arith.subf %b, %c : f32
          %least = arith.minimumf %diff, %zero : f32
          %exp = math.exp %least fastmath<afn> : f32
          %q = arith.mulf %p, %exp : f32
          %r = arith.mulf %q, %d : f32
          linalg.yield %r : f32
        } -> tensor<8x8xf32>
        %next = linalg.matmul ins(%w, %xj : tensor<8x8xf32>, tensor<8x5xf32>)
          outs(%sum : tensor<8x5xf32>) -> tensor<8x5xf32>
        scf.yield %next : tensor<8x5xf32>
      }
      %ss = tensor.extract_slice %s[%h, %i0, %i0] [1, 8, 8] [1, 1, 1]
        : tensor<?x32x32xf32> to tensor<8x8xf32>
      %ti = tensor.extract_slice %g#0[%h, %i0] [1, 8] [1, 1] : tensor<?x32xf32> to tensor<8xf32>
      %xi = tensor.extract_slice %x[%h, %i0, 0] [1, 8, 5] [1, 1, 1]
        : tensor<?x32x5xf32> to tensor<8x5xf32>
      %w = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all],
                           iterator_types = ["parallel", "parallel"]}
          ins(%ss, %gi, %gi, %ti : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
          outs(%e2 : tensor<8x8xf32>) {
      ^bb0(%p: f32, %b: f32, %c: f32, %d: f32, %u: f32):
        %diff = arith.subf %b, %c : f32
        %least = arith.minimumf %diff, %zero : f32
        %exp = math.exp %least fastmath<afn> : f32
        %q = arith.mulf %p, %exp : f32
        %r = arith.mulf %q, %d : f32
        %i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %seen = arith.cmpi ule, %j, %i : index
        %v = arith.select %seen, %r, %zero : f32
        linalg.yield %v : f32
      } -> tensor<8x8xf32>
      %all = linalg.matmul ins(%w, %xi : tensor<8x8xf32>, tensor<8x5xf32>)
        outs(%left : tensor<8x5xf32>) -> tensor<8x5xf32>
      %ins = tensor.insert_slice %all into %out[%i0, 0] [8, 5] [1, 1]
        : tensor<8x5xf32> into tensor<32x5xf32>
      scf.yield %ins : tensor<32x5xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %tiles into %o[%h, 0, 0] [1, 32, 5] [1, 1, 1]
        : tensor<32x5xf32> into tensor<?x32x5xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %y : tensor<?x32x5xf32>
}
