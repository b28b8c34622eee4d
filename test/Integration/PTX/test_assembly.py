"""What ptxas makes of the kernels: no spills, no stack, no warnings.

Also how long the compiler takes: two seconds a kernel on a machine of its own,
of processor time, and thrice that here. `-s` prints the longest.
"""

import json

import pytest

from assembler import assemble, compile_ptx, find_ptxas, knows
from configs import SSU_OPTIONS, SsdConfig, SsuConfig, config_of, is_legal_ssu
from pairwise import all_pairs
from simulator import REPOSITORY

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a"]
SECONDS_PER_KERNEL = 2.0
SLACK = 3

SHAPE = {
    "target": TARGETS,
    "head_dim": [64, 80, 96, 128],
    "state_dim": [16, 32, 64, 128, 256],
    "dtype": ["bf16", "f16", "f32"],
    "state_is_f32": [False, True],
    "heads_groups": [(4, 1)],
    "z": [False, True],
    "D": ["head", "head_dim"],
}

SSD_FACTORS = {
    **SHAPE,
    "chunk_size": [64, 128, 256],
    "seq_idx": [None, "packed"],
    "initial_state": [False, True],
    "chunk_states": [False, True],
}

SSU_FACTORS = {**SHAPE, "tokens": [None, 4],
               **{name: SSU_OPTIONS[name] for name in (
                   "indices", "dst_indices", "intermediate_states", "state_update")}}


def cases(kind, factors, allowed, seed):
    for row in all_pairs(factors, allowed=allowed, seed=seed):
        fields = dict(row)
        target = fields.pop("target")
        config = config_of(kind, fields)
        yield pytest.param(config.flags(), target, id=f"{target}-{config.label}")


def model_cases():
    """Each shape of a preset for one target, so that each target has some."""
    models = json.loads((REPOSITORY / "lib/Models/models.json").read_text())
    shapes = {(m["head_dim"], m["state_dim"], m["chunk_size"]): m["name"] for m in models}
    for i, model in enumerate(shapes.values()):
        target = TARGETS[i % len(TARGETS)]
        for op in ("ssd", "ssu"):
            flags = [f"--model={model}", f"--op={op}"]
            flags += ["--state-indices"] if op == "ssu" else []
            yield pytest.param(flags, target, id=f"{target}-{model}-{op}")


CASES = [*model_cases(), *cases(SsdConfig, SSD_FACTORS, lambda row: True, 5),
         *cases(SsuConfig, SSU_FACTORS, is_legal_ssu, 6)]


@pytest.fixture(scope="module")
def ptxas():
    path = find_ptxas()
    if path is None:
        pytest.skip("there is no ptxas (tools/setup.sh --with-ptxas gets it)")
    return path


@pytest.fixture(scope="module")
def longest():
    """Seconds a kernel and the case, of the case that took longest."""
    times = [(0.0, "")]
    yield times
    seconds, case = max(times)
    print(f"\nlongest compilation: {seconds:.2f} s a kernel, {case}")


@pytest.mark.parametrize("flags,target", CASES)
def test_assembles(ptxas, longest, tmp_path, flags, target):
    if not knows(ptxas, target):
        pytest.skip(f"this ptxas does not know {target}")
    path, seconds = compile_ptx(tmp_path, flags, target)
    kernels, complaints = assemble(ptxas, path, target)
    assert kernels
    assert not complaints
    assert not [kernel for kernel in kernels if kernel.stack or kernel.spilled]
    longest.append((seconds / len(kernels), f"{target} {' '.join(flags)}"))
    assert seconds / len(kernels) <= SLACK * SECONDS_PER_KERNEL
