"""Functions of a bundle for the CPU on numpy arrays."""

from mamba_mlir._library import ArgumentError
from mamba_mlir.bundle import DeviceArray, collect_results

_NAMES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
          "bool": "i1", **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
          **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)}}
_OF_NUMPY = {name: of_numpy for of_numpy, name in _NAMES.items()}


def dtype_name(array):
    """The manifest's name of an array's dtype, or numpy's where it has none."""
    return name_of_dtype(array.dtype)


def name_of_dtype(dtype):
    """The same of a dtype."""
    import numpy
    name = numpy.dtype(dtype).name
    return _NAMES.get(name, name)


def make_dtype(name):
    """numpy's dtype for the manifest's name."""
    import numpy
    if name == "bf16":
        try:
            import ml_dtypes
        except ImportError as error:
            raise ArgumentError("numpy has no bf16: install the package ml_dtypes, or use a "
                                "bundle of --dtype=f32") from error
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(_OF_NUMPY[name])


def target(_array):
    """The target of bundles that run on an array."""
    return "cpu"


def cast(array, name):
    """The array with another dtype; itself if it has it."""
    return array.astype(make_dtype(name), copy=False)


def is_repeated(array, axis):
    """Whether all elements along an axis are one in memory."""
    return array.shape[axis] == 1 or array.strides[axis] == 0


def empty(shape, name, _like):
    """A new array."""
    import numpy
    return numpy.empty(shape, make_dtype(name))


def _strides(array):
    """In elements; None if some are not whole ones."""
    if any(stride % array.itemsize for stride in array.strides):
        return None
    return tuple(stride // array.itemsize for stride in array.strides)


def is_taken(function, argument, array):
    """Whether an argument of a function takes an array as it is."""
    if not array.flags.aligned:
        return False
    strides = _strides(array)
    return array.flags.c_contiguous or (
        strides is not None and function.takes_strides(argument, array.shape, strides))


def make_dense(array):
    """A copy that every argument takes."""
    import numpy
    return numpy.array(array, order="C")


def run(function, arrays):
    """Function.__call__: results by name."""
    call = function.call()

    def bind(argument, array):
        prefix = f"{function.name}: argument '{argument.name}': expected a "
        if not is_taken(function, argument, array):
            raise ArgumentError(f"{prefix}contiguous aligned array, got strides {array.strides}")
        if argument.role != "input" and not array.flags.writeable:
            raise ArgumentError(f"{prefix}writable array")
        call.bind(argument.name, DeviceArray(
            array.ctypes.data, dtype_name(array), array.shape,
            None if array.flags.c_contiguous else _strides(array)))

    for name, array in arrays.items():
        if not hasattr(array, "__array_interface__"):
            raise ArgumentError(f"{function.name}: argument '{name}': expected a numpy array, "
                                f"got {type(array).__name__}")
        bind(function.argument(name), array)

    def make(argument, shape):
        array = empty(shape, argument.dtype, None)
        bind(argument, array)
        return array

    results = collect_results(call, function, arrays, make)
    call.launch()
    return results
