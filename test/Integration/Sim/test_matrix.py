"""Matrix instructions give what an H200 gave.

Every case also has to be without findings, and the same in any order of warps
and instructions in flight. Cases that the record lacks are only checked for
that.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import matrix_cases as cases
from simulator import Simulator
from test_instructions import describe

RECORD = Path(__file__).resolve().parents[1] / "GPU/h200_matrix.npz"
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def record():
    if not RECORD.exists():
        return {}
    with np.load(RECORD) as file:
        return dict(file)


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives without findings, by seed and case name."""
    simulator = Simulator(tmp_path_factory.mktemp("matrix"))
    (simulator.folder / "cases.ptx").write_text(cases.module(cases.CASES))
    (simulator.folder / "cases.json").write_text(json.dumps(describe(cases.CASES)))
    kinds = {case.kind for case in cases.CASES}
    flags = simulator.save({
        f"in_{kind}": record.get(f"inputs_{kind}", cases.inputs(kind)).view(np.int64)
        for kind in kinds})
    arrays = {}
    for seed in SEEDS:
        outputs = [f"--result=out_{case.name}={case.name}.npy" for case in cases.CASES]
        done = simulator.simulate("cases.ptx", "--launch=cases.json", f"--seed={seed}", *flags,
                                  *outputs)
        assert done.returncode == 0 and not done.stderr, done.stderr
        arrays[seed] = {case.name: np.load(simulator.folder / f"{case.name}.npy").view(np.uint64)
                        for case in cases.CASES}
    return arrays


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, results):
    first = results[0][case.name]
    assert first.any()
    for seed in SEEDS:
        assert (results[seed][case.name] == first).all(), f"seed {seed}"
    if case.name in record:
        different = np.flatnonzero((first != record[case.name]).any(axis=1))
        assert not len(different), f"{len(different)} threads differ, first {different[0]}"
