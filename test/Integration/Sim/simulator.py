"""Runs mamba-compile and mamba-sim with .npy files.

MAMBA_COMPILE and MAMBA_SIM name the tools; the defaults are in build/bin of
this checkout.
"""

import os
from pathlib import Path
import subprocess

import numpy as np
import pytest

INTEGRATION = Path(__file__).resolve().parents[1]
REPOSITORY = INTEGRATION.parents[1]
TIMEOUT_SECONDS = 300
FILE_DTYPE = {"f32": np.float32, "bf16": np.float32, "f16": np.float16}


def find_tool(name):
    variable = name.upper().replace("-", "_")
    path = Path(os.environ.get(variable, REPOSITORY / "build/bin" / name))
    if not path.is_file():
        pytest.exit(f"{path} does not exist; build it or set {variable}", 1)
    return path.resolve()


class Simulator:
    """mamba-compile and mamba-sim with a folder for their files."""

    def __init__(self, folder):
        self.tool = find_tool("mamba-sim")
        self.folder = folder

    def find_compiler(self):
        return find_tool("mamba-compile")

    def invoke(self, tool, *arguments):
        return subprocess.run([str(tool), *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=TIMEOUT_SECONDS, check=False)

    def simulate(self, *arguments):
        """Runs mamba-sim; returns the CompletedProcess."""
        return self.invoke(self.tool, *arguments)

    def save(self, arrays):
        """Writes NAME.npy for every array; returns the --arg flags."""
        flags = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            flags += ["--arg", f"{name}={name}.npy"]
        return flags

    def compile(self, flags, target):
        """Compiles to the bundle `bundle`."""
        done = self.invoke(self.find_compiler(), *flags, f"--target={target}", "--emit=bundle",
                           "-o", "bundle")
        assert done.returncode == 0, f"{' '.join(flags)}\n{done.stderr}"

    def run(self, flags, target, arrays, result_names, options=()):
        """Compiles for `target` and runs without findings; arrays by name."""
        self.compile(flags, target)
        outputs = [f"--result={name}=out_{name}.npy" for name in result_names]
        done = self.simulate("bundle", *self.save(arrays), *outputs, *options)
        assert done.returncode == 0, f"{target} {' '.join(flags)}\n{done.stderr}"
        assert not done.stderr
        return {name: np.load(self.folder / f"out_{name}.npy").astype(np.float32)
                for name in result_names}
