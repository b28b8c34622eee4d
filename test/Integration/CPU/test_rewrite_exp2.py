"""mamba-rewrite-exp2 keeps the meaning: programs of two loops over blocks run on
the CPU before and after it, against float64.

The exponent of a weight is a difference of sums, so its error is a rounding of
the largest sum; clamped terms bound the sums. MAMBA_OPT names the tool.
"""

import itertools

import numpy as np
import pytest

from test_vectorize import run
import rewrite_exp2_programs as programs

ROWS, LENGTH = 5, 32
UNIT = 2.0**-24
F16 = 2.0**-11


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    cache = {}

    def compile_program(process, is_rounded, options):
        key = process, is_rounded, options
        if key not in cache:
            cache[key] = programs.compile_weights(tmp_path_factory.mktemp("exp2"), *key)
        return cache[key]
    return compile_program


def weights(a, t, s):
    """tril(s * exp(min(g_i - g_j, 0)) * t_j) in float64, and the largest |g|."""
    a, t, s = (array.astype(np.float64) for array in (a, t, s))
    g = np.cumsum(a[:, None] * t, axis=1)
    difference = np.minimum(g[:, :, None] - g[:, None, :], 0)
    return np.tril(s * np.exp(difference) * t[:, None, :]), np.abs(g).max()


def usual(rng):
    return -np.exp(rng.uniform(-2, 2, ROWS)), rng.exponential(0.1, (ROWS, LENGTH))


def growing(rng):
    a, t = usual(rng)
    return a * np.array([1, -1, 0, -1, 1]), t


def zeros(rng):
    a, t = usual(rng)
    return a, t * (rng.random(t.shape) < 0.5)


def tiny(rng):
    a, t = usual(rng)
    return a, t * 1e-30


def huge(rng):
    a, t = usual(rng)
    return np.full(ROWS, -1e4), np.full_like(t, 1e3)


def one_huge(rng):
    a, t = usual(rng)
    t[:, LENGTH // 2] = 1e3
    return a * 16, t


def negative(rng):
    a, t = usual(rng)
    return a, t * rng.choice([-1, 1], t.shape)


CASES = {f.__name__: f for f in (usual, growing, zeros, tiny, huge, one_huge)}
OPTIONS = ["", "clamp-terms=false", "fold-weights=false", "hoist=false"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_rounded,options",
                         [*itertools.product([True], OPTIONS), (False, "")])
def test_weights(build, case, is_rounded, options):
    rng = np.random.default_rng(1)
    a, t = (array.astype(np.float32) for array in CASES[case](rng))
    s = rng.standard_normal((ROWS, LENGTH, LENGTH)).astype(np.float32)
    expected, largest = weights(a, t, s)
    before, after = (run(build("abs", is_rounded, o), [a, t, s], s.shape)[0]
                     for o in (None, options))
    assert np.isfinite(after).all()
    # A sum of clamped terms is never larger than 150 a term.
    bounded = largest if options else min(largest, 150.0 * LENGTH)
    relative = (F16 if is_rounded else 0) + UNIT * (32 + 2 * bounded)
    # Below 2^-24, f16 has nothing.
    atol = 2.0**-25 if is_rounded else 1e-37
    np.testing.assert_allclose(after, expected, rtol=relative, atol=atol)
    if largest < 1e3:
        np.testing.assert_allclose(after, before, rtol=2 * relative, atol=2 * atol)


@pytest.fixture(scope="module")
def apply_weights(tmp_path_factory):
    cache = {}

    def compile_program(process, options):
        key = process, options
        if key not in cache:
            cache[key] = programs.compile_applied(tmp_path_factory.mktemp("exp2"), *key)
        return cache[key]
    return compile_program


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("options", ["separate", "separate clamp-terms=false"])
def test_factors_of_rows(apply_weights, case, options):
    """Sums of weights left of the diagonal are multiplied by a factor of the row."""
    rng = np.random.default_rng(3)
    a, t = (array.astype(np.float32) for array in CASES[case](rng))
    s = rng.standard_normal((ROWS, LENGTH, LENGTH)).astype(np.float32)
    x = rng.standard_normal((ROWS, LENGTH, 5)).astype(np.float32)
    w, largest = weights(a, t, s)
    expected, scale = w @ x, np.abs(w) @ np.abs(x)
    after = run(apply_weights("abs", options), [a, t, s, x], x.shape)[0]
    assert np.isfinite(after).all()
    bounded = largest if "false" in options else min(largest, 150.0 * LENGTH)
    assert (np.abs(after - expected) <= UNIT * (64 + 2 * bounded) * scale + 1e-36).all()


def test_factors_of_rows_of_both_signs(apply_weights):
    rng = np.random.default_rng(4)
    a, t = (array.astype(np.float32) for array in negative(rng))
    t = np.maximum(t, -1)
    s = rng.standard_normal((ROWS, LENGTH, LENGTH)).astype(np.float32)
    x = rng.standard_normal((ROWS, LENGTH, 5)).astype(np.float32)
    w, largest = weights(a, t, s)
    after = run(apply_weights("negative", "separate"), [a, t, s, x], x.shape)[0]
    bound = UNIT * (64 + 2 * largest) * (np.abs(w) @ np.abs(x))
    assert (np.abs(after - w @ x) <= bound + 1e-36).all()


@pytest.mark.parametrize("process", ["negative", "none"])
def test_sums_of_both_signs(build, process):
    """Where steps may be negative, minima of differences stay as they are."""
    rng = np.random.default_rng(2)
    a, t = (array.astype(np.float32) for array in negative(rng))
    s = rng.standard_normal((ROWS, LENGTH, LENGTH)).astype(np.float32)
    if process == "negative":
        t = np.maximum(t, -1)
    expected, largest = weights(a, t, s)
    after = run(build(process, False, ""), [a, t, s], s.shape)[0]
    np.testing.assert_allclose(after, expected, rtol=UNIT * (32 + 2 * largest), atol=1e-37)
    assert (np.diff(np.cumsum(a[:, None] * t, axis=1), axis=1) > 0).any()
