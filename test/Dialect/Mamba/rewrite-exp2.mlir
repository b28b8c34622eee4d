// RUN: mamba-opt %s --mamba-rewrite-exp2=separate=false --canonicalize --cse --split-input-file | FileCheck %s
// RUN: mamba-opt %s "--mamba-rewrite-exp2=separate=false clamp-terms=false" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=CLAMPED
// RUN: mamba-opt %s "--mamba-rewrite-exp2=separate=false fold-weights=false" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=PRODUCT
// RUN: mamba-opt %s --mamba-rewrite-exp2=hoist=false --split-input-file | FileCheck %s --check-prefix=OFF

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>

// Linear attention with a decay: g = prefix sums of a * |t| in one loop over
// blocks, weights tril(s * exp(min(g_i - g_j, 0)) * |t_j|) in the next one.

// CHECK-LABEL: func @weights
// CLAMPED-LABEL: func @weights
// PRODUCT-LABEL: func @weights
// OFF-LABEL: func @weights
// OFF: math.exp %{{.*}} fastmath<afn>
// OFF-NOT: exp2
func.func @weights(%a: tensor<?xf32>, %t: tensor<?x64xf32>, %s: tensor<?x64x64xf32>) -> tensor<?x64x64xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  // CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
  // CHECK-DAG: %[[LEAST:.*]] = arith.constant -1.500000e+02 : f32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: %[[G:.*]]:2 = scf.forall
  %g:2 = scf.forall (%h) = (0) to (%n) step (4) shared_outs(%o0 = %e, %o1 = %e) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%h)[%n]
    %as = tensor.extract_slice %a[%h] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %ts = tensor.extract_slice %t[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %e1 = tensor.empty(%m) : tensor<?x64xf32>
    // CHECK: %[[AS:.*]] = tensor.extract_slice %arg0
    // CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[AS]] :
    // CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %{{.*}}: f32):
    // CHECK-NEXT: arith.mulf %[[IN]], %[[LOG2E]]
    // CHECK: %[[T:.*]] = linalg.generic
    // CHECK: math.absf
    // CLAMPED: math.absf
    %abs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<?x64xf32>) outs(%e1 : tensor<?x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.absf %x : f32
      linalg.yield %y : f32
    } -> tensor<?x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x64xf32>) -> tensor<?x64xf32>
    // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[T]] :
    // CHECK: %[[TERM:.*]] = arith.mulf
    // CHECK: %[[MAX:.*]] = arith.maximumf %[[TERM]], %[[LEAST]]
    // CHECK: %[[MIN:.*]] = arith.minimumf %[[MAX]], %[[ZERO]]
    // CHECK: arith.select %{{.*}}, %[[MIN]], %[[ZERO]]
    // CLAMPED: arith.mulf
    // CLAMPED-NEXT: arith.select
    %sum = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %abs : tensor<?xf32>, tensor<?x64xf32>) outs(%f : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %x, %y : f32
      %q = arith.select %le, %p, %zero : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
    } -> tensor<?x64xf32>
    // CHECK: %[[EXPONENT:.*]] = linalg.generic {{.*}} ins(%[[SUM]], %[[T]] :
    // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %{{.*}}: f32):
    // CHECK-NEXT: %[[LOG:.*]] = math.log2 %[[Y]] fastmath<afn>
    // CHECK-NEXT: arith.subf %[[X]], %[[LOG]]
    // CHECK: tensor.parallel_insert_slice %[[EXPONENT]] into
    // CHECK: tensor.parallel_insert_slice %[[SUM]] into
    // PRODUCT-NOT: log2
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %abs into %o0[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
      tensor.parallel_insert_slice %sum into %o1[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %e3 = tensor.empty(%n) : tensor<?x64x64xbf16>
  %w = scf.forall (%h, %i0) = (0, 0) to (%n, 64) step (1, 16) shared_outs(%o = %e3) -> (tensor<?x64x64xbf16>) {
    %ss = tensor.extract_slice %s[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<?x64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g#1[%h, %i0] [1, 16] [1, 1] : tensor<?x64xf32> to tensor<16xf32>
    %gj = tensor.extract_slice %g#1[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %tj = tensor.extract_slice %g#0[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %e2 = tensor.empty() : tensor<16x64xbf16>
    // CHECK: %[[GI:.*]] = tensor.extract_slice %[[G]]#1
    // CHECK: %[[TJ:.*]] = tensor.extract_slice %[[G]]#0
    // CHECK: linalg.generic
    // CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[ROW:.*]]: f32, %[[COLUMN:.*]]: f32, %{{.*}}: bf16):
    // CHECK-NEXT: %[[DIFFERENCE:.*]] = arith.subf %[[ROW]], %[[COLUMN]]
    // CHECK-NEXT: %[[EXP:.*]] = math.exp2 %[[DIFFERENCE]] fastmath<afn>
    // CHECK-NEXT: %[[WEIGHT:.*]] = arith.mulf %[[S]], %[[EXP]]
    // CHECK: arith.select %{{.*}}, %[[WEIGHT]], %[[ZERO]]
    // CLAMPED: %[[SUB:.*]] = arith.subf
    // CLAMPED: %[[MIN:.*]] = arith.minimumf %[[SUB]]
    // CLAMPED: math.exp2 %[[MIN]] fastmath<afn>
    // PRODUCT: %[[SUB:.*]] = arith.subf
    // PRODUCT: %[[EXP:.*]] = math.exp2 %[[SUB]] fastmath<afn>
    // PRODUCT: %[[FIRST:.*]] = arith.mulf %{{.*}}, %[[EXP]]
    // PRODUCT: arith.mulf %[[FIRST]]
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %gj, %tj : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e2 : tensor<16x64xbf16>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: bf16):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
      %seen = arith.cmpi ule, %j, %ii : index
      %v = arith.select %seen, %q, %zero : f32
      %r = arith.truncf %v : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<16x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<16x64xbf16> into tensor<?x64x64xbf16>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %w : tensor<?x64x64xbf16>
}

// -----

#row = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// An argument is not scaled: what is read of it is, one number a row.

// CHECK-LABEL: func @rows
func.func @rows(%g: tensor<64xf32>, %s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<64x64xf32>
  // CHECK: scf.forall
  %w = scf.forall (%i0) = (0) to (64) step (16) shared_outs(%o = %e3) -> (tensor<64x64xf32>) {
    %ss = tensor.extract_slice %s[%i0, 0] [16, 64] [1, 1] : tensor<64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g[%i0] [16] [1] : tensor<64xf32> to tensor<16xf32>
    %e2 = tensor.empty() : tensor<16x64xf32>
    // CHECK: %[[GI:.*]] = tensor.extract_slice %arg0
    // CHECK: %[[ROW:.*]] = linalg.generic {{.*}} ins(%[[GI]] : tensor<16xf32>)
    // CHECK: arith.mulf
    // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[ROW]] :
    // CHECK: arith.minimumf
    // CHECK: math.exp2 %{{.*}} fastmath<afn>
    %ws = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi : tensor<16x64xf32>, tensor<16xf32>) outs(%e2 : tensor<16x64xf32>) {
    ^bb0(%x: f32, %b: f32, %u: f32):
      %low = arith.minimumf %b, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      linalg.yield %p : f32
    } -> tensor<16x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%i0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<64x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %w : tensor<64x64xf32>
}

// -----

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>

// A difference does not have products: as multiply-adds, equal numbers would not
// cancel.

// CHECK-LABEL: func @difference
// CHECK-NOT: exp2
// CHECK: math.exp %
// CHECK-NOT: exp2
func.func @difference(%g: tensor<64xf32>, %s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<64x64xf32>
  %w = scf.forall (%i0) = (0) to (64) step (16) shared_outs(%o = %e3) -> (tensor<64x64xf32>) {
    %ss = tensor.extract_slice %s[%i0, 0] [16, 64] [1, 1] : tensor<64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g[%i0] [16] [1] : tensor<64xf32> to tensor<16xf32>
    %e2 = tensor.empty() : tensor<16x64xf32>
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %g : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>) outs(%e2 : tensor<16x64xf32>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %u: f32):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      linalg.yield %p : f32
    } -> tensor<16x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%i0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<64x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %w : tensor<64x64xf32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>

// The first must be exact; of the others the factor would stay where it is: in
// front of an exponential of as many elements, or of a sum that is needed
// itself.

// CHECK-LABEL: func @unchanged
// CHECK-NOT: exp2
// CHECK-COUNT-3: math.exp %
// CHECK-NOT: exp2
func.func @unchanged(%s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %w = scf.forall (%i0) = (0) to (64) step (16) shared_outs(%o = %e) -> (tensor<64x64xf32>) {
    %ss = tensor.extract_slice %s[%i0, 0] [16, 64] [1, 1] : tensor<64x64xf32> to tensor<16x64xf32>
    %e2 = tensor.empty() : tensor<16x64xf32>
    %ws = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss : tensor<16x64xf32>) outs(%e2 : tensor<16x64xf32>) {
    ^bb0(%x: f32, %u: f32):
      %exact = math.exp %x : f32
      %abs = math.absf %exact : f32
      %negative = arith.negf %abs : f32
      %exp = math.exp %negative fastmath<afn> : f32
      %sum = arith.addf %exp, %one : f32
      %other = math.exp %sum fastmath<afn> : f32
      %p = arith.addf %sum, %other : f32
      linalg.yield %p : f32
    } -> tensor<16x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%i0, 0] [16, 64] [1, 1] : tensor<16x64xf32> into tensor<64x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %w : tensor<64x64xf32>
}

// -----

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>

// Steps of any sign: the minimum of the difference stays, and so does the
// product.

// CHECK-LABEL: func @any_sign
// CHECK-NOT: -1.500000e+02
// CHECK-NOT: log2
// CHECK: arith.minimumf
// CHECK-NEXT: math.exp2
func.func @any_sign(%a: tensor<?xf32>, %t: tensor<?x64xf32>, %s: tensor<?x64x64xf32>) -> tensor<?x64x64xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %g:2 = scf.forall (%h) = (0) to (%n) step (4) shared_outs(%o0 = %e, %o1 = %e) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%h)[%n]
    %as = tensor.extract_slice %a[%h] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %ts = tensor.extract_slice %t[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %e1 = tensor.empty(%m) : tensor<?x64xf32>
    %abs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<?x64xf32>) outs(%e1 : tensor<?x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.cos %x : f32
      linalg.yield %y : f32
    } -> tensor<?x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %sum = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %abs : tensor<?xf32>, tensor<?x64xf32>) outs(%f : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %x, %y : f32
      %q = arith.select %le, %p, %zero : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
    } -> tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %abs into %o0[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
      tensor.parallel_insert_slice %sum into %o1[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %e3 = tensor.empty(%n) : tensor<?x64x64xbf16>
  %w = scf.forall (%h, %i0) = (0, 0) to (%n, 64) step (1, 16) shared_outs(%o = %e3) -> (tensor<?x64x64xbf16>) {
    %ss = tensor.extract_slice %s[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<?x64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g#1[%h, %i0] [1, 16] [1, 1] : tensor<?x64xf32> to tensor<16xf32>
    %gj = tensor.extract_slice %g#1[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %tj = tensor.extract_slice %g#0[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %e2 = tensor.empty() : tensor<16x64xbf16>
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %gj, %tj : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e2 : tensor<16x64xbf16>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: bf16):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
      %seen = arith.cmpi ule, %j, %ii : index
      %v = arith.select %seen, %q, %zero : f32
      %r = arith.truncf %v : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<16x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<16x64xbf16> into tensor<?x64x64xbf16>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %w : tensor<?x64x64xbf16>
}

// -----

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>

// Weights in f32 stay products, which are more precise.

// CHECK-LABEL: func @not_rounded
// CHECK-NOT: log2
// CHECK: arith.subf
// CHECK-NEXT: math.exp2
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: arith.mulf
func.func @not_rounded(%a: tensor<?xf32>, %t: tensor<?x64xf32>, %s: tensor<?x64x64xf32>) -> tensor<?x64x64xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %g:2 = scf.forall (%h) = (0) to (%n) step (4) shared_outs(%o0 = %e, %o1 = %e) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%h)[%n]
    %as = tensor.extract_slice %a[%h] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %ts = tensor.extract_slice %t[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %e1 = tensor.empty(%m) : tensor<?x64xf32>
    %abs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<?x64xf32>) outs(%e1 : tensor<?x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.absf %x : f32
      linalg.yield %y : f32
    } -> tensor<?x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %sum = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %abs : tensor<?xf32>, tensor<?x64xf32>) outs(%f : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %x, %y : f32
      %q = arith.select %le, %p, %zero : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
    } -> tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %abs into %o0[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
      tensor.parallel_insert_slice %sum into %o1[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %e3 = tensor.empty(%n) : tensor<?x64x64xf32>
  %w = scf.forall (%h, %i0) = (0, 0) to (%n, 64) step (1, 16) shared_outs(%o = %e3) -> (tensor<?x64x64xf32>) {
    %ss = tensor.extract_slice %s[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<?x64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g#1[%h, %i0] [1, 16] [1, 1] : tensor<?x64xf32> to tensor<16xf32>
    %gj = tensor.extract_slice %g#1[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %tj = tensor.extract_slice %g#0[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %e2 = tensor.empty() : tensor<16x64xf32>
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %gj, %tj : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e2 : tensor<16x64xf32>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: f32):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
      %seen = arith.cmpi ule, %j, %ii : index
      %v = arith.select %seen, %q, %zero : f32
      linalg.yield %v : f32
    } -> tensor<16x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<16x64xf32> into tensor<?x64x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %w : tensor<?x64x64xf32>
}

// -----

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>

// What counts is above the diagonal: the minimum is needed.

// CHECK-LABEL: func @other_mask
// CHECK: arith.subf
// CHECK-NEXT: arith.minimumf
// CHECK-NEXT: math.exp2
func.func @other_mask(%a: tensor<?xf32>, %t: tensor<?x64xf32>, %s: tensor<?x64x64xf32>) -> tensor<?x64x64xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %g:2 = scf.forall (%h) = (0) to (%n) step (4) shared_outs(%o0 = %e, %o1 = %e) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
    %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%h)[%n]
    %as = tensor.extract_slice %a[%h] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    %ts = tensor.extract_slice %t[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> to tensor<?x64xf32>
    %e1 = tensor.empty(%m) : tensor<?x64xf32>
    %abs = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ts : tensor<?x64xf32>) outs(%e1 : tensor<?x64xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.absf %x : f32
      linalg.yield %y : f32
    } -> tensor<?x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %sum = linalg.generic {indexing_maps = [#hij_h, #hij_hj, #hij_hi], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%as, %abs : tensor<?xf32>, tensor<?x64xf32>) outs(%f : tensor<?x64xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %le = arith.cmpi ule, %j, %i : index
      %p = arith.mulf %x, %y : f32
      %q = arith.select %le, %p, %zero : f32
      %r = arith.addf %o, %q : f32
      linalg.yield %r : f32
    } -> tensor<?x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %abs into %o0[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
      tensor.parallel_insert_slice %sum into %o1[%h, 0] [%m, 64] [1, 1] : tensor<?x64xf32> into tensor<?x64xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  %e3 = tensor.empty(%n) : tensor<?x64x64xbf16>
  %w = scf.forall (%h, %i0) = (0, 0) to (%n, 64) step (1, 16) shared_outs(%o = %e3) -> (tensor<?x64x64xbf16>) {
    %ss = tensor.extract_slice %s[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<?x64x64xf32> to tensor<16x64xf32>
    %gi = tensor.extract_slice %g#1[%h, %i0] [1, 16] [1, 1] : tensor<?x64xf32> to tensor<16xf32>
    %gj = tensor.extract_slice %g#1[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %tj = tensor.extract_slice %g#0[%h, 0] [1, 64] [1, 1] : tensor<?x64xf32> to tensor<64xf32>
    %e2 = tensor.empty() : tensor<16x64xbf16>
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all], iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %gj, %tj : tensor<16x64xf32>, tensor<16xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e2 : tensor<16x64xbf16>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: bf16):
      %diff = arith.subf %b, %c : f32
      %low = arith.minimumf %diff, %zero : f32
      %exp = math.exp %low fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
      %seen = arith.cmpi uge, %j, %ii : index
      %v = arith.select %seen, %q, %zero : f32
      %r = arith.truncf %v : f32 to bf16
      linalg.yield %r : bf16
    } -> tensor<16x64xbf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%h, %i0, 0] [1, 16, 64] [1, 1, 1] : tensor<16x64xbf16> into tensor<?x64x64xbf16>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %w : tensor<?x64x64xbf16>
}
