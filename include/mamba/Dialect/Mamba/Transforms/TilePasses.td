//===- TilePasses.td - Passes on the programs of blocks ----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What makes tile programs cheaper, whatever operation they come from, and puts
// their tiles into vectors.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TRANSFORMS_TILEPASSES_TD
#define MAMBA_TRANSFORMS_TILEPASSES_TD

include "mlir/Pass/PassBase.td"

def MambaFusePass : Pass<"mamba-fuse"> {
  let summary = "Compute a loop over blocks in the loop that it reads from";
  let description = [{
    Fuses loops over blocks whose plans have schedule `fused` or `segmented`, in
    two ways. A loop that is not fused though its plan asks for it gets a remark
    that says why.

    *A consumer into the loop it reads from.* Each block of the producer runs
    through a loop that inserts one tile in each iteration. If every block of
    the consumer reads one such tile, and nothing else of the producer, its
    program becomes a part of that iteration, with the tile as it was just
    computed. The variables of both have to match one to one, over the same
    ranges. What the consumer writes becomes a slice that the loop carries. The
    producer's tiles stay a result only if something else reads them.

    ```mlir
    %h = scf.forall (%b) in (%n) shared_outs(%o = %e) -> (tensor<?x?x64xf32>) {
      %r:2 = scf.for %c = %c0 to %m step %c1 iter_args(%s = %init, %t = %tiles) {
        %u = tensor.insert_slice %s into %t[0, %c, 0] [1, 1, 64] [1, 1, 1] ..
        %next = linalg.generic .. outs(%s : tensor<64xf32>) ..
        scf.yield %next, %u ..
      }
      scf.forall.in_parallel { tensor.parallel_insert_slice %r#1 into %o[%b, 0, 0] [1, %m, 64] .. }
    } {mamba.plan = #mamba.plan<fused tile [1]>, ..}
    %y = scf.forall (%b, %c) in (%n, %m) shared_outs(%o = %e2) -> (tensor<?x?x64xf32>) {
      %s = tensor.extract_slice %h[%b, %c, 0] [1, 1, 64] [1, 1, 1] ..
      %v = linalg.generic .. ins(%s : tensor<64xf32>) ..
      scf.forall.in_parallel { tensor.parallel_insert_slice %v into %o[%b, %c, 0] [1, 1, 64] .. }
    } {mamba.plan = #mamba.plan<fused tile [1, 1]>, ..}
    ```
    becomes
    ```mlir
    %y = scf.forall (%b) in (%n) shared_outs(%o = %e2) -> (tensor<?x?x64xf32>) {
      %rows = tensor.extract_slice %o[%b, 0, 0] [1, %m, 64] [1, 1, 1] ..
      %r:2 = scf.for %c = %c0 to %m step %c1 iter_args(%s = %init, %t = %rows) {
        %next = linalg.generic .. outs(%s : tensor<64xf32>) ..
        %v = linalg.generic .. ins(%s : tensor<64xf32>) ..
        %u = tensor.insert_slice %v into %t[0, %c, 0] [1, 1, 64] [1, 1, 1] ..
        scf.yield %next, %u ..
      }
      scf.forall.in_parallel { tensor.parallel_insert_slice %r#1 into %o[%b, 0, 0] [1, %m, 64] .. }
    }
    ```

    *A producer into its readers.* If each read of a loop's results, in other
    such loops, lies in the tile of one block, the block's program is repeated
    where it is read, once for all reads of that block.

    ```mlir
    %s = scf.forall (%b, %c) in (%n, %m) .. { // inserts %t at [%b, %c, 0]
    }
    .. scf.for %c = .. { %r = tensor.extract_slice %s[%b, %c, 0] [1, 1, %k] .. }
    ```
    becomes
    ```mlir
    .. scf.for %c = .. { .. %r = tensor.extract_slice %t[0] [%k] .. }
    ```

    *Segments.* With schedule `segmented`, a loop in a block that carries states
    by `h' = a * h + u`, with a scalar `a` of the iteration, is cut into parts of
    the plan's `segment` iterations (32 if it says none). Three loops over blocks
    do what one did: of each segment the product of its `a` and what it makes of
    0; what each one starts from, with the results that follow from the last
    state; the old loop over a segment's iterations.

    ```mlir
    %y, %l = scf.forall (%b) in (%n) .. { scf.for %c = %c0 to %m .. }
    ```
    becomes
    ```mlir
    %e, %a = scf.forall (%b, %i) in (%n, %s) .. { scf.for %c = %i * 32 to min(..) .. }
    %h, %l = scf.forall (%b) in (%n) .. { scf.for %i = %c0 to %s .. }
    %y = scf.forall (%b, %i) in (%n, %s) .. { scf.for %c = %i * 32 to min(..) .. }
    ```
  }];
  let statistics = [
    Statistic<"numConsumers", "consumers",
              "Loops computed in the loop that they read from">,
    Statistic<"numProducers", "producers", "Loops computed where they are read">,
    Statistic<"numSegmented", "segmented", "Loops cut into segments">,
    Statistic<"numRefused", "refused", "Loops that could not be fused">
  ];
  let dependentDialects = [
    "::mamba::MambaDialect", "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def MambaShareHeadsPass : Pass<"mamba-share-heads"> {
  let summary = "Compute what several blocks have in common once";
  let description = [{
    A loop over blocks whose plan has `heads` greater than 1 gets that many
    neighbouring positions of one of its dimensions into each block. The
    dimension is the one along which most contractions of the program are the
    same: those that do not depend on the position, or only on its quotient by
    the size of a group. What the joined programs have in common, reads and
    contractions, is computed once; loops with the same bounds are one loop.
    Positions of different groups are never joined. Where a group is no multiple
    of `heads`, its last block computes its last position several times and
    writes the same values.

    It works on vectors and buffers. If no contraction is common to several
    blocks, the program has buffers of its own, or the loop does not count from
    0 by 1, a remark says so and the loop stays as it is.

    ```mlir
    scf.forall (%c, %h) in (%chunks, %heads) {
      %g = arith.divui %h, %heads_per_group
      %s = vector.contract .. // of C[%c, %g] and B[%c, %g]
      %y = vector.contract .. // of %s and x[%c, %h]
      vector.transfer_write %y, .. // y[%c, %h]
    } {mamba.plan = #mamba.plan<.. heads 2>}
    ```
    becomes
    ```mlir
    scf.forall (%c, %g, %k) in (%chunks, %groups, %heads_per_group ceildiv 2) {
      %h0 = .. // %g * %heads_per_group + 2 * %k
      %h1 = .. // min(%h0 + 1, the last head of the group)
      %s = vector.contract .. // of C[%c, %g] and B[%c, %g]
      %y0 = vector.contract .. // of %s and x[%c, %h0]
      vector.transfer_write %y0, .. // y[%c, %h0]
      %y1 = vector.contract .. // of %s and x[%c, %h1]
      vector.transfer_write %y1, .. // y[%c, %h1]
    }
    ```
  }];
  let statistics = [
    Statistic<"numJoined", "loops-joined", "Loops over blocks with several "
              "positions in a block">,
    Statistic<"numShared", "contractions-shared",
              "Contractions that a block computes once for several positions">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def MambaRewriteExp2Pass : Pass<"mamba-rewrite-exp2"> {
  let summary = "Write exponentials as powers of two, and fewer of them";
  let description = [{
    Only exponentials with the `afn` flag are rewritten; flags are kept.

    `hoist`: `exp(v)` is `exp2(v * log2(e))`. The factor moves from `v` to what
    `v` is made of as long as every step is homogeneous (sums, differences,
    minima and maxima, selections, slices, insertions, carried tensors of loops,
    results of loops over blocks) and every other use of a value on the way ends
    in a rewritten exponential too. It stops at a product, where one factor
    takes it, or at the last place that has fewer elements. An exponential whose
    factor would stay in front of it stays as it is.

    ```mlir
    %r = scf.forall .. {
      %as = tensor.extract_slice %a[%h] [%n] [1] : tensor<?xf32> to tensor<?xf32>
      %g = linalg.generic .. ins(%as, %t : ..) { .. // out + select(j <= i, a * t, 0)
    }
    %w = linalg.generic .. ins(%gi, %gj : tensor<?xf32>, tensor<?xf32>) .. {
      %d = arith.subf %i, %j : f32
      %m = arith.minimumf %d, %zero : f32
      %e = math.exp %m fastmath<afn> : f32 .. }
    ```
    becomes, if the slices `%gi` and `%gj` of `%r` are all its uses,
    ```mlir
    %r = scf.forall .. {
      %as = tensor.extract_slice %a[%h] [%n] [1] : tensor<?xf32> to tensor<?xf32>
      %scaled = linalg.generic .. ins(%as : ..) { .. // a * 1.44269502
      %g = linalg.generic .. ins(%scaled, %t : ..) { .. }
    }
    %w = linalg.generic .. { ..
      %e = math.exp2 %m fastmath<afn> : f32 .. }
    ```

    `clamp-terms`: `min(g_i - g_j, 0)`, where `j` is not after `i` wherever the
    result counts, is the difference of sums of `min(term, 0)`, if all terms of a
    row of the prefix sums `g` have one sign: a product of something that does
    not change along the row and of something that is never negative. All uses
    of `g` must be such exponents, or `min(g_i, 0)`. Terms are made at least
    -150, whose power of two is 0. The power of a difference that does not count
    may be infinite; it is dropped by a selection.

    ```mlir
    %p = arith.mulf %a, %t : f32
    %m = arith.maximumf %p, %c-150 : f32
    %c = arith.minimumf %m, %zero : f32
    %s = arith.select %le, %c, %zero : f32
    ..
    %d = arith.subf %i, %j : f32
    %e = math.exp2 %d fastmath<afn> : f32
    ```

    `fold-weights`: `exp2(g_i - g_j) * d_j` is `exp2(g_i - (g_j - log2(d_j)))`.
    Done where `d` is never negative, all its uses are such products, which are
    rounded to 16 bits, and both are results of one loop over blocks: the
    exponents then take the place of `d`.

    `separate`: In a loop that sums contractions from 0 and of which every
    column is left of every row, a weight `s * exp2(g_i - g_j)` has the factor
    `exp2(g_i - r)`, which multiplies the sum, and `exp2(r - g_j)`, which is one
    number a column; `r` is `g` at the first row. Done where `g` is monotone as
    above. Weights in f16 are left, for larger ones could be infinite.
  }];
  let options = [
    Option<"hoist", "hoist", "bool", "true",
           "Multiply by log2(e) where values have fewer elements">,
    Option<"clampTerms", "clamp-terms", "bool", "true",
           "Clamp terms of prefix sums rather than their differences">,
    Option<"separate", "separate", "bool", "false",
           "Take factors of a row out of sums">,
    Option<"foldWeights", "fold-weights", "bool", "true",
           "Make factors that are not negative part of exponents">
  ];
  let statistics = [
    Statistic<"numRewritten", "exponentials-rewritten",
              "Exponentials that became powers of two">,
    Statistic<"numFactors", "factors-inserted",
              "Multiplications by log2(e) inserted">,
    Statistic<"numClamped", "clamps-removed",
              "Minima that clamped terms make needless">,
    Statistic<"numSeparated", "loops-separated",
              "Loops whose sums are multiplied by a factor of the row">,
    Statistic<"numFolded", "weights-folded",
              "Products that became part of an exponent">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def MambaVectorizePass : Pass<"mamba-vectorize"> {
  let summary = "Keep the tiles of blocks in vectors";
  let description = [{
    Rewrites the program of every loop over blocks that holds a contraction of
    matrices or a prefix sum, or sums the rows of a matrix multiplied by
    something: what one linalg operation hands to the next is a vector, whose
    shape is the smallest constant that bounds the tile's sizes. Only what comes
    from outside of the block is read from a tensor, by `vector.transfer_read`,
    and only results are written to one. Elements past the end of a tile are
    zero where read and not written; where they would enter a sum, computed ones
    are replaced by the sum's neutral element. A tensor that a loop carries
    becomes a vector that it carries, unless tiles of a result are inserted into
    it. A `tensor.extract` in a linalg body at the positions of its loops is a
    read of a vector, under the condition of an `scf.if` around it if that comes
    from outside. One element of a computed tile, at a known place, is an
    element of its vector. A tile of no element or one along a dimension stays such a
    dimension of what is written.

    A linalg operation that adds `select(j <= i, term, 0.0)` over a loop `j`, with
    f32 terms that do not depend on `i`, is an inclusive prefix sum and becomes a
    `vector.scan`. It need not add in order: the result differs by rounding only,
    about 1e-7 of the sum of the terms' absolute values. Where a tile is inserted
    as the first elements of a tile with the same bounds, such as one of zeros, a
    comparison of positions with sizes selects between the two.

    A loop has `mamba.vectorized` afterwards. If any of its operations cannot
    work on vectors, a remark says why, and the loop stays as it is.

    ```mlir
    scf.forall (%b) in (%n) shared_outs(%o = %empty) -> (tensor<?x64xf32>) {
      %t = affine.min (d0)[s0] -> (d0 * -128 + s0, 128) (%b)[%length]
      %xt = tensor.extract_slice %x[%i, 0] [%t, 64] [1, 1] ..
      %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x64xf32>) ..
      %y = linalg.matmul ins(%xt, %w : ..) outs(%z : tensor<?x64xf32>) ..
      scf.forall.in_parallel { tensor.parallel_insert_slice %y into %o[%i, 0] [%t, 64] .. }
    }
    ```
    becomes
    ```mlir
    scf.forall (%b) in (%n) shared_outs(%o = %empty) -> (tensor<?x64xf32>) {
      %xt = tensor.extract_slice %x[%i, 0] [%t, 64] [1, 1] ..
      %xv = vector.transfer_read %xt[%c0, %c0], %pad {in_bounds = [false, true]} : .., vector<128x64xbf16>
      %wv = vector.transfer_read %w[%c0, %c0], %pad {in_bounds = [true, true]} : ..
      %yv = vector.contract .. %xv, %wv, %zeros : .. into vector<128x64xf32>
      %ot = tensor.extract_slice %o[%i, 0] [%t, 64] [1, 1] ..
      %y = vector.transfer_write %yv, %ot[%c0, %c0] {in_bounds = [false, true]} : ..
      scf.forall.in_parallel { tensor.parallel_insert_slice %y into %o[%i, 0] [%t, 64] .. }
    } {mamba.vectorized}
    ```
  }];
  let options = [
    Option<"all", "all", "bool", "false",
           "Also loops over blocks without a contraction, a prefix sum or a sum "
           "of products">,
    Option<"maxElements", "max-elements", "int64_t", "65536",
           "Elements that a vector may have">,
    Option<"fragments", "fragments", "bool", "false",
           "Only contractions of whole fragments (16-bit types: 16 x 8 x 16, "
           "else 8 x 8 x 8), and rows of them of whole 16 bytes">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
}

def MambaFoldCausalMaskPass : Pass<"mamba-fold-causal-mask"> {
  let summary = "Apply masks only where they can bind";
  let description = [{
    In a loop that sums contractions into what it carries, a factor may be
    masked: selected to be 0 where the position in the columns exceeds the one
    in the rows. Iterations whose columns lie wholly right of the last row add
    nothing, so the loop ends before them; under a mask of the other side, it
    begins after those left of the first row. A factor 0 counts as nothing even
    if the other operand holds an infinity or a NaN there: that is what masking
    means. The comparison may be any order of the two, one of several
    conditions, or the negation of one; the masked value may be rounded or
    multiplied after the selection.

    ```mlir
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zeros) {
      %w = linalg.generic .. { // row = linalg.index 0 + %i, column = linalg.index 1 + %j
        %le = arith.cmpi ule, %column, %row : index
        %m = arith.select %le, %v, %zero : f32 .. } -> tensor<?x?xf32>
      %sum = linalg.matmul ins(%w, %xj : ..) outs(%acc : ..)
      scf.yield %sum
    }
    ```
    becomes, where the tile has `%rows` rows,
    ```mlir
    %end = affine.min affine_map<(i)[n, rows] -> (n, i + rows)>(%i)[%n, %rows]
    %r = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zeros) { .. }
    ```

    With `peel`, iterations whose columns lie wholly left of the first row have
    a loop of their own in front, in which the comparison is true, unless there
    are fewer than `peel-at-least` of them for sure. (Under a mask of the other
    side that loop comes last.) With `inline`, what is left on the diagonal
    becomes code without a loop if it is one iteration.

    ```mlir
    %split = affine.min affine_map<(i)[end] -> (((i + 1) floordiv 64) * 64, end)>(%i)[%end]
    %s = scf.for %j = %c0 to %split step %c64 iter_args(%acc = %zeros) { .. } // no select
    %r = scf.for %j = %split to %end step %c64 iter_args(%acc = %s) { .. }
    ```

    With `tails`, a loop whose last tile may be short is split into one over
    whole tiles, of static sizes, and one over the rest (`mamba.rest`). No
    element of a whole tile needs a condition. If iterations do not depend on
    each other the rest comes first, so that what it needs does not take
    registers later.

    ```mlir
    %r = scf.for %i = %c0 to %n step %c64 iter_args(%o = %out) {
      %rows = affine.min affine_map<(i)[n] -> (n - i, 64)>(%i)[%n]
      %x = tensor.extract_slice %in[%i, 0] [%rows, 16] [1, 1] .. }
    ```
    becomes
    ```mlir
    %whole = affine.apply affine_map<()[n] -> ((n floordiv 64) * 64)>()[%n]
    %s = scf.for %i = %whole to %n step %c64 iter_args(%o = %out) { .. } {mamba.rest}
    %r = scf.for %i = %c0 to %whole step %c64 iter_args(%o = %s) {
      %x = tensor.extract_slice %in[%i, 0] [64, 16] [1, 1] .. }
    ```

    With `runs`, a mask by ids of sequences is tested once: where an argument of
    the function says by `mamba.runs` that each id that is not negative stands
    in one run, and the first id of a tile is such a one and the last one too,
    all comparisons of two ids of the tile hold. These iterations have a loop in
    front without them; the other loop has none then, and all otherwise.

    With `guard`, the argument of an exponential that may overflow where its
    value is masked is selected to be -inf there. The selection after it goes
    if the value is 0 then in any case. Arguments with an upper bound, such as
    minima with 0, stay as they are.

    ```mlir
    %e = math.exp %d .. // a difference
    %m = arith.select %le, %e, %zero ..
    ```
    becomes
    ```mlir
    %s = arith.select %le, %d, %lowest ..
    %m = math.exp %s ..
    ```

    A remark names a comparison with the loop's variable that changes no bound.
  }];
  let options = [
    Option<"peel", "peel", "bool", "false",
           "Make a loop of its own of the iterations without masked elements">,
    Option<"peelAtLeast", "peel-at-least", "int64_t", "2",
           "Iterations without masked elements, of those that a loop may have, "
           "that are worth a loop of their own">,
    Option<"inlineOnce", "inline", "bool", "false",
           "Replace a loop over masked elements that runs once by its body">,
    Option<"tails", "tails", "bool", "true",
           "Make a loop of its own of the iterations with whole tiles">,
    Option<"tailsAtLeast", "tails-at-least", "int64_t", "8",
           "Iterations, of those that a loop may have, that are worth a loop of "
           "whole tiles: the body is there twice then">,
    Option<"runs", "runs", "bool", "false",
           "Make a loop of its own of the iterations within one sequence">,
    Option<"guard", "guard", "bool", "true",
           "Select the arguments of exponentials that may overflow">
  ];
  let statistics = [
    Statistic<"numShortened", "loops-shortened",
              "Loops that leave out masked iterations">,
    Statistic<"numPeeled", "loops-peeled",
              "Loops with a part in which a comparison holds throughout">,
    Statistic<"numInlined", "loops-inlined",
              "Loops over masked elements that became their body">,
    Statistic<"numRemoved", "selects-removed",
              "Selections that a part of a loop does without">,
    Statistic<"numSplit", "tails-split",
              "Loops with a part for whole tiles">,
    Statistic<"numRuns", "runs-split",
              "Loops with a part for tiles within one sequence">,
    Statistic<"numMoved", "selects-moved",
              "Selections that moved before an exponential">,
    Statistic<"numGuarded", "exponentials-guarded",
              "Exponentials with a selection before and one after them">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"
  ];
}

#endif // MAMBA_TRANSFORMS_TILEPASSES_TD
