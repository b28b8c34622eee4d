"""The simulator gives what an H200 gave, instruction by instruction."""

import numpy as np
import pytest

import call_cases
import instruction_cases as cases
import recorded
from simulator import Simulator

CASES = cases.CASES + call_cases.CASES
FLOATS = {"f32": (np.uint32, np.float32), "f16": (np.uint16, np.float16)}


@pytest.fixture(scope="module")
def record():
    return recorded.load_records("instructions", "calls")


@pytest.fixture(scope="module")
def results(tmp_path_factory, record):
    """What the simulator gives, by case name."""
    simulator = Simulator(tmp_path_factory.mktemp("instructions"))
    return recorded.Runs(simulator, cases, CASES, record).run("--force")[1]


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
