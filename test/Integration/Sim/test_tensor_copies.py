"""Copies by tensor map (mamba-select-tma-layout) in the simulator.

They give the tiles that copies by threads give, zeros included, so that results
are the same bit for bit, whatever the sizes. The simulator checks on the way
that no read comes before its mbarrier's phase, and no copy before the last read.
"""

import json
import random
import re

import numpy as np
import pytest

from configs import SsdConfig
import tile_programs
import tolerance

PASS = "mamba-select-tma-layout"

# Lengths end inside of a tile, a chunk, and at their ends; tiles have rows of
# one, two and less than one span, and states have 48 columns of 64.
CASES = {
    "tiles": (SsdConfig(chunk_size=128, head_dim=64, state_dim=128, dtype="bf16", heads=2), 200),
    "short": (SsdConfig(chunk_size=64, head_dim=64, state_dim=128, dtype="bf16", heads=1), 15),
    "ends": (SsdConfig(chunk_size=64, head_dim=64, state_dim=64, dtype="f16", heads=1), 128),
    "narrow": (SsdConfig(chunk_size=64, head_dim=16, state_dim=16, dtype="bf16", heads=2), 71),
    "odd": (SsdConfig(chunk_size=64, head_dim=80, state_dim=48, dtype="bf16", heads=1), 100),
    "mixed": (SsdConfig(chunk_size=16, head_dim=64, state_dim=64, dtype="bf16", heads=1,
                        initial_state=True), 40),
    "packed": (SsdConfig(chunk_size=64, head_dim=64, state_dim=64, dtype="bf16", heads=1,
                         seq_idx="packed", initial_state=True), 150),
}


def count_tensor_maps(folder):
    """Tensor maps of all launches of the bundle."""
    manifest = json.loads(next((folder / "bundle").glob("*.json")).read_text())
    return sum(parameter["kind"] == "tensor_map"
               for function in manifest["functions"] for launch in function["launches"]
               for parameter in launch["parameters"])


@pytest.mark.parametrize("name", CASES)
def test_same_bits(simulator, name):
    config, length = CASES[name]
    arrays = config.inputs(length, 2, length)
    without = simulator.run([*config.flags(), f"--without={PASS}"], "sm_90a", arrays,
                            config.result_dtypes())
    assert count_tensor_maps(simulator.folder) == 0
    outs = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes())
    assert count_tensor_maps(simulator.folder) > 0
    for result, array in outs.items():
        np.testing.assert_array_equal(array.view(np.uint32), without[result].view(np.uint32),
                                      err_msg=result)
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_threads(simulator, seed):
    """Phases, and the reuse of stages, hold whatever runs first."""
    config = SsdConfig(chunk_size=128, head_dim=64, state_dim=64, dtype="bf16", heads=1)
    arrays = config.inputs(520, 1, 520)
    outs = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes(),
                         [f"--seed={seed}"])
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


def test_older_targets_keep_copies_by_threads(simulator):
    config, _ = CASES["tiles"]
    simulator.compile(config.flags(), "sm_89")
    assert count_tensor_maps(simulator.folder) == 0


def attention(head, value, block, rows, columns):
    """Causal attention without softmax (tile_programs.CAUSAL) in other sizes."""
    text = tile_programs.CAUSAL
    for old, new in (("?x5x", f"?x{head}x"), ("6x5x", f"{value}x{head}x"),
                     ("?x6x", f"?x{value}x"), (", 5]", f", {head}]"), (", 6]", f", {value}]"),
                     ("step (8)", f"step ({block})"), ("s0 - d0, 8)", f"s0 - d0, {block})"),
                     ("s0 - d0, 4)", f"s0 - d0, {rows})"),
                     ("%c4 = arith.constant 4", f"%c4 = arith.constant {rows}"),
                     ("%c3 = arith.constant 3", f"%c3 = arith.constant {columns}")):
        text = text.replace(old, new)
    head, body = text.split(" {\n", 1)
    for name, dims in {"q": '"n", ""', "k": '"m", ""', "v": '"m", ""', "g": '"m"'}.items():
        head = re.sub(f"(%{name}: tensor<[^>]*>)", rf"\1 {{mamba.dims = [{dims}]}}", head)
    head = re.sub(r"-> (\S+)$", r'-> (\1 {mamba.dims = ["n", ""]})', head)
    return f"{head} {{\n{body}"


@pytest.mark.parametrize("seed", range(6))
def test_random_tile_programs(simulator, seed):
    """A program that is no Mamba, with keys that go on past the queries' end."""
    pick = random.Random(seed)
    head, value = pick.choice([16, 64, 80, 128]), pick.choice([16, 32, 64, 96])
    rows, columns = pick.choice([16, 32, 64]), pick.choice([16, 32, 64])
    block = rows * pick.choice([1, 2])
    length, element = pick.randint(1, 2 * block), pick.choice(["bf16", "f16"])
    (simulator.folder / "program.mlir").write_text(
        tile_programs.text(attention(head, value, block, rows, columns), element))
    numbers = np.random.default_rng(seed)
    # What is past the end must not be read, or be taken for zero.
    more = length + pick.choice([0, 40])
    arrays = {"arg0": numbers.standard_normal((length, head)),
              "arg1": np.full((more, head), np.nan), "arg2": np.full((more, value), np.nan),
              "arg3": np.full(more, np.nan), "arg4": numbers.standard_normal((value, head))}
    for name in ("arg1", "arg2", "arg3"):
        arrays[name][:length] = numbers.standard_normal(arrays[name][:length].shape)
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    without = simulator.run(["program.mlir", f"--without={PASS}"], "sm_90a", arrays, ["result0"])
    outs = simulator.run(["program.mlir"], "sm_90a", arrays, ["result0"])
    assert count_tensor_maps(simulator.folder) > 0
    assert np.isfinite(outs["result0"]).all()
    np.testing.assert_array_equal(outs["result0"].view(np.uint32),
                                  without["result0"].view(np.uint32))
