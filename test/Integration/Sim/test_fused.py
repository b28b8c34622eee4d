"""Scans in one kernel, and in segments: the PTX in the simulator, against the
float64 recurrence.
"""

import numpy as np
import pytest

from configs import SsdConfig
import tolerance

CONFIGS = {
    "plain": SsdConfig(chunk_size=64, head_dim=64, state_dim=64, dtype="bf16", dt_dtype="bf16",
                       heads=2),
    "gated": SsdConfig(chunk_size=128, head_dim=64, state_dim=128, dtype="f16", heads=1, z=True,
                       initial_state=True, total_decay=True),
    "states": SsdConfig(chunk_size=64, head_dim=128, state_dim=64, dtype="bf16", heads=1,
                        chunk_states=True, initial_state=True, D="head_dim"),
    "packed": SsdConfig(chunk_size=256, head_dim=64, state_dim=64, dtype="bf16", heads=1,
                        seq_idx="padded", initial_state=True, total_decay=True),
    "small": SsdConfig(chunk_size=16, head_dim=16, state_dim=16, dtype="f32", heads=4, groups=2),
}


def check(simulator, config, length, flags):
    arrays = config.inputs(length, 1, length)
    outs = simulator.run([*config.flags(), *flags], "sm_90a", arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 200])
@pytest.mark.parametrize("name", ["plain", "small"])
@pytest.mark.parametrize("schedule", ["fused", "segmented"])
def test_lengths(simulator, schedule, name, length):
    check(simulator, CONFIGS[name], length, [f"--schedule={schedule}"])


@pytest.mark.parametrize("name,length", [("gated", 130), ("states", 200), ("packed", 270)])
@pytest.mark.parametrize("schedule", ["fused", "segmented"])
def test_options(simulator, schedule, name, length):
    check(simulator, CONFIGS[name], length, [f"--schedule={schedule}"])


# Segments that end with the sequence, before it, and behind it.
@pytest.mark.parametrize("segment", [1, 2, 3])
@pytest.mark.parametrize("name,length", [("plain", 256), ("plain", 65), ("gated", 200),
                                         ("states", 150), ("packed", 700), ("small", 70)])
def test_segments(simulator, name, length, segment):
    config = CONFIGS[name]
    plan = (f"segmented tile [1, 1, {min(config.head_dim, 64)}, {config.state_dim}] warps 8 "
            f"stages 2 segment {segment}")
    check(simulator, config, length,
          ["--schedule=segmented", f"--plan=state_pass=#mamba.plan<{plan}>"])


def test_fused_is_one_kernel(simulator):
    simulator.compile([*CONFIGS["plain"].flags(), "--schedule=fused"], "sm_90a")
    kernels = list((simulator.folder / "bundle").glob("*.ptx"))
    text = "".join(path.read_text() for path in kernels)
    assert text.count(".visible .entry") == 1


ROW = """
func.func @scan(%row: tensor<?x?xWIDTHxbf16> {mamba.name = "row"},
    %A: tensor<2xf32> {mamba.name = "A"}, %D: tensor<2xf32> {mamba.name = "D"},
    %dt_bias: tensor<2xf32> {mamba.name = "dt_bias"})
    -> (tensor<?x?x2x64xbf16> {mamba.name = "y"}, tensor<?x2x64x64xf32> {mamba.name = "final_state"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %row, %c0 : tensor<?x?xWIDTHxbf16>
  %l = tensor.dim %row, %c1 : tensor<?x?xWIDTHxbf16>
  %zr = tensor.extract_slice %row[0, 0, 0] [%b, %l, 128] [1, 1, 1] : tensor<?x?xWIDTHxbf16> to tensor<?x?x128xbf16>
  %xr = tensor.extract_slice %row[0, 0, 128] [%b, %l, 128] [1, 1, 1] : tensor<?x?xWIDTHxbf16> to tensor<?x?x128xbf16>
  %Br = tensor.extract_slice %row[0, 0, 256] [%b, %l, 64] [1, 1, 1] : tensor<?x?xWIDTHxbf16> to tensor<?x?x64xbf16>
  %Cr = tensor.extract_slice %row[0, 0, 320] [%b, %l, 64] [1, 1, 1] : tensor<?x?xWIDTHxbf16> to tensor<?x?x64xbf16>
  %dt = tensor.extract_slice %row[0, 0, 384] [%b, %l, 2] [1, 1, 1] : tensor<?x?xWIDTHxbf16> to tensor<?x?x2xbf16>
  %z = tensor.expand_shape %zr [[0], [1], [2, 3]] output_shape [%b, %l, 2, 64] : tensor<?x?x128xbf16> into tensor<?x?x2x64xbf16>
  %x = tensor.expand_shape %xr [[0], [1], [2, 3]] output_shape [%b, %l, 2, 64] : tensor<?x?x128xbf16> into tensor<?x?x2x64xbf16>
  %B = tensor.expand_shape %Br [[0], [1], [2, 3]] output_shape [%b, %l, 1, 64] : tensor<?x?x64xbf16> into tensor<?x?x1x64xbf16>
  %C = tensor.expand_shape %Cr [[0], [1], [2, 3]] output_shape [%b, %l, 1, 64] : tensor<?x?x64xbf16> into tensor<?x?x1x64xbf16>
  %y, %s = mamba.ssd chunk_size(64) softplus x(%x : tensor<?x?x2x64xbf16>) dt(%dt : tensor<?x?x2xbf16>) A(%A : tensor<2xf32>)
      B(%B : tensor<?x?x1x64xbf16>) C(%C : tensor<?x?x1x64xbf16>) D(%D : tensor<2xf32>) z(%z : tensor<?x?x2x64xbf16>) dt_bias(%dt_bias : tensor<2xf32>)
      -> y(tensor<?x?x2x64xbf16>) final_state(tensor<?x2x64x64xf32>)
  return %y, %s : tensor<?x?x2x64xbf16>, tensor<?x2x64x64xf32>
}
"""


def compile_row(simulator, schedule, width):
    (simulator.folder / "scan.mlir").write_text(ROW.replace("WIDTH", str(width)))
    done = simulator.invoke(simulator.find_compiler(), "scan.mlir", "--target=sm_90a",
                            f"--schedule={schedule}", "--emit=bundle", "-o", "bundle")
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("schedule", ["three_kernel", "fused"])
def test_rows_between(simulator, schedule):
    """Rows that start at odd elements are read without copies ahead, with a remark."""
    assert "expected rows that start at multiples of 4 bytes" in compile_row(
        simulator, schedule, 387)


@pytest.mark.parametrize("schedule", ["three_kernel", "fused", "segmented"])
def test_slices_of_rows(simulator, schedule):
    """z, x, B, C and dt side by side, as a projection gives them: no copy of a slice."""
    width = 392
    config = SsdConfig(chunk_size=64, head_dim=64, state_dim=64, dtype="bf16", dt_dtype="bf16",
                       heads=2, z=True)
    arrays = config.inputs(5, 2, 100)
    row = np.concatenate([arrays[name].reshape(2, 100, -1) for name in ("z", "x", "B", "C", "dt")]
                         + [np.full((2, 100, width - 386), np.nan, np.float32)], axis=2)
    assert not compile_row(simulator, schedule, width)
    files = simulator.save({"row": row, **{name: arrays[name] for name in ("A", "D", "dt_bias")}})
    names = config.result_dtypes()
    done = simulator.simulate("bundle", *files,
                              *[f"--result={name}=out_{name}.npy" for name in names])
    assert done.returncode == 0 and not done.stderr, done.stderr
    outs = {name: np.load(simulator.folder / f"out_{name}.npy").astype(np.float32)
            for name in names}
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))
    text = "".join(path.read_text() for path in (simulator.folder / "bundle").glob("*.ptx"))
    assert text.count(".visible .entry") == {"three_kernel": 3, "fused": 1, "segmented": 3}[schedule]
    assert "cp.async.bulk.tensor" in text
