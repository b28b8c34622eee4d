"""Checks and times kernels beside their peers: python -m mamba_mlir.bench --help."""
