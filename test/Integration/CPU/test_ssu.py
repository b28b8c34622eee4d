"""mamba.ssu on the CPU against the float64 token recurrence."""

import dataclasses

import numpy as np
import pytest

from configs import SSU_OPTIONS, SsuConfig, config_of, is_legal_ssu
from pairwise import all_pairs
import recurrence
import tolerance

FACTORS = {
    "tokens": [None, 2, 5],
    "head_dim": [16, 64, 80, 128],
    "state_dim": [16, 64, 128, 256],
    "heads_groups": [(1, 1), (3, 1), (6, 2), (8, 8)],
    "dtype": ["bf16", "f16", "f32"],
    "dt_is_f32": [False, True],
    "state_dtype": ["bf16", "f16", "f32"],
    **SSU_OPTIONS,
}

CASES = [config_of(SsuConfig, row)
         for row in all_pairs(FACTORS, allowed=is_legal_ssu, seed=1, extra=5)]


def run_and_check(compiler, config, arrays):
    """Runs config on arrays, checks against the recurrence, returns the results."""
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    reference = config.reference(arrays)
    tolerance.check_all(outs, reference, config.bounds())
    if config.state_update:
        untouched = ~reference["new_state_scale"].any(axis=(1, 2, 3))
        np.testing.assert_array_equal(outs["new_state"][untouched],
                                      arrays["state"][untouched])
    return outs


def is_pad(indices, slots):
    return (indices < 0) | (indices >= slots)


@pytest.mark.parametrize("number,config", [
    pytest.param(number, config, id=f"{number}-{config.label}")
    for number, config in enumerate(CASES)])
def test_against_recurrence(compiler, number, config):
    arrays = config.inputs(number, batch=1 + number % 4)
    outs = run_and_check(compiler, config, arrays)
    if config.indices:
        pads = is_pad(arrays["state_batch_indices"], len(arrays["state"]))
        assert not outs["y"][pads].any()
        if config.intermediate_states:
            assert not outs["intermediate_states"][pads].any()


def test_only_pads_change_nothing(compiler):
    config = SsuConfig(indices="padded", intermediate_states=True, z=True)
    arrays = config.inputs(3, batch=3)
    slots = len(arrays["state"])
    arrays["state_batch_indices"] = np.array([-1, slots, 2**31 - 1], dtype=np.int32)
    outs = run_and_check(compiler, config, arrays)
    np.testing.assert_array_equal(outs["new_state"], arrays["state"])


def test_more_rows_than_slots(compiler):
    """Without indices row i reads slot i; past the last slot that is a pad."""
    config = SsuConfig(intermediate_states=True)
    arrays = config.inputs(7, batch=3)
    arrays["state"] = arrays["state"][:2]
    outs = run_and_check(compiler, config, arrays)
    assert not outs["y"][2].any() and not outs["intermediate_states"][2].any()


def test_empty_batch(compiler):
    config = SsuConfig(tokens=2, intermediate_states=True)
    arrays = config.inputs(0, batch=0)
    outs = run_and_check(compiler, config, arrays)
    np.testing.assert_array_equal(outs["new_state"], arrays["state"])


def test_batch_position_does_not_matter(compiler):
    """A row gives the same bits at any place of any batch."""
    config = SsuConfig(tokens=3, heads=3, dtype="bf16", dt_dtype="bf16", state_dtype="bf16",
                       z=True, indices="shuffled", intermediate_states=True)
    arrays = config.inputs(4, batch=3)
    whole = run_and_check(compiler, config, arrays)
    batched = ("x", "dt", "B", "C", "z", "state_batch_indices")
    for rows in ([2, 0, 1], [1]):
        part = {n: a[rows] if n in batched else a for n, a in arrays.items()}
        outs = compiler.run(config.flags(), part, config.result_dtypes())
        for name in ("y", "intermediate_states"):
            np.testing.assert_array_equal(outs[name], whole[name][rows], err_msg=name)
        written = part["state_batch_indices"]
        np.testing.assert_array_equal(outs["new_state"][written], whole["new_state"][written])


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_tokens_one_by_one(compiler, dtype):
    """T calls of one token with an f32 state equal one call of T tokens."""
    config = SsuConfig(tokens=4, dtype=dtype, dt_dtype=dtype, head_dim=64, state_dim=32,
                       indices="shuffled", intermediate_states=True)
    arrays = config.inputs(5, batch=2)
    whole = run_and_check(compiler, config, arrays)
    single = dataclasses.replace(config, tokens=None, intermediate_states=False)
    reference, bounds = config.reference(arrays), config.bounds()
    step = dict(arrays)
    for t in range(4):
        step.update({n: arrays[n][:, t] for n in ("x", "dt", "B", "C")})
        outs = compiler.run(single.flags(), step, single.result_dtypes())
        tolerance.check(f"y of token {t}", outs["y"], whole["y"][:, t],
                        reference["y_scale"][:, t], bounds["y"])
        step["state"] = outs["new_state"]
    tolerance.check("new_state", outs["new_state"], whole["new_state"],
                    reference["new_state_scale"], bounds["new_state"])


SLOT_MODULE = """
func.func @ssu(%state: tensor<?x2x16x32xf32> {mamba.name = "state"},
               %x: tensor<?x2x16xf32> {mamba.name = "x"},
               %dt: tensor<?x2xf32> {mamba.name = "dt"},
               %A: tensor<2xf32> {mamba.name = "A"},
               %B: tensor<?x1x32xf32> {mamba.name = "B"},
               %C: tensor<?x1x32xf32> {mamba.name = "C"},
               %slot: tensor<?xi64> {mamba.name = "state_batch_indices"},
               %dst: tensor<?xi64> {mamba.name = "dst_state_batch_indices"})
    -> (tensor<?x2x16xf32> {mamba.name = "y"},
        tensor<?x2x16x32xf32> {mamba.name = "new_state"}) {
  %y, %new = mamba.ssu softplus pad_slot_id(3)
      state(%state : tensor<?x2x16x32xf32>) x(%x : tensor<?x2x16xf32>)
      dt(%dt : tensor<?x2xf32>) A(%A : tensor<2xf32>)
      B(%B : tensor<?x1x32xf32>) C(%C : tensor<?x1x32xf32>)
      state_batch_indices(%slot : tensor<?xi64>)
      dst_state_batch_indices(%dst : tensor<?xi64>)
      -> y(tensor<?x2x16xf32>) new_state(tensor<?x2x16x32xf32>)
  return %y, %new : tensor<?x2x16xf32>, tensor<?x2x16x32xf32>
}
"""


def test_pad_slot_id_and_wide_indices(compiler):
    """From IR text: pad_slot_id 3 is a pad beside -1; i64 indices keep all bits."""
    config = SsuConfig(head_dim=16, state_dim=32, D=None, dt_bias=False,
                       indices="shuffled", dst_indices="fresh")
    arrays = config.inputs(6, batch=6)
    arrays["state_batch_indices"] = np.array([0, 3, 1, 2**32 + 1, -2**40, 5], dtype=np.int64)
    arrays["dst_state_batch_indices"] = np.array([6, 7, 3, 8, 9, 2**32 + 10], dtype=np.int64)
    (compiler.folder / "slots.mlir").write_text(SLOT_MODULE)
    outs = compiler.run(["slots.mlir"], arrays, config.result_dtypes())
    reference = recurrence.ssu(**arrays, pad_slot_id=3)
    tolerance.check_all(outs, reference, config.bounds())
    changed = (outs["new_state"] != arrays["state"]).any(axis=(1, 2, 3))
    assert np.flatnonzero(changed).tolist() == [6]
