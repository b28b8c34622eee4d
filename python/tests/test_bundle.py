"""Tests of mamba_mlir on bundles of mamba-compile and a driver that records
launches (test/Runtime/FakeCuda.h); without a GPU."""

import gc
import os
from pathlib import Path
import subprocess
import sys
import threading

import pytest

import mamba_mlir
from mamba_mlir import ArgumentError, Bundle, BundleError, DeviceArray, DriverError
from shapes import SSD, SSU

ROOT = Path(__file__).resolve().parents[2]


def place(function, shapes):
    """DeviceArrays of these shapes at different addresses."""
    return {name: DeviceArray((index + 1) << 32, function.argument(name).dtype, shape)
            for index, (name, shape) in enumerate(shapes.items())}


def ssd_arrays(function):
    results = function.result_shapes(**SSD)
    return place(function, {**SSD, **results})


def test_describe(folder):
    bundle = Bundle.load(folder / "ssd")
    assert bundle.target == "sm_90a" and list(bundle.functions) == ["ssd"]
    ssd = bundle["ssd"]
    assert ssd.argument("x") == mamba_mlir.Argument(
        "x", "bf16", ("batch", "length", "heads", 64), "input", None, 2)
    assert ssd.argument("y").role == "output"
    assert ssd.operations[0]["op"] == "mamba.ssd" and ssd.operations[0]["chunk_size"] == 256
    assert ssd.constraints == ("mod(heads, groups) == 0",)
    text = bundle.describe()
    for line in ("bundle for sm_90a", "input x: bf16[batch, length, heads, 64]",
                 "output y: bf16[batch, length, heads, 64]", "where mod(heads, groups) == 0"):
        assert line in text
    state = Bundle.load(folder / "ssu")["ssu"].argument("state")
    assert state.role == "inout" and state.result == "new_state"
    assert str(state).endswith("[slots, heads, 64, 128] -> new_state")


def test_shapes_and_workspace(folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    assert ssd.result_shapes(**SSD) == {"y": SSD["x"], "final_state": (2, 24, 64, 128)}
    chunks = 2 * 24 * 2
    assert ssd.workspace_bytes(**SSD) >= chunks * 64 * 128 * 2
    assert Bundle.load(folder / "ssu")["ssu"].workspace_bytes(**SSU) == 0


def test_run(folder, driver):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    arrays = ssd_arrays(ssd)
    size = ssd.workspace_bytes(**SSD)
    ssd.run(arrays, workspace=1 << 50, workspace_bytes=size,
            stream=driver.library.fake_stream(1))
    launches = driver.launches()
    assert len(launches) >= 1 and all(launch.device == 1 for launch in launches)
    pointers = {p for launch in launches
                for p in launch.parameters[:launch.num_parameters] if p >= 1 << 32}
    assert {array.pointer for array in arrays.values()} <= pointers
    assert all(p < (1 << 50) + size for p in pointers)


def check_tensor_map(ours, theirs):
    """What the library encoded against what the test loader would have."""
    rank = ours.rank
    assert (tuple(ours.sizes[:rank]), tuple(ours.strides[:rank - 1]), tuple(ours.box[:rank]),
            tuple(ours.element_strides[:rank])) == (
        theirs.sizes, theirs.strides, theirs.box, theirs.element_strides)
    assert ((0, 32, 64, 128)[ours.swizzle], (0, 64, 128, 256)[ours.l2_promotion],
            ("zero", "nan")[ours.fill]) == (theirs.swizzle, theirs.l2_promotion, theirs.fill)
    assert ours.address % 16 == 0 and not ours.interleave


def test_launches_agree_with_the_test_loader(folder, driver, tmp_path, monkeypatch):
    np = pytest.importorskip("numpy")
    monkeypatch.syspath_prepend(str(ROOT / "test/Integration/GPU"))
    import run_bundle
    from cuda_driver import DryDriver
    dry = DryDriver()
    shapes = {name: np.zeros(shape, np.float32) for name, shape in SSD.items()}
    run_bundle.Bundle(folder / "ssd", dry).run("ssd", shapes)
    ssd = Bundle.load(folder / "ssd")["ssd"]
    ssd.run(ssd_arrays(ssd), 1 << 50, ssd.workspace_bytes(**SSD))
    launches = driver.launches()
    assert len(launches) == len(dry.launches)
    for ours, theirs in zip(launches, dry.launches):
        assert (ours.kernel.decode(), tuple(ours.grid), tuple(ours.block), tuple(ours.cluster),
                ours.shared_bytes, ours.num_parameters) == (
            theirs.kernel, theirs.grid, theirs.block, theirs.cluster, theirs.shared_bytes,
            len(theirs.parameters))
        maps = iter(ours.tensor_maps)
        for mine, other in zip(ours.parameters, theirs.parameters):
            if not isinstance(other, int):
                check_tensor_map(next(maps), other)
            else:
                assert mine == other or min(mine, other) >= 1 << 32  # addresses differ


def test_call_is_launched_again(folder, driver):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    ssd.prepare()
    assert driver.library.fake_num_loads() == 1
    call = ssd.call(ssd_arrays(ssd))
    call.check()
    for _ in range(2):
        call.launch(1 << 50, call.workspace_bytes)
    assert driver.library.fake_num_loads() == 1
    count = len(driver.launches())
    assert count and count % 2 == 0


def test_threads(folder, driver):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    arrays, size = ssd_arrays(ssd), ssd.workspace_bytes(**SSD)
    errors = []

    def work(device):
        try:
            for _ in range(20):
                ssd.run(arrays, 1 << 50, size, driver.library.fake_stream(device))
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and driver.library.fake_num_loads() == 2
    assert len(driver.launches()) % (4 * 20) == 0


def test_bundle_is_unloaded_with_its_last_user(folder, driver):
    call = Bundle.load(folder / "ssd")["ssd"].call()
    call.function.prepare()
    gc.collect()
    assert driver.library.fake_num_unloads() == 0
    del call
    assert driver.library.fake_num_unloads() == 1


# One test for each way to fail; the messages are tested in test/Runtime.

def test_missing_bundle(tmp_path):
    with pytest.raises(BundleError, match="manifest.json: No such file"):
        Bundle.load(tmp_path)


def test_unknown_function(folder):
    with pytest.raises(KeyError, match="no function 'ssu'; there are ssd"):
        Bundle.load(folder / "ssd")["ssu"]


def test_unknown_argument(folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    with pytest.raises(ArgumentError, match="ssd: no argument 'z'; there are x, dt, A"):
        ssd.workspace_bytes(z=(1,))


def test_missing_arguments(folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    with pytest.raises(ArgumentError) as error:
        ssd.workspace_bytes(**{name: SSD[name] for name in SSD if name not in ("A", "dt")})
    assert str(error.value) == "ssd: argument 'dt' is missing\nssd: argument 'A' is missing"


def test_wrong_arrays(folder):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    with pytest.raises(ArgumentError, match="expected dtype bf16, got f32"):
        ssd.call({"x": DeviceArray(0, "f32", SSD["x"])})
    with pytest.raises(ArgumentError, match=r"'dt': expected size 300 of axis 1 \(length, as "
                                            r"axis 1 of 'x'\), got 301"):
        ssd.workspace_bytes(**{**SSD, "dt": (2, 301, 24)})
    with pytest.raises(ArgumentError, match=r"expected mod\(heads, groups\) == 0, got groups = 5"):
        ssd.workspace_bytes(**{**SSD, "B": (2, 300, 5, 128), "C": (2, 300, 5, 128)})


def test_small_workspace(folder, driver):
    ssd = Bundle.load(folder / "ssd")["ssd"]
    with pytest.raises(ArgumentError, match="bytes of workspace, got 16"):
        ssd.run(ssd_arrays(ssd), 1 << 50, 16)
    assert not driver.launches()


def test_wrong_device(folder, driver):
    driver.library.fake_set_capability(0, 12, 0)
    with pytest.raises(DriverError, match="the bundle is for sm_90a, and device 0 .* is sm_120"):
        Bundle.load(folder / "ssd")["ssd"].prepare()


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                          check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                                            **environment})


def test_missing_driver(folder):
    done = run_python("import mamba_mlir\n"
                      "mamba_mlir.set_driver_path('libabsent.so')\n"
                      f"mamba_mlir.Bundle.load({str(folder / 'ssd')!r})['ssd'].prepare()")
    assert "DriverError: cannot open the CUDA driver: libabsent.so" in done.stderr


def test_missing_library():
    done = run_python("import mamba_mlir; mamba_mlir.Bundle.load('x')",
                      MAMBA_RUNTIME="/absent/lib.so")
    assert "RuntimeLibraryError: cannot open /absent/lib.so" in done.stderr
