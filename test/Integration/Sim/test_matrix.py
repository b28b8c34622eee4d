"""Matrix instructions give what an H200 gave.

Every case also has to be without findings, and the same in any order of warps
and instructions in flight. Cases that the record lacks are only checked for
that.
"""

import numpy as np
import pytest

import matrix_cases as cases
import recorded
from simulator import Simulator

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def record():
    return recorded.load_records("matrix")


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives without findings, by seed and case name."""
    simulator = Simulator(tmp_path_factory.mktemp("matrix"))
    return recorded.Runs(simulator, cases, cases.CASES, record).run_seeds(SEEDS)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, results):
    first = results[SEEDS[0], case.name]
    assert first.any()
    for seed in SEEDS:
        assert (results[seed, case.name] == first).all(), f"seed {seed}"
    if case.name in record:
        different = np.flatnonzero((first != record[case.name]).any(axis=1))
        assert not len(different), f"{len(different)} threads differ, first {different[0]}"
