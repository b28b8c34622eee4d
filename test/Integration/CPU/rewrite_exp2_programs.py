"""Programs of two loops over blocks: sums of a * t' along rows, and weights
tril(s * exp(min(g_i - g_j, 0)) * t'_j), in f32 or rounded to f16, or sums of these
times x: columns left of the rows in a loop, then those around the diagonal."""

from native import apply_passes, compile_function

# What t' is of t.
PROCESS = {
    "abs": "%y = math.absf %in : f32",
    "negative": "%y = arith.maximumf %in, %low : f32",
    "none": "%y = arith.addf %in, %zero : f32",
}
ROUND = """%rounded = arith.truncf %v : f32 to f16
      %r = arith.extf %rounded : f16 to f32"""

SUMS = """
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#hij_h = affine_map<(h, i, j) -> (h)>
#hij_hj = affine_map<(h, i, j) -> (h, j)>
#hij_hi = affine_map<(h, i, j) -> (h, i)>
func.func @NAME(%a: tensor<?xf32>, %t: tensor<?x32xf32>, %s: tensor<?x32x32xf32>ARGUMENT)
    -> tensor<?x32xWIDTHxf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %c32 = arith.constant 32 : index
  %low = arith.constant -1.0 : f32
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
      PROCESS
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
"""

WEIGHTS = SUMS.replace("NAME", "weights").replace("ARGUMENT", "").replace("WIDTH", "32") + """
  %e3 = tensor.empty(%n) : tensor<?x32x32xf32>
  %w = scf.forall (%h, %i0) = (0, 0) to (%n, 32) step (1, 8) shared_outs(%o = %e3)
      -> (tensor<?x32x32xf32>) {
    %ss = tensor.extract_slice %s[%h, %i0, 0] [1, 8, 32] [1, 1, 1]
      : tensor<?x32x32xf32> to tensor<8x32xf32>
    %gi = tensor.extract_slice %g#1[%h, %i0] [1, 8] [1, 1] : tensor<?x32xf32> to tensor<8xf32>
    %gj = tensor.extract_slice %g#1[%h, 0] [1, 32] [1, 1] : tensor<?x32xf32> to tensor<32xf32>
    %tj = tensor.extract_slice %g#0[%h, 0] [1, 32] [1, 1] : tensor<?x32xf32> to tensor<32xf32>
    %e2 = tensor.empty() : tensor<8x32xf32>
    %ws = linalg.generic {indexing_maps = [#all, #row, #col, #col, #all],
                          iterator_types = ["parallel", "parallel"]}
        ins(%ss, %gi, %gj, %tj : tensor<8x32xf32>, tensor<8xf32>, tensor<32xf32>, tensor<32xf32>)
        outs(%e2 : tensor<8x32xf32>) {
    ^bb0(%x: f32, %b: f32, %c: f32, %d: f32, %u: f32):
      %diff = arith.subf %b, %c : f32
      %least = arith.minimumf %diff, %zero : f32
      %exp = math.exp %least fastmath<afn> : f32
      %p = arith.mulf %x, %exp : f32
      %q = arith.mulf %p, %d : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
      %seen = arith.cmpi ule, %j, %ii : index
      %v = arith.select %seen, %q, %zero : f32
      ROUND
      linalg.yield RESULT : f32
    } -> tensor<8x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %ws into %o[%h, %i0, 0] [1, 8, 32] [1, 1, 1]
        : tensor<8x32xf32> into tensor<?x32x32xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>]}
  return %w : tensor<?x32x32xf32>
}
"""

APPLIED = SUMS.replace("NAME", "weights").replace(
    "ARGUMENT", ", %x: tensor<?x32x5xf32>").replace("WIDTH", "5") + """
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
"""


def rewrite(text, options):
    """The program after the pass; options None leave it out."""
    first = "canonicalize," if options is None else \
        f"mamba-rewrite-exp2{{{options}}},canonicalize,cse,"
    return apply_passes(text, first + "cse").stdout


def compile_weights(folder, process, is_rounded, options):
    """The function that gives weights; options None leave the pass out."""
    text = WEIGHTS.replace("PROCESS", PROCESS[process])
    text = text.replace("ROUND", ROUND if is_rounded else "").replace(
        "RESULT", "%r" if is_rounded else "%v")
    rewritten = rewrite(text, options)
    assert ("exp2" in rewritten) == (options not in (None, "hoist=false"))
    folds = options == "" and is_rounded and process == "abs"
    assert ("log2" in rewritten) == folds
    clamps = options not in (None, "clamp-terms=false", "hoist=false") and process == "abs"
    assert ("-1.500000e+02" in rewritten) == clamps
    return compile_function(rewritten, "weights", folder)


def compile_applied(folder, process, options):
    """The function that applies weights; options None leave the pass out."""
    rewritten = rewrite(APPLIED.replace("PROCESS", PROCESS[process]), options)
    # Two factors instead of one for the loop, one around the diagonal.
    separates = options is not None and process == "abs"
    assert rewritten.count("math.exp2") == (0 if options is None else 3 if separates else 2)
    assert ("-1.500000e+02" in rewritten) == (separates and "clamp-terms=false" not in options)
    return compile_function(rewritten, "weights", folder)
