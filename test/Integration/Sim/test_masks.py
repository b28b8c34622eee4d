"""mamba-fold-causal-mask in kernels: with the pass and without, the same bits.

Chunks are whole, short, of one sequence, or have boundaries and padding; dt and
A are ordinary, or extreme and of both signs, so that sums of exponents rise and
fall.
"""

import numpy as np
import pytest

from configs import SsdConfig
import tolerance

WITHOUT = "--without=mamba-fold-causal-mask"


def run_both(simulator, config, arrays, target):
    with_pass = simulator.run(config.flags(), target, arrays, config.result_dtypes())
    without = simulator.run([*config.flags(), WITHOUT], target, arrays, config.result_dtypes())
    for name, out in with_pass.items():
        np.testing.assert_array_equal(out, without[name], err_msg=name)
    return with_pass


# Several tiles of rows and columns in a chunk, and one.
@pytest.mark.parametrize("target,length,config", [
    ("sm_90a", 128, SsdConfig(chunk_size=128, dtype="bf16", heads=1)),
    ("sm_90a", 227, SsdConfig(chunk_size=128, dtype="bf16", heads=1, z=True)),
    ("sm_120a", 70, SsdConfig(chunk_size=64, dtype="f16", heads=1)),
    ("sm_90a", 512, SsdConfig(chunk_size=256, dtype="bf16", heads=1, seq_idx="packed")),
    ("sm_90a", 300, SsdConfig(chunk_size=256, dtype="bf16", heads=1, seq_idx="padded",
                              initial_state=True))], ids=str)
def test_same_bits(simulator, target, length, config):
    arrays = config.inputs(length, 1, length)
    outs = run_both(simulator, config, arrays, target)
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


def test_one_sequence(simulator):
    """The loops without comparisons of ids, in both chunks; and where the ids are
    negative the others."""
    config = SsdConfig(chunk_size=256, dtype="bf16", heads=1, seq_idx="packed")
    arrays = config.inputs(3, 1, 384)
    arrays["seq_idx"][:] = 0
    outs = run_both(simulator, config, arrays, "sm_90a")
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))
    arrays["seq_idx"][:] = -1
    assert not run_both(simulator, config, arrays, "sm_90a")["y"].any()


@pytest.mark.parametrize("case", ["huge", "both signs"])
def test_extremes(simulator, case):
    """Nothing is infinite or NaN, and masked steps do not leak."""
    config = SsdConfig(chunk_size=128, dtype="bf16", heads=2, softplus=False, dt_bias=False,
                       dt_limit=(-1e4, 1e4))
    arrays = config.inputs(5, 1, 200)
    rng = np.random.default_rng(0)
    arrays["A"][:] = [-1e4, -1.0]
    steps = rng.choice([0.0, 1e3, 1e-3], arrays["dt"].shape)
    if case == "both signs":
        steps *= rng.choice([-1, 1], steps.shape)
    arrays["dt"][:] = steps
    outs = run_both(simulator, config, arrays, "sm_90a")
    assert all(np.isfinite(out).all() for out in outs.values())
