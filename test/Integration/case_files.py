"""All cases of the files *_cases.py: small kernels that a GPU and the simulator run."""

import importlib
from pathlib import Path

FILES = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))


def load(files=None):
    """The cases of these files, or of all, in order; names are unique."""
    cases = [case for name in files or FILES for case in importlib.import_module(name).CASES]
    assert len({case.name for case in cases}) == len(cases), "two cases have one name"
    return cases
