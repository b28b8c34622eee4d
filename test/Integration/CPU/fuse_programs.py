"""Programs of several loops over blocks, as mamba-fuse joins them: a gated
linear attention in chunks of 4 tokens, heads first.
"""

import numpy as np

PLAN = "mamba.plan = #mamba.plan<fused tile [1]>"

# The sums of a gate within each chunk; a loop over chunks that carries a state
# and keeps the one that enters each chunk; what each token reads of it, and of
# the tokens before it in its chunk.
PARTS = """
#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#first = affine_map<(d0) -> (d0 * 4)>
#tokens = affine_map<(d0)[s0] -> (d0 * -4 + s0, 4)>
func.func @NAME(%q: tensor<?x?x6xELEM>, %k: tensor<?x?x6xELEM>, %v: tensor<?x?x5xELEM>,
    %g: tensor<?x?xf32>) -> (RESULTS) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %heads = tensor.dim %g, %c0 : tensor<?x?xf32>
  %length = tensor.dim %g, %c1 : tensor<?x?xf32>
  %chunks = affine.apply affine_map<()[s0] -> (s0 ceildiv 4)>()[%length]

  %e0 = tensor.empty(%heads, %chunks) : tensor<?x?x4xf32>
  %sums = scf.forall (%h, %c) in (%heads, %chunks) shared_outs(%o = %e0) -> (tensor<?x?x4xf32>) {
    %at = affine.apply #first(%c)
    %t = affine.min #tokens(%c)[%length]
    %gc = tensor.extract_slice %g[%h, %at] [1, %t] [1, 1] : tensor<?x?xf32> to tensor<?xf32>
    %e = tensor.empty() : tensor<4xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %all = tensor.insert_slice %gc into %zeros[0] [%t] [1] : tensor<?xf32> into tensor<4xf32>
    %sum = linalg.generic {indexing_maps = [#col, #row], iterator_types = ["parallel", "reduction"]}
        ins(%all : tensor<4xf32>) outs(%zeros : tensor<4xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %in = arith.cmpi ule, %j, %i : index
      %s = arith.select %in, %a, %zero : f32
      %n = arith.addf %acc, %s : f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sum into %o[%h, %c, 0] [1, 1, 4] [1, 1, 1] : tensor<4xf32> into tensor<?x?x4xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>], mamba.kernel = "sums", PLAN}

  %e1 = tensor.empty(%heads, %chunks) : tensor<?x?x5x6xELEM>
  %e2 = tensor.empty(%heads) : tensor<?x5x6xf32>
  %states:2 = scf.forall (%h) in (%heads) shared_outs(%o = %e1, %last = %e2) -> (tensor<?x?x5x6xELEM>, tensor<?x5x6xf32>) {
    %e = tensor.empty() : tensor<5x6xf32>
    %h0 = linalg.fill ins(%zero : f32) outs(%e : tensor<5x6xf32>) -> tensor<5x6xf32>
    %all = tensor.empty(%chunks) : tensor<1x?x5x6xELEM>
    %rows = tensor.extract_slice %sums[%h, 0, 0] [1, %chunks, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<1x?x4xf32>
    %r:2 = scf.for %c = %c0 to %chunks step %c1 iter_args(%s = %h0, %kept = %all) -> (tensor<5x6xf32>, tensor<1x?x5x6xELEM>) {
      %at = affine.apply #first(%c)
      %t = affine.min #tokens(%c)[%length]
      %e3 = tensor.empty() : tensor<5x6xELEM>
      %rounded = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<5x6xf32>) outs(%e3 : tensor<5x6xELEM>) {
      ^bb0(%a: f32, %out: ELEM):
        ROUND_a
        linalg.yield %r : ELEM
      } -> tensor<5x6xELEM>
      %k2 = tensor.insert_slice %rounded into %kept[0, %c, 0, 0] [1, 1, 5, 6] [1, 1, 1, 1] : tensor<5x6xELEM> into tensor<1x?x5x6xELEM>
      %end = tensor.extract %rows[%c0, %c, %c3] : tensor<1x?x4xf32>
      %keeps = math.exp %end : f32
      %gc = tensor.extract_slice %sums[%h, %c, 0] [1, 1, %t] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?xf32>
      %kc = tensor.extract_slice %k[%h, %at, 0] [1, %t, 6] [1, 1, 1] : tensor<?x?x6xELEM> to tensor<?x6xELEM>
      %vc = tensor.extract_slice %v[%h, %at, 0] [1, %t, 5] [1, 1, 1] : tensor<?x?x5xELEM> to tensor<?x5xELEM>
      %e4 = tensor.empty(%t) : tensor<?x6xELEM>
      %wk = linalg.generic {indexing_maps = [#row, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%gc, %kc : tensor<?xf32>, tensor<?x6xELEM>) outs(%e4 : tensor<?x6xELEM>) {
      ^bb0(%a: f32, %b: ELEM, %out: ELEM):
        %d = arith.subf %end, %a : f32
        %x = math.exp %d : f32
        EXTEND_b
        %m = arith.mulf %x, %bf : f32
        ROUND_m
        linalg.yield %r : ELEM
      } -> tensor<?x6xELEM>
      %e5 = tensor.empty() : tensor<5x6xf32>
      %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<5x6xf32>) -> tensor<5x6xf32>
      %u = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%vc, %wk : tensor<?x5xELEM>, tensor<?x6xELEM>) outs(%f5 : tensor<5x6xf32>) -> tensor<5x6xf32>
      %next = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%u : tensor<5x6xf32>) outs(%s : tensor<5x6xf32>) {
      ^bb0(%a: f32, %b: f32):
        %m = arith.mulf %keeps, %b : f32
        %n = arith.addf %m, %a : f32
        linalg.yield %n : f32
      } -> tensor<5x6xf32>
      scf.yield %next, %k2 : tensor<5x6xf32>, tensor<1x?x5x6xELEM>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r#1 into %o[%h, 0, 0, 0] [1, %chunks, 5, 6] [1, 1, 1, 1] : tensor<1x?x5x6xELEM> into tensor<?x?x5x6xELEM>
      tensor.parallel_insert_slice %r#0 into %last[%h, 0, 0] [1, 5, 6] [1, 1, 1] : tensor<5x6xf32> into tensor<?x5x6xf32>
    }
  } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "states", PLAN}

  %e3 = tensor.empty(%heads, %length) : tensor<?x?x5xf32>
  %y = scf.forall (%c, %h) in (%chunks, %heads) shared_outs(%o = %e3) -> (tensor<?x?x5xf32>) {
    %at = affine.apply #first(%c)
    %t = affine.min #tokens(%c)[%length]
    %gc = tensor.extract_slice %sums[%h, %c, 0] [1, 1, %t] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?xf32>
    %qc = tensor.extract_slice %q[%h, %at, 0] [1, %t, 6] [1, 1, 1] : tensor<?x?x6xELEM> to tensor<?x6xELEM>
    %kc = tensor.extract_slice %k[%h, %at, 0] [1, %t, 6] [1, 1, 1] : tensor<?x?x6xELEM> to tensor<?x6xELEM>
    %vc = tensor.extract_slice %v[%h, %at, 0] [1, %t, 5] [1, 1, 1] : tensor<?x?x5xELEM> to tensor<?x5xELEM>
    %e = tensor.empty(%t, %t) : tensor<?x?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
    %qk = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%qc, %kc : tensor<?x6xELEM>, tensor<?x6xELEM>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
    %e4 = tensor.empty(%t, %t) : tensor<?x?xELEM>
    %w = linalg.generic {indexing_maps = [#ij, #row, #col, #ij], iterator_types = ["parallel", "parallel"]} ins(%qk, %gc, %gc : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%e4 : tensor<?x?xELEM>) {
    ^bb0(%a: f32, %b: f32, %d: f32, %out: ELEM):
      %diff = arith.subf %b, %d : f32
      %low = arith.minimumf %diff, %zero : f32
      %x = math.exp %low : f32
      %m = arith.mulf %a, %x : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %seen = arith.cmpi ule, %j, %i : index
      %z = arith.select %seen, %m, %zero : f32
      ROUND_z
      linalg.yield %r : ELEM
    } -> tensor<?x?xELEM>
    %e5 = tensor.empty(%t) : tensor<?x5xf32>
    %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<?x5xf32>) -> tensor<?x5xf32>
    %inside = linalg.matmul ins(%w, %vc : tensor<?x?xELEM>, tensor<?x5xELEM>) outs(%f5 : tensor<?x5xf32>) -> tensor<?x5xf32>
    %s = tensor.extract_slice %states#0[%h, %c, 0, 0] [1, 1, 5, 6] [1, 1, 1, 1] : tensor<?x?x5x6xELEM> to tensor<5x6xELEM>
    %qs = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%qc, %s : tensor<?x6xELEM>, tensor<5x6xELEM>) outs(%f5 : tensor<?x5xf32>) -> tensor<?x5xf32>
    %e6 = tensor.empty(%t) : tensor<?x5xf32>
    %r = linalg.generic {indexing_maps = [#ij, #ij, #row, #ij], iterator_types = ["parallel", "parallel"]} ins(%inside, %qs, %gc : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?xf32>) outs(%e6 : tensor<?x5xf32>) {
    ^bb0(%a: f32, %b: f32, %d: f32, %out: f32):
      %x = math.exp %d : f32
      %m = arith.mulf %x, %b : f32
      %n = arith.addf %a, %m : f32
      linalg.yield %n : f32
    } -> tensor<?x5xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %r into %o[%h, %at, 0] [1, %t, 5] [1, 1, 1] : tensor<?x5xf32> into tensor<?x?x5xf32>
    }
  } {mapping = [#gpu.block<linear_dim_1>, #gpu.block<linear_dim_0>], mamba.kernel = "out", PLAN}
  return RETURN
}
"""


def program(name, element, keeps_states):
    """The program's text; `keeps_states`: with the states of all chunks."""
    text = PARTS.replace("NAME", name).replace("PLAN", PLAN)
    results = "tensor<?x?x5xf32>, tensor<?x5x6xf32>"
    returned = "%y, %states#1"
    if keeps_states:
        results += ", tensor<?x?x5x6xELEM>"
        returned += ", %states#0"
    text = text.replace("RESULTS", results).replace("RETURN", f"{returned} : {results}")
    wide = element == "f32"
    for value in "amz":
        text = text.replace(
            f"ROUND_{value}",
            f"%r = arith.addf %{value}, %zero : f32" if wide else
            f"%r = arith.truncf %{value} : f32 to {element}")
    text = text.replace("EXTEND_b", "%bf = arith.addf %b, %zero : f32" if wide else
                        f"%bf = arith.extf %b : {element} to f32")
    return text.replace("ELEM", element)


def attention(q, k, v, g):
    """The recurrence, token by token: y and the last state."""
    q, k, v, g = (array.astype(np.float64) for array in (q, k, v, g))
    heads, length = g.shape
    state = np.zeros((heads, 5, 6))
    y = np.zeros((heads, length, 5))
    for t in range(length):
        state = np.exp(g[:, t])[:, None, None] * state
        state += v[:, t, :, None] * k[:, t, None, :]
        y[:, t] = np.einsum("hpn,hn->hp", state, q[:, t])
    return y, state
