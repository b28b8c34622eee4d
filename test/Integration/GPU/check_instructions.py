"""Records what a GPU gives for the kernels of instruction_cases.py and others.

    python check_instructions.py OUTPUT.npz [MODULE]

The file holds, for each case, its results (THREADS x 2 words of 64 bits) and,
for each kind of inputs, "inputs_KIND". It needs the CUDA driver, Python and
numpy. MODULE is another one with cases, such as async_cases. The records
`h200_*.npz` beside this script were made on an H200.
"""

import importlib
from pathlib import Path
import sys

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cuda_driver import CudaError, Driver, TensorMap, TENSOR_ELEMENT_BYTES  # noqa: E402


def make_tensor_map(address, *, dtype, sizes, strides, box, element_strides=None, swizzle=0,
                    l2_promotion=0, fill="zero"):
    """From the fields of a parameter of kind tensor_map, with numbers."""
    size = TENSOR_ELEMENT_BYTES[dtype]
    return TensorMap(address, dtype, tuple(sizes), tuple(size * stride for stride in strides),
                     tuple(box), tuple(element_strides or [1] * len(sizes)), swizzle, l2_promotion,
                     fill)


def record(driver, cases, case, module):
    """Results of one case as an array (THREADS, 2) of uint64."""
    given = np.ascontiguousarray(cases.inputs(case.kind))
    result = np.zeros((cases.THREADS, 2), dtype=np.uint64)
    places = [driver.allocate(given.nbytes), driver.allocate(result.nbytes)]
    driver.upload(places[0], given)
    parameters = list(places)
    tensor = getattr(case, "tensor", None)
    if tensor:
        buffer, tensor_map = tensor
        parameters.append(make_tensor_map(places[buffer == "out"], **tensor_map))
    blocks = getattr(case, "cluster", 1)
    kernel = driver.kernel(module, case.name, 0)
    driver.launch(kernel, (blocks, 1, 1), (cases.THREADS // blocks, 1, 1), (blocks, 1, 1), 0,
                  parameters)
    driver.synchronize()
    driver.download(places[1], result)
    for place in places:
        driver.free(place)
    return result


def main():
    if len(sys.argv) not in (2, 3):
        print("usage: check_instructions.py OUTPUT.npz [MODULE]", file=sys.stderr)
        return 1
    cases = importlib.import_module(sys.argv[2] if len(sys.argv) == 3 else "instruction_cases")
    try:
        driver = Driver()
        module = driver.load_module(cases.module(cases.CASES).encode())
        arrays = {case.name: record(driver, cases, case, module) for case in cases.CASES}
    except (CudaError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for kind in {case.kind for case in cases.CASES}:
        arrays[f"inputs_{kind}"] = cases.inputs(kind)
    np.savez_compressed(sys.argv[1], **arrays)
    print(f"{len(cases.CASES)} cases on {driver.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
