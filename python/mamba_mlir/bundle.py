"""Bundles, their functions, and calls of these on device memory."""

from ctypes import byref, c_int64, c_size_t
from dataclasses import dataclass
import json
import os
import re
from typing import Mapping, Optional, Tuple, Union
import weakref

from mamba_mlir._library import ArgumentError, create, library

ROLES = ("input", "output", "inout")
_MULTIPLE = re.compile(r"mod\((\w+), (\d+)\) == 0")
_SIZES = [c_int64 * rank for rank in range(8)]  # making a type takes long


@dataclass(frozen=True)
class DeviceArray:
    """A row-major array in device memory that someone else owns; in host memory
    for bundles of the target cpu.

    pointer: its device address, a multiple of 16 unless the argument's alignment
    is another, or its host address; 0 where only sizes matter.
    dtype: "bf16", "f16", "f32", "f64", "i1", "i8" to "i64", "u8" to "u64".
    shape: its sizes in elements.
    strides: in elements, where there are gaps; the array is dense without.
    """

    pointer: int
    dtype: str
    shape: Tuple[int, ...]
    strides: Optional[Tuple[int, ...]] = None


@dataclass(frozen=True)
class Argument:
    """What a function expects of one array.

    shape: for each axis an int, or text: the name of a size ("batch") or an
    expression of such ("ceildiv(length, 256)"). Axes with one text have one size.
    role: "input" (read), "output" (written in full), "inout" (updated in place).
    result: the name of the result that an output or inout array becomes.
    strides: None if the array is dense; else for each axis an int, or the name of a
    stride that the caller chooses.
    alignment: what the device address is a multiple of, in bytes.
    """

    name: str
    dtype: str
    shape: Tuple[Union[int, str], ...]
    role: str
    result: Optional[str]
    element_bytes: int
    strides: Optional[Tuple[Union[int, str], ...]] = None
    alignment: int = 16

    def __str__(self):
        sizes = ", ".join(map(str, self.shape))
        result = f" -> {self.result}" if self.result not in (None, self.name) else ""
        strides = f" strides ({', '.join(map(str, self.strides))})" if self.strides else ""
        return f"{self.role} {self.name}: {self.dtype}[{sizes}]{strides}{result}"


def _numbers(texts, rank):
    """Integers, or names and expressions as text."""
    decoded = (texts[axis].decode() for axis in range(rank))
    return tuple(int(text) if text.isdigit() else text for text in decoded)


def _argument(info):
    return Argument(info.name.decode(), info.dtype.decode(), _numbers(info.shape, info.rank),
                    ROLES[info.role], info.result.decode() if info.result else None,
                    info.element_bytes,
                    _numbers(info.strides, info.rank) if info.strides else None,
                    info.alignment)


class _Owned:
    """A handle that is destroyed with its last user."""

    def __init__(self, handle, destroy):
        self.handle = handle
        # When the process ends, the driver may be gone.
        weakref.finalize(self, destroy, handle).atexit = False


class Call:
    """A function with arrays bound to its arguments, for one thread at a time.

    It may be launched many times; arrays may be bound anew in between. It does
    not keep the arrays' memory alive.
    """

    def __init__(self, function):
        self.function = function
        self._handle = create(library().mamba_call_create, function._handle)
        self._owned = _Owned(self._handle, library().mamba_call_destroy)

    def bind(self, name, array):
        """Binds a DeviceArray to an argument. ArgumentError if dtype, rank, a static
        size or a static stride is another."""
        shape, strides = array.shape, array.strides
        rank = len(shape)
        sizes = _SIZES[rank] if rank < len(_SIZES) else c_int64 * rank
        library().mamba_call_bind_strided(self._handle, name.encode(), array.pointer,
                                          array.dtype.encode(), rank, sizes(*shape),
                                          None if strides is None else sizes(*strides))

    def shape(self, name):
        """Sizes of the argument or result `name` that follow from the inputs."""
        rank, capacity = c_size_t(), 16
        while True:
            sizes = (c_int64 * capacity)()
            library().mamba_call_get_shape(self._handle, name.encode(), capacity, sizes,
                                           byref(rank))
            if rank.value <= capacity:
                return tuple(sizes[:rank.value])
            capacity = rank.value

    @property
    def workspace_bytes(self):
        """Bytes of device memory that a launch needs beside the arrays."""
        size = c_size_t()
        library().mamba_call_get_workspace_size(self._handle, byref(size))
        return size.value

    def check(self):
        """ArgumentError with a line for each mistake in the arrays."""
        library().mamba_call_check(self._handle)

    def launch(self, workspace=0, workspace_bytes=0, stream=0):
        """Queues the kernels on a stream and does not wait for them.

        workspace: the address of at least `workspace_bytes` bytes, a multiple of
        16; stream: a CUstream or cudaStream_t as an int, 0 for the default
        stream of the current context. On the target cpu there are neither, and
        the call returns when the results are there.
        """
        library().mamba_call_launch(self._handle, workspace, workspace_bytes, stream)


class Function:
    """A function of a bundle. Thread-safe.

    name; target: of its bundle, "cpu" or e.g. "sm_90a"; arguments: a tuple of
    Argument; operations: a list with a dict for each mamba operation that it was
    compiled from ("op" and the options); constraints: conditions on the sizes,
    as text.
    """

    def __init__(self, bundle, handle, target):
        self._bundle, self._handle = bundle, handle  # The first owns the second.
        self.target = target
        runtime = library()
        self.name = runtime.mamba_function_name(handle).decode()
        self.operations = json.loads(runtime.mamba_function_operations(handle))
        self.arguments = tuple(
            _argument(runtime.mamba_function_get_argument(handle, index).contents)
            for index in range(runtime.mamba_function_num_arguments(handle)))
        constraints = []
        while True:
            text = runtime.mamba_function_get_constraint(handle, len(constraints))
            if text is None:
                break
            constraints.append(text.decode())
        self.constraints = tuple(constraints)
        matches = map(_MULTIPLE.fullmatch, constraints)
        self._multiples = {match[1]: int(match[2]) for match in matches if match}

    def __repr__(self):
        return f"<mamba_mlir.Function {self.name}({', '.join(a.name for a in self.arguments)})>"

    def describe(self):
        """The function as text, one argument a line."""
        lines = [self.name]
        for operation in self.operations:
            options = ", ".join(f"{key}={value}" for key, value in operation.items()
                                if key != "op")
            lines.append(f"  {operation.get('op')}({options})")
        lines += [f"  {argument}" for argument in self.arguments]
        lines += [f"  where {constraint}" for constraint in self.constraints]
        return "\n".join(lines)

    def argument(self, name):
        """The Argument called `name`."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        names = ", ".join(argument.name for argument in self.arguments)
        raise ArgumentError(f"{self.name}: no argument '{name}'; there are {names}")

    def takes_strides(self, argument, shape, strides):
        """Whether an Argument takes an array with gaps, strides in elements."""
        if argument.strides is None:
            return False
        for size, stride, expected in zip(shape, strides, argument.strides):
            if size == 1:
                continue
            if stride < 0 or (stride != expected if isinstance(expected, int)
                              else stride % self._multiples.get(expected, 1)):
                return False
        return True

    def call(self, arrays: Optional[Mapping[str, DeviceArray]] = None):
        """A Call with arrays bound."""
        call = Call(self)
        for name, array in (arrays or {}).items():
            call.bind(name, array)
        return call

    def _call_of_shapes(self, shapes):
        return self.call({name: DeviceArray(0, self.argument(name).dtype, shape)
                          for name, shape in shapes.items()})

    def workspace_bytes(self, **shapes):
        """Bytes of workspace for inputs of these shapes, by name."""
        return self._call_of_shapes(shapes).workspace_bytes

    def result_shapes(self, **shapes):
        """A dict of the shapes of all results for inputs of these shapes."""
        call = self._call_of_shapes(shapes)
        return {argument.result: call.shape(argument.name) for argument in self.arguments
                if argument.result is not None}

    def prepare(self, stream=0):
        """Loads the kernels into the context of a stream, which takes up to
        seconds; 0 is the current context. The first launch would do it."""
        library().mamba_function_prepare(self._handle, stream)

    def run(self, arrays, workspace=0, workspace_bytes=0, stream=0):
        """Queues the function on device arrays; see Call.launch.

        arrays: a DeviceArray for every argument, outputs too, by name.
        """
        self.call(arrays).launch(workspace, workspace_bytes, stream)

    def __call__(self, **tensors):
        """Queues the function on torch's current stream.

        Takes CUDA tensors by argument name: every input and inout argument, and
        outputs that shall not be allocated. They are contiguous, but for strides
        that the argument leaves to the caller. Returns a dict of
        tensors by result name; an inout argument is updated in place and
        returned. Neither synchronizes nor records gradients.

        A function for the target cpu takes CPU tensors, or numpy arrays, and
        runs before it returns.
        """
        is_torch = any(hasattr(tensor, "data_ptr") for tensor in tensors.values())
        if is_torch or self.target != "cpu":
            from mamba_mlir import _torch as library
        else:
            from mamba_mlir import _numpy as library
        return library.run(self, tensors)


class Bundle:
    """A loaded bundle folder. Thread-safe; `functions` is a dict by name.

    Keep it, or one of its functions or calls, as long as launches are running and
    CUDA graphs with launches exist.
    """

    def __init__(self, handle):
        runtime = library()
        owned = _Owned(handle, runtime.mamba_bundle_destroy)
        self.target = runtime.mamba_bundle_target(handle).decode()
        functions = [Function(owned, runtime.mamba_bundle_get_function(handle, index), self.target)
                     for index in range(runtime.mamba_bundle_num_functions(handle))]
        self.functions = {function.name: function for function in functions}

    @staticmethod
    def load(path):
        """Reads a bundle folder; BundleError if it holds none."""
        return Bundle(create(library().mamba_bundle_load, os.fsencode(path)))

    def __getitem__(self, name):
        if name not in self.functions:
            raise KeyError(f"no function '{name}'; there are {', '.join(self.functions)}")
        return self.functions[name]

    def describe(self):
        """All functions as text."""
        return "\n".join([f"bundle for {self.target}",
                          *(function.describe() for function in self.functions.values())])


def collect_results(call, function, given, make):
    """Arrays of the results by name: of ``given`` by argument name, and of
    ``make(argument, shape)`` for outputs that are not, which binds what it
    makes. Optional arguments that are updated and not given are None.

    Raises ArgumentError if an input is missing.
    """
    results = {}
    for argument in function.arguments:
        if argument.role == "input":
            continue
        array = given.get(argument.name)
        if array is None:
            # Also says which inputs are missing.
            shape = call.shape(argument.name)
            if argument.role == "output":
                array = make(argument, shape)
        results[argument.result] = array
    return results
