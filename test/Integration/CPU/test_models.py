"""The named model presets: they exist and describe the published layer shapes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from configs import SsdConfig, SsuConfig
from inputs import round_bf16
import tolerance

# Per shape (P, N, G, Q, z inside the scan): the models that share it. Taken from
# the models' published configurations, not from the compiler's table.
SHAPES = {
    (64, 128, 1, 256, False): [
        "mamba2-130m", "mamba2-370m", "mamba2-780m", "mamba2-1.3b", "mamba2-2.7b",
        "mamba2attn-2.7b", "bamba-9b", "granite-4.0-h-1b", "granite-4.0-h-micro",
        "granite-4.0-h-tiny", "granite-4.0-h-small", "zamba2-1.2b"],
    (64, 128, 8, 256, False): ["codestral-mamba-7b"],
    (32, 128, 1, 256, False): ["granite-4.0-h-350m"],
    (32, 64, 1, 128, True): ["falcon-h1-tiny-90m"],
    (64, 128, 1, 128, True): ["falcon-h1-0.5b"],
    (64, 256, 1, 128, False): ["falcon-h1-1.5b", "falcon-h1-1.5b-deep"],
    (128, 256, 1, 128, False): ["falcon-h1-3b", "falcon-h1-7b"],
    (128, 256, 2, 128, False): ["falcon-h1-34b"],
    (64, 64, 1, 256, False): ["zamba2-2.7b"],
    (64, 64, 2, 256, False): ["zamba2-7b"],
    (64, 128, 8, 128, False): [
        "nemotron-h-4b", "nemotron-h-8b", "nemotron-3-nano-30b-a3b",
        "nemotron-3.5-lightning-30b-a3b", "nemotron-3-super-120b-a12b",
        "nemotron-3-ultra-550b-a55b"],
    (64, 256, 8, 128, False): ["nemotron-h-47b", "nemotron-h-56b"],
    (80, 128, 8, 128, False): ["nemotron-nano-9b-v2", "nemotron-nano-12b-v2"],
    (80, 128, 8, 256, False): ["nemotron-3-nano-4b"],
    (128, 64, 1, 256, True): ["plamo-2-1b", "plamo-2-8b"],
}
ONE_PER_SHAPE = [pytest.param(*shape, models[-1], id=models[-1])
                 for shape, models in SHAPES.items()]
TARGETS = ["cpu", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"]


@dataclass(frozen=True)
class Preset:
    """Wraps a config: the model gives the sizes, flags only the rest."""

    config: object
    model: str

    def flags(self):
        sizes = ("--model", "--head-dim", "--state-dim", "--chunk-size", "--heads", "--groups")
        rest = [f for f in self.config.flags() if f.split("=")[0] not in sizes]
        return [f"--model={self.model}", *rest]


def test_list_models(compiler):
    done = compiler.invoke("--list-models")
    assert done.returncode == 0, done.stderr
    words = set(done.stdout.split())
    missing = {name for names in SHAPES.values() for name in names} - words
    assert not missing


def test_list_targets(compiler):
    done = compiler.invoke("--list-targets")
    assert done.returncode == 0, done.stderr
    assert not set(TARGETS) - set(done.stdout.split())


@pytest.mark.parametrize("P,N,G,Q,z,model", ONE_PER_SHAPE)
def test_ssd_preset(compiler, P, N, G, Q, z, model):
    """A short sequence; chunk_states shows the model's chunk size."""
    config = SsdConfig(heads=2 * G, groups=G, head_dim=P, state_dim=N, chunk_size=Q,
                       dtype="bf16", dt_dtype="bf16", z=z, chunk_states=True)
    arrays = config.inputs(1, 1, Q + 3)
    outs = compiler.run(Preset(config, model).flags(), arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


@pytest.mark.parametrize("P,N,G,Q,z,model", ONE_PER_SHAPE[::3])
def test_ssu_preset(compiler, P, N, G, Q, z, model):
    config = SsuConfig(heads=2 * G, groups=G, head_dim=P, state_dim=N, dtype="bf16",
                       dt_dtype="bf16", state_dtype="bf16", z=z, indices="shuffled")
    arrays = config.inputs(2, batch=2)
    outs = compiler.run(Preset(config, model).flags(), arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds())


def test_preset_without_any_override(compiler):
    """mamba2-130m as it is: f16 checkpoint, D per head, dt_bias, softplus."""
    config = SsdConfig(heads=24, head_dim=64, state_dim=128, chunk_size=256, dtype="f16",
                       dt_dtype="f16", state_dtype="f16")
    arrays = config.inputs(3, 1, 30)
    arrays["dt"] = round_bf16(arrays["dt"])  # the same number in any dtype of dt
    outs = compiler.run(["--model=mamba2-130m"], arrays, {"y": "f16"})
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))


def test_static_heads_fix_the_head_count(compiler):
    config = SsdConfig(heads=24, head_dim=64, state_dim=128, chunk_size=256, static_heads=True)
    flags = Preset(config, "mamba2-130m").flags()
    arrays = config.inputs(4, 1, 5)
    outs = compiler.run(flags, arrays, config.result_dtypes())
    tolerance.check_all(outs, config.reference(arrays), config.bounds(arrays))

    other = replace(config, heads=23).inputs(4, 1, 5)
    done = compiler.invoke(*flags, "--target=cpu", "--run", *compiler.save(other),
                           "--result", "y=none.npy")
    assert done.returncode == 1 and "error:" in done.stderr
    assert not (compiler.folder / "none.npy").exists()


def test_printed_module_runs_like_the_preset(compiler):
    """--emit=mamba gives a file that is an input with the same meaning."""
    config = SsdConfig(dtype="bf16", dt_dtype="bf16", chunk_states=True)
    arrays = config.inputs(5, 2, 20)
    expected = compiler.run(config.flags(), arrays, config.result_dtypes())
    done = compiler.invoke(*config.flags(), "--target=cpu", "--emit=mamba", "-o", "ssd.mlir")
    assert done.returncode == 0, done.stderr
    outs = compiler.run(["ssd.mlir"], arrays, config.result_dtypes())
    for name, out in outs.items():
        np.testing.assert_array_equal(out, expected[name])
