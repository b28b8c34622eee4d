"""Tests of arguments that are slices of longer rows: of one projection."""

import math
import subprocess

import pytest

np = pytest.importorskip("numpy")

import mamba_mlir  # noqa: E402
from mamba_mlir import ArgumentError, Bundle, DeviceArray, _numpy, ops  # noqa: E402
from mamba_mlir.dispatch import registry  # noqa: E402
import op_cases  # noqa: E402
from places import COMPILE  # noqa: E402
from shapes import SSD  # noqa: E402
from test_torch import Tensor, torch  # noqa: E402, F401  pylint: disable=unused-import

STRIDED = ("z", "x", "B", "C", "dt")


def compile_bundle(path, *flags):
    subprocess.run([COMPILE, "--model=mamba2-130m", f"--strided={','.join(STRIDED)}",
                    "--emit=bundle", "-o", path, *flags], check=True)
    return Bundle.load(path)


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    sizes = [f"--{name.replace('_', '-')}={op_cases.SIZES[name]}"
             for name in ("head_dim", "state_dim")]
    return compile_bundle(tmp_path_factory.mktemp("strided") / "ssd.cpu", "--op=ssd", "--dtype=f32",
                          "--state-dtype=f32", "--z", "--d-has-head-dim", "--initial-state",
                          "--no-final-state", f"--chunk-size={op_cases.CHUNK}", *sizes,
                          "--target=cpu")


def slices_of_rows(given, gap=3):
    """The arrays as slices of one array of rows, with NaN after each."""
    flat = {name: given[name].reshape(*given[name].shape[:2], -1) for name in STRIDED}
    row = sum(array.shape[-1] + gap for array in flat.values())
    rows = np.full((*given["x"].shape[:2], row), np.nan, given["x"].dtype)
    views, start = {}, 0
    for name, array in flat.items():
        end = start + array.shape[-1]
        rows[..., start:end] = array
        views[name] = rows[..., start:end].reshape(given[name].shape)
        assert np.shares_memory(views[name], rows)
        start = end + gap
    return views


def test_describes(cpu):
    ssd = cpu["ssd"]
    assert ssd.argument("x").strides == ("x_pitch_0", "x_pitch_1", 16, 1)
    assert ssd.argument("dt").strides == ("dt_pitch_0", "dt_pitch_1", 1)
    assert ssd.argument("A").strides is None
    assert "input dt: f32[batch, length, heads] strides (dt_pitch_0, dt_pitch_1, 1)" \
        in ssd.describe()


def gated_case():
    arrays, arguments = op_cases.make_ssd("gated", "f32", lambda array, _dtype: array)
    return arrays, arguments, {**arguments, **slices_of_rows(arguments)}


def test_slices_give_what_dense_arrays_give(cpu):
    arrays, _, views = gated_case()
    given = {**arrays.given, **{name: views[name] for name in STRIDED}}
    y = cpu["ssd"](**given)["y"]
    np.testing.assert_array_equal(y, cpu["ssd"](**arrays.given)["y"])
    op_cases.check_ssd(arrays, {"dt_softplus": True}, [y.astype(np.float64)])


def test_operations_copy_no_slices(cpu, monkeypatch):
    arrays, arguments, views = gated_case()
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    registry.register(cpu)
    try:
        copied = []
        monkeypatch.setattr(_numpy, "make_dense",
                            lambda array: copied.append(array) or np.array(array, order="C"))
        y = mamba_mlir.ssd(**views)
        op_cases.check_ssd(arrays, arguments, [y.astype(np.float64)])
        assert not copied
        # What is not such a slice is still copied.
        views["x"] = np.asfortranarray(arguments["x"])
        np.testing.assert_array_equal(mamba_mlir.ssd(**views), y)
        assert len(copied) == 1
    finally:
        registry.clear()


def test_other_strides_are_refused(cpu):
    arrays, _, _ = gated_case()
    with pytest.raises(ArgumentError, match="'x': expected a contiguous aligned array"):
        cpu["ssd"](**{**arrays.given, "x": np.asfortranarray(arrays.given["x"])})
    with pytest.raises(ArgumentError, match="'x': expected stride 16 of axis 2, got 17"):
        x = arrays.given["x"]
        cpu["ssd"].call({"x": DeviceArray(x.ctypes.data, "f32", x.shape, (9000, 90, 17, 1))})


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return compile_bundle(tmp_path_factory.mktemp("strided") / "ssd.sm_90a", "--op=ssd",
                          "--dtype=bf16", "--z", "--target=sm_90a")


class Slice(Tensor):
    """A tensor [batch, length, ..] in rows of `pitch` elements."""

    def __init__(self, shape, pitch):
        super().__init__(shape, "torch.bfloat16", contiguous=False)
        inner = [math.prod(shape[axis + 1:]) for axis in range(2, len(shape))]
        self._strides = (shape[1] * pitch, pitch, *inner)

    def stride(self):
        return self._strides


def passed_in(driver):
    return {value for launch in driver.launches() for value in launch.values()}


def test_tensors_on_a_gpu(torch, driver, gpu, monkeypatch):  # noqa: F811
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    registry.register(gpu)
    try:
        given = ssd_operands_of(gpu, x=Slice(SSD["x"], 3352), dt=Slice(SSD["dt"], 3355),
                                B=Slice(SSD["B"], 3354))
        ops.run_ssd(**given)
        passed = passed_in(driver)
        assert {given["x"].address, given["dt"].address, given["C"].address} <= passed
        assert {3352 // 8, 300 * 3352 // 8, 3355, 300 * 3355, 128 // 8} <= passed
        # Rows of B are not multiples of 16 bytes.
        assert given["B"].address not in passed
        with pytest.raises(ArgumentError, match=r"mod\(B_pitch_1, 8\) == 0, got B_pitch_1 = 3354"):
            names = [argument.name for argument in gpu["ssd"].arguments]
            gpu["ssd"](**{name: given[name] for name in names if name in given})
    finally:
        registry.clear()


def ssd_operands_of(bundle, **changes):
    ssd = bundle["ssd"]
    given = {name: Tensor(shape, "torch.float32" if ssd.argument(name).dtype == "f32"
                          else "torch.bfloat16") for name, shape in SSD.items()}
    z = Slice(SSD["x"], 3352)
    return {**given, "chunk_size": 256, "z": z, "initial_states": None, "seq_idx": None,
            "dt_softplus": True, "dt_min": 0.0, "dt_max": float("inf"), "state_dtype": "f16",
            "return_final_states": True, **changes}
