"""Bundles of mamba-compile, and a driver that records launches
(test/Runtime/FakeCuda.h)."""

import ctypes
import shlex
import subprocess
import sys

import pytest

from places import COMPILE, FAKE_CUDA, ROOT

sys.path.insert(0, str(ROOT / "python"))

import mamba_mlir  # noqa: E402
from mamba_mlir.dispatch import registry  # noqa: E402

THREE = ctypes.c_uint32 * 3


class TensorMap(ctypes.Structure):
    """fake_tensor_map."""

    _fields_ = [("address", ctypes.c_uint64), ("sizes", ctypes.c_uint64 * 5),
                ("strides", ctypes.c_uint64 * 4), ("box", ctypes.c_uint16 * 5),
                ("element_strides", ctypes.c_uint8 * 5), ("rank", ctypes.c_uint8),
                ("data_type", ctypes.c_uint8), ("interleave", ctypes.c_uint8),
                ("swizzle", ctypes.c_uint8), ("l2_promotion", ctypes.c_uint8),
                ("fill", ctypes.c_uint8), ("unused", ctypes.c_uint8 * 27)]


class Launch(ctypes.Structure):
    """fake_launch."""

    _fields_ = [("kernel", ctypes.c_char * 64), ("grid", THREE), ("block", THREE),
                ("cluster", THREE), ("shared_bytes", ctypes.c_uint32),
                ("max_shared_bytes", ctypes.c_uint32), ("non_portable", ctypes.c_uint32),
                ("device", ctypes.c_int32), ("current_device", ctypes.c_int32),
                ("num_parameters", ctypes.c_uint32), ("stream", ctypes.c_uint64),
                ("parameters", ctypes.c_uint64 * 64), ("num_tensor_maps", ctypes.c_uint32),
                ("tensor_maps", TensorMap * 16)]

    def values(self):
        """Integers and addresses that the kernel gets, those in tensor maps too."""
        return [*self.parameters[:self.num_parameters],
                *(map.address for map in self.tensor_maps[:self.num_tensor_maps])]


class Driver:
    """The driver's functions for tests."""

    def __init__(self):
        self.library = ctypes.CDLL(FAKE_CUDA)
        self.library.fake_stream.restype = ctypes.c_uint64

    def reset(self):
        self.library.fake_reset()
        self.library.fake_set_current(0)

    def launches(self):
        launches = []
        for index in range(self.library.fake_num_launches()):
            launches.append(Launch())
            self.library.fake_get_launch(index, ctypes.byref(launches[-1]))
        return launches


@pytest.fixture(scope="session")
def opened_driver():
    mamba_mlir.set_driver_path(FAKE_CUDA)
    return Driver()


@pytest.fixture
def driver(opened_driver):
    opened_driver.reset()
    return opened_driver


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Bundles of a model: ssd and ssu."""
    path = tmp_path_factory.mktemp("bundles")
    for op in ("ssd", "ssu"):
        subprocess.run([COMPILE, "--model=mamba2-130m", f"--op={op}", "--dtype=bf16",
                        "--target=sm_90a", "--emit=bundle", "-o", path / op], check=True)
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder for the bundles that `make` compiles."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def make(made, monkeypatch):
    """Runs a call after the command that its NoKernelError names, if it fails so;
    the bundle is found on the search path."""
    monkeypatch.setenv("MAMBA_MLIR_BUNDLES", str(made))

    def run(call):
        try:
            return call()
        except mamba_mlir.NoKernelError as error:
            line = str(error).splitlines()[-1]  # as a user would copy it
            subprocess.run(shlex.split(line), check=True)
            return call()

    yield run
    registry.clear()
