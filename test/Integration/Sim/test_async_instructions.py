"""The simulator gives what an H200 gave for mbarriers, copies and clusters.

Every case also has to be without findings, in any order of warps and copies.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import async_cases as cases

RECORD = Path(__file__).resolve().parents[1] / "GPU/h200_async.npz"


def describe(case):
    """A function of a manifest with one launch."""
    def array(name, shape, role):
        return {"name": name, "dtype": "i64", "shape": shape, "role": role}

    parameters = [{"kind": "pointer", "argument": "in"}, {"kind": "pointer", "argument": "out"}]
    if case.tensor:
        argument, tensor = case.tensor
        parameters.append({"kind": "tensor_map", "argument": argument, **tensor})
    return {"name": case.name,
            "arguments": [array("in", [3, cases.THREADS], "input"),
                          array("out", [cases.THREADS, 2], "output")],
            "launches": [{"kernel": case.name, "grid": [case.cluster],
                          "block": [cases.THREADS // case.cluster], "cluster": [case.cluster],
                          "parameters": parameters}]}


@pytest.fixture(scope="module")
def record():
    with np.load(RECORD) as file:
        return dict(file)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, simulator):
    (simulator.folder / "k.ptx").write_text(cases.module([case]))
    (simulator.folder / "k.json").write_text(json.dumps(describe(case)))
    flags = simulator.save({"in": record[f"inputs_{case.kind}"].view(np.int64)})
    for seed in (0, 1):
        done = simulator.simulate("k.ptx", "--launch=k.json", "--result=out=out.npy",
                                  f"--seed={seed}", *flags)
        assert (done.returncode, done.stderr) == (0, "")
        actual = np.load(simulator.folder / "out.npy").view(np.uint64)
        different = np.flatnonzero((record[case.name] != actual).any(axis=1))
        thread = different[0] if len(different) else 0
        assert not len(different), (
            f"{len(different)} threads differ, first {thread}: {[hex(w) for w in actual[thread]]}, "
            f"H200 {[hex(w) for w in record[case.name][thread]]}")
