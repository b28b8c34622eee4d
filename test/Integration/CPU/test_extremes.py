"""Extreme time steps and decays: results are finite and those of the recurrence.

The bounds are those of ordinary inputs, with one exception. dA_cumsum is a
float32 running sum, so where one token's decay is huge the exponents of later
tokens of its chunk carry an absolute error of 2^-24 times that decay; bounds()
of a configuration accounts for it by the largest |dA_cumsum|. Where no such
mixture occurs `exact_exponents` asks for the bounds without that term.
"""

import numpy as np
import pytest

from configs import SsdConfig, SsuConfig
import tolerance

LENGTH = 40
DTYPES = ["f32", "bf16"]


def ssd_config(dtype, **options):
    return SsdConfig(dtype=dtype, dt_dtype="f32", heads=4, groups=2, z=True, initial_state=True,
                     chunk_states=True, total_decay=True, **options)


def run_ssd(compiler, config, arrays, exact_exponents=True):
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    bounds = (tolerance.ssd_bounds(config.dtype, config.state_dtype) if exact_exponents
              else config.bounds(arrays))
    tolerance.check_all(outs, config.reference(arrays), bounds)
    return outs


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("A", [-16.0, -1e4])
def test_huge_steps_forget_everything(compiler, dtype, A):
    """dt = 1000 in every token: only the token itself is left."""
    config = ssd_config(dtype)
    arrays = config.inputs(0, 2, LENGTH)
    arrays["dt"][:] = 1e3
    arrays["A"][:] = A
    run_ssd(compiler, config, arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_very_negative_step_with_softplus(compiler, dtype):
    """softplus(-30) = 9.4e-14, which ln(1 + exp(u)) in float32 loses."""
    config = ssd_config(dtype, dt_bias=False, D=None)
    arrays = config.inputs(1, 2, LENGTH)
    arrays["dt"][:] = -30.0
    arrays["initial_state"][:] = 0.0
    outs = run_ssd(compiler, config, arrays)
    assert outs["final_state"].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_negative_step_is_clamped_without_softplus(compiler, dtype):
    """The default limit is (0, inf): dt' = 0 leaves the state as it was."""
    config = ssd_config(dtype, dt_bias=False, softplus=False)
    arrays = config.inputs(2, 2, LENGTH)
    arrays["dt"][:] = -30.0
    outs = run_ssd(compiler, config, arrays)
    np.testing.assert_array_equal(outs["final_state"], arrays["initial_state"])
    assert not outs["total_decay"].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_decay(compiler, dtype):
    config = ssd_config(dtype)
    arrays = config.inputs(3, 2, LENGTH)
    arrays["A"][:] = 0.0
    outs = run_ssd(compiler, config, arrays)
    assert not outs["total_decay"].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_decay_and_huge_steps(compiler, dtype):
    config = ssd_config(dtype)
    arrays = config.inputs(4, 2, LENGTH)
    arrays["A"][:] = 0.0
    arrays["dt"][:] = 1e3
    run_ssd(compiler, config, arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_heads_of_very_different_decay(compiler, dtype):
    """No decay, hardly any, a usual one and -1e4 side by side."""
    config = ssd_config(dtype)
    arrays = config.inputs(5, 2, LENGTH)
    arrays["A"][:] = [0.0, -1e-4, -1.0, -1e4]
    run_ssd(compiler, config, arrays, exact_exponents=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_huge_step_among_usual_ones(compiler, dtype):
    """Token 20 forgets everything; later tokens of its chunk stay right to the
    precision that the running sum leaves."""
    config = ssd_config(dtype)
    arrays = config.inputs(6, 2, LENGTH)
    arrays["dt"][:, 20] = 1e3
    run_ssd(compiler, config, arrays, exact_exponents=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tokens_before_a_huge_step_are_exact(compiler, dtype):
    """A = -1e4 and dt = 1000 in token 20: the tokens before keep their bounds,
    all results are finite."""
    config = ssd_config(dtype)
    arrays = config.inputs(7, 2, LENGTH)
    arrays["A"][:] = -1e4
    arrays["dt"][:] -= 8.0  # so that some of the past survives from token to token
    arrays["dt"][:, 20] = 1e3
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    assert all(np.isfinite(out).all() for out in outs.values())
    before = {n: a[:, :20] if n in ("x", "dt", "B", "C", "z") else a for n, a in arrays.items()}
    reference = config.reference(before)
    tolerance.check("y", outs["y"][:, :20], reference["y"], reference["y_scale"],
                    config.bounds(before)["y"])


def test_f16_with_large_steps(compiler):
    """f16 holds the weights up to 65504: dt = 100 is right, not infinite."""
    config = ssd_config("f16")
    arrays = config.inputs(8, 2, LENGTH)
    arrays["dt"][:] = 100.0
    run_ssd(compiler, config, arrays)


@pytest.mark.parametrize("limit", [(0.0, 1e308), (0.0, float("inf")), (0.5, 0.5)])
def test_limits(compiler, limit):
    """1e308 is infinity in float32; equal limits make every step equal."""
    config = ssd_config("f32", dt_limit=limit)
    arrays = config.inputs(9, 2, LENGTH)
    run_ssd(compiler, config, arrays, exact_exponents=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("softplus", [True, False])
@pytest.mark.parametrize("step", [1e3, 20.0, -30.0])
def test_ssu(compiler, dtype, softplus, step):
    """Decode has no clamp: without softplus dt' = -30 is used as it is, with a
    decay of min(A * dt', 0) = 0 in the exponent."""
    config = SsuConfig(tokens=3, dtype=dtype, heads=4, groups=2, z=True, dt_bias=False,
                       softplus=softplus, intermediate_states=True)
    arrays = config.inputs(10, batch=2)
    arrays["dt"][:] = step
    arrays["A"][:] = [0.0, -1e-4, -16.0, -1e4]
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds())
