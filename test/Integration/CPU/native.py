"""Functions of MLIR programs, lowered by upstream's passes and compiled by clang.
MAMBA_OPT names mamba-opt."""

import ctypes
import os
from pathlib import Path
import shutil
import subprocess

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
OPT = os.environ.get("MAMBA_OPT", str(REPOSITORY / "build/bin/mamba-opt"))
_TO_BUFFERS = """canonicalize,cse,
    mamba-separate-destinations,mamba-results-to-arguments,
    eliminate-empty-tensors,
    one-shot-bufferize{allow-return-allocs-from-loops=true},
    mamba-copies-to-linalg,canonicalize,cse,canonicalize,"""
_FROM_BUFFERS = """
    func.func(scf-forall-to-for,convert-linalg-to-loops,
      lower-vector-multi-reduction,convert-vector-to-scf{full-unroll=true},
      llvm-request-c-wrappers),
    convert-vector-to-llvm{vector-contract-lowering=outerproduct},
    expand-strided-metadata,lower-affine,canonicalize,cse,
    convert-math-to-llvm,convert-math-to-libm,convert-scf-to-cf,
    convert-index-to-llvm,convert-vector-to-llvm,convert-arith-to-llvm,
    finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,
    convert-ub-to-llvm,reconcile-unrealized-casts"""


def find_tool(name):
    """The path of a tool of LLVM 22, or a skip."""
    for candidate in (f"{name}-22", name):
        path = shutil.which(candidate)
        if path:
            return path
    return pytest.skip(f"no {name}")


def _run(command, text):
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True)


def apply_passes(text, passes):
    """The finished run of mamba-opt with passes of a module, comma-separated."""
    return _run([OPT, f"--pass-pipeline=builtin.module({passes})"], text)


def compile_function(text, name, folder, on_buffers=False):
    """The function `name` of a program on tensors, or on buffers. Its arguments are
    pointers to memref descriptors, results last. The library stays in the folder."""
    lowered = apply_passes(text, ("" if on_buffers else _TO_BUFFERS) + _FROM_BUFFERS)
    assert not lowered.stderr
    ir = _run([find_tool("mlir-translate"), "--mlir-to-llvmir"], lowered.stdout)
    library = folder / "program.so"
    _run([find_tool("clang"), "-x", "ir", "-", "-shared", "-fPIC", "-O1",
          "-Wno-override-module", "-lm", "-o", library], ir.stdout)
    return ctypes.CDLL(str(library))[f"_mlir_ciface_{name}"]
