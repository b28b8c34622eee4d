"""mamba-fold-causal-mask keeps the meaning: random programs with masks run on
the CPU with the pass and without, and agree bit for bit.

Where the mask does not hold there may be infinities and NaN, and exponents that
overflow; none of it reaches a result. MAMBA_OPT names the tool.
"""

import numpy as np
import pytest

from masked_programs import MaskedProgram, random_program
from native import apply_passes, compile_function
from test_vectorize import run

PASSES = {
    "without": "",
    "default": "mamba-fold-causal-mask,",
    "all": "mamba-fold-causal-mask{peel-at-least=1 inline=true runs=true},",
    "bounds": "mamba-fold-causal-mask{peel=false tails=false guard=false},",
    "peel": "mamba-fold-causal-mask{peel-at-least=1 tails=false guard=false},",
    "tails": "mamba-fold-causal-mask{peel=false tails=true guard=false},",
}
PROGRAMS = [random_program(np.random.default_rng(seed)) for seed in range(16)]
LENGTHS = [1, 3, 4, 8, 13]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a program once with one of PASSES; returns its function."""
    cache = {}

    def compile_program(program, passes):
        if (program, passes) not in cache:
            folder = tmp_path_factory.mktemp("masked")
            masked = apply_passes(program.text(), PASSES[passes] + "canonicalize,cse")
            assert not masked.stderr
            cache[program, passes] = compile_function(masked.stdout, "masked", folder)
        return cache[program, passes]
    return compile_program


def arguments(length, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((length, length)).astype(np.float32),
            -np.cumsum(rng.random(length)).astype(np.float32),
            rng.standard_normal((length, 5)).astype(np.float32)]


def check(out, expected):
    np.testing.assert_allclose(out, expected, rtol=0,
                               atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_same_bits(build, program):
    for length in LENGTHS:
        inputs = arguments(length, length)
        shape = (length, 5)
        (before,) = run(build(program, "without"), inputs, shape)
        check(before, program.compute(*inputs))
        for passes in ("default", "all"):
            (after,) = run(build(program, passes), inputs, shape)
            np.testing.assert_array_equal(after, before, err_msg=passes)


@pytest.mark.parametrize("passes", ["bounds", "peel", "tails"])
@pytest.mark.parametrize("program", [
    MaskedProgram(), MaskedProgram(rows=8, columns=4, order="row_gt"),
    MaskedProgram(rows=3, columns=2, order="ge", offset=-1, also=True)], ids=str)
def test_each_option(build, program, passes):
    for length in LENGTHS:
        inputs = arguments(length, length)
        (before,) = run(build(program, "without"), inputs, (length, 5))
        (after,) = run(build(program, passes), inputs, (length, 5))
        np.testing.assert_array_equal(after, before)


# Sums of exponents that fall and rise by more than any float can hold.
EXTREMES = {"falls": -1e4, "overflows": 1e4, "infinite": -3e38, "mixed": None}


@pytest.mark.parametrize("extreme", list(EXTREMES))
@pytest.mark.parametrize("weight", ["decay", "bounded", "product", "before"])
@pytest.mark.parametrize("order", ["le", "row_gt", "ge"])
def test_what_is_masked_does_not_leak(build, order, weight, extreme):
    program = MaskedProgram(rows=4, columns=2, order=order, weight=weight)
    for length in (4, 11):
        s, g, v = arguments(length, 7)
        mask = program.mask(length)
        if extreme == "mixed":
            g = (np.where(np.arange(length) % 3 == 1, 1, -1) * 1e4).astype(np.float32)
        else:
            with np.errstate(over="ignore"):
                g = np.maximum(EXTREMES[extreme] * np.arange(length), -3e38).astype(np.float32)
        g = np.minimum(g, np.float32(3e38))
        expected = program.compute(np.where(mask, s, 0), g, v)
        for value in (np.nan, np.inf):
            # Masked before it is multiplied, it is masked nowhere else.
            masked = np.where(mask, s, np.float32(value))
            (out,) = run(build(program, "default"), [masked, g, v], (length, 5))
            if np.isfinite(expected).all() and np.abs(expected).max() < 1e30:
                assert np.isfinite(out).all()
                check(out, expected)
