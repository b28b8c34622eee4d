"""Tests of bundles for the CPU and of the operations on numpy arrays."""

import subprocess

import pytest

np = pytest.importorskip("numpy")

import mamba_mlir  # noqa: E402
from mamba_mlir import ArgumentError, Bundle, DeviceArray  # noqa: E402
from places import COMPILE  # noqa: E402
import op_cases  # noqa: E402

DTYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int64}


def convert(array, dtype):
    if dtype == "bf16":
        return array.astype(pytest.importorskip("ml_dtypes").bfloat16)
    return array.astype(DTYPES[dtype])


def restore(array):
    return array.astype(np.float64)


def each_dtype(cases):
    """All cases in f32, one in each 16-bit dtype."""
    return pytest.mark.parametrize("name, dtype", [
        *((name, "f32") for name in cases), (list(cases)[1], "f16"), (list(cases)[2], "bf16")])


@each_dtype(op_cases.SSD)
def test_ssd(make, name, dtype):
    arrays, arguments = op_cases.make_ssd(name, dtype, convert)
    if "state_dtype" in arguments:
        arguments["state_dtype"] = np.float16
    results = make(lambda: mamba_mlir.ssd(**arguments))
    results = results if isinstance(results, tuple) else (results,)
    assert results[0].dtype == arguments["x"].dtype
    assert len(results) == 1 or results[1].dtype == arguments.get("state_dtype", np.float32)
    op_cases.check_ssd(arrays, arguments, [restore(result) for result in results])


@each_dtype(op_cases.SSU)
def test_ssu(make, name, dtype):
    arrays, arguments = op_cases.make_ssu(name, dtype, convert)
    y = make(lambda: mamba_mlir.selective_state_update(**arguments))
    assert y.dtype == arguments["x"].dtype
    op_cases.check_ssu(arrays, arguments, y, restore)


def test_layouts_of_the_peers(make):
    arrays, arguments = op_cases.make_ssu("slots", "f32", convert)
    head_dim, state_dim = arguments["state"].shape[2:]
    for name, extra in (("dt", (head_dim,)), ("A", (head_dim, state_dim)), ("D", (head_dim,)),
                        ("dt_bias", (head_dim,))):
        array = arguments[name]
        view = array.reshape(array.shape + (1,) * len(extra))
        arguments[name] = np.broadcast_to(view, array.shape + extra)
    y = make(lambda: mamba_mlir.selective_state_update(**arguments))
    op_cases.check_ssu(arrays, arguments, y, restore)


def test_views_are_copied(make):
    arrays, arguments = op_cases.make_ssd("usual", "f32", convert)
    wide = np.concatenate([arguments["x"], arguments["x"]], axis=-1)
    arguments["x"] = wide[..., :arguments["x"].shape[-1]]
    arguments["dt"] = np.asfortranarray(arguments["dt"])
    for_bytes = np.empty(arguments["B"].nbytes + 1, np.uint8)[1:]
    arguments["B"] = np.ndarray(arguments["B"].shape, np.float32, for_bytes)
    arguments["B"][...] = arrays.values["B"]
    op_cases.check_ssd(arrays, arguments, make(lambda: mamba_mlir.ssd(**arguments)))


def test_out(make):
    arrays, arguments = op_cases.make_ssu("plain", "f32", convert)
    arguments["out"] = np.empty_like(arguments["x"])
    y = make(lambda: mamba_mlir.selective_state_update(**arguments))
    assert y is arguments["out"]
    op_cases.check_ssu(arrays, arguments, y, restore)
    for change, message in (
            (np.empty((*y.shape, 2), np.float32)[..., 0], "'y': expected a contiguous aligned"),
            (np.empty(y.shape, np.float64), "'y': expected dtype f32, got f64"),
            (np.empty((2, *y.shape[1:]), np.float32), r"'y': expected size 3 of axis 0 \(batch")):
        with pytest.raises(ArgumentError, match=message):
            mamba_mlir.selective_state_update(**{**arguments, "out": change})
    y.flags.writeable = False
    with pytest.raises(ArgumentError, match="'y': expected a writable array"):
        mamba_mlir.selective_state_update(**arguments)


# ---- functions of a bundle

@pytest.fixture(scope="module")
def step(tmp_path_factory):
    path = tmp_path_factory.mktemp("step") / "step.cpu"
    subprocess.run([COMPILE, "--model=mamba2-130m", "--op=ssu", "--dtype=f32", "--state-dtype=f32",
                    "--head-dim=4", "--state-dim=8", "--no-d", "--no-dt-bias", "--target=cpu",
                    "--emit=bundle", "-o", path], check=True)
    return Bundle.load(path)["ssu"]


def step_arrays():
    shapes = {"state": (3, 2, 4, 8), "x": (3, 2, 4), "dt": (3, 2), "A": (2,), "B": (3, 1, 8),
              "C": (3, 1, 8)}
    arrays = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    arrays["A"] *= -1
    return arrays


def test_function(step):
    assert step.target == "cpu" and step.argument("state").role == "inout"
    arrays = step_arrays()
    results = step(**arrays)
    assert results["new_state"] is arrays["state"]
    step_size = np.log1p(np.e)
    expected = np.exp(-step_size) + step_size
    np.testing.assert_allclose(arrays["state"], expected, rtol=1e-6)
    np.testing.assert_allclose(results["y"], 8 * expected, rtol=1e-6)


def test_function_on_addresses(step):
    arrays = {**step_arrays(), "y": np.zeros((3, 2, 4), np.float32)}
    step.prepare()
    assert step.workspace_bytes(**{n: a.shape for n, a in step_arrays().items()}) == 0
    step.run({name: DeviceArray(array.ctypes.data, "f32", array.shape)
              for name, array in arrays.items()})
    np.testing.assert_array_equal(arrays["y"], step(**step_arrays())["y"])


@pytest.mark.parametrize("change, message", [
    ({"x": np.ones((3, 2, 5), np.float32)}, "'x': expected size 4 of axis 2, got 5"),
    ({"x": np.ones((3, 2, 4))}, "'x': expected dtype f32, got f64"),
    ({"dt": np.ones((3, 3), np.float32)}, r"'dt': expected size 2 of axis 1 \(heads"),
    ({"B": np.ones((3, 3, 8), np.float32), "C": np.ones((3, 3, 8), np.float32)},
     r"expected mod\(heads, groups\) == 0, got groups = 3, heads = 2"),
    ({"x": [[1.0]]}, "'x': expected a numpy array, got list"),
    ({"z": np.ones(1, np.float32)}, "no argument 'z'; there are state, x"),
    ({"x": np.ones((3, 2, 8), np.float32)[..., ::2]}, "'x': expected a contiguous aligned array"),
])
def test_function_rejects(step, change, message):
    with pytest.raises(ArgumentError, match=message):
        step(**{**step_arrays(), **change})


def test_function_tells_all_that_is_missing(step):
    with pytest.raises(ArgumentError) as error:
        step(x=np.ones((3, 2, 4), np.float32))
    assert str(error.value).splitlines() == [
        f"ssu: argument '{name}' is missing" for name in ("state", "dt", "A", "B", "C")]


def test_arrays_for_a_gpu(folder):
    with pytest.raises(ArgumentError, match="ssd: argument 'x': expected a tensor, got ndarray"):
        Bundle.load(folder / "ssd")["ssd"](x=np.ones(1))
