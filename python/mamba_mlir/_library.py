"""The C library of mamba-c/Runtime.h through ctypes."""

from ctypes import (CDLL, POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_void_p,
                    byref)
import os
from pathlib import Path
import threading

NAME = "libmamba_runtime.so"


class RuntimeLibraryError(RuntimeError):
    """libmamba_runtime.so is missing, or used wrongly."""


class BundleError(ValueError):
    """A folder holds no bundle that the library can read."""


class ArgumentError(ValueError):
    """Arrays do not fit a function; the message has a line for each mistake."""


class DriverError(RuntimeError):
    """There is no driver, no context or no fitting device, or a driver call failed."""


_ERRORS = {1: RuntimeLibraryError, 2: BundleError, 3: ArgumentError, 4: DriverError,
           5: MemoryError}


class ArgumentInfo(Structure):
    """mamba_argument_info."""

    _fields_ = [("name", c_char_p), ("dtype", c_char_p), ("role", c_int),
                ("result", c_char_p), ("rank", c_size_t), ("shape", POINTER(c_char_p)),
                ("element_bytes", c_size_t), ("strides", POINTER(c_char_p)),
                ("alignment", c_size_t)]


# Result and arguments of every function; c_int results are statuses.
_SIGNATURES = {
    "mamba_last_error": (c_char_p,),
    "mamba_bundle_load": (c_int, c_char_p, POINTER(c_void_p)),
    "mamba_bundle_destroy": (None, c_void_p),
    "mamba_bundle_target": (c_char_p, c_void_p),
    "mamba_bundle_num_functions": (c_size_t, c_void_p),
    "mamba_bundle_get_function": (c_void_p, c_void_p, c_size_t),
    "mamba_function_name": (c_char_p, c_void_p),
    "mamba_function_operations": (c_char_p, c_void_p),
    "mamba_function_get_constraint": (c_char_p, c_void_p, c_size_t),
    "mamba_function_num_arguments": (c_size_t, c_void_p),
    "mamba_function_get_argument": (POINTER(ArgumentInfo), c_void_p, c_size_t),
    "mamba_function_prepare": (c_int, c_void_p, c_void_p),
    "mamba_call_create": (c_int, c_void_p, POINTER(c_void_p)),
    "mamba_call_destroy": (None, c_void_p),
    "mamba_call_bind": (c_int, c_void_p, c_char_p, c_void_p, c_char_p, c_size_t,
                        POINTER(c_int64)),
    "mamba_call_bind_strided": (c_int, c_void_p, c_char_p, c_void_p, c_char_p, c_size_t,
                                POINTER(c_int64), POINTER(c_int64)),
    "mamba_call_get_shape": (c_int, c_void_p, c_char_p, c_size_t, POINTER(c_int64),
                             POINTER(c_size_t)),
    "mamba_call_get_workspace_size": (c_int, c_void_p, POINTER(c_size_t)),
    "mamba_call_check": (c_int, c_void_p),
    "mamba_call_launch": (c_int, c_void_p, c_void_p, c_size_t, c_void_p),
    "mamba_set_driver_path": (c_int, c_char_p),
}


def _find():
    """The path of the library: $MAMBA_RUNTIME, beside this file, or build/lib of
    the checkout that this file is in."""
    named = os.environ.get("MAMBA_RUNTIME")
    if named:
        return named
    here = Path(__file__).resolve().parent
    candidates = [here / NAME, here.parents[1] / "build" / "lib" / NAME]
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    raise RuntimeLibraryError(
        f"there is no {NAME}: MAMBA_RUNTIME does not name it, and it is neither of "
        + " and ".join(map(str, candidates)))


def _open():
    path = _find()
    try:
        opened = CDLL(path)
    except OSError as error:
        raise RuntimeLibraryError(f"cannot open {path}: {error}") from error
    for name, (result, *arguments) in _SIGNATURES.items():
        try:
            function = getattr(opened, name)
        except AttributeError as error:
            raise RuntimeLibraryError(f"{path} has no {name}; is it of another version?") from error
        function.restype, function.argtypes = result, arguments
        if result is c_int:
            function.errcheck = _raise_unless_ok
    return opened


def _raise_unless_ok(status, _function, _arguments):
    if status:
        # The library is open, or there would be no status.
        message = library().mamba_last_error().decode(errors="replace")
        raise _ERRORS.get(status, RuntimeLibraryError)(message)
    return status


_lock = threading.Lock()
_opened = None


def library():
    """The library, opened on the first call. Functions that return a status raise
    one of the errors above instead."""
    global _opened
    if _opened is not None:
        return _opened
    with _lock:
        if _opened is None:
            _opened = _open()
        return _opened


def create(function, *arguments):
    """The handle that a function returns through its last argument."""
    handle = c_void_p()
    function(*arguments, byref(handle))
    return handle


def set_driver_path(path):
    """Uses another library than libcuda.so.1, for tests; before the first launch."""
    library().mamba_set_driver_path(os.fsencode(path))
