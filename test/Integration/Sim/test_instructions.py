"""The simulator gives what an H200 gave, instruction by instruction."""

import json
from pathlib import Path

import numpy as np
import pytest

import call_cases
import instruction_cases as cases
from simulator import Simulator

GPU = Path(__file__).resolve().parents[1] / "GPU"
RECORDS = [GPU / "h200_instructions.npz", GPU / "h200_calls.npz"]
CASES = cases.CASES + call_cases.CASES
FLOATS = {"f32": (np.uint32, np.float32), "f16": (np.uint16, np.float16)}


def describe(selected):
    """A function of a manifest with one launch a case."""
    def array(name, shape, role):
        return {"name": name, "dtype": "i64", "shape": shape, "role": role}

    kinds = sorted({case.kind for case in selected})
    arguments = [array(f"in_{kind}", [3, cases.THREADS], "input") for kind in kinds]
    arguments += [array(f"out_{case.name}", [cases.THREADS, 2], "output") for case in selected]
    launches = [{"kernel": case.name, "grid": [1], "block": [cases.THREADS],
                 "parameters": [{"kind": "pointer", "argument": f"in_{case.kind}"},
                                {"kind": "pointer", "argument": f"out_{case.name}"}]}
                for case in selected]
    return {"name": "cases", "arguments": arguments, "launches": launches}


@pytest.fixture(scope="module")
def record():
    arrays = {}
    for path in filter(Path.exists, RECORDS):
        with np.load(path) as file:
            arrays.update(file)
    return arrays


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives, by case name."""
    simulator = Simulator(tmp_path_factory.mktemp("instructions"))
    (simulator.folder / "cases.ptx").write_text(cases.module(CASES))
    (simulator.folder / "cases.json").write_text(json.dumps(describe(CASES)))
    kinds = {case.kind for case in CASES}
    flags = simulator.save({
        f"in_{kind}": record.get(f"inputs_{kind}", cases.inputs(kind)).view(np.int64)
        for kind in kinds})
    flags += [f"--result=out_{case.name}={case.name}.npy" for case in CASES]
    done = simulator.simulate("cases.ptx", "--launch=cases.json", "--force", *flags)
    assert done.returncode == 0, done.stderr
    return {case.name: np.load(simulator.folder / f"{case.name}.npy").view(np.uint64)
            for case in CASES}


def as_floats(words, type_name):
    """All results as float64; bf16 by way of float32."""
    if type_name == "bf16":
        halves = np.ascontiguousarray(words).view(np.uint16).astype(np.uint32)
        return (halves << np.uint32(16)).view(np.float32).astype(np.float64)
    bits, floats = FLOATS[type_name]
    return np.ascontiguousarray(words).view(bits).view(floats).astype(np.float64)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equals_h200(case, record, results):
    if case.name not in record:
        pytest.skip("not in the record; GPU/check_instructions.py makes one")
    expected, actual = record[case.name], results[case.name]
    if case.error is None:
        different = np.flatnonzero((expected != actual).any(axis=1))
        thread = different[0] if len(different) else 0
        given = [f"{int(word):#x}" for word in record[f"inputs_{case.kind}"][:, thread]]
        assert not len(different), (
            f"{len(different)} threads differ, first {thread}: inputs {given}, "
            f"{[hex(w) for w in actual[thread]]}, H200 {[hex(w) for w in expected[thread]]}")
        return
    type_name, bound, *absolute = case.error
    with np.errstate(invalid="ignore", over="ignore"):
        want, got = as_floats(expected, type_name), as_floats(actual, type_name)
        same = (want == got) | (np.isnan(want) & np.isnan(got))
        error = np.abs(want - got)
        # Subnormal results are off by units of the smallest number.
        floor = {"f32": 2.0**-148, "f16": 2.0**-23, "bf16": 2.0**-132}[type_name]
        close = error <= np.maximum(bound * np.abs(want), max([floor, *absolute]))
        different = np.flatnonzero(~(same | close))
    place = different[0] if len(different) else 0
    assert not len(different), (
        f"{len(different)} differ, first {place}: {got[place]}, H200 {want[place]}")
