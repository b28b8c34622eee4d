"""Arguments that are slices of longer rows, in the simulator.

Each such array lies in the front of rows that are longer and hold NaN behind it.
The simulator has dense arrays only, so that the manifest is rewritten: the
argument becomes the array of whole rows.
"""

import json
import re

import numpy as np
import pytest

from configs import SsdConfig, SsuConfig
import tolerance

STRIDED = ("x", "dt", "B", "C", "z")
# Sizes that those arrays would have named.
OTHERS = {"heads": ("A", 0)}


def widen(array, rows, gap):
    """An array [rows of the first axes, row] with `gap` elements of NaN behind."""
    lead = array.shape[:rows]
    flat = array.reshape(*lead, -1)
    wide = np.full((*lead, flat.shape[-1] + gap), np.nan, array.dtype)
    wide[..., :flat.shape[-1]] = flat
    return wide


def rewrite(folder, rows, groups):
    """Arguments with strides become arrays of whole rows, in the manifest too."""
    path = folder / "bundle/manifest.json"
    manifest = json.loads(path.read_text())
    assert manifest["version"] == 2
    function, = manifest["functions"]
    strided = [argument for argument in function["arguments"] if "strides" in argument]
    values = {}
    for argument in strided:
        name, strides = argument["name"], argument.pop("strides")
        pitches = strides[:rows]
        assert all(isinstance(pitch, str) for pitch in pitches)
        assert all(isinstance(stride, int) for stride in strides[rows:])
        # The last pitch is the row; those before follow from it and the sizes.
        function["sizes"][pitches[-1]] = {"argument": name, "axis": rows}
        for axis in range(rows - 1):
            values[pitches[axis]] = " * ".join(
                [pitches[-1], *map(str, argument["shape"][axis + 1:rows])])
            del function["sizes"][pitches[axis]]
        argument["shape"] = [*argument["shape"][:rows], pitches[-1]]
    sizes = function["sizes"]
    for size in ("heads", "groups"):
        if size in sizes and sizes[size]["argument"] in [a["name"] for a in strided]:
            if size in OTHERS:
                name, axis = OTHERS[size]
                sizes[size] = {"argument": name, "axis": axis}
            else:
                values[size] = str(groups)
                del sizes[size]

    def substitute(node):
        if isinstance(node, dict):
            return {key: substitute(value) for key, value in node.items()}
        if isinstance(node, list):
            return [substitute(value) for value in node]
        if isinstance(node, str):
            return re.sub(r"\w+", lambda m: f"({values[m[0]]})" if m[0] in values else m[0], node)
        return node

    for key in ("launches", "workspace", "constraints"):
        function[key] = substitute(function.get(key, []))
    for argument in function["arguments"]:
        argument["shape"] = substitute(argument["shape"])
    path.write_text(json.dumps(manifest))
    return [argument["name"] for argument in strided]


def run(simulator, config, arrays, target, rows, gaps, options=()):
    names = [name for name in STRIDED if name in arrays]
    simulator.compile([*config.flags(), f"--strided={','.join(names)}", *options], target)
    assert set(rewrite(simulator.folder, rows, config.groups)) == set(names)
    wide = {name: widen(array, rows, gaps[name] if name in gaps else gaps[""])
            if name in names else array for name, array in arrays.items()}
    results = config.result_dtypes()
    outputs = [f"--result={name}=out_{name}.npy" for name in results]
    done = simulator.simulate("bundle", *simulator.save(wide), *outputs)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return {name: np.load(simulator.folder / f"out_{name}.npy").astype(np.float32)
            for name in results}


SSD = [SsdConfig(chunk_size=64, head_dim=64, state_dim=128, dtype="bf16", dt_dtype="bf16", z=True),
       SsdConfig(chunk_size=32, head_dim=16, state_dim=16, heads=4, groups=2,
                 initial_state=True),
       SsdConfig(chunk_size=64, head_dim=80, state_dim=64, dtype="f16", seq_idx="padded")]


@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize("config", SSD, ids=lambda config: config.label)
def test_ssd(simulator, target, config):
    arrays = config.inputs(3, 2, 71)
    # Rows of dt of 16 bytes are read as such, others element by element.
    outs = run(simulator, config, arrays, target, rows=2,
               gaps={"": 8, "x": 40, "B": 16, "dt": 4 if config.heads == 4 else 3})
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("tokens", [None, 3])
def test_ssu(simulator, tokens):
    config = SsuConfig(head_dim=64, state_dim=128, dtype="bf16", dt_dtype="bf16",
                       state_dtype="f32", tokens=tokens, z=True)
    arrays = config.inputs(5, 3)
    outs = run(simulator, config, arrays, "sm_90a", rows=1 if tokens is None else 2,
               gaps={"": 8, "x": 40, "C": 24, "dt": 3})
    tolerance.check_all(outs, config.reference(arrays), config.bounds())


def test_dense_arrays(simulator):
    config = SSD[0]
    arrays = config.inputs(3, 1, 71)
    names = ",".join(name for name in STRIDED if name in arrays)
    outs = simulator.run([*config.flags(), f"--strided={names}"], "sm_90a", arrays,
                         config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


def test_unaligned_rows_are_refused(simulator):
    config = SsdConfig(chunk_size=32, head_dim=16, dtype="bf16")
    arrays = config.inputs(3, 1, 16)
    simulator.compile([*config.flags(), "--strided=x"], "sm_90a")
    rewrite(simulator.folder, 2, config.groups)
    done = simulator.simulate("bundle", *simulator.save({**arrays, "x": widen(arrays["x"], 2, 4)}),
                              "--result=y=out.npy")
    assert done.returncode and "mod(x_pitch_1, 8) == 0" in done.stderr
