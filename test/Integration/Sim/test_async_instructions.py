"""The simulator gives what an H200 gave for mbarriers, copies and clusters.

Every case also has to be without findings, in any order of warps and copies.
Cases that the record lacks are only checked for that, and for the same results
in each order.
"""

import numpy as np
import pytest

import async_cases as cases
import recorded
from simulator import Simulator

SEEDS = (0, 1, 2)


def describe_launch(case, buffers, pointers):
    """Its cluster, and its tensor map."""
    parameters = list(pointers)
    if case.tensor:
        buffer, tensor = case.tensor
        parameters.append({"kind": "tensor_map", "argument": buffers[buffer], **tensor})
    return {"grid": [case.cluster], "block": [cases.THREADS // case.cluster],
            "cluster": [case.cluster], "parameters": parameters}


@pytest.fixture(scope="module")
def record():
    return recorded.load_records("async")


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives by seed and case name."""
    simulator = Simulator(tmp_path_factory.mktemp("async"))
    return recorded.Runs(simulator, cases, cases.CASES, record, describe_launch).run_seeds(SEEDS)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, results):
    expected = record.get(case.name, results[SEEDS[0], case.name])
    for seed in SEEDS:
        actual = results[seed, case.name]
        different = np.flatnonzero((expected != actual).any(axis=1))
        thread = different[0] if len(different) else 0
        assert not len(different), (
            f"seed {seed}: {len(different)} threads differ, first {thread}: "
            f"{[hex(w) for w in actual[thread]]}, expected {[hex(w) for w in expected[thread]]}")
