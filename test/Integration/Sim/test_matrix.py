"""Matrix instructions give what an H200 gave; without a record they run clean."""

import json

import numpy as np
import pytest

import instruction_cases
import matrix_cases
from simulator import Simulator
from test_instructions import RECORD, describe


@pytest.fixture(scope="module")
def record():
    with np.load(RECORD) as file:
        return dict(file)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the simulator gives without findings, by case name."""
    simulator = Simulator(tmp_path_factory.mktemp("matrix"))
    cases = matrix_cases.CASES
    (simulator.folder / "cases.ptx").write_text(instruction_cases.module(cases))
    (simulator.folder / "cases.json").write_text(json.dumps(describe(cases)))
    flags = simulator.save({f"in_{kind}": instruction_cases.inputs(kind).view(np.int64)
                            for kind in {case.kind for case in cases}})
    flags += [f"--result=out_{case.name}={case.name}.npy" for case in cases]
    done = simulator.simulate("cases.ptx", "--launch=cases.json", *flags)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {case.name: np.load(simulator.folder / f"{case.name}.npy").view(np.uint64)
            for case in cases}


@pytest.mark.parametrize("case", matrix_cases.CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, results):
    assert results[case.name].any()
    if case.name not in record:
        pytest.skip("not recorded yet")
    assert (results[case.name] == record[case.name]).all()
