"""mamba-vectorize keeps the meaning: programs of blocks run on the CPU as linalg
and as vectors, lowered by upstream's passes, against numpy.

Tokens stop within tiles, and past their end memory holds NaN: an element that
is read too much, or a sum that is not masked, shows.
"""

import ctypes

import numpy as np
import pytest

from native import apply_passes, compile_function
import tile_programs


def as_memref(array):
    """A memref descriptor of an array, alive as long as the array."""
    class Descriptor(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                    ("offset", ctypes.c_int64),
                    ("sizes", ctypes.c_int64 * array.ndim),
                    ("strides", ctypes.c_int64 * array.ndim)]
    strides = [stride // array.itemsize for stride in array.strides]
    return Descriptor(array.ctypes.data, array.ctypes.data, 0,
                      (ctypes.c_int64 * array.ndim)(*array.shape),
                      (ctypes.c_int64 * array.ndim)(*strides))


def padded(array):
    """The array with NaN behind it in memory."""
    flat = np.full(array.size + 4096, np.nan, dtype=array.dtype)
    flat[:array.size] = array.ravel()
    return flat[:array.size].reshape(array.shape)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compiles a module of tile_programs once; returns its function."""
    cache = {}

    def compile_module(program, element, is_vector):
        name = program.split("@")[1].split("(")[0]
        key = name, element, is_vector
        if key not in cache:
            folder = tmp_path_factory.mktemp(name)
            first = "mamba-vectorize{all=true},"
            tensors = apply_passes(tile_programs.text(program, element),
                                   first + "cse" if is_vector else "cse")
            assert ("mamba.vectorized" in tensors.stdout) == is_vector
            assert ("linalg" in tensors.stdout) != is_vector, tensors.stderr
            cache[key] = compile_function(tensors.stdout, name, folder)
        return cache[key]
    return compile_module


def run(function, arguments, *shapes):
    """Calls the function; returns its results, of f32."""
    results = [np.full(np.prod(shape) + 64, 7, dtype=np.float32)
               for shape in shapes]
    arrays = [padded(array) for array in arguments]
    arrays += [result[:np.prod(shape)].reshape(shape)
               for result, shape in zip(results, shapes)]
    memrefs = [as_memref(array) for array in arrays]
    function(*[ctypes.byref(memref) for memref in memrefs])
    for result, shape in zip(results, shapes):
        assert (result[np.prod(shape):] == 7).all(), "written past the end"
    return [array.copy() for array in arrays[len(arguments):]]


# Both compute sums of the same rounded products in f32; only their order and
# the library's exponential may differ.
TOLERANCE = {"f32": 1e-5, "f16": 4e-3}
DTYPE = {"f32": np.float32, "f16": np.float16}


def check(both, expected, element):
    linalg, vectors = both
    for from_linalg, from_vectors, reference in zip(linalg, vectors, expected):
        scale = max(1, np.abs(reference).max())
        np.testing.assert_allclose(from_vectors, from_linalg, rtol=0,
                                   atol=1e-6 * scale)
        np.testing.assert_allclose(from_vectors, reference, rtol=0,
                                   atol=TOLERANCE[element] * scale)


@pytest.mark.parametrize("length", [1, 3, 4, 7, 8, 9, 21])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_causal(build, element, length):
    rng = np.random.default_rng(length)
    arguments = [rng.standard_normal((length, width)).astype(DTYPE[element])
                 for width in (5, 5, 6)]
    arguments.append(-np.cumsum(rng.random(length)).astype(np.float32))
    arguments.append(rng.standard_normal((6, 5)).astype(DTYPE[element]))
    both = [run(build(tile_programs.CAUSAL, element, is_vector), arguments,
                (length, 6)) for is_vector in (False, True)]
    check(both, [tile_programs.causal(*arguments)], element)


# Past the end, 1 / w is infinite and meets zeros of x.
@pytest.mark.parametrize("length", [1, 4, 6, 11])
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_states(build, element, length):
    rng = np.random.default_rng(length)
    chunks = -(-length // 4)
    arguments = [rng.standard_normal((length, 5)).astype(DTYPE[element]),
                 rng.standard_normal((length, 6)).astype(DTYPE[element]),
                 1 + rng.random(length).astype(np.float32),
                 rng.random(chunks).astype(np.float32)]
    both = [run(build(tile_programs.STATES, element, is_vector), arguments,
                (chunks, 5, 6), (5, 6)) for is_vector in (False, True)]
    check(both, tile_programs.states(*arguments), element)


# All numbers are negative, so that a zero past the end would be the maximum.
@pytest.mark.parametrize("shape", [(1, 1), (4, 7), (6, 5), (9, 3)])
def test_softmax(build, shape):
    x = -100 + np.random.default_rng(0).random(shape).astype(np.float32)
    both = [run(build(tile_programs.SOFTMAX, "f32", is_vector), [x],
                shape[::-1]) for is_vector in (False, True)]
    check(both, [tile_programs.softmax(x)], "f32")
