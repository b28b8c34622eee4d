"""Fixtures of the CPU numerics tests: runs mamba-compile with .npy files.

MAMBA_COMPILE names the tool; the default is build/bin/mamba-compile of this
checkout.
"""

import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import inputs  # noqa: E402  (needs the path above)

REPOSITORY = Path(__file__).resolve().parents[3]
TIMEOUT_SECONDS = 300
FILE_DTYPE = {"f32": np.float32, "bf16": np.float32, "f16": np.float16}


class Compiler:
    """mamba-compile with a folder for its files."""

    def __init__(self, tool, folder):
        self.tool = tool
        self.folder = folder

    def invoke(self, *arguments, stdin=""):
        """Runs the tool in the folder; returns the CompletedProcess."""
        return subprocess.run([str(self.tool), *map(str, arguments)], input=stdin,
                              cwd=self.folder, text=True, capture_output=True,
                              timeout=TIMEOUT_SECONDS, check=False)

    def save(self, arrays):
        """Writes NAME.npy for every array; returns the --arg flags."""
        flags = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            flags += ["--arg", f"{name}={name}.npy"]
        return flags

    def run(self, flags, arrays, result_dtypes):
        """Runs the kernel on the CPU; returns arrays by result name.

        Checks what holds for every successful run: exit code 0, the dtype of
        each file, and that the values are numbers of the result's dtype.
        """
        outputs = {name: f"out_{name}.npy" for name in result_dtypes}
        command = [*flags, "--target=cpu", "--run", *self.save(arrays)]
        for name, file in outputs.items():
            command += ["--result", f"{name}={file}"]
        done = self.invoke(*command)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        results = {}
        for name, dtype in result_dtypes.items():
            array = np.load(self.folder / outputs[name], allow_pickle=False)
            assert array.dtype == FILE_DTYPE[dtype], name
            rounded = inputs.round_to(array, dtype)
            assert np.array_equal(rounded, array, equal_nan=True), (
                f"{name} holds values that are not {dtype}")
            results[name] = array.astype(np.float32)
        return results


@pytest.fixture(scope="session")
def tool():
    path = Path(os.environ.get("MAMBA_COMPILE", REPOSITORY / "build/bin/mamba-compile"))
    if not path.is_file():
        pytest.exit(f"{path} does not exist; build it or set MAMBA_COMPILE", 1)
    return path.resolve()


@pytest.fixture
def compiler(tool, tmp_path):
    return Compiler(tool, tmp_path)
