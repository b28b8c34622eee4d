"""The few CUDA driver calls that running a bundle needs, through ctypes.

`Driver` talks to libcuda; `DryDriver` has the same methods on host memory and
records launches instead of making them, for machines without a GPU.
"""

import ctypes
from dataclasses import dataclass
from typing import Tuple, Union

import numpy as np

MAX_DYNAMIC_SHARED_SIZE_BYTES = 8  # CUfunction_attribute
JIT_ERROR_LOG_BUFFER = 5  # CUjit_option
JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4  # CUlaunchAttributeID
LOG_BYTES = 16384


class CudaError(RuntimeError):
    """A driver call failed; the message names the call and the error."""


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute with the cluster member of its 64-byte union."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4),
                ("cluster", ctypes.c_uint * 3), ("rest", ctypes.c_char * 52)]


class _EncodedTensorMap(ctypes.Structure):
    """CUtensorMap, which is aligned to 64 bytes, and room to align it."""

    _fields_ = [("bytes", ctypes.c_ubyte * (128 + 63))]

    def address(self):
        return (ctypes.addressof(self) + 63) // 64 * 64


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_LaunchAttribute)),
                ("attribute_count", ctypes.c_uint)]


@dataclass(frozen=True)
class TensorMap:
    """A parameter that cuTensorMapEncodeTiled makes. Numbers are innermost first,
    strides in bytes without the innermost."""

    address: int
    dtype: str
    sizes: Tuple[int, ...]
    strides: Tuple[int, ...]
    box: Tuple[int, ...]
    element_strides: Tuple[int, ...]
    swizzle: int  # bytes
    l2_promotion: int  # bytes
    fill: str


TENSOR_MAP_DATA_TYPE = {"u8": 0, "u32": 2, "i32": 3, "i64": 5, "f16": 6, "f32": 7, "f64": 8,
                        "bf16": 9}
TENSOR_ELEMENT_BYTES = {"u8": 1, "u32": 4, "i32": 4, "i64": 8, "f16": 2, "f32": 4, "f64": 8,
                        "bf16": 2}
TENSOR_MAP_FILL = {"zero": 0, "nan": 1}


class Driver:
    """Device 0 in its primary context, default stream. Addresses are ints."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()

    def _call(self, function, *arguments, detail=None):
        code = getattr(self._library, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            name = text.value.decode() if text.value else "unknown error"
            note = f"\n{detail.value.decode(errors='replace')}" if detail else ""
            raise CudaError(f"{function}: {name} ({code}){note}")

    def allocate(self, size):
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def fill(self, address, byte, size):
        if size:
            self._call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(byte),
                       ctypes.c_size_t(size))

    def upload(self, address, array):
        """Copies a contiguous array to the device."""
        if array.nbytes:
            self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address),
                       ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def download(self, address, array):
        """Fills a contiguous array from the device."""
        if array.nbytes:
            self._call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data),
                       ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes))

    def load_module(self, ptx):
        """Module from the bytes of a PTX file."""
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        module = ctypes.c_void_p()
        self._call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(ptx), 2,
                   options, values, detail=log)
        return module

    def kernel(self, module, name, shared_bytes):
        """Kernel that may use shared_bytes of dynamic shared memory."""
        kernel = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(kernel), module, name.encode())
        self._call("cuFuncSetAttribute", kernel, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
        return kernel

    def _encode(self, tensor_map):
        encoded, rank = _EncodedTensorMap(), len(tensor_map.sizes)
        self._call("cuTensorMapEncodeTiled", ctypes.c_void_p(encoded.address()),
                   TENSOR_MAP_DATA_TYPE[tensor_map.dtype], rank,
                   ctypes.c_void_p(tensor_map.address),
                   (ctypes.c_uint64 * rank)(*tensor_map.sizes),
                   (ctypes.c_uint64 * rank)(*tensor_map.strides),
                   (ctypes.c_uint32 * rank)(*tensor_map.box),
                   (ctypes.c_uint32 * rank)(*tensor_map.element_strides), 0,
                   (0, 32, 64, 128).index(tensor_map.swizzle),
                   (0, 64, 128, 256).index(tensor_map.l2_promotion),
                   TENSOR_MAP_FILL[tensor_map.fill])
        return encoded

    def launch(self, kernel, grid, block, cluster, shared_bytes, parameters):
        """parameters: integers, each passed as 8 bytes, and tensor maps."""
        cells = [self._encode(p) if isinstance(p, TensorMap) else ctypes.c_uint64(p & (2**64 - 1))
                 for p in parameters]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(
            *(cell.address() if isinstance(cell, _EncodedTensorMap) else ctypes.addressof(cell)
              for cell in cells))
        if tuple(cluster) == (1, 1, 1):
            self._call("cuLaunchKernel", kernel, *map(ctypes.c_uint, (*grid, *block)),
                       ctypes.c_uint(shared_bytes), None, pointers, None)
            return
        attribute = _LaunchAttribute(id=LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     cluster=(ctypes.c_uint * 3)(*cluster))
        config = _LaunchConfig(grid=(ctypes.c_uint * 3)(*grid), block=(ctypes.c_uint * 3)(*block),
                               shared_bytes=shared_bytes, stream=None,
                               attributes=ctypes.pointer(attribute), attribute_count=1)
        self._call("cuLaunchKernelEx", ctypes.byref(config), kernel, pointers, None)

    def synchronize(self):
        self._call("cuCtxSynchronize")

    def elapsed_us(self, work):
        """Device time of work(), which launches, in microseconds."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self._call("cuEventCreate", ctypes.byref(event), 0)
        self._call("cuEventRecord", events[0], None)
        work()
        self._call("cuEventRecord", events[1], None)
        self._call("cuEventSynchronize", events[1])
        elapsed = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(elapsed), *events)
        for event in events:
            self._call("cuEventDestroy_v2", event)
        return 1e3 * elapsed.value


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch as DryDriver saw it; parameters are integers and tensor maps."""

    kernel: str
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    cluster: Tuple[int, int, int]
    shared_bytes: int
    parameters: Tuple[Union[int, TensorMap], ...]


class DryDriver:
    """Driver on host memory; launches are only recorded."""

    name = "dry run"

    def __init__(self):
        self.launches = []
        self._buffers = {}
        self._next = 0x7F0000000000

    def _view(self, address, size):
        """Bytes of an allocation; an access outside of one is an error."""
        for base, buffer in self._buffers.items():
            if base <= address and address + size <= base + buffer.size:
                return buffer[address - base:address - base + size]
        raise CudaError(f"access to {size} bytes at {address:#x}, which are not allocated")

    def allocate(self, size):
        address = self._next
        self._buffers[address] = np.zeros(size, dtype=np.uint8)
        self._next += (size + 511) // 256 * 256
        return address

    def free(self, address):
        del self._buffers[address]

    def fill(self, address, byte, size):
        self._view(address, size)[:] = byte

    def upload(self, address, array):
        self._view(address, array.nbytes)[:] = np.frombuffer(array.tobytes(), dtype=np.uint8)

    def download(self, address, array):
        array.reshape(-1).view(np.uint8)[:] = self._view(address, array.nbytes)

    def load_module(self, ptx):
        return ptx

    def kernel(self, module, name, shared_bytes):
        if f".entry {name}".encode() not in module:
            raise CudaError(f"no kernel {name} in the PTX text")
        return name

    def launch(self, kernel, grid, block, cluster, shared_bytes, parameters):
        self.launches.append(RecordedLaunch(kernel, tuple(grid), tuple(block), tuple(cluster),
                                            shared_bytes, tuple(parameters)))

    def synchronize(self):
        pass

    def elapsed_us(self, work):
        work()
        return 0.0
