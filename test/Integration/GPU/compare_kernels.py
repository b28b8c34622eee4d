"""Compares generated kernels on the GPU of this machine with the simulator.

    python compare_kernels.py --prepare FOLDER [--target TARGET] [--filter TEXT]
    python compare_kernels.py FOLDER [--dry-run]

The first form needs the tools and packages of the tests, but no GPU. It takes
the kernels of Sim/test_kernels.py, compiles each for TARGET (sm_90a), runs it
in the simulator and fills FOLDER: for each a bundle, inputs and the simulator's
results. The second form needs Python, numpy and the CUDA driver only: it runs
the bundles on the GPU and prints, for each result, how many elements have other
bits and how far off they are, next to what approximate functions and sums in
another order may make of them: twice the bounds of tolerance.py, as for two
runs that each keep these bounds. It exits with 1 if a result is outside.
"""

import argparse
import json
from pathlib import Path
import sys

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cuda_driver import CudaError, Driver, DryDriver  # noqa: E402
from run_bundle import Bundle, BundleError  # noqa: E402
import tolerance  # noqa: E402

ROW = "{:4} {:20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {:5} {}"
HEAD = ROW.format("", "result", "elements", "differ", "rms", "bound", "element", "bound", "",
                  "kernel")


# Preparing, on a machine with the tools.

def list_kernels():
    """(config, more flags, arguments of its inputs) of the simulator's tests."""
    sys.path[:0] = [str(HERE.parent / "CPU"), str(HERE.parent / "Sim")]
    import test_kernels as tests  # pylint: disable=import-outside-toplevel

    def values(row):
        return getattr(row, "values", (row,))

    for _, config, length in map(values, tests.SSD_CASES):
        yield config, [], (length, 2, length)
    for name, config in tests.PLANNED.items():
        for schedule in ("three_kernel", "chunk_parallel"):
            length = 300 if name == "smaller_chunk" else 270
            yield config, [f"--schedule={schedule}"], (7, 1, length)
    for _, config in map(values, tests.SSU_CASES):
        yield config, [], (11, 3)
    for config, in map(values, tests.SSU_SIZES):
        yield config, [], (13, 3)
    for _, config, length in tests.PACKED:
        yield config, [], (17, 1, length) if length else (17, 3)


def get_bounds(config, arrays):
    """Twice the bounds by result name, as numbers."""
    is_ssd = hasattr(config, "chunk_size")
    bounds = config.bounds(arrays) if is_ssd else config.bounds()
    return {name: [2 * bounds[name].rms, 2 * bounds[name].element, 2 * bounds[name].floor]
            for name in config.result_dtypes()}


def prepare_kernel(folder, target, config, flags, arguments):
    """Writes `bundle`, `data.npz` (in_, out_ and scale_ of each array) and
    `kernel.json` into the folder."""
    from simulator import Simulator  # pylint: disable=import-outside-toplevel
    folder.mkdir(parents=True)
    simulator = Simulator(folder)
    arrays = config.inputs(*arguments)
    simulator.compile([*config.flags(), *flags], target)
    names = list(config.result_dtypes())
    # Only the numbers matter here.
    done = simulator.simulate("bundle", *simulator.save(arrays), "--no-sanitize",
                              *[f"--result={name}=result_{name}.npy" for name in names])
    if done.returncode:
        raise RuntimeError(f"{config.label}: {done.stderr}")
    reference = config.reference(arrays)
    data = {f"in_{name}": array for name, array in arrays.items()}
    for name in names:
        data[f"out_{name}"] = np.load(folder / f"result_{name}.npy")
        data[f"scale_{name}"] = reference[f"{name}_scale"].astype(np.float32)
    np.savez_compressed(folder / "data.npz", **data)
    label = " ".join([type(config).__name__.replace("Config", "").lower(), config.label,
                      *flags, f"inputs{arguments}".replace(" ", "")])
    (folder / "kernel.json").write_text(json.dumps(
        {"label": label, "bounds": get_bounds(config, arrays)}, indent=1))
    for path in folder.glob("*.npy"):
        path.unlink()


def prepare(folder, target, text):
    """Fills the folder, which must not exist; returns the number of kernels."""
    folder.mkdir(parents=True)
    seen = set()
    for config, flags, arguments in list_kernels():
        key = (config.label, type(config), *flags, *arguments)
        if key in seen or text not in config.label:
            continue
        seen.add(key)
        prepare_kernel(folder / f"{len(seen):03}", target, config, flags, arguments)
    return len(seen)


# Comparing, on a machine with a GPU.

def compare_result(number, name, label, out, data, bounds):
    """Prints a line; returns whether the result is as the simulator's."""
    expected = data[f"out_{name}"]
    if out.shape != expected.shape or out.dtype != expected.dtype:
        raise BundleError(f"{name}: {out.dtype} {out.shape}, the simulator has "
                          f"{expected.dtype} {expected.shape}")
    bits = np.dtype(f"uint{8 * out.dtype.itemsize}")
    different = int((out.view(bits) != expected.view(bits)).sum())
    bound = tolerance.Bound(*bounds)
    errors = tolerance.measure(out.astype(np.float32), expected.astype(np.float64),
                               data[f"scale_{name}"].astype(np.float64), bound.floor)
    good = not different or errors.within(bound)
    print(ROW.format(number, name, out.size, different, f"{errors.rms:.1e}", f"{bound.rms:.1e}",
                     f"{errors.element:.1e}", f"{bound.element:.1e}",
                     "FAIL" if not good else "ok" if different else "same", label))
    return good


def compare_kernel(folder, driver, dry):
    """Runs one kernel's bundle; returns its number of failures."""
    info = json.loads((folder / "kernel.json").read_text())
    with np.load(folder / "data.npz") as file:
        data = dict(file)
    arrays = {name[3:]: array for name, array in data.items() if name.startswith("in_")}
    bundle = Bundle(folder / "bundle", driver)
    results = bundle.run(None, arrays)
    missing = info["bounds"].keys() - results.keys()
    if missing:
        raise BundleError(f"no result {', '.join(sorted(missing))}")
    if dry:
        print(f"{folder.name} {info['label']}: {len(driver.launches)} launches")
        driver.launches.clear()
        return 0
    return sum(not compare_result(folder.name, name, info["label"], results[name], data, bounds)
               for name, bounds in info["bounds"].items())


def compare(folder, dry):
    folders = sorted(path.parent for path in folder.glob("*/kernel.json"))
    if not folders:
        print(f"error: no kernels in {folder}; prepare them first", file=sys.stderr)
        return 1
    driver = DryDriver() if dry else Driver()
    print(f"device: {driver.name}")
    if not dry:
        print(HEAD)
    failures = 0
    for path in folders:
        try:
            failures += compare_kernel(path, driver, dry)
        except (BundleError, CudaError, OSError, KeyError) as error:
            print(f"{path.name} FAIL {type(error).__name__}: {error}")
            failures += 1
            if isinstance(error, CudaError):
                break  # the context may be unusable
    print(f"{len(folders)} kernels, {failures or 'no'} failures")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description="compare kernels with the simulator")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--filter", default="", metavar="TEXT")
    parser.add_argument("--dry-run", action="store_true", help="use no GPU")
    options = parser.parse_args()
    if not options.prepare:
        try:
            return compare(options.folder, options.dry_run)
        except (CudaError, OSError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if options.folder.exists():
        print(f"error: {options.folder} exists", file=sys.stderr)
        return 1
    print(f"{prepare(options.folder, options.target, options.filter)} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
