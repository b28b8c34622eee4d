"""mamba-fuse keeps the meaning, bit for bit: loops over blocks run on the CPU as
they are and fused, lowered by upstream's passes.

MAMBA_OPT names the tool.
"""

import numpy as np
import pytest

import fuse_programs
from native import apply_passes, compile_function
from test_vectorize import DTYPE, TOLERANCE, run


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a program once; returns its function and its IR."""
    cache = {}

    def compile_program(element, keeps_states, passes, segment=0):
        key = element, keeps_states, passes, segment
        if key not in cache:
            name = "attention"
            folder = tmp_path_factory.mktemp(name)
            tensors = apply_passes(fuse_programs.program(name, element, keeps_states, segment),
                                   f"{passes}canonicalize,cse")
            assert not tensors.stderr
            cache[key] = compile_function(tensors.stdout, name, folder), tensors.stdout
        return cache[key]
    return compile_program


def make_arguments(element, heads, length):
    rng = np.random.default_rng(length)
    arguments = [rng.standard_normal((heads, length, width)).astype(DTYPE[element])
                 for width in (6, 6, 5)]
    arguments.append(-rng.random((heads, length)).astype(np.float32))
    return arguments


def check(outs, arguments, element):
    for out, expected in zip(outs, fuse_programs.attention(*arguments)):
        scale = max(1, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE[element] * scale)


# The helper takes results of f32 only, so states of f16 cannot be returned.
@pytest.mark.parametrize("element,keeps_states", [("f32", False), ("f32", True), ("f16", False)])
@pytest.mark.parametrize("heads,length", [(1, 1), (2, 3), (3, 4), (1, 5), (2, 8), (3, 21), (2, 0)])
def test_fused(build, element, heads, length, keeps_states):
    arguments = make_arguments(element, heads, length)
    shapes = [(heads, length, 5), (heads, 5, 6)]
    if keeps_states:
        shapes.append((heads, -(-length // 4), 5, 6))
    outs = []
    for passes in ("", "mamba-fuse,"):
        function, text = build(element, keeps_states, passes)
        assert text.count("scf.forall (") == (1 if passes else 3)
        outs.append(run(function, arguments, *shapes))
    for plain, fused in zip(*outs):
        np.testing.assert_array_equal(fused, plain)
    check(outs[1], arguments, element)


# Segments end with the sequence, in it, and behind it; sums are taken in another
# order, within the tolerance of the rounding points.
@pytest.mark.parametrize("segment", [1, 2, 7])
@pytest.mark.parametrize("heads,length", [(1, 1), (2, 8), (1, 9), (3, 21), (2, 0)])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_segmented(build, element, heads, length, segment):
    arguments = make_arguments(element, heads, length)
    function, text = build(element, False, "mamba-fuse,", segment)
    assert text.count("scf.forall (") == 3 and "out_scan" in text
    check(run(function, arguments, (heads, length, 5), (heads, 5, 6)), arguments, element)
