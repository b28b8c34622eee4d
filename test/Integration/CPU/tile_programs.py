"""Programs of blocks in linalg, with small tiles, and what they compute.

Each is written as passes write larger ones: a loop over blocks around linalg on
tensors whose sizes are bounded by the tile.
"""

import numpy as np

MAPS = """
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#vec = affine_map<(t) -> (t)>
"""

# o = tril((q k^T) * exp(min(g_i - g_j, 0))) v + exp(min(g_i, 0)) * (q h^T)
CAUSAL = """
func.func @causal(%q: tensor<?x5xELEM>, %k: tensor<?x5xELEM>, %v: tensor<?x6xELEM>,
    %g: tensor<?xf32>, %h: tensor<6x5xELEM>) -> tensor<?x6xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %length = tensor.dim %q, %c0 : tensor<?x5xELEM>
  %empty = tensor.empty(%length) : tensor<?x6xf32>
  %y = scf.forall (%first) = (0) to (%length) step (8) shared_outs(%out = %empty) -> (tensor<?x6xf32>) {
    %len = affine.min affine_map<(d0)[s0] -> (s0 - d0, 8)>(%first)[%length]
    %qc = tensor.extract_slice %q[%first, 0] [%len, 5] [1, 1] : tensor<?x5xELEM> to tensor<?x5xELEM>
    %kc = tensor.extract_slice %k[%first, 0] [%len, 5] [1, 1] : tensor<?x5xELEM> to tensor<?x5xELEM>
    %vc = tensor.extract_slice %v[%first, 0] [%len, 6] [1, 1] : tensor<?x6xELEM> to tensor<?x6xELEM>
    %gc = tensor.extract_slice %g[%first] [%len] [1] : tensor<?xf32> to tensor<?xf32>
    %e0 = tensor.empty(%len) : tensor<?x6xf32>
    %rows = scf.for %i0 = %c0 to %len step %c4 iter_args(%yi = %e0) -> (tensor<?x6xf32>) {
      %m = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%i0)[%len]
      %qi = tensor.extract_slice %qc[%i0, 0] [%m, 5] [1, 1] : tensor<?x5xELEM> to tensor<?x5xELEM>
      %gi = tensor.extract_slice %gc[%i0] [%m] [1] : tensor<?xf32> to tensor<?xf32>
      %e1 = tensor.empty(%m) : tensor<?x6xf32>
      %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x6xf32>) -> tensor<?x6xf32>
      %end = arith.addi %i0, %c4 : index
      %limit = arith.minsi %len, %end : index
      %acc = scf.for %j0 = %c0 to %limit step %c3 iter_args(%sum = %f1) -> (tensor<?x6xf32>) {
        %rest = arith.subi %len, %j0 : index
        %n = arith.minsi %rest, %c3 : index
        %kj = tensor.extract_slice %kc[%j0, 0] [%n, 5] [1, 1] : tensor<?x5xELEM> to tensor<?x5xELEM>
        %vj = tensor.extract_slice %vc[%j0, 0] [%n, 6] [1, 1] : tensor<?x6xELEM> to tensor<?x6xELEM>
        %gj = tensor.extract_slice %gc[%j0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
        %e2 = tensor.empty(%m, %n) : tensor<?x?xf32>
        %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %s = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%qi, %kj : tensor<?x5xELEM>, tensor<?x5xELEM>) outs(%f2 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %e3 = tensor.empty(%m, %n) : tensor<?x?xELEM>
        %w = linalg.generic {indexing_maps = [#all, #row, #col, #all], iterator_types = ["parallel", "parallel"]}
            ins(%s, %gi, %gj : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e3 : tensor<?x?xELEM>) {
        ^bb0(%a: f32, %b: f32, %c: f32, %o: ELEM):
          %diff = arith.subf %b, %c : f32
          %low = arith.minimumf %diff, %zero : f32
          %exp = math.exp %low : f32
          %p = arith.mulf %a, %exp : f32
          %i = linalg.index 0 : index
          %j = linalg.index 1 : index
          %ii = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%i)[%i0]
          %jj = affine.apply affine_map<(d0)[s0] -> (d0 + s0)>(%j)[%j0]
          %seen = arith.cmpi ule, %jj, %ii : index
          %t = arith.select %seen, %p, %zero : f32
          ROUND
          linalg.yield %r : ELEM
        } -> tensor<?x?xELEM>
        %next = linalg.matmul ins(%w, %vj : tensor<?x?xELEM>, tensor<?x6xELEM>) outs(%sum : tensor<?x6xf32>) -> tensor<?x6xf32>
        scf.yield %next : tensor<?x6xf32>
      }
      %e4 = tensor.empty(%m) : tensor<?x6xf32>
      %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<?x6xf32>) -> tensor<?x6xf32>
      %qh = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%qi, %h : tensor<?x5xELEM>, tensor<6x5xELEM>) outs(%f4 : tensor<?x6xf32>) -> tensor<?x6xf32>
      %e5 = tensor.empty(%m) : tensor<?x6xf32>
      %r = linalg.generic {indexing_maps = [#all, #all, #row, #all], iterator_types = ["parallel", "parallel"]}
          ins(%acc, %qh, %gi : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?xf32>) outs(%e5 : tensor<?x6xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
        %low = arith.minimumf %c, %zero : f32
        %exp = math.exp %low : f32
        %p = arith.mulf %exp, %b : f32
        %t = arith.addf %a, %p : f32
        linalg.yield %t : f32
      } -> tensor<?x6xf32>
      %ins = tensor.insert_slice %r into %yi[%i0, 0] [%m, 6] [1, 1] : tensor<?x6xf32> into tensor<?x6xf32>
      scf.yield %ins : tensor<?x6xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %rows into %out[%first, 0] [%len, 6] [1, 1] : tensor<?x6xf32> into tensor<?x6xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x6xf32>
}
"""

# The state after each chunk of 4 tokens, and the last one:
# h = decay * h + x^T (w * B)
STATES = """
func.func @states(%x: tensor<?x5xELEM>, %B: tensor<?x6xELEM>, %w: tensor<?xf32>, %decay: tensor<?xf32>)
    -> (tensor<?x5x6xf32>, tensor<5x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %length = tensor.dim %x, %c0 : tensor<?x5xELEM>
  %chunks = tensor.dim %decay, %c0 : tensor<?xf32>
  %empty = tensor.empty(%chunks) : tensor<?x5x6xf32>
  %empty1 = tensor.empty() : tensor<5x6xf32>
  %r:2 = scf.forall (%n0) = (0) to (6) step (3) shared_outs(%out = %empty, %final = %empty1) -> (tensor<?x5x6xf32>, tensor<5x6xf32>) {
    %e0 = tensor.empty() : tensor<5x3xf32>
    %h0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<5x3xf32>) -> tensor<5x3xf32>
    %s0 = tensor.empty(%chunks) : tensor<?x5x3xf32>
    %l:2 = scf.for %c = %c0 to %chunks step %c1 iter_args(%h = %h0, %states = %s0) -> (tensor<5x3xf32>, tensor<?x5x3xf32>) {
      %first = affine.apply affine_map<(d0) -> (d0 * 4)>(%c)
      %len = affine.min affine_map<(d0)[s0] -> (d0 * -4 + s0, 4)>(%c)[%length]
      %xc = tensor.extract_slice %x[%first, 0] [%len, 5] [1, 1] : tensor<?x5xELEM> to tensor<?x5xELEM>
      %Bc = tensor.extract_slice %B[%first, %n0] [%len, 3] [1, 1] : tensor<?x6xELEM> to tensor<?x3xELEM>
      %wc = tensor.extract_slice %w[%first] [%len] [1] : tensor<?xf32> to tensor<?xf32>
      %dc = tensor.extract %decay[%c] : tensor<?xf32>
      %e1 = tensor.empty(%len) : tensor<?xf32>
      %we = linalg.generic {indexing_maps = [#vec, #vec], iterator_types = ["parallel"]} ins(%wc : tensor<?xf32>) outs(%e1 : tensor<?xf32>) {
      ^bb0(%a: f32, %o: f32):
        %one = arith.constant 1.0 : f32
        %t = arith.divf %one, %a : f32
        linalg.yield %t : f32
      } -> tensor<?xf32>
      %e2 = tensor.empty(%len) : tensor<?x3xELEM>
      %wB = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%we, %Bc : tensor<?xf32>, tensor<?x3xELEM>) outs(%e2 : tensor<?x3xELEM>) {
      ^bb0(%a: f32, %b: ELEM, %o: ELEM):
        EXTEND
        %t = arith.mulf %a, %bf : f32
        ROUND
        linalg.yield %r : ELEM
      } -> tensor<?x3xELEM>
      %e3 = tensor.empty() : tensor<5x3xf32>
      %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<5x3xf32>) -> tensor<5x3xf32>
      %xB = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%xc, %wB : tensor<?x5xELEM>, tensor<?x3xELEM>) outs(%f3 : tensor<5x3xf32>) -> tensor<5x3xf32>
      %hn = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%xB : tensor<5x3xf32>) outs(%h : tensor<5x3xf32>) {
      ^bb0(%a: f32, %o: f32):
        %p = arith.mulf %dc, %o : f32
        %q = arith.addf %p, %a : f32
        linalg.yield %q : f32
      } -> tensor<5x3xf32>
      %ins = tensor.insert_slice %hn into %states[%c, 0, 0] [1, 5, 3] [1, 1, 1] : tensor<5x3xf32> into tensor<?x5x3xf32>
      scf.yield %hn, %ins : tensor<5x3xf32>, tensor<?x5x3xf32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %l#1 into %out[0, 0, %n0] [%chunks, 5, 3] [1, 1, 1] : tensor<?x5x3xf32> into tensor<?x5x6xf32>
      tensor.parallel_insert_slice %l#0 into %final[0, %n0] [5, 3] [1, 1] : tensor<5x3xf32> into tensor<5x6xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %r#0, %r#1 : tensor<?x5x6xf32>, tensor<5x6xf32>
}
"""

# Transposed: y = softmax of each row of x, with at most 7 columns.
SOFTMAX = """
func.func @softmax(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %cols = affine.min affine_map<()[s0] -> (s0, 7)>()[%m]
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %y = scf.forall (%i) = (0) to (%n) step (4) shared_outs(%out = %empty) -> (tensor<?x?xf32>) {
    %rows = affine.min affine_map<(d0)[s0] -> (s0 - d0, 4)>(%i)[%n]
    %xi = tensor.extract_slice %x[%i, 0] [%rows, %cols] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
    %e0 = tensor.empty(%rows) : tensor<?xf32>
    %f0 = linalg.fill ins(%lowest : f32) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.reduce ins(%xi : tensor<?x?xf32>) outs(%f0 : tensor<?xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %t = arith.maximumf %a, %b : f32 linalg.yield %t : f32 }
    %e1 = tensor.empty(%rows, %cols) : tensor<?x?xf32>
    %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%xi, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%e1 : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      %t = math.exp %s : f32
      linalg.yield %t : f32
    } -> tensor<?x?xf32>
    %e2 = tensor.empty(%rows) : tensor<?xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.reduce ins(%p : tensor<?x?xf32>) outs(%f2 : tensor<?xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %t = arith.addf %a, %b : f32 linalg.yield %t : f32 }
    %e3 = tensor.empty(%cols, %rows) : tensor<?x?xf32>
    %q = linalg.generic {indexing_maps = [#all, #row, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%p, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%e3 : tensor<?x?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %t = arith.divf %a, %b : f32
      linalg.yield %t : f32
    } -> tensor<?x?xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %out[0, %i] [%cols, %rows] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return %y : tensor<?x?xf32>
}
"""


def text(program, element):
    """The module of a program for an element type, f32 or f16."""
    is_f32 = element == "f32"
    module = (MAPS + program).replace(
        "ROUND", "%r = arith.addf %t, %zero : f32" if is_f32
        else f"%r = arith.truncf %t : f32 to {element}")
    module = module.replace(
        "EXTEND", "%bf = arith.addf %b, %zero : f32" if is_f32
        else f"%bf = arith.extf %b : {element} to f32")
    return module.replace("ELEM", element)


def causal(q, k, v, g, h):
    """What CAUSAL computes, in f64."""
    q, k, v, g, h = (array.astype(np.float64) for array in (q, k, v, g, h))
    out = np.zeros((len(q), v.shape[1]))
    for first in range(0, len(q), 8):
        part = slice(first, first + 8)
        gc = g[part]
        decay = np.exp(np.minimum(gc[:, None] - gc[None, :], 0))
        out[part] = np.tril(q[part] @ k[part].T * decay) @ v[part]
        out[part] += np.exp(np.minimum(gc, 0))[:, None] * (q[part] @ h.T)
    return out


def states(x, B, w, decay):
    """What STATES computes, in f64."""
    state = np.zeros((x.shape[1], B.shape[1]))
    all_states = np.zeros((len(decay), *state.shape))
    for chunk, factor in enumerate(decay.astype(np.float64)):
        part = slice(4 * chunk, 4 * chunk + 4)
        weighted = B[part].astype(np.float64) / w[part, None]
        state = factor * state + x[part].astype(np.float64).T @ weighted
        all_states[chunk] = state
    return all_states, state


def softmax(x):
    """What SOFTMAX computes, in f64."""
    exp = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return (exp / exp.sum(axis=1, keepdims=True)).T
