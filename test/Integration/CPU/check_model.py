"""Runs a model's chunked scan on the CPU and checks it against the recurrence.

    python check_model.py [--model NAME] [--tokens L] [--batch B] [--seed S]
                          [--folder DIR] [--tool MAMBA-COMPILE]

Inputs are random, with the sizes and element types of the model. Prints the
time of each part and, for every result, its errors and their bounds (see
tolerance.py). Exits with 1 if a result is outside them. The .npy files stay in
DIR; the recurrence's results are reused while it has not changed.
"""

import argparse
import hashlib
import json
from pathlib import Path
import subprocess
import sys
import time

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[3]
INTEGRATION = REPOSITORY / "test/Integration"
sys.path.insert(0, str(INTEGRATION))

from configs import SsdConfig  # noqa: E402
import tolerance  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="mamba2-130m")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build/check_model")
    parser.add_argument("--tool", type=Path, default=REPOSITORY / "build/bin/mamba-compile")
    return parser.parse_args()


def load_config(name):
    """What `mamba-compile --model=NAME` compiles, as the tests describe it."""
    models = json.loads((REPOSITORY / "lib/Models/models.json").read_text())
    for model in models:
        if name in (model["name"], *model["aliases"]):
            break
    else:
        sys.exit(f"check_model: error: lib/Models/models.json has no model {name}")
    low, high = model["dt_limit"]
    return SsdConfig(
        heads=model["heads"], groups=model["groups"], head_dim=model["head_dim"],
        state_dim=model["state_dim"], chunk_size=model["chunk_size"],
        dtype=model["dtype"], dt_dtype=model["dtype"], state_dtype=model["state_dtype"],
        D="head_dim" if model["d_has_head_dim"] else "head", z=model["z_gate"] == "scan",
        dt_limit=(low, np.inf if high is None else high))


class Timer:
    """Prints a line before and the seconds after each part."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        print(f"  {self.text:52}", end="", flush=True)
        self.begin = time.perf_counter()

    def __exit__(self, kind, *_):
        print(f"{time.perf_counter() - self.begin:6.1f} s" if kind is None else "", flush=True)


def run(tool, model, arrays, names, folder):
    """The results of the compiled function, as float arrays."""
    command = [tool, f"--model={model}", "--target=cpu", "--run"]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        command += ["--arg", f"{name}={folder / name}.npy"]
    for name in names:
        command += ["--result", f"{name}={folder / name}.npy"]
    done = subprocess.run([str(word) for word in command], check=False)
    if done.returncode != 0:
        sys.exit(f"check_model: error: mamba-compile failed with exit code {done.returncode}")
    return {name: np.load(folder / f"{name}.npy") for name in names}


def reference(config, arrays, names, folder):
    """The recurrence's results and their scales, from `folder` if it has them."""
    key = hashlib.sha256((INTEGRATION / "recurrence.py").read_bytes() + repr(config).encode())
    for array in arrays.values():
        key.update(repr(array.shape).encode() + array.tobytes())
    path = folder / f"reference-{key.hexdigest()[:16]}.npz"
    if path.is_file():
        with np.load(path) as saved:
            return dict(saved)
    everything = config.reference(arrays)
    values = {n: everything[n] for name in names for n in (name, f"{name}_scale")}
    for old in folder.glob("reference-*.npz"):
        old.unlink()
    np.savez(path, **values)
    return values


def main():
    options = parse_arguments()
    config = load_config(options.model)
    names = list(config.result_dtypes())
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"  {options.model}: {config.heads} heads of {config.head_dim}, state "
          f"{config.state_dim}, chunks of {config.chunk_size}, {config.dtype}; "
          f"{options.batch} x {options.tokens} tokens")

    with Timer("random inputs"):
        arrays = config.inputs(options.seed, options.batch, options.tokens)
    with Timer("mamba-compile --run (compiling and running)"):
        outs = run(options.tool, options.model, arrays, names, options.folder)
    with Timer("float64 recurrence, token by token"):
        expected = reference(config, arrays, names, options.folder)

    bounds = config.bounds(arrays)
    good = True
    for name in names:
        bound = bounds[name]
        same_shape = outs[name].shape == expected[name].shape
        errors = same_shape and tolerance.measure(outs[name], expected[name],
                                                  expected[f"{name}_scale"], bound.floor)
        right = same_shape and errors.within(bound)
        good &= right
        what = (f"rms error {errors.rms:.2e} (bound {bound.rms:.2e}), largest "
                f"{errors.element:.2e} (bound {bound.element:.2e})" if same_shape else
                f"shape {outs[name].shape}, expected {expected[name].shape}")
        print(f"  {name:12} {what}: {'right' if right else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
