"""Cases of instructions: their record, and their runs in the simulator."""

import json
from pathlib import Path

import numpy as np

GPU = Path(__file__).resolve().parents[1] / "GPU"


def load_records(*names):
    """The arrays of records made by GPU/check_instructions.py, of those that exist."""
    arrays = {}
    for path in filter(Path.exists, (GPU / f"h200_{name}.npz" for name in names)):
        with np.load(path) as file:
            arrays.update(file)
    return arrays


def describe(selected, threads, describe_launch):
    """A function of a manifest with one launch a case. What describe_launch(case, names of
    its buffers, their parameters) gives replaces fields of the launch."""
    def array(name, shape, role):
        return {"name": name, "dtype": "i64", "shape": shape, "role": role}

    kinds = sorted({case.kind for case in selected})
    arguments = [array(f"in_{kind}", [3, threads], "input") for kind in kinds]
    arguments += [array(f"out_{case.name}", [threads, 2], "output") for case in selected]
    launches = []
    for case in selected:
        buffers = {"in": f"in_{case.kind}", "out": f"out_{case.name}"}
        pointers = [{"kind": "pointer", "argument": name} for name in buffers.values()]
        launches.append({"kernel": case.name, "grid": [1], "block": [threads],
                         "parameters": pointers, **describe_launch(case, buffers, pointers)})
    return {"name": "cases", "arguments": arguments, "launches": launches}


class Runs:
    """Runs of cases. `cases`: the module that they are of."""

    def __init__(self, simulator, cases, selected, record, describe_launch=lambda *_: {}):
        self._simulator, self._selected = simulator, selected
        (simulator.folder / "cases.ptx").write_text(cases.module(selected))
        (simulator.folder / "cases.json").write_text(
            json.dumps(describe(selected, cases.THREADS, describe_launch)))
        self._arguments = simulator.save({
            f"in_{kind}": record.get(f"inputs_{kind}", cases.inputs(kind)).view(np.int64)
            for kind in {case.kind for case in selected}})

    def run(self, *flags):
        """(the finished process, results by case name)."""
        results = [f"--result=out_{case.name}={case.name}.npy" for case in self._selected]
        done = self._simulator.simulate("cases.ptx", "--launch=cases.json", *flags,
                                        *self._arguments, *results)
        assert done.returncode == 0, done.stderr
        folder = self._simulator.folder
        return done, {case.name: np.load(folder / f"{case.name}.npy").view(np.uint64)
                      for case in self._selected}

    def run_seeds(self, seeds):
        """Results by seed and case name, of runs without findings."""
        found = {}
        for seed in seeds:
            done, results = self.run(f"--seed={seed}")
            assert not done.stderr
            found.update({(seed, name): result for name, result in results.items()})
        return found
