"""Compiles kernels to PTX and assembles them with ptxas, if there is one."""

from dataclasses import dataclass
import os
from pathlib import Path
import re
import resource
import shutil
import subprocess

from simulator import REPOSITORY, TIMEOUT_SECONDS, find_tool


def find_ptxas():
    """The path of ptxas: MAMBA_PTXAS, the one in .venv, on PATH, of a toolkit."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    candidates = [os.environ.get("MAMBA_PTXAS"),
                  *REPOSITORY.glob(".venv/lib/python3*/site-packages/nvidia/cu13/bin/ptxas"),
                  shutil.which("ptxas"), *[Path(home, "bin/ptxas") for home in homes if home]]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def knows(ptxas, target):
    """Whether this ptxas assembles for the target."""
    text = subprocess.run([ptxas, "--help"], text=True, capture_output=True, check=False).stdout
    return f"'{target}'" in text


@dataclass(frozen=True)
class Kernel:
    """What ptxas -v says of a kernel."""

    name: str
    registers: int
    stack: int
    spilled: int  # bytes stored and loaded


def compile_ptx(folder, flags, target):
    """(path of the PTX, processor seconds)."""
    path = folder / "kernels.ptx"
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([str(find_tool("mamba-compile")), *flags, f"--target={target}",
                           "--emit=ptx", "-o", str(path)], text=True, capture_output=True,
                          timeout=TIMEOUT_SECONDS, check=False)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.returncode == 0, f"{target} {' '.join(flags)}\n{done.stderr}"
    return path, seconds


def assemble(ptxas, path, target):
    """(the kernels, lines that are warnings or advice such as C7508)."""
    done = subprocess.run([ptxas, f"-arch={target}", "-v", "-o", os.devnull, str(path)],
                          text=True, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    kernels, name, memory = [], None, (0, 0, 0)
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            name = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                                r"(\d+) bytes spill loads", line):
            memory = tuple(map(int, match.groups()))
        elif match := re.search(r"Used (\d+) registers", line):
            kernels.append(Kernel(name, int(match[1]), memory[0], memory[1] + memory[2]))
    complaints = [line for line in text.splitlines()
                  if re.search(r"warning|error|\(C7\d+\)", line)]
    return kernels, complaints
