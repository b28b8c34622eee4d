"""Extreme steps and decays in kernels, in the simulator: mamba-rewrite-exp2 moves
clamps to the terms of sums and time steps into exponents."""

import numpy as np
import pytest

from configs import SsdConfig
import tolerance

LENGTH = 150


def ssd_config(**options):
    return SsdConfig(**{"dtype": "bf16", "dt_dtype": "f32", "heads": 4, "groups": 2,
                        "head_dim": 16, "state_dim": 16, "chunk_size": 64,
                        "initial_state": True, **options})


def run(simulator, config, arrays, exact_exponents=True):
    outs = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes())
    bounds = (tolerance.ssd_bounds(config.dtype, config.state_dtype) if exact_exponents
              else config.bounds(arrays))
    tolerance.check_all(outs, config.reference(arrays), bounds)
    return outs


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("A,step", [(-16.0, 100.0), (-1e4, 100.0), (0.0, 100.0), (0.0, 1e3)])
def test_huge_steps(simulator, dtype, A, step):
    """Only the token itself is left, or everything is."""
    config = ssd_config(dtype=dtype)
    arrays = config.inputs(0, 1, LENGTH)
    arrays["dt"][:], arrays["A"][:] = step, A
    if (dtype, step) == ("f16", 1e3):
        pytest.skip("weights above the largest f16")
    run(simulator, config, arrays)


@pytest.mark.parametrize("total_decay", [False, True])
def test_one_huge_step(simulator, total_decay):
    config = ssd_config(total_decay=total_decay)
    arrays = config.inputs(1, 1, LENGTH)
    arrays["dt"][:, 20] = 1e3
    run(simulator, config, arrays, exact_exponents=False)


def test_tokens_after_a_huge_step(simulator):
    """Where terms are clamped, what a token forgets costs the next ones of its
    chunk no precision: bounds without the size of the exponents."""
    config = ssd_config()
    arrays = config.inputs(2, 1, LENGTH)
    arrays["dt"][:, 20] = 1e3
    arrays["A"][:] = -16.0
    run(simulator, config, arrays)


def test_growth(simulator):
    """A > 0 neither decays nor grows."""
    config = ssd_config()
    arrays = config.inputs(3, 1, LENGTH)
    arrays["A"][:] = [1.0, 100.0, -1.0, 0.0]
    run(simulator, config, arrays, exact_exponents=False)


def test_steps_of_zero(simulator):
    """log2(0) is -inf, and the weight 0."""
    config = ssd_config(softplus=False, dt_bias=False)
    arrays = config.inputs(4, 1, LENGTH)
    arrays["dt"][:] = np.maximum(arrays["dt"], 0.0)
    arrays["dt"][:, ::3] = -1.0
    arrays["dt"][:, 70:130] = 0.0
    run(simulator, config, arrays, exact_exponents=False)


def test_very_small_steps(simulator):
    config = ssd_config(dt_bias=False, D=None)
    arrays = config.inputs(5, 1, LENGTH)
    arrays["dt"][:] = -30.0
    arrays["initial_state"][:] = 0.0
    outs = run(simulator, config, arrays)
    assert outs["final_state"].any()


def test_limits_below_zero(simulator):
    """Steps may be negative: minima of differences stay. A is 0 or so small that
    the clamps of the chunked form and of the recurrence agree to rounding."""
    config = ssd_config(softplus=False, dt_bias=False, dt_limit=(-1.0, float("inf")))
    arrays = config.inputs(6, 1, LENGTH)
    arrays["A"][:] = [0.0, -1e-9, 0.0, 1e-9]
    arrays["dt"][:, ::3] *= -1
    run(simulator, config, arrays)
