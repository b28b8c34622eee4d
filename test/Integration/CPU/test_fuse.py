"""mamba-fuse keeps the meaning, bit for bit: loops over blocks run on the CPU as
they are and fused, lowered by upstream's passes.

MAMBA_OPT names the tool.
"""

import ctypes
import subprocess

import numpy as np
import pytest

import fuse_programs
from test_vectorize import DTYPE, OPT, PIPELINE, TOLERANCE, find_tool, run


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a program once; returns its function and its IR."""
    cache = {}

    def compile_program(element, keeps_states, passes):
        key = element, keeps_states, passes
        if key not in cache:
            name = "attention"
            folder = tmp_path_factory.mktemp(name)
            tensors = subprocess.run(
                [OPT, f"--pass-pipeline=builtin.module({passes}canonicalize,cse)"],
                input=fuse_programs.program(name, element, keeps_states), text=True,
                capture_output=True, check=True)
            assert not tensors.stderr
            lowered = subprocess.run([OPT, "--pass-pipeline=" + PIPELINE.format(first="")],
                                     input=tensors.stdout, text=True, capture_output=True,
                                     check=True)
            ir = subprocess.run([find_tool("mlir-translate"), "--mlir-to-llvmir"],
                                input=lowered.stdout, text=True, capture_output=True, check=True)
            library = folder / "program.so"
            subprocess.run([find_tool("clang"), "-x", "ir", "-", "-shared", "-fPIC", "-O1",
                            "-Wno-override-module", "-lm", "-o", library], input=ir.stdout,
                           text=True, check=True)
            function = ctypes.CDLL(str(library))[f"_mlir_ciface_{name}"]
            cache[key] = function, tensors.stdout
        return cache[key]
    return compile_program


@pytest.mark.parametrize("keeps_states", [False, True])
@pytest.mark.parametrize("heads,length", [(1, 1), (2, 3), (3, 4), (1, 5), (2, 8), (3, 21), (2, 0)])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_fused(build, element, heads, length, keeps_states):
    rng = np.random.default_rng(length)
    arguments = [rng.standard_normal((heads, length, width)).astype(DTYPE[element])
                 for width in (6, 6, 5)]
    arguments.append(-rng.random((heads, length)).astype(np.float32))
    shapes = [(heads, length, 5), (heads, 5, 6)]
    outs = []
    for passes in ("", "mamba-fuse,"):
        function, text = build(element, keeps_states, passes)
        assert text.count("scf.forall (") == (1 if passes else 3)
        extra = [(heads, -(-length // 4), 5, 6)] if keeps_states and element == "f32" else []
        if keeps_states and element != "f32":
            pytest.skip("results of the helper are of f32")
        outs.append(run(function, arguments, *shapes, *extra))
    for plain, fused in zip(*outs):
        np.testing.assert_array_equal(fused, plain)
    for out, expected in zip(outs[1], fuse_programs.attention(*arguments)):
        scale = max(1, np.abs(expected).max(initial=0))
        np.testing.assert_allclose(out, expected, rtol=0, atol=TOLERANCE[element] * scale)
