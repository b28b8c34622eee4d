"""Compares bundles with the float64 recurrences on the GPU of this machine.

    python check_h200.py [--dry-run] [--large] BUNDLE ...

Each BUNDLE is a folder whose functions are presets of mamba-compile, named ssd
or ssu. The manifest tells shapes, dtypes, options and which optional arguments
exist.

Prints one line per case and result and exits 1 if any result is outside the
bounds of tolerance.py. --dry-run only marshals arguments, without a GPU.
--large adds one case of a model's size.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cuda_driver import CudaError, Driver, DryDriver  # noqa: E402
import inputs  # noqa: E402
import recurrence  # noqa: E402
from run_bundle import Bundle, BundleError  # noqa: E402
import tolerance  # noqa: E402

CHECKED_UPDATES = 4e8  # state elements times tokens that a reference may cost
HEADS_GROUPS = [(1, 1), (3, 1), (6, 2), (8, 8)]
LARGE = {"ssd": (2, 4096, 32, 2), "ssu": (128, None, 64, 2)}
ROW = "{:24} {:26} {:5} {:20} {:>9} {:>9} {:>9} {:>9} {:>6} {:>10}  {}"


@dataclass(frozen=True)
class Options:
    """The options of a function's one mamba operation, from the manifest."""

    softplus: bool = False
    dt_limit: tuple = (0.0, np.inf)
    chunk_size: int = 128
    tf32: bool = False

    @staticmethod
    def of(function):
        operations = function.get("operations", [])
        if len(operations) != 1:
            raise BundleError(f"{function['name']}: expected one operation in the "
                              f"manifest, got {len(operations)}")
        given = operations[0]
        limits = tuple(float(v) for v in given.get("dt_limit", (0.0, "inf")))
        return Options(bool(given.get("softplus")), limits, given.get("chunk_size", 128),
                       bool(given.get("tf32")))


class Signature:
    """The arguments and results of a manifest function."""

    def __init__(self, function):
        self.op = function["name"]
        if self.op not in LARGE:
            raise BundleError(f"function {self.op} is neither ssd nor ssu")
        self.arguments = {a["name"]: a for a in function["arguments"] if a["role"] != "output"}
        self.results = {a.get("result", a["name"]): a for a in function["arguments"]
                        if a["role"] != "input"}
        self.dtype = self.arguments["x"]["dtype"]
        shape = self.arguments["x"]["shape"]
        self.has_tokens = len(shape) == 4
        self.batch, self.heads = self._static("x", 0), self._static("x", -2)
        self.tokens = self._static("x", 1) if self.has_tokens else None
        self.groups = self._static("B", -2)
        self.head_dim, self.state_dim = shape[-1], self.arguments["B"]["shape"][-1]

    def _static(self, name, axis):
        """The dimension if the manifest fixes it, else None."""
        size = self.arguments[name]["shape"][axis]
        return size if isinstance(size, int) else None

    def state_dtype(self):
        for holder in (self.arguments, self.results):
            for name in ("state", "initial_state", "final_state", "chunk_states"):
                if name in holder:
                    return holder[name]["dtype"]
        return "f32"

    def heads_groups(self):
        """(H, G) pairs to test: the static sizes, or a spread that fits them."""
        pairs = [(self.heads or h, self.groups or g) for h, g in HEADS_GROUPS]
        if self.heads is None and self.groups is not None:
            pairs = [(self.groups, self.groups), (3 * self.groups, self.groups)]
        return [pair for pair in dict.fromkeys(pairs) if pair[0] % pair[1] == 0]


def cases(signature, options, large):
    """(batch, tokens, heads, groups) of every case; tokens None without a T axis."""
    size = options.chunk_size
    if signature.op == "ssd":
        tokens = [1, size - 1, size, size + 1, 3 * size + 7, 0, 65, 1031]
        batches = [2, 1, 3]
    else:
        tokens = [4 if signature.has_tokens else None] * 8
        batches = [1, 3, 64]
    heads_groups = signature.heads_groups()
    if signature.tokens is not None:
        tokens = [signature.tokens] * len(tokens)
    if signature.batch is not None:
        batches = [signature.batch]
    for i, length in enumerate(tokens):
        yield batches[i % len(batches)], length, *heads_groups[i % len(heads_groups)]
    batch, length, heads, groups = LARGE[signature.op]
    if large and (length is None or signature.tokens is None):
        yield (signature.batch or batch, tokens[0] if length is None else length,
               signature.heads or heads, signature.groups or groups)


def random_arrays(signature, options, case, seed):
    """Inputs for one case, with exactly the arguments the function has."""
    batch, tokens, heads, groups = case
    has = signature.arguments
    skip = None if "D" not in has else "head" if len(has["D"]["shape"]) == 1 else "head_dim"
    kind = ["packed", "padded"][seed % 2]
    common = {"batch": batch, "heads": heads, "groups": groups, "dtype": signature.dtype,
              "head_dim": signature.head_dim, "state_dim": signature.state_dim,
              "dt_dtype": has["dt"]["dtype"], "state_dtype": signature.state_dtype(),
              "D": skip, "z": "z" in has, "dt_bias": "dt_bias" in has,
              "softplus": options.softplus}
    rng = np.random.default_rng(seed)
    if signature.op == "ssd":
        return inputs.random_ssd(
            rng, length=tokens, initial_state="initial_state" in has,
            seq_idx=kind if "seq_idx" in has else None, chunk_size=options.chunk_size, **common)
    indices = "state_batch_indices" in has
    slots = has["state"]["shape"][0]
    arrays = inputs.random_ssu(
        rng, tokens=tokens, slots=slots if isinstance(slots, int) else None,
        indices=["shuffled", "padded"][seed % 2] if indices else None,
        dst_indices=["fresh", "padded"][seed % 2] if "dst_state_batch_indices" in has else None,
        **common)
    for name in ("state_batch_indices", "dst_state_batch_indices"):
        if name in arrays:
            arrays[name] = arrays[name].astype(f"int{has[name]['dtype'][1:]}")
    return arrays


HEAD_AXIS = {"x": -2, "z": -2, "dt": -1, "A": 0, "D": 0, "dt_bias": 0, "initial_state": 1,
             "state": 1, "y": -2, "chunk_states": 2, "final_state": 1, "total_decay": 1,
             "new_state": 1, "intermediate_states": 2}


def take_heads(arrays, heads, groups_of_heads=None):
    """The arrays of some heads only; B and C get one group per head."""
    taken = {}
    for name, array in arrays.items():
        if name in HEAD_AXIS:
            array = np.take(array, heads, axis=HEAD_AXIS[name])
        elif name in ("B", "C"):
            array = np.take(array, groups_of_heads, axis=-2)
        taken[name] = array
    return taken


def reference_of(signature, options, arrays, case):
    """(heads compared, recurrence results of these heads, bounds)."""
    batch, tokens, heads, groups = case
    state = signature.head_dim * signature.state_dim * max(batch, len(arrays.get("state", ())))
    affordable = max(1, int(CHECKED_UPDATES / (state * (tokens or 1) + 1)))
    chosen = np.unique(np.linspace(0, heads - 1, min(heads, affordable)).astype(int))
    part = take_heads(arrays, chosen, chosen // (heads // groups))
    if signature.op == "ssu":
        reference = recurrence.ssu(**part, softplus=options.softplus)
        return chosen, reference, tolerance.ssu_bounds(signature.dtype, signature.state_dtype())
    limits = {"softplus": options.softplus, "dt_limit": options.dt_limit}
    reference = recurrence.ssd(**part, chunk_size=options.chunk_size, **limits)
    step = recurrence.time_step(arrays["dt"], arrays.get("dt_bias"), options.softplus,
                                options.dt_limit)
    exponents = tolerance.exponent_range(arrays["A"] * step, options.chunk_size)
    if options.tf32:
        return chosen, reference, tolerance.tf32_bounds(signature.state_dtype(), exponents)
    return chosen, reference, tolerance.ssd_bounds(signature.dtype, signature.state_dtype(),
                                                   exponents)


def run_case(bundle, signature, options, case, seed, dry):
    """Runs one case, prints its lines, returns the number of failures."""
    arrays = random_arrays(signature, options, case, seed)
    with bundle.call(signature.op, arrays) as call:
        call.launch()
        outs = call.results()
        if dry:
            kernels = [launch.kernel for launch in bundle.driver.launches]
            bundle.driver.launches.clear()
            print(ROW.format(bundle.folder.name, label(case), signature.dtype, *[""] * 7,
                             f"dry: {' '.join(kernels) or 'no launch'}"))
            return 0
        time = call.time_us()
    chosen, reference, bounds = reference_of(signature, options, arrays, case)
    failures = 0
    for name, out in take_heads(outs, chosen).items():
        if out.shape != reference[name].shape:
            raise BundleError(f"{name}: shape {out.shape}, expected {reference[name].shape}")
        errors = tolerance.measure(out, reference[name], reference[f"{name}_scale"],
                                   bounds[name].floor)
        good = errors.within(bounds[name])
        failures += not good
        print(ROW.format(bundle.folder.name, label(case), signature.dtype, name,
                         f"{errors.rms:.2e}", f"{bounds[name].rms:.2e}",
                         f"{errors.element:.2e}", f"{bounds[name].element:.2e}",
                         "yes" if errors.finite else "NO", f"{time:.1f}",
                         "ok" if good else "FAIL"))
    return failures


def label(case):
    batch, tokens, heads, groups = case
    return f"b{batch} {'' if tokens is None else f'T{tokens} '}H{heads} G{groups}"


def check_bundle(text, driver, large, dry):
    """Checks every function of the bundle in a folder; returns the failures."""
    bundle = Bundle(text, driver)
    failures = 0
    for function in bundle.functions.values():
        signature = Signature(function)
        options = Options.of(function)
        for seed, case in enumerate(cases(signature, options, large)):
            try:
                failures += run_case(bundle, signature, options, case, seed, dry)
            except BundleError as error:
                print(ROW.format(bundle.folder.name, label(case), signature.dtype,
                                 *[""] * 7, f"FAIL {error}"))
                failures += 1
    return failures


def main():
    parser = argparse.ArgumentParser(description="check bundles against the recurrences")
    parser.add_argument("bundles", nargs="+", metavar="BUNDLE")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    driver = DryDriver() if options.dry_run else Driver()
    print(f"device: {driver.name}")
    print(ROW.format("bundle", "case", "dtype", "result", "rms", "bound", "element", "bound",
                     "finite", "time us", ""))
    failures = 0
    for text in options.bundles:
        try:
            failures += check_bundle(text, driver, options.large, options.dry_run)
        except (BundleError, CudaError, OSError, KeyError) as error:
            print(f"{text}: FAIL {type(error).__name__}: {error}")
            failures += 1
            if isinstance(error, CudaError):
                break  # the context may be unusable
    print(f"{failures} failures" if failures else "all good")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
