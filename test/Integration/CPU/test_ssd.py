"""mamba.ssd on the CPU against the float64 token recurrence."""

import dataclasses

import numpy as np
import pytest

from configs import SSD_OPTIONS, SsdConfig, config_of
from inputs import round_to
from pairwise import all_pairs
import recurrence
import tolerance

FACTORS = {
    "chunk_size": [16, 32, 64, 128, 256],
    "head_dim": [16, 64, 80, 128],
    "state_dim": [16, 64, 128, 256],
    "heads_groups": [(1, 1), (2, 1), (3, 1), (2, 2), (6, 2), (8, 8)],
    "length": ["0", "1", "Q-1", "Q", "Q+1", "3Q+7"],
    **SSD_OPTIONS,
    "dt_limit": [None, (0.004, 0.05), (0.0, float("inf"))],
}


def tokens_of(length, chunk_size):
    """Number of tokens that a word such as "3Q+7" stands for."""
    factor, chunk, rest = length.partition("Q")
    if not chunk:
        return int(length)
    return int(factor or 1) * chunk_size + int(rest or 0)


def state_updates(row):
    """Work of one sequence in the recurrence, to keep cases quick."""
    return (tokens_of(row["length"], row["chunk_size"]) * row["heads_groups"][0]
            * row["head_dim"] * row["state_dim"])


def to_case(row):
    """(config, batch, tokens) of a row of all_pairs."""
    fields = dict(row)
    length = tokens_of(fields.pop("length"), fields["chunk_size"])
    config = config_of(SsdConfig, fields)
    return config, 2 if state_updates(row) < 1e7 else 1, length


ODD_SHAPES = [  # sizes that are no powers of two, and a group of many heads
    (SsdConfig(chunk_size=48, head_dim=24, state_dim=40, dtype="bf16", dt_dtype="bf16",
               chunk_states=True), 2, 100),
    (SsdConfig(chunk_size=100, head_dim=33, state_dim=17, z=True, total_decay=True), 1, 257),
    (SsdConfig(chunk_size=7, head_dim=5, state_dim=3, dtype="f16", seq_idx="padded",
               initial_state=True, chunk_states=True), 3, 40),
    (SsdConfig(heads=24, head_dim=16, chunk_size=64, dtype="bf16"), 3, 65),
    (SsdConfig(heads=10, groups=5, initial_state=True, D="head_dim"), 4, 33),
]
CASES = [to_case(row) for row in all_pairs(
    FACTORS, allowed=lambda row: state_updates(row) < 1e8, extra=30)] + ODD_SHAPES


def run_and_check(compiler, config, arrays):
    """Runs config on arrays, checks against the recurrence, returns the results."""
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))
    return outs


@pytest.mark.parametrize("number,config,batch,length", [
    pytest.param(number, *case, id=f"{number}-L{case[2]}-Q{case[0].chunk_size}-{case[0].label}")
    for number, case in enumerate(CASES)])
def test_against_recurrence(compiler, number, config, batch, length):
    arrays = config.inputs(number, batch, length)
    outs = run_and_check(compiler, config, arrays)
    if "seq_idx" in arrays:
        padding = arrays["seq_idx"] < 0
        assert not outs["y"][padding].any()
        if config.final_state and length:
            assert not outs["final_state"][padding[:, -1]].any()


def test_empty_batch(compiler):
    config = SsdConfig(chunk_states=True, total_decay=True)
    run_and_check(compiler, config, config.inputs(0, 0, 20))


def test_empty_sequence_keeps_the_initial_state(compiler):
    config = SsdConfig(dtype="bf16", dt_dtype="bf16", initial_state=True, total_decay=True)
    arrays = config.inputs(0, 3, 0)
    outs = run_and_check(compiler, config, arrays)
    np.testing.assert_array_equal(outs["final_state"], arrays["initial_state"])
    assert not outs["total_decay"].any()


def test_float16_files(compiler):
    """f16 operands may come as float16 .npy files, with the same result."""
    config = SsdConfig(dtype="f16", dt_dtype="f16", z=True)
    arrays = config.inputs(5, 2, 40)
    expected = run_and_check(compiler, config, arrays)
    halves = {name: array.astype(np.float16) if name in ("x", "dt", "B", "C", "z") else array
              for name, array in arrays.items()}
    outs = compiler.run(config.flags(), halves, config.result_dtypes())
    for name, out in outs.items():
        np.testing.assert_array_equal(out, expected[name])


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_float32_files_are_rounded_to_nearest_even(compiler, dtype):
    """float32 values between two numbers of the dtype round as inputs.round_to."""
    config = SsdConfig(dtype=dtype, dt_dtype=dtype, dt_bias=False, D=None)
    arrays = config.inputs(6, 1, 20)
    arrays = {name: a + np.float32(1e-3) * a if name in ("x", "B", "C") else a
              for name, a in arrays.items()}
    ulp = np.float32(2.0**-7 if dtype == "bf16" else 2.0**-10)
    arrays["x"][..., ::2] = 1 + ulp * np.arange(8, dtype=np.float32) + ulp / 2  # ties
    rounded = {name: round_to(a, dtype) if name in ("x", "B", "C") else a
               for name, a in arrays.items()}
    outs = compiler.run(config.flags(), arrays, config.result_dtypes())
    expected = compiler.run(config.flags(), rounded, config.result_dtypes())
    for name, out in outs.items():
        np.testing.assert_array_equal(out, expected[name])


def test_padding_before_the_first_sequence_drops_the_initial_state(compiler):
    """Ids -1 -1 0 0 ...: the padding restarts the state, so that the run of id
    0 after it starts from 0 although its id equals the one before the start."""
    config = SsdConfig(initial_state=True, seq_idx="padded", chunk_states=True, total_decay=True)
    arrays = config.inputs(7, 3, 40)
    arrays["seq_idx"][:] = 0
    for row, padding in enumerate((2, 16, 19)):
        arrays["seq_idx"][row, :padding] = -1
    run_and_check(compiler, config, arrays)


@pytest.mark.parametrize("dtype,splits", [("f32", (1, 31, 32, 33, 79)), ("bf16", (32, 50))])
def test_split_and_continue(compiler, dtype, splits):
    """final_state handed on as initial_state continues the sequence."""
    config = SsdConfig(dtype=dtype, dt_dtype=dtype, head_dim=64, state_dim=32,
                       chunk_size=32, initial_state=True)
    arrays = config.inputs(8, 2, 80)
    whole = run_and_check(compiler, config, arrays)
    reference, bounds = config.reference(arrays), config.bounds(arrays)
    along_tokens = ("x", "dt", "B", "C")
    for split in splits:
        state, parts = arrays["initial_state"], []
        for piece in (slice(0, split), slice(split, None)):
            part = {n: a[:, piece] if n in along_tokens else a for n, a in arrays.items()}
            part["initial_state"] = state
            outs = compiler.run(config.flags(), part, config.result_dtypes())
            parts.append(outs["y"])
            state = outs["final_state"]
        joined = {"y": np.concatenate(parts, axis=1), "final_state": state}
        tolerance.check_all(joined, reference, bounds)
        for name, bound in bounds.items():
            if name in joined:  # two runs, each with its own rounding errors
                loose = dataclasses.replace(bound, rms=1.5 * bound.rms, element=2 * bound.element)
                tolerance.check(f"{name} split at {split}", joined[name], whole[name],
                                reference[f"{name}_scale"], loose)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_batch_position_does_not_matter(compiler, dtype):
    """A sequence gives the same bits at any place of any batch."""
    config = SsdConfig(dtype=dtype, dt_dtype=dtype, heads=3, z=True, initial_state=True,
                       seq_idx="padded", chunk_states=True, total_decay=True)
    arrays = config.inputs(9, 3, 50)
    whole = run_and_check(compiler, config, arrays)
    batched = ("x", "dt", "B", "C", "z", "initial_state", "seq_idx")
    for rows in ([2, 0, 1], [1], [1, 1, 2, 0, 1]):
        part = {n: a[rows] if n in batched else a for n, a in arrays.items()}
        outs = compiler.run(config.flags(), part, config.result_dtypes())
        for name, out in outs.items():
            np.testing.assert_array_equal(out, whole[name][rows], err_msg=name)


def test_future_tokens_do_not_matter(compiler):
    """y up to a token has the same bits whatever follows it."""
    config = SsdConfig(dtype="bf16", dt_dtype="bf16", chunk_states=True)
    arrays = config.inputs(10, 2, 50)
    whole = run_and_check(compiler, config, arrays)
    other = config.inputs(11, 2, 50)
    known = 21
    for name in ("x", "dt", "B", "C"):
        other[name][:, :known] = arrays[name][:, :known]
    other.update({name: arrays[name] for name in ("A", "D", "dt_bias")})
    outs = run_and_check(compiler, config, other)
    np.testing.assert_array_equal(outs["y"][:, :known], whole["y"][:, :known])
    np.testing.assert_array_equal(outs["chunk_states"][:, :2], whole["chunk_states"][:, :2])


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_chunk_state_is_final_state_of_the_prefix(compiler, dtype):
    config = SsdConfig(dtype=dtype, dt_dtype=dtype, initial_state=True, seq_idx="packed",
                       chunk_states=True)
    arrays = config.inputs(12, 2, 60)
    whole = run_and_check(compiler, config, arrays)
    same = tolerance.ssd_bounds("f32")["final_state"]  # equal rounding points: only f32 noise
    for chunk in (1, 2, 3):
        end = chunk * config.chunk_size
        prefix = {n: a[:, :end] if n in ("x", "dt", "B", "C", "seq_idx") else a
                  for n, a in arrays.items()}
        outs = compiler.run(config.flags(), prefix, config.result_dtypes())
        tolerance.check(f"final_state of {end} tokens", outs["final_state"],
                        whole["chunk_states"][:, chunk],
                        np.abs(whole["chunk_states"][:, chunk]), same)


def test_packed_sequences_equal_separate_runs(compiler):
    """Each sequence of a packed row gives what it gives alone."""
    config = SsdConfig(seq_idx="packed", D="head_dim")
    arrays = config.inputs(13, 1, 70)
    arrays["seq_idx"][0] = np.repeat([4, 9, 2], [20, 12, 38])
    packed = run_and_check(compiler, config, arrays)
    alone_config = dataclasses.replace(config, seq_idx=None)
    for begin, end in ((0, 20), (20, 32), (32, 70)):
        part = {n: a[:, begin:end] if n in ("x", "dt", "B", "C") else a
                for n, a in arrays.items() if n != "seq_idx"}
        outs = compiler.run(alone_config.flags(), part, alone_config.result_dtypes())
        bound = alone_config.bounds(part)["y"]
        reference = recurrence.ssd(**part)
        tolerance.check(f"y of tokens {begin} to {end}", packed["y"][:, begin:end],
                        outs["y"], reference["y_scale"], bound)
    tolerance.check("final_state", packed["final_state"], outs["final_state"],
                    reference["final_state_scale"], bound)
