"""Paths of the tests of PTX text."""

from pathlib import Path
import sys

INTEGRATION = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(INTEGRATION), str(INTEGRATION / "CPU"), str(INTEGRATION / "Sim"),
                str(INTEGRATION / "PTX")]
