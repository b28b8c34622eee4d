"""Runs bundles through mamba_mlir on torch tensors in a CUDA graph, and compares
with the float64 recurrences.

    python check_runtime.py BUNDLE ...

Needs a GPU of the bundles' target, torch, and libmamba_runtime.so in build/lib
or at $MAMBA_RUNTIME. Each BUNDLE is a preset of mamba-compile (check_h200.py
tests many more cases; this tests the library). Arguments that may be slices of
rows (--strided) are such, with NaN between them. Prints a line for each result
and exits with 1 if one is outside the bounds of tolerance.py.
"""

from pathlib import Path
import sys

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "python")]

from check_h200 import (Options, Signature, cases, label, random_arrays,  # noqa: E402
                        reference_of, take_heads)
from mamba_mlir import ArgumentError, Bundle  # noqa: E402
from run_bundle import Bundle as Manifest  # noqa: E402
import tolerance  # noqa: E402

CASES = slice(2, 5)  # of check_h200's: a whole chunk, one token more, several chunks
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32,
          "i32": torch.int32, "i64": torch.int64}


def capture(function, tensors):
    """A CUDA graph with one launch, and the results it writes. Nothing ran before
    but prepare."""
    stream = torch.cuda.Stream()
    function.prepare(stream.cuda_stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        results = function(**tensors)
    return graph, results


def to_device(argument, array):
    """A tensor; a slice of longer rows if the argument takes one."""
    tensor = torch.from_numpy(array).to("cuda", DTYPES[argument.dtype])
    if argument.strides is None:
        return tensor
    rows = sum(isinstance(stride, str) for stride in argument.strides)
    flat = tensor.flatten(rows)
    longer = torch.nn.functional.pad(flat, (0, 64), value=float("nan"))
    part = longer[..., :flat.shape[-1]].view(tensor.shape)
    assert part.data_ptr() == longer.data_ptr()
    return part


def replay(function, arrays):
    """Results of the second replay, with inout arguments as they were before it;
    raises unless both replays give the same bits."""
    tensors = {name: to_device(function.argument(name), array) for name, array in arrays.items()}
    start = {name: tensor.clone() for name, tensor in tensors.items()}
    graph, results = capture(function, tensors)
    runs = []
    for _ in range(2):
        for name, tensor in tensors.items():
            tensor.copy_(start[name])
        for argument in function.arguments:
            if argument.role == "output":
                results[argument.result].view(torch.uint8).fill_(0xFF)
        graph.replay()
        runs.append({name: result.clone() for name, result in results.items()})
    torch.cuda.synchronize()
    for name, result in runs[0].items():
        if not torch.equal(result.view(torch.uint8), runs[1][name].view(torch.uint8)):
            raise ArithmeticError(f"{name} differs between two replays")
    return {name: result.float().cpu().numpy() for name, result in runs[1].items()}


def check_case(function, signature, options, case, seed):
    """Prints a line for each result; returns the number of failures."""
    arrays = random_arrays(signature, options, case, seed)
    heads, reference, bounds = reference_of(signature, options, arrays, case)
    failures = 0
    for name, result in take_heads(replay(function, arrays), heads).items():
        errors = tolerance.measure(result, reference[name], reference[f"{name}_scale"],
                                   bounds[name].floor)
        good = errors.within(bounds[name])
        failures += not good
        print(f"{signature.op:4} {label(case):22} {name:14} rms {errors.rms:.2e} "
              f"element {errors.element:.2e} {'ok' if good else 'FAIL'}")
    return failures


def check(folder):
    """Checks each function of a bundle; returns the number of failures."""
    print(folder)
    bundle, failures = Bundle.load(folder), 0
    for entry in Manifest(folder, driver=object()).functions.values():
        signature, options = Signature(entry), Options.of(entry)
        function = bundle[entry["name"]]
        for seed, case in enumerate(list(cases(signature, options, large=False))[CASES]):
            failures += check_case(function, signature, options, case, seed)
        try:
            function(x=torch.zeros(1, device="cuda"))
            failures += 1
            print("FAIL: a wrong array was accepted")
        except ArgumentError:
            pass
    return failures


def main():
    print(f"device: {torch.cuda.get_device_name()}")
    failures = sum(check(folder) for folder in sys.argv[1:])
    print(f"{failures} failures" if failures else "all good")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
