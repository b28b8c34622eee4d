"""Runs the kernels of a bundle on an NVIDIA GPU: python3, numpy and libcuda only.

A bundle is a folder with manifest.json (version 1 or 2) and PTX files, written by
mamba-compile --emit=bundle. As a program:

    python run_bundle.py FOLDER --arg x=x.npy ... --result y=y.npy ...
                         [--function NAME] [--dry-run]

Arrays: bf16 arguments are given as float arrays (rounded to nearest even) and
returned as float32; every other dtype is its numpy dtype.

Before a run, outputs and workspace hold 0xFF bytes (NaN in every float dtype),
so that an element nothing wrote is seen. Every buffer lies between guard bytes
that are checked afterwards, and so are the inputs, which no kernel may change.
"""

import argparse
import ast
import json
import math
from pathlib import Path
import sys

import numpy as np

from cuda_driver import TENSOR_MAP_DATA_TYPE, CudaError, Driver, DryDriver, TensorMap

MANIFEST_VERSIONS = (1, 2)
POISON = 0xFF
GUARD = 0x5A
GUARD_BYTES = 4096  # on both sides; keeps the alignment of the allocation
NUMPY_DTYPE = {"bf16": np.dtype(np.uint16), "f16": np.dtype(np.float16),
               "f32": np.dtype(np.float32), "i32": np.dtype(np.int32),
               "i64": np.dtype(np.int64)}


class BundleError(ValueError):
    """The manifest is wrong, or arrays do not fit it, or a kernel misbehaved."""


# Size expressions.

def _division(function):
    def divide(a, b):
        if b <= 0:
            raise BundleError(f"division by {b} in a size expression")
        return function(a, b)
    return divide


FUNCTIONS = {"ceildiv": _division(lambda a, b: -(-a // b)),
             "floordiv": _division(lambda a, b: a // b),
             "mod": _division(lambda a, b: a % b), "min": min, "max": max}
OPERATORS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b,
             ast.Mult: lambda a, b: a * b}


def evaluate(expression, sizes):
    """Integer value of a size expression: an int, or text with symbols of
    `sizes`, integers, + - * ( ) and the two-argument FUNCTIONS."""
    if isinstance(expression, int) and not isinstance(expression, bool):
        return expression

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in sizes:
            return sizes[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in FUNCTIONS and len(node.args) == 2 and not node.keywords):
            return FUNCTIONS[node.func.id](value(node.args[0]), value(node.args[1]))
        raise BundleError(f"not a size expression: {expression!r}")

    try:
        return value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, TypeError) as error:
        raise BundleError(f"not a size expression: {expression!r}") from error


# Arrays to device bytes and back.

def encode(array, dtype):
    """Contiguous array with the device's bytes of `array` as dtype."""
    array = np.asarray(array)
    if dtype not in NUMPY_DTYPE:
        raise BundleError(f"unknown dtype {dtype}")
    if (dtype[0] == "i") != (array.dtype.kind in "iu"):
        raise BundleError(f"{array.dtype} array for a {dtype} argument")
    if dtype != "bf16":
        return np.ascontiguousarray(array, dtype=NUMPY_DTYPE[dtype])
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    even = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(is_nan, (bits >> np.uint32(16)) | np.uint32(0x40),
                    (bits + even) >> np.uint32(16)).astype(np.uint16)


def decode(array, dtype):
    """The inverse of encode; bf16 becomes float32."""
    if dtype != "bf16":
        return array
    return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)


class _Buffer:
    """Device memory of one array or workspace between guard bytes."""

    def __init__(self, driver, size):
        self._driver, self.size = driver, size
        self._base = driver.allocate(size + 2 * GUARD_BYTES)
        self.address = self._base + GUARD_BYTES
        driver.fill(self._base, GUARD, size + 2 * GUARD_BYTES)
        driver.fill(self.address, POISON, size)

    def guards_intact(self):
        guard = np.empty(GUARD_BYTES, dtype=np.uint8)
        for address in (self._base, self.address + self.size):
            self._driver.download(address, guard)
            if (guard != GUARD).any():
                return False
        return True

    def free(self):
        self._driver.free(self._base)


class Call:
    """One function with its arrays on the device; a context manager."""

    def __init__(self, bundle, function, arrays):
        self._driver, self._arguments = bundle.driver, function["arguments"]
        self._inputs = {}
        self._buffers = {}
        try:
            self.sizes = _sizes(function, arrays)
            self._place_arguments(arrays)
            for space in function.get("workspace", []):
                size = evaluate(space["bytes"], self.sizes)
                if size < 0:
                    raise BundleError(f"workspace {space['name']} of {size} bytes")
                self._place("workspace", space["name"], size)
            self._launches = [launch for launch in (
                self._prepare(bundle, entry) for entry in function["launches"]) if launch]
        except BaseException:
            self.free()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    def _place(self, kind, name, size):
        if (kind, name) in self._buffers:
            raise BundleError(f"{kind} {name} occurs twice")
        self._buffers[kind, name] = _Buffer(self._driver, size)
        return self._buffers[kind, name]

    def _place_arguments(self, arrays):
        self._shapes = {}
        for argument in self._arguments:
            name = argument["name"]
            shape = tuple(evaluate(size, self.sizes) for size in argument["shape"])
            self._shapes[name] = shape
            size = int(np.prod(shape, dtype=np.int64)) * NUMPY_DTYPE[argument["dtype"]].itemsize
            buffer = self._place("argument", name, size)
            if argument["role"] == "output":
                continue
            if np.shape(arrays[name]) != shape:
                raise BundleError(f"{name}: shape {np.shape(arrays[name])}, expected {shape}")
            self._inputs[name] = encode(arrays[name], argument["dtype"])
            self._driver.upload(buffer.address, self._inputs[name])

    def _prepare(self, bundle, launch):
        """Arguments of Driver.launch, or None for an empty grid."""
        grid = tuple(evaluate(size, self.sizes) for size in launch["grid"])
        if len(grid) != 3 or min(grid) < 0:
            raise BundleError(f"{launch['kernel']}: grid {grid}")
        if 0 in grid:
            return None
        shared = evaluate(launch["shared_bytes"], self.sizes)
        kernel = bundle.kernel(launch["ptx"], launch["kernel"], shared)
        parameters = [self._parameter(p) for p in launch["parameters"]]
        return (kernel, grid, tuple(launch["block"]), tuple(launch.get("cluster", (1, 1, 1))),
                shared, parameters)

    def _parameter(self, parameter):
        kind = parameter["kind"]
        if kind == "i64":
            return evaluate(parameter["value"], self.sizes)
        for space in ("argument", "workspace"):
            if kind in ("pointer", "tensor_map") and (space, parameter.get(space)) in self._buffers:
                address = self._buffers[space, parameter[space]].address
                return address if kind == "pointer" else self._tensor_map(parameter, address)
        raise BundleError(f"unknown parameter {parameter}")

    def _tensor_map(self, parameter, base):
        """A tensor map; one of an empty tensor, which there is not, becomes that
        of one zero."""
        dtype = parameter["dtype"]
        if dtype not in TENSOR_MAP_DATA_TYPE:
            raise BundleError(f"no tensor map of {dtype}")
        element_bytes = NUMPY_DTYPE[dtype].itemsize
        sizes = tuple(evaluate(size, self.sizes) for size in parameter["sizes"])
        strides = tuple(element_bytes * evaluate(stride, self.sizes)
                        for stride in parameter["strides"])
        address = base + element_bytes * evaluate(parameter["offset"], self.sizes)
        if 0 in sizes:
            if ("zeros", "") not in self._buffers:
                self._buffers["zeros", ""] = _Buffer(self._driver, 128)
            address = self._buffers["zeros", ""].address
            self._driver.fill(address, 0, 128)
            sizes, strides = (1,) * len(sizes), (16,) * len(strides)
        if address % 16 or any(stride % 16 for stride in strides):
            raise BundleError(f"tensor map at {address} with strides of {strides} bytes")
        return TensorMap(address, dtype, sizes, strides, tuple(parameter["box"]),
                         tuple(parameter["element_strides"]), parameter["swizzle"],
                         parameter["l2_promotion"], parameter["fill"])

    def launch(self):
        """Queues all launches in order."""
        for launch in self._launches:
            self._driver.launch(*launch)

    def results(self):
        """Waits, checks guards and inputs, and returns outputs by result name."""
        self._driver.synchronize()
        for (_, name), buffer in self._buffers.items():
            if not buffer.guards_intact():
                raise BundleError(f"{name}: a kernel wrote outside of the buffer")
        results = {}
        for argument in self._arguments:
            name, dtype, role = argument["name"], argument["dtype"], argument["role"]
            array = np.empty(self._shapes[name], dtype=NUMPY_DTYPE[dtype])
            self._driver.download(self._buffers["argument", name].address, array)
            if role != "input":
                results[argument.get("result", name)] = decode(array, dtype)
            elif array.tobytes() != self._inputs[name].tobytes():
                raise BundleError(f"{name}: a kernel changed an input")
        return results

    def time_us(self, repeats=20, warm_up=3):
        """Median device time of all launches, microseconds. inout arguments go
        on from where they are."""
        for _ in range(warm_up):
            self.launch()
        return float(np.median([self._driver.elapsed_us(self.launch) for _ in range(repeats)]))

    def free(self):
        for buffer in self._buffers.values():
            buffer.free()
        self._buffers = {}


def _sizes(function, arrays):
    """Values of the size symbols; also checks the names of the arrays."""
    given = {a["name"]: a for a in function["arguments"] if a["role"] != "output"}
    for name in given.keys() - arrays.keys():
        raise BundleError(f"argument {name} is missing")
    for name in arrays.keys() - given.keys():
        raise BundleError(f"{function['name']} has no argument {name}")
    sizes = {}
    for symbol, source in function.get("sizes", {}).items():
        name, axis = source["argument"], source["stride" if "stride" in source else "axis"]
        if name not in given:
            raise BundleError(f"size {symbol} comes from {name}, which is not an input")
        shape = np.shape(arrays[name])
        if axis >= len(shape):
            raise BundleError(f"{name}: shape {shape} has no axis {axis}")
        # Arrays are dense here.
        sizes[symbol] = math.prod(shape[axis + 1:]) if "stride" in source else shape[axis]
    return sizes


class Bundle:
    """A loaded bundle folder."""

    def __init__(self, folder, driver=None):
        self.folder = Path(folder)
        self.driver = driver if driver is not None else Driver()
        manifest = json.loads((self.folder / "manifest.json").read_text())
        if manifest.get("version") not in MANIFEST_VERSIONS:
            raise BundleError(f"manifest version {manifest.get('version')}, expected "
                              + " or ".join(map(str, MANIFEST_VERSIONS)))
        self.target = manifest["target"]
        self.functions = {f["name"]: f for f in manifest["functions"]}
        self._modules, self._kernels = {}, {}

    def function(self, name=None):
        """Manifest entry of a function, with what its first variant has; without a
        name the only one."""
        if name is None and len(self.functions) == 1:
            name = next(iter(self.functions))
        if name not in self.functions:
            raise BundleError(f"no function {name}; there are {', '.join(self.functions)}")
        function = self.functions[name]
        return {**function, **function.get("variants", [{}])[0]}

    def kernel(self, ptx, name, shared_bytes):
        """Kernel of a PTX file of the folder, loaded once."""
        if ptx not in self._modules:
            self._modules[ptx] = self.driver.load_module((self.folder / ptx).read_bytes())
        key = ptx, name, shared_bytes
        if key not in self._kernels:
            self._kernels[key] = self.driver.kernel(self._modules[ptx], name, shared_bytes)
        return self._kernels[key]

    def call(self, function, arrays):
        """A Call with `arrays` (dict by argument name) uploaded."""
        return Call(self, self.function(function), arrays)

    def run(self, function, arrays):
        """Runs a function once; returns a dict of arrays by result name."""
        with self.call(function, arrays) as call:
            call.launch()
            return call.results()


def _pairs(texts):
    pairs = [text.partition("=")[::2] for text in texts]
    if len({name for name, _ in pairs}) != len(pairs) or not all(path for _, path in pairs):
        raise BundleError("expected NAME=FILE, each name once")
    return dict(pairs)


def main():
    parser = argparse.ArgumentParser(description="run a function of a bundle")
    parser.add_argument("folder")
    parser.add_argument("--function")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--result", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--dry-run", action="store_true", help="print launches, use no GPU")
    options = parser.parse_args()
    try:
        driver = DryDriver() if options.dry_run else Driver()
        bundle = Bundle(options.folder, driver)
        arrays = {name: np.load(path) for name, path in _pairs(options.arg).items()}
        results = bundle.run(options.function, arrays)
        for name, path in _pairs(options.result).items():
            if name not in results:
                raise BundleError(f"no result {name}; there are {', '.join(results)}")
            np.save(path, results[name])
    except (BundleError, CudaError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.dry_run:
        for launch in driver.launches:
            print(launch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
