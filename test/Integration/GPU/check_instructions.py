"""Records what a GPU gives for the kernels of the files *_cases.py.

    python check_instructions.py OUTPUT.npz [CASES ...]

CASES are names of such files without ".py", all if there are none. The output
holds, for each case, its results (THREADS x 2 words of 64 bits) and, for each
kind of inputs, "inputs_KIND". It needs the CUDA driver, Python and numpy. The
files `h200_*.npz` beside this script were recorded on an H200.
"""

from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cuda_driver import CudaError, Driver  # noqa: E402
import case_files  # noqa: E402
import instruction_cases as cases  # noqa: E402


def record(driver, case, module):
    """Results of one case as an array (THREADS, 2) of uint64."""
    given = np.ascontiguousarray(cases.inputs(case.kind))
    result = np.zeros((cases.THREADS, 2), dtype=np.uint64)
    places = [driver.allocate(given.nbytes), driver.allocate(result.nbytes)]
    driver.upload(places[0], given)
    kernel = driver.kernel(module, case.name, 0)
    driver.launch(kernel, (1, 1, 1), (cases.THREADS, 1, 1), (1, 1, 1), 0, places)
    driver.synchronize()
    driver.download(places[1], result)
    for place in places:
        driver.free(place)
    return result


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(case_files.FILES):
        print(f"usage: check_instructions.py OUTPUT.npz [{' | '.join(case_files.FILES)} ...]",
              file=sys.stderr)
        return 1
    selected = case_files.load(sys.argv[2:])
    try:
        driver = Driver()
        module = driver.load_module(cases.module(selected).encode())
        arrays = {case.name: record(driver, case, module) for case in selected}
    except (CudaError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for kind in {case.kind for case in selected}:
        arrays[f"inputs_{kind}"] = cases.inputs(kind)
    np.savez_compressed(sys.argv[1], **arrays)
    print(f"{len(selected)} cases on {driver.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
