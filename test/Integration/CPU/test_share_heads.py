"""mamba-share-heads keeps the meaning: linear attention whose heads share the
queries and keys of their group runs on the CPU with the pass and without, and
agrees bit for bit, for any number of heads in a group. MAMBA_OPT names the tool.
"""

import numpy as np
import pytest

from native import apply_passes, compile_function
from test_vectorize import run

CONTRACT = """#nt = {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
  affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
  iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
#nn = {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
  affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
  iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}
"""

# o[:, h] = scale[h] * sum over tiles of tokens of (q_g k_g^T) v[:, h], of the first
# TILE queries. A head may have a value that its group computes, %s, and one of its
# own that the loop over tiles carries, %f.
PROGRAM = CONTRACT + """
func.func @attention(%q: memref<?x?x8xf32>, %k: memref<?x?x8xf32>, %v: memref<?x?x6xf32>,
    %scale: memref<?xf32>, %o: memref<?x?x6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant TILE : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %nothing = arith.constant dense<0.0> : vector<TILExTILExf32>
  %none = arith.constant dense<0.0> : vector<TILEx6xf32>
  %length = memref.dim %k, %c0 : memref<?x?x8xf32>
  %groups = memref.dim %q, %c1 : memref<?x?x8xf32>
  %heads = memref.dim %v, %c1 : memref<?x?x6xf32>
  scf.forall (%h) in (%heads) {
    %per = arith.divui %heads, %groups : index
    %g = arith.divui %h, %per : index
    %qt = memref.subview %q[0, %g, 0] [TILE, 1, 8] [1, 1, 1] : memref<?x?x8xf32> to memref<TILEx8xf32, strided<[?, 1], offset: ?>>
    %qv = vector.transfer_read %qt[%c0, %c0], %zero {in_bounds = [true, true]} : memref<TILEx8xf32, strided<[?, 1], offset: ?>>, vector<TILEx8xf32>
    %first = memref.load %scale[%h] : memref<?xf32>
    %y:2 = scf.for %j = %c0 to %length step %step iter_args(%acc = %none, %f = %first) -> (vector<TILEx6xf32>, f32) {
      %n = affine.min affine_map<(d0)[s0] -> (s0 - d0, TILE)>(%j)[%length]
      %kt = memref.subview %k[%j, %g, 0] [%n, 1, 8] [1, 1, 1] : memref<?x?x8xf32> to memref<?x8xf32, strided<[?, 1], offset: ?>>
      %kv = vector.transfer_read %kt[%c0, %c0], %zero {in_bounds = [false, true]} : memref<?x8xf32, strided<[?, 1], offset: ?>>, vector<TILEx8xf32>
      %s = vector.contract #nt %qv, %kv, %nothing : vector<TILEx8xf32>, vector<TILEx8xf32> into vector<TILExTILExf32>
      %vt = memref.subview %v[%j, %h, 0] [%n, 1, 6] [1, 1, 1] : memref<?x?x6xf32> to memref<?x6xf32, strided<[?, 1], offset: ?>>
      %vv = vector.transfer_read %vt[%c0, %c0], %zero {in_bounds = [false, true]} : memref<?x6xf32, strided<[?, 1], offset: ?>>, vector<TILEx6xf32>
      %fs = vector.broadcast %f : f32 to vector<TILEx6xf32>
      %scaled = arith.mulf %vv, %fs : vector<TILEx6xf32>
      %a = vector.contract #nn %s, %scaled, %acc : vector<TILExTILExf32>, vector<TILEx6xf32> into vector<TILEx6xf32>
      %next = arith.mulf %f, %half : f32
      scf.yield %a, %next : vector<TILEx6xf32>, f32
    }
    %ot = memref.subview %o[0, %h, 0] [TILE, 1, 6] [1, 1, 1] : memref<?x?x6xf32> to memref<TILEx6xf32, strided<[?, 1], offset: ?>>
    vector.transfer_write %y#0, %ot[%c0, %c0] {in_bounds = [true, true]} : vector<TILEx6xf32>, memref<TILEx6xf32, strided<[?, 1], offset: ?>>
  } {mapping = [#gpu.block<linear_dim_0>], mamba.plan = #mamba.plan<simple tile[1] heads JOINED>}
  return
}
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles the program once for a tile and a number of heads in a block (1:
    without the pass); returns its function."""
    cache = {}

    def compile_program(tile, joined):
        if (tile, joined) not in cache:
            folder = tmp_path_factory.mktemp("attention")
            text = PROGRAM.replace("TILE", str(tile)).replace("JOINED", str(joined))
            shared = apply_passes(text, "mamba-share-heads,cse")
            assert not shared.stderr
            assert shared.stdout.count("vector.contract") == 1 + joined
            cache[tile, joined] = compile_function(shared.stdout, "attention", folder,
                                                   on_buffers=True)
        return cache[tile, joined]
    return compile_program


def compute(q, k, v, scale, tile):
    """The same in float64."""
    length, heads = v.shape[:2]
    out = np.zeros((tile, heads, 6))
    for h in range(heads):
        g = h // (heads // q.shape[1])
        for number, j in enumerate(range(0, length, tile)):
            scores = q[:tile, g].astype(np.float64) @ k[j:j + tile, g].T
            out[:, h] += scores @ v[j:j + tile, h] * float(scale[h]) * 0.5 ** number
    return out


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("joined", [2, 3])
@pytest.mark.parametrize("heads,groups", [(1, 1), (2, 1), (3, 1), (4, 2), (6, 2), (3, 3), (8, 1)])
def test_same_bits(build, tile, joined, heads, groups):
    rng = np.random.default_rng(heads * 10 + groups)
    length = 4 * tile + 1
    arguments = [rng.standard_normal(shape).astype(np.float32) for shape in (
        (length, groups, 8), (length, groups, 8), (length, heads, 6), (heads,))]
    (before,) = run(build(tile, 1), arguments, (tile, heads, 6))
    (after,) = run(build(tile, joined), arguments, (tile, heads, 6))
    np.testing.assert_array_equal(after, before)
    np.testing.assert_allclose(before, compute(*arguments, tile), rtol=0,
                               atol=1e-5 * np.abs(before).max())
