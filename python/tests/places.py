"""Where things of this checkout are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILE = os.environ.get("MAMBA_COMPILE", ROOT / "build/bin/mamba-compile")
FAKE_CUDA = os.environ.get("MAMBA_FAKE_CUDA", str(ROOT / "build/lib/libmamba_fake_cuda.so"))
