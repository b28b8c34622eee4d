"""Runs bundles of kernels that mamba-compile made.

A bundle is a folder with PTX and a manifest. This package is a thin layer over
the C library libmamba_runtime.so (mamba-c/Runtime.h), which checks arrays and
launches kernels through the CUDA driver; it needs neither a compiler nor numpy
nor torch. With torch, functions take and return CUDA tensors:

    from mamba_mlir import Bundle
    bundle = Bundle.load("ssd.sm_90a")
    print(bundle.describe())
    results = bundle["ssd"](x=x, dt=dt, A=A, B=B, C=C, D=D, dt_bias=dt_bias)

Without, they run on device addresses: see Function.run.
"""

from mamba_mlir._library import (ArgumentError, BundleError, DriverError, RuntimeLibraryError,
                                 set_driver_path)
from mamba_mlir.bundle import Argument, Bundle, Call, DeviceArray, Function

__all__ = ["Argument", "ArgumentError", "Bundle", "BundleError", "Call", "DeviceArray",
           "DriverError", "Function", "RuntimeLibraryError", "set_driver_path"]
