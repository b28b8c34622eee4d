"""Fixtures of the simulator's tests."""

from pathlib import Path
import sys

import pytest

INTEGRATION = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(INTEGRATION), str(INTEGRATION / "CPU"), str(INTEGRATION / "Sim")]

from simulator import Simulator  # noqa: E402  (needs the path above)


@pytest.fixture
def simulator(tmp_path):
    return Simulator(tmp_path)
