"""Tests of the choice of a kernel and of what is said when there is none."""

import dataclasses
import shlex
import subprocess

import pytest

import mamba_mlir
from mamba_mlir import Bundle, BundleError, NoKernelError
from mamba_mlir.dispatch import Registry, registry
from mamba_mlir.kernels import (Key, count_waste, find_mismatches, get_command, get_flags,
                                get_folder_name, key_of_function)
from places import COMPILE

SSD = Key(op="ssd", target="cpu", head_dim=8, state_dim=4, heads=6, groups=2, dtype="f32",
          dt_dtype="f32", state_dtype="f32", d="head", dt_bias=True, softplus=True, chunk_size=16,
          final_state=True)
SSU = Key(op="ssu", target="sm_90a", head_dim=64, state_dim=128, heads=6, groups=2, dtype="bf16",
          dt_dtype="bf16", state_dtype="f16", d="head", dt_bias=True, softplus=True)


def compile_key(key, folder, *flags):
    """The function of the key's own command with more flags."""
    command = get_command(key, folder)
    subprocess.run([*command, *flags], check=True)
    function, = Bundle.load(command[-1]).functions.values()
    return function


@pytest.mark.parametrize("key", [
    SSD,
    dataclasses.replace(SSD, d="channel", z=True, dt_bias=False, dt_dtype="bf16", dtype="bf16",
                        seq_idx=True, initial_state=True, final_state=False, chunk_size=64),
    dataclasses.replace(SSD, d="none", softplus=False, dt_limit=(1e-05, 0.1), state_dtype="f16"),
    dataclasses.replace(SSD, dt_limit=(0.001, float("inf"))),
    SSU,
    dataclasses.replace(SSU, target="cpu", tokens=4, state_indices=True, dst_state_indices=True,
                        intermediate_states=True, dt_bias=False),
    dataclasses.replace(SSU, target="cpu", tokens=1, state_update=False, z=True, d="channel"),
])
def test_command_makes_the_key(tmp_path, key):
    made = key_of_function(compile_key(key, tmp_path))
    assert made == dataclasses.replace(key, heads=None, groups=None)
    assert not find_mismatches(key, made)


def test_models_are_overridden():
    """A flag for every option in which models differ."""
    flags = " ".join(get_flags(SSD))
    for flag in ("head-dim", "state-dim", "chunk-size", "dtype", "dt-dtype", "state-dtype"):
        assert f"--{flag}=" in flags


@pytest.mark.parametrize("change, text", [
    ({"op": "ssu"}, "ssu instead of ssd"),
    ({"target": "sm_90a"}, "for sm_90a instead of cpu"),
    ({"head_dim": 64}, "head dim 64 instead of 8"),
    ({"chunk_size": 256}, "chunk size 256 instead of 16"),
    ({"dtype": "bf16"}, "dtype bf16 instead of f32"),
    ({"state_dtype": "f16"}, "state dtype f16 instead of f32"),
    ({"d": "none"}, "no D"),
    ({"d": "channel"}, "D per channel"),
    ({"z": True}, "z"),
    ({"dt_bias": False}, "no dt_bias"),
    ({"softplus": False}, "no softplus"),
    ({"dt_limit": (0.0, 1.0)}, "dt limit 0.0,1.0 instead of 0.0,inf"),
    ({"initial_state": True}, "initial states"),
    ({"seq_idx": True}, "seq_idx"),
    ({"final_state": False}, "no final states"),
    ({"heads": 8}, "8 heads instead of 6"),
    ({"tokens": 4}, "tokens 4"),
])
def test_mismatches(change, text):
    assert find_mismatches(SSD, dataclasses.replace(SSD, **change)) == [text]


def test_what_a_call_leaves_open():
    call = dataclasses.replace(SSD, state_dtype=None, chunk_size=None, final_state=False)
    kernel = dataclasses.replace(SSD, heads=None, groups=None)
    assert not find_mismatches(call, kernel)
    assert count_waste(call, kernel) == 4 and count_waste(SSD, SSD) == 0
    assert count_waste(SSD, dataclasses.replace(SSD, extras=("chunk_states",))) == 2


def test_folder_names_differ():
    changes = [{"target": "sm_90a"}, {"head_dim": 9}, {"state_dim": 9}, {"chunk_size": 9},
               {"dtype": "f16"}, {"dt_dtype": "f16"}, {"state_dtype": "f16"}, {"d": "none"},
               {"d": "channel"}, {"z": True}, {"dt_bias": False}, {"softplus": False},
               {"dt_limit": (0.0, 1.0)}, {"initial_state": True}, {"seq_idx": True},
               {"final_state": False}, {"op": "ssu"}, {"op": "ssu", "tokens": 2},
               {"op": "ssu", "state_indices": True}, {"op": "ssu", "dst_state_indices": True},
               {"op": "ssu", "state_update": False}, {"op": "ssu", "intermediate_states": True}]
    names = {get_folder_name(dataclasses.replace(SSD, **change)) for change in [{}, *changes]}
    assert len(names) == 1 + len(changes)


def test_the_best_of_several(tmp_path, monkeypatch):
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    wide = compile_key(SSD, tmp_path / "wide", "--chunk-states")
    plain = compile_key(SSD, tmp_path / "plain")
    static = compile_key(SSD, tmp_path / "static", "--heads=6", "--groups=2")
    other = compile_key(SSD, tmp_path / "other", "--heads=8", "--groups=2")
    found = Registry()
    places = {name: tmp_path / name for name in ("wide", "plain", "static", "other")}
    found.register(places["other"])
    with pytest.raises(NoKernelError, match="nearest of 1: ssd of .*other.*: 8 heads instead of 6"):
        found.find(SSD)
    for name, function in (("wide", wide), ("plain", plain), ("static", static)):
        found.register(places[name])
        chosen = found.find(SSD)
        assert [a.shape for a in chosen.arguments] == [a.shape for a in function.arguments]
    eight = dataclasses.replace(SSD, heads=8)
    assert found.find(eight).argument("x").shape == other.argument("x").shape


def test_nothing_registered(monkeypatch):
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    monkeypatch.setenv("MAMBA_COMPILE", "/opt/my tools/mamba-compile")
    with pytest.raises(NoKernelError) as error:
        Registry().find(SSU)
    first, second, third, line, last = str(error.value).splitlines()
    assert first == ("no bundle has the kernel: ssu for sm_90a, head dim 64, state dim 128, "
                     "dtype bf16, dt dtype bf16, state dtype f16, D per head, dt_bias yes, "
                     "softplus yes")
    assert second == "no bundles are registered, and MAMBA_MLIR_BUNDLES is not set"
    assert third == "this makes it:" and shlex.split(line) == error.value.command
    assert line.startswith("  '/opt/my tools/mamba-compile' --model=mamba2-130m --op=ssu ")
    assert last == f"then: mamba_mlir.register({error.value.command[-1]!r})"


def test_nearest_has_operation_and_target(tmp_path, monkeypatch):
    monkeypatch.setenv("MAMBA_MLIR_BUNDLES", str(tmp_path))
    compile_key(SSU, tmp_path)
    far = compile_key(dataclasses.replace(SSD, head_dim=16, z=True, softplus=False), tmp_path)
    with pytest.raises(NoKernelError) as error:
        Registry().find(SSD)
    assert ("nearest of 2: ssd of " in str(error.value)
            and str(error.value).splitlines()[1].endswith(
                "head dim 16 instead of 8; z; no softplus"))
    assert far.target == "cpu" and error.value.command[-1].startswith(str(tmp_path))


def test_search_path(tmp_path, monkeypatch):
    broken, empty, folder = tmp_path / "broken", tmp_path / "empty", tmp_path / "folder"
    for path in (broken, empty):
        path.mkdir()
    (broken / "manifest.json").write_text("{}")
    monkeypatch.setenv("MAMBA_MLIR_BUNDLES", f"{broken}:{empty}:{tmp_path / 'absent'}:{folder}")
    found = Registry()
    with pytest.warns(UserWarning, match="MAMBA_MLIR_BUNDLES: .*manifest.json: expected a field"):
        with pytest.raises(NoKernelError):
            found.find(SSD)
    compile_key(SSD, folder)
    with pytest.warns(UserWarning):
        assert found.find(SSD).target == "cpu"
    # A bundle that was written anew is read anew.
    compile_key(SSD, folder, "--z")
    with pytest.warns(UserWarning):
        assert "z" in [a.name for a in found.find(dataclasses.replace(SSD, z=True)).arguments]


def test_a_bundle_registered_anew(tmp_path, monkeypatch):
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    found = Registry()
    for flags in ((), ("--heads=6", "--groups=2")):
        compile_key(SSD, tmp_path, *flags)
        found.register(tmp_path)
    assert [kernel.key.heads for kernel in found.kernels()] == [6]
    assert found.find(SSD).argument("x").shape[2] == 6


def test_register(tmp_path, monkeypatch, folder):
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    try:
        mamba_mlir.register(folder)  # a folder of two
        mamba_mlir.register(Bundle.load(folder / "ssd"))
        assert sorted(kernel.key.op for kernel in registry.kernels()) == ["ssd", "ssd", "ssu"]
        mamba_mlir.register(folder)
        assert len(registry.kernels()) == 3
        with pytest.raises(BundleError, match=f"there is no bundle at {tmp_path}, and none in it"):
            mamba_mlir.register(tmp_path)
    finally:
        registry.clear()
    assert not registry.kernels()


def test_other_functions_are_no_kernels(tmp_path):
    """Those that are not of a model, or do more than one operation."""
    text = subprocess.run([COMPILE, "--model=mamba2-130m", "--emit=mamba"], check=True,
                          capture_output=True, text=True).stdout
    for change in (('"x"', '"input"'), ('"z"', '"z"')):
        source = tmp_path / "source.mlir"
        source.write_text(text.replace(*change))
        subprocess.run([COMPILE, source, "--target=cpu", "--emit=bundle", "-o", tmp_path / "out"],
                       check=True)
        key = key_of_function(Bundle.load(tmp_path / "out")["ssd"])
        assert (key is None) == (change[0] != change[1])
