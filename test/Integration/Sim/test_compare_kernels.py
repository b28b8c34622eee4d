"""GPU/compare_kernels.py without a GPU: what it prepares, and what it reports."""

from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "GPU/compare_kernels.py"
sys.path.append(str(SCRIPT.parent))

from compare_kernels import compare_result  # noqa: E402  (needs the path above)
from run_bundle import BundleError  # noqa: E402


def call(*arguments):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], text=True,
                          capture_output=True, check=False)


def test_prepare_and_dry_run(tmp_path):
    folder = tmp_path / "kernels"
    done = call("--prepare", folder, "--filter", "P44N100")
    assert (done.returncode, done.stdout) == (0, "1 kernels\n"), done.stderr
    with np.load(folder / "001/data.npz") as data:
        assert data["out_y"].shape == data["in_x"].shape == data["scale_y"].shape
        assert np.isfinite(data["out_y"]).all()
    done = call(folder, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "P44N100" in done.stdout and done.stdout.endswith("1 kernels, no failures\n")
    # A folder is not filled twice, and an empty one is no success.
    assert call("--prepare", folder).stderr == f"error: {folder} exists\n"
    assert call(tmp_path / "none", "--dry-run").returncode == 1


@pytest.fixture
def result():
    rng = np.random.default_rng(1)
    out = rng.standard_normal((4, 8)).astype(np.float32)
    return out, {"out_y": out.copy(), "scale_y": np.abs(out)}


def test_equal_results(result, capsys):
    out, data = result
    assert compare_result("001", "y", "kernel", out, data, [0.0, 0.0, 0.0])
    assert "same" in capsys.readouterr().out


def test_bounds(result, capsys):
    out, data = result
    out[1, 2] *= 1.001
    assert compare_result("001", "y", "kernel", out, data, [1e-2, 1e-2, 0.0])
    assert " 1 " in capsys.readouterr().out
    assert not compare_result("001", "y", "kernel", out, data, [1e-6, 1e-6, 0.0])
    assert "FAIL" in capsys.readouterr().out
    out[1, 2] = np.nan
    assert not compare_result("001", "y", "kernel", out, data, [1e-2, 1e-2, 0.0])


def test_other_shapes_are_an_error(result):
    out, data = result
    with pytest.raises(BundleError, match="the simulator has float32"):
        compare_result("001", "y", "kernel", out[:2], data, [1.0, 1.0, 0.0])
