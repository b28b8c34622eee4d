"""The PTX of mamba.ssd and mamba.ssu in the simulator, for every GPU target.

Results are held against the float64 recurrence with the bounds of the CPU's
tests, and a run must be free of findings.
"""

import numpy as np
import pytest

from configs import SSD_OPTIONS, SSU_OPTIONS, SsdConfig, SsuConfig, config_of, is_legal_ssu
from pairwise import all_pairs
from simulator import FILE_DTYPE
import recurrence
import tolerance

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]

SSD_FACTORS = {
    "target": TARGETS,
    "chunk_size": [16, 64],
    "head_dim": [16, 64],
    "state_dim": [16, 128],
    "heads_groups": [(2, 1), (4, 2)],
    "length": [1, 15, 64, 71],
    **SSD_OPTIONS,
}

SSU_FACTORS = {
    "target": TARGETS,
    "tokens": [None, 3],
    "head_dim": [16, 64, 80],
    "state_dim": [16, 128],
    "heads_groups": [(3, 1), (4, 2)],
    "dtype": ["bf16", "f16", "f32"],
    "dt_is_f32": [False, True],
    "state_dtype": ["bf16", "f16", "f32"],
    **SSU_OPTIONS,
}


def ssd_case(row):
    fields = dict(row)
    target, length = fields.pop("target"), fields.pop("length")
    config = config_of(SsdConfig, fields)
    return pytest.param(target, config, length, id=f"{target}-L{length}-{config.label}")


def ssu_case(row):
    fields = dict(row)
    target = fields.pop("target")
    config = config_of(SsuConfig, fields)
    return pytest.param(target, config, id=f"{target}-{config.label}")


SSD_CASES = [ssd_case(row) for row in all_pairs(SSD_FACTORS, allowed=lambda row: True, seed=3,
                                                extra=0)]
SSU_CASES = [ssu_case(row) for row in all_pairs(SSU_FACTORS, allowed=is_legal_ssu, seed=4,
                                                extra=0)]


@pytest.mark.parametrize("target,config,length", SSD_CASES)
def test_ssd(simulator, target, config, length):
    arrays = config.inputs(length, 2, length)
    outs = simulator.run(config.flags(), target, arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


# Sizes that plans depend on: several tiles of rows, of what is summed, of the
# state; state and weights that fill a block's shared memory; the chunk's own
# size, a smaller one inside, or one that must be kept.
PLANNED = {
    "tiles": SsdConfig(chunk_size=128, head_dim=16, state_dim=64, dtype="bf16", heads=1),
    "smaller_chunk": SsdConfig(chunk_size=256, initial_state=True, total_decay=True, heads=1),
    "own_chunk": SsdConfig(chunk_size=256, chunk_states=True, dtype="f16", heads=1),
    "packed": SsdConfig(chunk_size=256, seq_idx="padded", initial_state=True, total_decay=True,
                        dtype="bf16", heads=1),
    "large_state": SsdConfig(head_dim=80, state_dim=256, chunk_size=64, dtype="bf16", heads=1),
    "large_f32": SsdConfig(head_dim=128, state_dim=48, chunk_size=128, heads=1, z=True),
}


@pytest.mark.parametrize("schedule", ["three_kernel", "chunk_parallel"])
@pytest.mark.parametrize("target,name,length", [
    ("sm_90a", "tiles", 200), ("sm_120a", "smaller_chunk", 300), ("sm_90a", "own_chunk", 270),
    ("sm_80", "own_chunk", 270),
    ("sm_90a", "packed", 270), ("sm_120a", "large_state", 70), ("sm_120a", "large_f32", 130)])
def test_ssd_plans(simulator, target, name, length, schedule):
    config = PLANNED[name]
    arrays = config.inputs(7, 1, length)
    outs = simulator.run([*config.flags(), f"--schedule={schedule}"], target, arrays,
                         config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("target,heads,length", [
    ("sm_90a", 3, 70), ("sm_120a", 8, 16), ("sm_90a", 12, 150), ("sm_100a", 17, 64)])
def test_ssd_any_heads(simulator, target, heads, length):
    """Heads known at run time: tiles of several heads, the last one short."""
    config = SsdConfig(heads=heads, chunk_size=128 if length > 100 else 32, head_dim=16,
                       state_dim=16, dtype="bf16", dt_dtype="f32" if heads == 3 else "bf16")
    flags = [flag for flag in config.flags() if not flag.startswith(("--heads=", "--groups="))]
    arrays = config.inputs(13, 2, length)
    outs = simulator.run(flags, target, arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("target,config", SSU_CASES)
def test_ssu(simulator, target, config):
    arrays = config.inputs(11, 3)
    outs = simulator.run(config.flags(), target, arrays, config.result_dtypes())
    reference = config.reference(arrays)
    tolerance.check_all(outs, reference, config.bounds())
    if config.state_update:
        untouched = ~reference["new_state_scale"].any(axis=(1, 2, 3))
        np.testing.assert_array_equal(outs["new_state"][untouched], arrays["state"][untouched])


# Sizes at which threads hold parts of rows, nothing, or more than a line of
# memory; blocks of fewer warps.
# The state is updated in place; where threads hold the same element, each reads
# it without order to the others' writes.
UNORDERED = pytest.mark.xfail(strict=True, reason="threads with one element of the state race")
SSU_SIZES = [
    SsuConfig(head_dim=20, state_dim=48, dtype="bf16", z=True),
    SsuConfig(head_dim=5, state_dim=96, dtype="bf16", state_dtype="bf16", tokens=3,
              intermediate_states=True, indices="padded"),
    SsuConfig(head_dim=1, state_dim=80, indices="padded"),
    pytest.param(SsuConfig(head_dim=1, state_dim=1), marks=UNORDERED),
    pytest.param(SsuConfig(head_dim=7, state_dim=3, dtype="bf16", state_dtype="f16", tokens=2),
                 marks=UNORDERED),
    SsuConfig(head_dim=64, state_dim=512, dtype="f16", state_dtype="f16", tokens=2, z=True),
    pytest.param(SsuConfig(head_dim=2, state_dim=1024), marks=UNORDERED),
]


@pytest.mark.parametrize("config", SSU_SIZES, ids=lambda config: config.label)
def test_ssu_sizes(simulator, config):
    arrays = config.inputs(13, 3)
    outs = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds())


# LLVM packs a bf16, or an f32, with a part that nothing wrote and nothing uses.
PACKED = [
    ("sm_80", SsdConfig(head_dim=3, state_dim=16, chunk_size=20, dtype="bf16", dt_dtype="bf16",
                        dt_bias=False, heads=2), 64),
    ("sm_80", SsdConfig(head_dim=44, state_dim=100, chunk_size=7, dtype="bf16", dt_dtype="bf16",
                        dt_bias=False, heads=3, initial_state=True), 15),
    ("sm_120a", SsuConfig(head_dim=20, state_dim=7, dtype="f16", dt_dtype="f16", tokens=3,
                          state_dtype="f16", z=True, dst_indices="fresh", heads=3), None),
    ("sm_103a", SsuConfig(head_dim=20, state_dim=7, state_dtype="bf16", D="head_dim", z=True,
                          dst_indices="fresh", heads=4, groups=2), None),
]


@pytest.mark.parametrize("target,config,length", PACKED,
                         ids=lambda value: getattr(value, "label", str(value)))
def test_packed_with_unwritten_parts(simulator, target, config, length):
    arrays = config.inputs(17, 1, length) if length else config.inputs(17, 3)
    outs = simulator.run(config.flags(), target, arrays, config.result_dtypes())
    bounds = config.bounds(arrays) if length else config.bounds()
    tolerance.check_all(outs, config.reference(arrays), bounds)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_of_warps_does_not_matter(simulator, seed):
    """Seeds permute warps and blocks; results have the same bits."""
    config = SsdConfig(dtype="bf16", dt_dtype="bf16", chunk_size=16, heads=2)
    arrays = config.inputs(seed, 1, 37)
    first = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes())
    second = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes(),
                           [f"--seed={seed}", "--jobs=1"])
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name], err_msg=name)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_agrees_with_cpu(simulator, dtype):
    """The compiler's own CPU code, within twice the bounds of the recurrence."""
    config = SsdConfig(dtype=dtype, dt_dtype=dtype, chunk_size=16, z=True, chunk_states=True)
    arrays = config.inputs(5, 2, 41)
    outs = simulator.run(config.flags(), "sm_90a", arrays, config.result_dtypes())
    done = simulator.invoke(
        simulator.find_compiler(), *config.flags(), "--target=cpu", "--run",
        *simulator.save(arrays),
        *[f"--result={name}=cpu_{name}.npy" for name in config.result_dtypes()])
    assert done.returncode == 0, done.stderr
    reference, bounds = config.reference(arrays), config.bounds(arrays)
    for name, out in outs.items():
        cpu = np.load(simulator.folder / f"cpu_{name}.npy").astype(np.float32)
        bound = bounds[name]
        twice = tolerance.Bound(2 * bound.rms, 2 * bound.element, 2 * bound.floor)
        tolerance.check(name, out, cpu, reference[f"{name}_scale"], twice)


def test_tf32(simulator):
    """f32 on tensor cores: factors are rounded."""
    config = SsdConfig(dtype="f32", heads=2, head_dim=64, state_dim=64, chunk_size=64, z=True)
    arrays = config.inputs(3, 2, 150)
    outs = simulator.run([*config.flags(), "--tf32"], "sm_90a", arrays, config.result_dtypes())
    step = recurrence.time_step(arrays["dt"], arrays.get("dt_bias"), config.softplus,
                                (0.0, np.inf))
    exponents = tolerance.exponent_range(arrays["A"] * step, config.chunk_size)
    tolerance.check_all(outs, config.reference(arrays),
                        tolerance.tf32_bounds(config.state_dtype, exponents))
    # It is not the multiply-adds of f32.
    exact = config.bounds(arrays)["y"]
    with pytest.raises(AssertionError):
        tolerance.check("y", outs["y"], config.reference(arrays)["y"],
                        config.reference(arrays)["y_scale"], exact)


def test_result_files_have_numpy_types(simulator):
    config = SsuConfig(dtype="bf16", dt_dtype="bf16", state_dtype="f16")
    simulator.run(config.flags(), "sm_90a", config.inputs(1, 2), config.result_dtypes())
    for name, dtype in config.result_dtypes().items():
        assert np.load(simulator.folder / f"out_{name}.npy").dtype == FILE_DTYPE[dtype]
