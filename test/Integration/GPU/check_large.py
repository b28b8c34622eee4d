"""One ssd whose x has more than 2^31 elements, on the GPU of this machine.

    python check_large.py [--dry-run] [--heads=H] [--tokens=L] BUNDLE

BUNDLE is a folder with a preset ssd of 16-bit x without further options:

    mamba-compile --model=mamba2-130m --dtype=bf16 --state-dim=64 \\
        --target=sm_90a -o BUNDLE

Takes 12 GB of the GPU's memory and as much of the host's. The first and the
last tokens of some heads are held against the float64 recurrence, with the
bounds of tolerance.py; the last ones lie past element 2^31. The recurrence of
the last tokens starts some thousand tokens earlier from nothing, because what
was before has decayed to less than any bound. Everything else must have been
written, which finds offsets that went astray. --dry-run goes through a few
tokens without a GPU.
"""

import argparse
from pathlib import Path
import sys
import time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from check_h200 import Options, Signature  # noqa: E402
from cuda_driver import CudaError, Driver, DryDriver  # noqa: E402
import inputs  # noqa: E402
import recurrence  # noqa: E402
from run_bundle import Bundle, BundleError, Call, NUMPY_DTYPE, decode, encode  # noqa: E402
import tolerance  # noqa: E402

LIMIT = 2**31
PAST_LIMIT = 263  # tokens past the one with element 2^31
COMPARED = 512  # tokens
WARM_UP = 4096  # tokens after which an earlier state has decayed
PIECE = 2**27  # elements
BLOCK = 1_000_003  # random elements that repeat: prime, so that no two rows agree
KNOWN = {"x", "dt", "A", "B", "C", "D", "dt_bias"}


class RawCall(Call):
    """A call whose inputs have the device's bits already, and are not kept."""

    def _place_arguments(self, arrays):
        for argument in self._arguments:
            name, shape = argument["name"], []
            shape = [self.evaluate(size) for size in argument["shape"]]
            size = int(np.prod(shape, dtype=np.int64)) * NUMPY_DTYPE[argument["dtype"]].itemsize
            buffer = self._place("argument", name, size)
            if argument["role"] != "output":
                array = arrays[name]
                if list(array.shape) != shape or array.nbytes != size:
                    raise BundleError(f"{name}: {array.dtype} of shape {array.shape}, "
                                      f"expected shape {tuple(shape)}")
                flat = array.reshape(-1)
                for start in range(0, flat.size, PIECE):
                    self._driver.upload(buffer.address + start * flat.itemsize,
                                        flat[start:start + PIECE])

    def evaluate(self, size):
        return size if isinstance(size, int) else self.sizes[size]

    def download(self, name, start, count, dtype):
        """Some elements of an argument, in the device's bits."""
        array = np.empty(count, dtype=NUMPY_DTYPE[dtype])
        buffer = self._buffers["argument", name]
        self._driver.download(buffer.address + start * array.itemsize, array)
        return array

    def check_guards(self):
        self._driver.synchronize()
        for (_, name), buffer in self._buffers.items():
            if not buffer.guards_intact():
                raise BundleError(f"{name}: a kernel wrote outside of the buffer")


def make_arrays(signature, tokens, heads):
    """Inputs in the device's bits; large ones repeat a random block."""
    rng = np.random.default_rng(0)
    groups = signature.groups or 1

    def repeat(name, *shape, make=rng.standard_normal):
        size = int(np.prod(shape, dtype=np.int64))
        block = encode(make(min(size, BLOCK)), signature.arguments[name]["dtype"])
        return np.resize(block, size).reshape(shape)

    def steps(size):
        return inputs.inverse_softplus(rng.uniform(0.03, 0.1, size=size))

    arrays = {
        "x": repeat("x", 1, tokens, heads, signature.head_dim),
        "dt": repeat("dt", 1, tokens, heads, make=steps),
        "A": -rng.uniform(1, 4, size=heads).astype(np.float32),
        "B": repeat("B", 1, tokens, groups, signature.state_dim),
        "C": repeat("C", 1, tokens, groups, signature.state_dim),
        "D": rng.standard_normal(heads).astype(np.float32),
        "dt_bias": np.zeros(heads, dtype=np.float32),
    }
    return {name: array for name, array in arrays.items() if name in signature.arguments}


def reference(signature, options, arrays, first, last, chosen):
    """The recurrence of tokens first to last from nothing, of the chosen heads."""
    groups = arrays["B"].shape[2]
    group_of = np.asarray(chosen) // (arrays["x"].shape[2] // groups)
    taken = {}
    for name, array in arrays.items():
        if array.ndim > 2:
            array = array[:, first:last]
            array = np.take(array, group_of if name in "BC" else chosen, axis=2)
        else:
            array = array[chosen]
        dtype = signature.arguments[name]["dtype"]
        taken[name] = decode(np.ascontiguousarray(array), dtype).astype(np.float32)
    result = recurrence.ssd(**taken, softplus=options.softplus, dt_limit=options.dt_limit,
                            chunk_size=options.chunk_size)
    step = recurrence.time_step(taken["dt"], taken.get("dt_bias"), options.softplus,
                                options.dt_limit)
    exponents = tolerance.exponent_range(taken["A"] * step, options.chunk_size)
    return result, tolerance.ssd_bounds(signature.dtype, signature.state_dtype(), exponents)


def compare(call, signature, options, arrays, first, chosen):
    """Tokens of y from `first` on; raises AssertionError."""
    tokens, heads = arrays["x"].shape[1:3]
    count = min(COMPARED, tokens)
    row = heads * signature.head_dim
    y = decode(call.download("y", first * row, count * row, signature.dtype), signature.dtype)
    y = y.reshape(1, count, heads, signature.head_dim)[:, :, chosen].astype(np.float32)
    start = max(0, first - WARM_UP)
    wanted, bounds = reference(signature, options, arrays, start, first + count, chosen)
    part = slice(first - start, None)
    tolerance.check("y", y, wanted["y"][:, part], wanted["y_scale"][:, part], bounds["y"])
    return float(np.sqrt(np.mean((y - wanted["y"][:, part]) ** 2)
                         / np.mean(wanted["y"][:, part] ** 2)))


def check_written(call, signature, elements):
    """No element of y is the NaN that was there before."""
    for start in range(0, elements, PIECE):
        bits = call.download("y", start, min(PIECE, elements - start), signature.dtype)
        unwritten = np.flatnonzero(bits.view(np.uint16) == 0xFFFF)
        if unwritten.size:
            raise BundleError(f"{unwritten.size} elements of y from {start + unwritten[0]} on "
                              "were not written")


def main():
    parser = argparse.ArgumentParser(description="an ssd of more than 2^31 elements")
    parser.add_argument("bundle")
    parser.add_argument("--dry-run", action="store_true", help="a few tokens, without a GPU")
    parser.add_argument("--heads", type=int, default=128)
    parser.add_argument("--tokens", type=int, help="default: 263 past element 2^31 of x")
    given = parser.parse_args()
    started = time.perf_counter()
    try:
        driver = DryDriver() if given.dry_run else Driver()
        bundle = Bundle(given.bundle, driver)
        function = bundle.function("ssd")
        signature, options = Signature(function), Options.of(function)
        if other := signature.arguments.keys() - KNOWN:
            raise BundleError(f"expected no further arguments, got {', '.join(sorted(other))}")
        if signature.dtype not in ("bf16", "f16"):
            raise BundleError(f"expected 16-bit x, got {signature.dtype}")
        heads = signature.heads or given.heads
        tokens = given.tokens or (700 if given.dry_run else
                                  LIMIT // (heads * signature.head_dim) + PAST_LIMIT)
        arrays = make_arrays(signature, tokens, heads)
        chosen = sorted({0, heads // 2 + 1, heads - 1})
        print(f"x: {arrays['x'].size} elements, {arrays['x'].size / LIMIT:.3f} * 2^31 "
              f"({time.perf_counter() - started:.1f} s)", flush=True)
        with RawCall(bundle, function, arrays) as call:
            call.launch()
            call.check_guards()
            print(f"launched on {driver.name} ({time.perf_counter() - started:.1f} s)", flush=True)
            for first in sorted({0, max(0, tokens - COMPARED)}):
                if given.dry_run:
                    reference(signature, options, arrays, first, tokens, chosen)
                    continue
                error = compare(call, signature, options, arrays, first, chosen)
                print(f"tokens from {first}: rms error {error:.2e}", flush=True)
            if not given.dry_run:
                check_written(call, signature, arrays["x"].size)
    except (AssertionError, BundleError, CudaError, OSError) as error:
        print(f"FAIL {error}")
        return 1
    print(f"{'dry run' if given.dry_run else 'right'} ({time.perf_counter() - started:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
