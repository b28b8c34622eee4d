"""Runs kernels that mamba-compile made.

A bundle is a folder with PTX, or a shared library for the CPU, and a manifest.
This package is a thin layer over the C library libmamba_runtime.so
(mamba-c/Runtime.h), which checks arrays and launches kernels through the CUDA
driver; it needs no compiler, and torch or numpy only where their arrays are used.

The operations, on torch tensors or numpy arrays:

    import mamba_mlir
    mamba_mlir.register("ssd.sm_90a")
    y = mamba_mlir.ssd(x, dt, A, B, C, 256, D=D, dt_bias=dt_bias, dt_softplus=True)

The functions of a bundle by themselves:

    bundle = mamba_mlir.Bundle.load("ssd.sm_90a")
    print(bundle.describe())
    results = bundle["ssd"](x=x, dt=dt, A=A, B=B, C=C, D=D, dt_bias=dt_bias)

They also run on addresses: see Function.run.
"""

from mamba_mlir._library import (ArgumentError, BundleError, DriverError, RuntimeLibraryError,
                                 set_driver_path)
from mamba_mlir.bundle import Argument, Bundle, Call, DeviceArray, Function
from mamba_mlir.dispatch import NoKernelError, register
from mamba_mlir.ops import UnsupportedError, selective_state_update, ssd

__all__ = ["Argument", "ArgumentError", "Bundle", "BundleError", "Call", "DeviceArray",
           "DriverError", "Function", "NoKernelError", "RuntimeLibraryError",
           "UnsupportedError", "register", "selective_state_update", "set_driver_path", "ssd"]
