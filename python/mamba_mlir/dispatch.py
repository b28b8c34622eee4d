"""The bundles that calls may use, and the choice of a kernel among them."""

import os
from pathlib import Path
import threading
import warnings

from mamba_mlir._library import BundleError
from mamba_mlir.bundle import Bundle
from mamba_mlir.kernels import (count_waste, find_mismatches, get_command, key_of_function, quote)

PATH_VARIABLE = "MAMBA_MLIR_BUNDLES"


class NoKernelError(LookupError):
    """No registered bundle fits a call.

    command: the command, a list, that makes one that does.
    """

    def __init__(self, message, command):
        super().__init__(message)
        self.command = command


class _Kernel:
    """A function with its key and the place it comes from."""

    def __init__(self, function, key, place):
        self.function, self.key, self.place = function, key, place


def _find_folders(path):
    """The bundles at a path: itself, and those in it."""
    path = Path(path)
    inside = sorted(entry.parent for entry in path.glob("*/manifest.json"))
    return [path, *inside] if (path / "manifest.json").is_file() else inside


def _search_path():
    return [Path(entry) for entry in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if entry]


class Registry:
    """Bundles and kernels by key. Thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self.clear()

    def clear(self):
        """Forgets everything; MAMBA_MLIR_BUNDLES is read again."""
        with self._lock:
            self._kernels = {}  # (folder, when it was written) -> list of kernels
            self._registered = {}  # place -> kernels, in the order of registration
            self._chosen = {}

    def register(self, path):
        """See mamba_mlir.register."""
        if isinstance(path, Bundle):
            with self._lock:
                self._registered[path] = self._read(path, "a loaded bundle")
                self._chosen.clear()
            return
        folders = _find_folders(path)
        if not folders:
            raise BundleError(f"there is no bundle at {path}, and none in it")
        with self._lock:
            for folder in folders:
                self._registered[folder.resolve()] = self._load(folder)
            self._chosen.clear()

    @staticmethod
    def _read(bundle, place):
        keys = ((function, key_of_function(function)) for function in bundle.functions.values())
        return [_Kernel(function, key, place) for function, key in keys if key is not None]

    def _load(self, folder):
        """The kernels of a bundle, read once unless it was written anew."""
        folder = folder.resolve()
        identity = folder, (folder / "manifest.json").stat().st_mtime_ns
        if identity not in self._kernels:
            self._kernels[identity] = self._read(Bundle.load(folder), str(folder))
        return self._kernels[identity]

    def _search(self):
        """The kernels of MAMBA_MLIR_BUNDLES."""
        kernels = []
        for entry in _search_path():
            for folder in _find_folders(entry):
                try:
                    kernels += self._load(folder)
                except (BundleError, OSError) as error:
                    warnings.warn(f"{PATH_VARIABLE}: {error}", stacklevel=2)
        return kernels

    def kernels(self):
        """All kernels: registered ones first, then those of the search path."""
        with self._lock:
            registered = [kernel for kernels in self._registered.values() for kernel in kernels]
            return registered + self._search()

    def find(self, wanted):
        """The function for a call's key; NoKernelError if there is none."""
        function = self._chosen.get(wanted)
        if function is not None:
            return function
        kernels = self.kernels()
        fitting = [kernel for kernel in kernels if not find_mismatches(wanted, kernel.key)]
        if not fitting:
            raise _explain(wanted, kernels)
        function = min(fitting, key=lambda kernel: count_waste(wanted, kernel.key)).function
        self._chosen[wanted] = function
        return function


def _explain(wanted, kernels):
    path = _search_path()
    command = get_command(wanted, path[0] if path else "mamba_bundles")
    lines = [f"no bundle has the kernel: {wanted.describe()}"]
    # What is wrong with the operation or the target is worse than anything.
    ranked = sorted(((kernel.key.op != wanted.op, kernel.key.target != wanted.target,
                      len(find_mismatches(wanted, kernel.key))), index)
                    for index, kernel in enumerate(kernels))
    if ranked:
        nearest = kernels[ranked[0][1]]
        lines.append(f"nearest of {len(kernels)}: {nearest.function.name} of {nearest.place}: "
                     + "; ".join(find_mismatches(wanted, nearest.key)))
    else:
        lines.append(f"no bundles are registered, and {PATH_VARIABLE} "
                     + ("names none" if path else "is not set"))
    lines.append("this makes it:")
    lines.append("  " + quote(command))
    if not path:
        lines.append(f"then: mamba_mlir.register({command[-1]!r})")
    return NoKernelError("\n".join(lines), command)


registry = Registry()


def register(path):
    """Lets ssd and selective_state_update use a bundle.

    path: a bundle's folder, a folder with such folders, or a Bundle. Bundles in
    the folders that the environment variable MAMBA_MLIR_BUNDLES lists (separated
    as PATH is) need no registration. Of several kernels that fit, one that
    computes nothing beyond the call is preferred, then one of static heads, then
    the one registered first. A bundle that was written anew is registered anew.
    """
    registry.register(path)
