"""Tests of the bundle loader on a hand-written manifest, without a GPU."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuda_driver import CudaError, DryDriver, TensorMap
from run_bundle import GUARD_BYTES, Bundle, BundleError, decode, encode, evaluate

HERE = Path(__file__).resolve().parent


# Size expressions.

@pytest.mark.parametrize("text,value", [
    ("7", 7), (5, 5), ("b*H", 6), ("ceildiv(L, 64)", 2), ("floordiv(L,64)", 1),
    ("mod(L, 64) + 1", 37), ("min(b, 3) - max(H, 9)", -7), ("-b + (L - 1)*4", 394),
    ("ceildiv(0, 64)", 0), ("b*H*ceildiv(L, 64)*64*128*4", 393216),
    ("floordiv(0 - 7, 2)", -4), ("2147483647*H", 6442450941),
])
def test_evaluate(text, value):
    assert evaluate(text, {"b": 2, "H": 3, "L": 100}) == value


@pytest.mark.parametrize("text", [
    "q", "b/2", "b**2", "b if b else 1", "__import__('os')", "b.real", "b[0]", "min(b)",
    "min(b, 1, 2)", "abs(b)", "b <", "", "1.5", "'x'", "True", True, None, 2.0, "b, 1",
    "ceildiv(b, 0)", "lambda: 1", "min(a=1, b=2)", "b & 1",
])
def test_evaluate_rejects(text):
    with pytest.raises(BundleError):
        evaluate(text, {"b": 2})


# Encoding.

def test_bf16_rounds_to_nearest_even_and_keeps_specials():
    ulp = 2.0**-7
    values = np.array([1, 1 + ulp / 2, 1 + 3 * ulp / 2, 1 + 0.51 * ulp, -1 - ulp / 2, 0.0, -0.0,
                       np.inf, -np.inf, 3.4e38, 1e-40], dtype=np.float32)
    expected = np.array([1, 1, 1 + 2 * ulp, 1 + ulp, -1, 0.0, -0.0, np.inf, -np.inf, np.inf,
                         decode(np.uint16([1]), "bf16")[0]], dtype=np.float32)
    np.testing.assert_array_equal(decode(encode(values, "bf16"), "bf16"), expected)
    payloads = np.array([0x7F800001, 0xFFFFFFFF], dtype=np.uint32).view(np.float32)
    assert np.isnan(decode(encode(payloads, "bf16"), "bf16")).all()


def test_encode_checks_the_kind():
    with pytest.raises(BundleError):
        encode(np.zeros(2, np.int32), "f32")
    with pytest.raises(BundleError):
        encode(np.zeros(2, np.float32), "i32")
    assert encode(np.zeros((2, 3), np.float64).T, "f16").flags.c_contiguous


# A bundle with one function that adds x to state and writes y = 2 x.

SCALE = {"kernel": "scale", "ptx": "f.ptx", "grid": ["ceildiv(n, 4)", "b", "1"],
         "block": [256, 1, 1], "shared_bytes": 1024, "cluster": [2, 1, 1],
         "parameters": [{"kind": "pointer", "argument": "x"},
                        {"kind": "pointer", "workspace": "w0"},
                        {"kind": "i64", "value": "b*n"}]}
STORE = {"kernel": "store", "ptx": "f.ptx", "grid": ["b", "1", "1"], "block": [32, 1, 1],
         "shared_bytes": 0, "cluster": [1, 1, 1],
         "parameters": [{"kind": "pointer", "workspace": "w0"},
                        {"kind": "pointer", "argument": "y"},
                        {"kind": "pointer", "argument": "state"},
                        {"kind": "i64", "value": "0 - 1"}]}
FUNCTION = {
    "name": "f",
    "arguments": [
        {"name": "state", "dtype": "f32", "shape": ["b", "n"], "role": "inout",
         "result": "new_state"},
        {"name": "x", "dtype": "bf16", "shape": ["b", "n"], "role": "input"},
        {"name": "y", "dtype": "bf16", "shape": ["b", "n"], "role": "output"}],
    "sizes": {"b": {"argument": "x", "axis": 0}, "n": {"argument": "x", "axis": 1}},
    "workspace": [{"name": "w0", "bytes": "4*b*n"}],
    "launches": [SCALE, STORE],
}


class Emulator(DryDriver):
    """Executes the two kernels above on the host memory of DryDriver."""

    overrun = 0
    touch_input = False

    def launch(self, kernel, grid, block, cluster, shared_bytes, parameters):
        super().launch(kernel, grid, block, cluster, shared_bytes, parameters)
        if kernel == "scale":
            x, workspace, count = parameters
            bits = self._view(x, 2 * count).view(np.uint16)
            assert (self._view(workspace, 4 * count) == 0xFF).all()
            self._view(workspace, 4 * count).view(np.float32)[:] = 2 * decode(bits, "bf16")
            bits += np.uint16(self.touch_input)
        else:
            workspace, y, state, minus_one = parameters
            assert minus_one == -1
            count = self.launches[0].parameters[2]
            assert (self._view(y, 2 * count) == 0xFF).all()
            doubled = self._view(workspace, 4 * count).view(np.float32)
            self._view(y, 2 * count).view(np.uint16)[:] = encode(doubled, "bf16")
            self._view(state, 4 * count).view(np.float32)[:] += doubled / 2
            if self.overrun:
                self._view(y + self.overrun, 1)[:] = 0


def write_bundle(folder, **changes):
    """The bundle above in folder; changes replace fields of its function."""
    manifest = {"version": 1, "target": "sm_90a", "functions": [{**FUNCTION, **changes}]}
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "f.ptx").write_text(".visible .entry scale(){}\n.visible .entry store(){}\n")
    return folder


def arrays_of(batch=3, size=10):
    return {"x": np.arange(batch * size, dtype=np.float32).reshape(batch, size),
            "state": np.ones((batch, size), dtype=np.float32)}


def test_run(tmp_path):
    driver = Emulator()
    arrays = arrays_of()
    results = Bundle(write_bundle(tmp_path), driver).run("f", arrays)
    assert sorted(results) == ["new_state", "y"]
    np.testing.assert_array_equal(results["y"], 2 * arrays["x"])
    np.testing.assert_array_equal(results["new_state"], 1 + arrays["x"])
    assert (arrays["state"] == 1).all()
    scale, store = driver.launches
    assert (scale.kernel, scale.grid, scale.block) == ("scale", (3, 3, 1), (256, 1, 1))
    assert (scale.cluster, scale.shared_bytes) == ((2, 1, 1), 1024)
    assert scale.parameters[1:] == (store.parameters[0], 30)
    assert all(p % 256 == 0 for p in (*scale.parameters[:2], *store.parameters[:3]))
    assert not driver._buffers  # everything freed


def test_output_that_no_kernel_writes_is_nan(tmp_path):
    results = Bundle(write_bundle(tmp_path), DryDriver()).run("f", arrays_of())
    assert np.isnan(results["y"]).all()
    assert (results["new_state"] == 1).all()


def test_empty_grid_is_skipped(tmp_path):
    driver = DryDriver()
    results = Bundle(write_bundle(tmp_path), driver).run("f", arrays_of(size=0))
    assert [launch.kernel for launch in driver.launches] == ["store"]
    assert results["y"].shape == (3, 0)


@pytest.mark.parametrize("offset", [2 * 30, -1, 2 * 30 + GUARD_BYTES - 1])
def test_write_outside_of_a_buffer_is_found(tmp_path, offset):
    driver = Emulator()
    driver.overrun = offset
    with pytest.raises(BundleError, match="y: a kernel wrote outside"):
        Bundle(write_bundle(tmp_path), driver).run("f", arrays_of())
    assert not driver._buffers


def test_changed_input_is_found(tmp_path):
    driver = Emulator()
    driver.touch_input = True
    with pytest.raises(BundleError, match="x: a kernel changed an input"):
        Bundle(write_bundle(tmp_path), driver).run("f", arrays_of())


@pytest.mark.parametrize("change,message", [
    (lambda a: a.pop("x"), "x is missing"),
    (lambda a: a.update(z=a["x"]), "no argument z"),
    (lambda a: a.update(state=a["state"][:2]), r"state: shape \(2, 10\), expected \(3, 10\)"),
    (lambda a: a.update(state=a["state"][0]), "state: shape"),
    (lambda a: a.update(x=a["x"][0]), "x: shape .* has no axis 1"),
    (lambda a: a.update(x=a["x"].astype(np.int64)), "int64 array for a bf16"),
])
def test_wrong_arrays(tmp_path, change, message):
    driver = DryDriver()
    arrays = arrays_of()
    change(arrays)
    with pytest.raises(BundleError, match=message):
        Bundle(write_bundle(tmp_path), driver).run("f", arrays)
    assert not driver.launches and not driver._buffers


@pytest.mark.parametrize("changes,error", [
    ({"launches": [{**STORE, "parameters": [{"kind": "pointer", "argument": "q"}]}]}, BundleError),
    ({"launches": [{**STORE, "parameters": [{"kind": "f32", "value": "1"}]}]}, BundleError),
    ({"launches": [{**STORE, "grid": ["0 - b", "1", "1"]}]}, BundleError),
    ({"launches": [{**STORE, "kernel": "absent"}]}, CudaError),
    ({"launches": [{**STORE, "ptx": "absent.ptx"}]}, OSError),
    ({"workspace": [{"name": "w0", "bytes": "0 - 1"}]}, BundleError),
    ({"workspace": [{"name": "w0", "bytes": "b"}] * 2}, BundleError),
    ({"sizes": {"b": {"argument": "y", "axis": 0}}}, BundleError),
])
def test_wrong_manifest(tmp_path, changes, error):
    driver = DryDriver()
    with pytest.raises(error):
        Bundle(write_bundle(tmp_path, **changes), driver).run("f", arrays_of())
    assert not driver._buffers


def test_version_and_function_names(tmp_path):
    bundle = Bundle(write_bundle(tmp_path), DryDriver())
    assert bundle.function()["name"] == "f"
    with pytest.raises(BundleError, match="no function g"):
        bundle.run("g", {})
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "version": 3}))
    with pytest.raises(BundleError, match="version 3"):
        Bundle(tmp_path, DryDriver())


def test_tensor_maps(tmp_path):
    map_of_x = {"kind": "tensor_map", "argument": "x", "dtype": "bf16", "offset": "n - 2",
                "sizes": ["n", "b - 1"], "strides": ["n + 6"], "box": [8, 4],
                "element_strides": [1, 1], "swizzle": 32, "l2_promotion": 128, "fill": "zero"}
    pointer = {"kind": "pointer", "argument": "x"}

    def launch(batch, **changes):
        driver = DryDriver()
        arrays = {"x": np.zeros((batch, 10), np.float32), "state": np.zeros((batch, 10), np.float32)}
        launches = [{**STORE, "parameters": [pointer, {**map_of_x, **changes}]}]
        Bundle(write_bundle(tmp_path, launches=launches), driver).run("f", arrays)
        return driver.launches[0].parameters

    address, tensor_map = launch(3)
    assert tensor_map == TensorMap(address + 16, "bf16", (10, 2), (32,), (8, 4), (1, 1), 32, 128,
                                   "zero")
    address, empty = launch(1)
    assert (empty.sizes, empty.strides) == ((1, 1), (16,)) and empty.address != address + 16
    with pytest.raises(BundleError, match="strides of"):
        launch(3, strides=["n"])
    with pytest.raises(BundleError, match="tensor map at"):
        launch(3, offset="1")


def test_strides_are_those_of_dense_arrays(tmp_path):
    sizes = {**FUNCTION["sizes"], "x_pitch_0": {"argument": "x", "stride": 0}}
    launches = [{**STORE, "parameters": [{"kind": "i64", "value": "x_pitch_0"}]}]
    driver = DryDriver()
    Bundle(write_bundle(tmp_path, sizes=sizes, launches=launches), driver).run("f", arrays_of())
    assert driver.launches[0].parameters == (arrays_of()["x"].shape[1],)


# The programs.

def run_script(script, *arguments, cwd=None):
    return subprocess.run([sys.executable, str(HERE / script), *map(str, arguments)], cwd=cwd,
                          text=True, capture_output=True, check=False)


def test_program(tmp_path):
    write_bundle(tmp_path / "bundle")
    for name, array in arrays_of().items():
        np.save(tmp_path / f"{name}.npy", array)
    command = ("run_bundle.py", "bundle", "--dry-run", "--arg", "x=x.npy", "--arg",
               "state=state.npy", "--result")
    done = run_script(*command, "y=y.npy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("RecordedLaunch") == 2
    assert np.load(tmp_path / "y.npy").shape == (3, 10)
    done = run_script(*command, "q=y.npy", cwd=tmp_path)
    assert done.returncode == 1 and "no result q" in done.stderr


def ssu_bundle(folder):
    """Manifest of a preset ssu with dynamic batch, slots, heads and groups."""
    def argument(name, dtype, *shape, role="input", **more):
        return {"name": name, "dtype": dtype, "shape": list(shape), "role": role, **more}

    names = {"slots": ("state", 0), "b": ("x", 0), "H": ("x", 1), "G": ("B", 1)}
    return write_bundle(
        folder, name="ssu", workspace=[],
        operations=[{"op": "mamba.ssu", "softplus": True}],
        arguments=[
            argument("state", "f16", "slots", "H", 64, 128, role="inout", result="new_state"),
            argument("x", "bf16", "b", "H", 64), argument("dt", "f32", "b", "H"),
            argument("A", "f32", "H"), argument("B", "bf16", "b", "G", 128),
            argument("C", "bf16", "b", "G", 128), argument("D", "f32", "H"),
            argument("state_batch_indices", "i64", "b"),
            argument("y", "bf16", "b", "H", 64, role="output")],
        sizes={s: {"argument": n, "axis": a} for s, (n, a) in names.items()},
        launches=[{**STORE, "grid": ["b*H", "1", "1"], "parameters": [
            {"kind": "pointer", "argument": "state"}, {"kind": "i64", "value": "slots"}]}])


def ssd_bundle(folder):
    """Manifest of a preset ssd with every optional argument and static heads."""
    def argument(name, dtype, *shape, role="input"):
        return {"name": name, "dtype": dtype, "shape": list(shape), "role": role}

    tokens, state = ("b", "L", 6, 80), ("b", 6, 80, 128)
    return write_bundle(
        folder, name="ssd", workspace=[{"name": "w0", "bytes": "b*6*L*4"}],
        operations=[{"op": "mamba.ssd", "chunk_size": 64, "dt_limit": [0.0, 1.0]}],
        arguments=[
            argument("x", "f16", *tokens), argument("dt", "f16", "b", "L", 6),
            argument("A", "f32", 6), argument("B", "f16", "b", "L", 2, 128),
            argument("C", "f16", "b", "L", 2, 128), argument("D", "f32", 6, 80),
            argument("z", "f16", *tokens), argument("dt_bias", "f32", 6),
            argument("initial_state", "f32", *state), argument("seq_idx", "i32", "b", "L"),
            argument("y", "f16", *tokens, role="output"),
            argument("chunk_states", "f32", "b", "ceildiv(L, 64)", *state[1:], role="output"),
            argument("final_state", "f32", *state, role="output"),
            argument("total_decay", "f32", "b", 6, role="output")],
        sizes={"b": {"argument": "x", "axis": 0}, "L": {"argument": "x", "axis": 1}},
        launches=[{**STORE, "grid": ["ceildiv(L, 64)", "b*6", "1"], "parameters": [
            {"kind": "pointer", "argument": "z"}, {"kind": "pointer", "workspace": "w0"}]}])


def test_check_h200_dry_run(tmp_path):
    folders = [ssd_bundle(tmp_path / "ssd"), ssu_bundle(tmp_path / "ssu")]
    done = run_script("check_h200.py", "--dry-run", *folders)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("dry: store") == 7 + 8 and done.stdout.count("no launch") == 1


def test_check_h200_reports_failures(tmp_path):
    done = run_script("check_h200.py", "--dry-run", tmp_path / "absent",
                      f"{ssu_bundle(tmp_path / 'ssu')}:nonsense")
    assert done.returncode == 1
    assert "FAIL" in done.stdout and "2 failures" in done.stdout
