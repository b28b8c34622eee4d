"""The simulator gives what an H200 gave for mbarriers, copies and clusters.

Every case also has to be without findings, in any order of warps and copies.
Cases that the record lacks are only checked for that, and for the same results
in each order.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import async_cases as cases
from simulator import Simulator

RECORD = Path(__file__).resolve().parents[1] / "GPU/h200_async.npz"
SEEDS = (0, 1, 2)


def describe(selected):
    """A function of a manifest with one launch a case."""
    def array(name, shape, role):
        return {"name": name, "dtype": "i64", "shape": shape, "role": role}

    def launch(case):
        buffers = {"in": f"in_{case.kind}", "out": f"out_{case.name}"}
        parameters = [{"kind": "pointer", "argument": name} for name in buffers.values()]
        if case.tensor:
            buffer, tensor = case.tensor
            parameters.append({"kind": "tensor_map", "argument": buffers[buffer], **tensor})
        return {"kernel": case.name, "grid": [case.cluster],
                "block": [cases.THREADS // case.cluster], "cluster": [case.cluster],
                "parameters": parameters}

    kinds = sorted({case.kind for case in selected})
    arguments = [array(f"in_{kind}", [3, cases.THREADS], "input") for kind in kinds]
    arguments += [array(f"out_{case.name}", [cases.THREADS, 2], "output") for case in selected]
    return {"name": "cases", "arguments": arguments,
            "launches": [launch(case) for case in selected]}


@pytest.fixture(scope="module")
def record():
    if not RECORD.exists():
        return {}
    with np.load(RECORD) as file:
        return dict(file)


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives by seed and case name."""
    simulator = Simulator(tmp_path_factory.mktemp("async"))
    (simulator.folder / "cases.ptx").write_text(cases.module(cases.CASES))
    (simulator.folder / "cases.json").write_text(json.dumps(describe(cases.CASES)))
    kinds = {case.kind for case in cases.CASES}
    flags = simulator.save({
        f"in_{kind}": record.get(f"inputs_{kind}", cases.inputs(kind)).view(np.int64)
        for kind in kinds})
    flags += [f"--result=out_{case.name}={case.name}.npy" for case in cases.CASES]
    found = {}
    for seed in SEEDS:
        done = simulator.simulate("cases.ptx", "--launch=cases.json", f"--seed={seed}", *flags)
        assert (done.returncode, done.stderr) == (0, "")
        for case in cases.CASES:
            path = simulator.folder / f"{case.name}.npy"
            found[seed, case.name] = np.load(path).view(np.uint64)
    return found


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
