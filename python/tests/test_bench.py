"""Tests of python -m mamba_mlir.bench without a GPU: what needs no torch, and a
run of small sizes on the CPU."""

from contextlib import contextmanager
import csv
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mamba_mlir.bench import rows
from places import ROOT

PREFILL = rows.Row("prefill", 4, 1024, 8, 64, 64, 1, 128)
DECODE = rows.Row("decode", 1, 1, 128, 64, 128, 8)


def bench(*arguments, without_torch=False):
    """The finished process."""
    code = "import sys, runpy\n" + "sys.modules['torch'] = None\n" * without_torch
    code += "runpy.run_module('mamba_mlir.bench', run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], text=True,
                          capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})


# ---- without torch

def test_help():
    done = bench("--help", without_torch=True)
    assert done.returncode == 0
    for flag in ("--bundles", "--ops", "--rows", "--csv", "--plot", "--peers", "--list"):
        assert flag in done.stdout


def test_rows():
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names) == 120
    assert "prefill/b1-t51200-h128-p64-n128-g8-q128" in names
    assert {"decode/bf16-b512", "decode/f32-b4-L2", "multi/i16-scale-t8-b64-kept"} <= set(names)
    # 50 MB of states do not stay in the cache.
    assert "decode/f32-b16-L2" not in names and "decode/bf16-b16-L2" in names


def test_list():
    done = bench("--list", "--ops=decode", "--rows=f32", without_torch=True)
    assert done.stdout.split() == [
        "decode/f32-b1", "decode/f32-b1-L2", "decode/f32-b4", "decode/f32-b4-L2",
        "decode/f32-b16", "decode/f32-b64", "decode/f32-b256", "decode/f32-b512"]
    done = bench("--list", "--rows=decode/f16*-b512", "--all", without_torch=True)
    assert done.stdout.splitlines() == [
        "decode/f16-b512", "decode/f16-philox-b512  (no kernel of ours rounds stochastically)"]


def test_commands():
    done = bench("--commands", "--bundles=some dir", "--rows=prefill/b4-t1024-*,decode/f32-*",
                 without_torch=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and len(set(lines)) == 4
    assert all("--target=sm_90a --emit=bundle -o 'some dir/ss" in line for line in lines)


def test_counts_bytes():
    assert PREFILL.count_bytes() == 4 * 1024 * (2 * 8 * 64 * 2 + 2 * 64 * 2 + 8 * 4) + (
        4 * 8 * 64 * 64 * 4)
    state = 128 * 64 * 128 * 4
    assert DECODE.count_bytes() == 2 * state + 2 * 128 * 64 * 2 + 2 * 8 * 128 * 2 + 128 * 4


@pytest.mark.parametrize("arguments, message", [
    (["--ops=train"], "unknown operation 'train' (there are prefill, decode, multi)"),
    (["--rows=none-such"], "no row is left (--list shows their names)"),
    (["--peers=other"], "unknown peer 'other' (there are mamba-ssm, flashinfer)"),
    (["--replays=0"], "expected --replays to be at least 1"),
    ([], "measuring needs torch (--list and --commands do not)"),
    (["--read=/absent.csv"], "--read: /absent.csv is no table of this script: "),
])
def test_rejects(arguments, message):
    done = bench(*arguments, without_torch=True)
    assert done.returncode == 2 and f"error: {message}" in done.stderr


# ---- with torch

@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch",
                               reason="torch is not installed (test/requirements-torch.txt)")


ROWS = "--rows=prefill/b4-t1024-h8-p64-n64-*,decode/f16-b4,multi/bf16-t4-b1-*"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """Bundles for ROWS, by the commands that the script prints."""
    folder = tmp_path_factory.mktemp("bench")
    done = bench("--commands", "--target=cpu", f"--bundles={folder}", ROWS)
    subprocess.run(["sh", "-eu"], input=done.stdout, text=True, check=True)
    return folder


def test_dry_run(torch, bundles, tmp_path):
    table = tmp_path / "times.csv"
    arguments = ["--device=cpu", f"--bundles={bundles}", f"--csv={table}", ROWS]
    done = bench(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(table, encoding="utf-8") as file:
        results = list(csv.DictReader(file))
    assert [result["row"] for result in results] == [
        "prefill/b2-t133-h2-p64-n64-g1-q128", "decode/f16-b2", "multi/bf16-t4-b1-kept"]
    for result in results:
        assert result["status"] == "ok" and float(result["us"]) > 0
        assert 0 < float(result["y_error"]) < 4e-3 and 0 < float(result["state_error"]) < 3e-3
        assert result["row"] in done.stdout and result["row"] in done.stderr
    assert done.stdout.splitlines()[-1] == "ours: 3 ok"
    again = bench(f"--read={table}", without_torch=True)
    assert again.stdout.splitlines() == done.stdout.splitlines()[1:]


def test_plot(torch, bundles, tmp_path):
    pytest.importorskip("matplotlib")
    done = bench("--device=cpu", f"--bundles={bundles}", f"--plot={tmp_path / 'times.png'}",
                 "--no-check", "--rows=decode/f16-b4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


def test_missing_bundle(torch, bundles):
    done = bench("--device=cpu", f"--bundles={bundles}", "--rows=decode/f16-b4,decode/f32-b4")
    assert done.returncode == 1
    assert "failed: no bundle has the kernel (--commands prints" in done.stdout
    assert done.stdout.splitlines()[-1] == "ours: 1 failed, 1 ok"


def test_no_gpu(torch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = bench()
    assert done.returncode == 2 and "torch finds no GPU; --device=cpu runs" in done.stderr


def test_reference(torch):
    """Against the recurrence of the other tests."""
    import numpy as np
    import op_cases
    from mamba_mlir.bench import problems, reference
    row = rows.Row("prefill", 2, 7, 4, 8, 16, 2, 64, dtype="f32")
    problem = problems.make_problem(row, "cpu")
    given = {name: tensor.numpy() for name, tensor in problem.arguments.items()}
    y, state = problem.get_reference()
    right = op_cases.recurrence.ssd(**given, softplus=False)
    np.testing.assert_allclose(y, right["y"], rtol=1e-10)
    np.testing.assert_allclose(state, right["final_state"], rtol=1e-10)
    assert reference.get_error(y, y) == 0
    assert reference.get_error(1.01 * y, y) == pytest.approx(0.01)
    assert reference.get_error(y * float("nan"), y) == float("inf")

    row = rows.Row("multi", 2, 3, 4, 8, 16, 2, dtype="f32", kept=True)
    problem = problems.make_problem(row, "cpu")
    given = {name: tensor.numpy() for name, tensor in problem.arguments.items()}
    y, states = problem.get_reference()
    right = op_cases.recurrence.ssu(problem.states[0].numpy(), **given)
    np.testing.assert_allclose(y, right["y"], rtol=1e-9)
    np.testing.assert_allclose(states, right["intermediate_states"], rtol=1e-9)


def make_implementation(name, scale=1.0, error=None, refusal=None, variants=("",)):
    """One that gives the recurrence's result times `scale`."""
    from mamba_mlir.bench import problems

    class Made(problems.Implementation):
        def refuse(self, row):
            return refusal

        def variants(self, row):
            return list(variants)

        def prefill(self, problem, variant):
            if error and variant == variants[-1]:
                raise error
            y, state = problem.get_reference()
            return y * scale, state

    Made.name = name
    return Made()


def test_one_failure_ends_nothing(torch):
    from mamba_mlir.bench import measure
    row = PREFILL.shrink()
    results = measure.Measurement("cpu", 1).run(row, [
        make_implementation("ours", scale=1.1),
        make_implementation("first", error=RuntimeError("a\nb")),
        make_implementation("second", refusal="it cannot"),
        make_implementation("third", scale=1.001)])
    assert [(one.implementation, one.status, one.reason) for one in results] == [
        ("ours", "wrong", "error of y 1.0e-01 above 3.5e-03"),
        ("first", "failed", "RuntimeError: a b"), ("third", "ok", "")]
    assert results[2].y_error == pytest.approx(1e-3) and results[2].us > 0
    assert results[0].us is None and results[2].ratio is None


def test_variants_and_summary(torch):
    from mamba_mlir.bench import measure, report
    row = PREFILL.shrink()
    results = measure.Measurement("cpu", 1).run(row, [
        make_implementation("ours"),
        make_implementation("peer", variants=("slow", "broken"), error=ValueError("no"))])
    assert results[1].status == "ok" and results[1].variant == "slow"
    assert results[1].ratio == pytest.approx(results[1].us / results[0].us)
    lines = report.summarize(results)
    assert lines[0] == "ours: 1 ok" and lines[1].startswith("prefill: peer takes ")
    printed = []
    report.Table(printed.append).add(results)
    assert printed[1].split()[:2] == [row.name, "ours"] and printed[2].split()[0] == "peer"


# ---- peers and CUDA graphs, with stand-ins

@pytest.fixture
def loaded(torch, monkeypatch):
    """peers.load() of modules as the peers', which call the reference and record their
    arguments."""
    from mamba_mlir.bench import peers, reference
    seen = []

    def prefill(x, dt, A, B, C, chunk_size, D=None, return_final_states=False):
        seen.append(("prefill", chunk_size, return_final_states))
        y, state = reference.run(x, dt, A, B, C, D)
        return y.to(x.dtype), state.float()

    def decode(state, x, dt, A, B, C, D, z=None, dt_bias=None, dt_softplus=False, **options):
        seen.append(("decode", tuple(dt.shape), options))
        one = x.dim() == 3
        x_, dt_, B_, C_ = (a[:, None] if one else a for a in (x, dt, B, C))
        kept = options.get("intermediate_states_buffer")
        y, states = reference.run(x_, dt_[..., 0], A[:, 0, 0], B_, C_, D[:, 0], state,
                                  dt_bias[:, 0], dt_softplus, keep=kept is not None)
        (state if kept is None else kept).copy_(states)
        return (y[:, 0] if one else y).to(x.dtype)

    class Autotuner:
        def __init__(self):
            self.cache = {1: 2}

    testing = SimpleNamespace(do_bench=lambda function, warmup, rep: None)
    modules = {"triton": SimpleNamespace(testing=testing, runtime=SimpleNamespace(
                   Autotuner=Autotuner)), "triton.testing": testing,
               "flashinfer": SimpleNamespace(),
               "flashinfer.mamba": SimpleNamespace(selective_state_update=decode),
               "mamba_ssm": SimpleNamespace(), "mamba_ssm.ops": SimpleNamespace()}
    package = "mamba_ssm.ops.triton"
    modules[package] = SimpleNamespace()
    for name in ("ssd_bmm", "ssd_chunk_scan", "ssd_chunk_state", "ssd_state_passing"):
        modules[f"{package}.{name}"] = SimpleNamespace(kernel=Autotuner())
    modules[f"{package}.ssd_combined"] = SimpleNamespace(mamba_chunk_scan_combined=prefill)
    modules[f"{package}.selective_state_update"] = SimpleNamespace(selective_state_update=decode)
    with monkeypatch.context() as patch:  # torch uses the real ones
        for name, module in modules.items():
            patch.setitem(sys.modules, name, module)
        found, missing = peers.load(["mamba-ssm", "flashinfer"])
    return SimpleNamespace(seen=seen, tuned=modules[f"{package}.ssd_bmm"].kernel, found=found,
                           missing=missing)


def test_peers(loaded, bundles, monkeypatch):
    from mamba_mlir.bench import measure, peers, problems
    from mamba_mlir.dispatch import registry
    found = loaded.found
    assert [one.name for one in found] == ["mamba-ssm", "FlashInfer"] and not loaded.missing
    monkeypatch.delenv("MAMBA_MLIR_BUNDLES", raising=False)
    registry.register(bundles)
    try:
        run = measure.Measurement("cpu", 1).run
        implementations = [problems.Ours(), *found]
        results = run(PREFILL.shrink(), implementations)
        assert [(one.implementation, one.status) for one in results] == [
            ("ours", "ok"), ("mamba-ssm", "ok")], results
        assert ("prefill", 128, True) in loaded.seen and not loaded.tuned.cache
        row = rows.Row("decode", 4, 1, 128, 64, 128, 8, state="f16").shrink()
        results = run(row, implementations)
        assert [(one.implementation, one.status) for one in results] == [
            ("ours", "ok"), ("mamba-ssm", "ok"), ("FlashInfer", "ok")], results
        assert results[2].variant in peers.ALGORITHMS and results[2].state_error < 3e-4
        row = rows.Row("multi", 1, 4, 128, 64, 128, 8, state="bf16", kept=True).shrink()
        results = run(row, implementations)
        assert [(one.implementation, one.status) for one in results] == [
            ("ours", "ok"), ("FlashInfer", "ok")], results
        options = loaded.seen[-1][2]
        assert options["cache_steps"] == 4 and options["disable_state_update"]
    finally:
        registry.clear()


def test_a_folder_with_compiled_peers(torch, tmp_path, monkeypatch):
    (tmp_path / "peers.py").write_text("def flashinfer_decode(state, **given):\n"
                                       "    return sorted(given)\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "mamba_ssm", None)
    monkeypatch.delitem(sys.modules, "peers", raising=False)
    from mamba_mlir.bench import peers, problems
    found, missing = peers.load(["mamba-ssm", "flashinfer"], tmp_path)
    assert [one.name for one in found] == ["FlashInfer"] and missing[0].startswith("mamba-ssm: ")
    problem = problems.make_problem(rows.Row("decode", 1, 1, 4, 64, 128, 2), "cpu")
    assert found[0].calls(problem, "simple")[0]() == sorted([
        "x", "dt", "A", "B", "C", "D", "dt_bias", "dt_softplus", "state_scale", "rand_seed",
        "update_state", "keep_states", "algorithm"])
    del sys.modules["peers"]


def test_graph(torch, monkeypatch):
    """20 calls rounded up to 21 of 3 in turn, after a warm-up outside of the graph."""
    from mamba_mlir.bench import timing
    log, clock = [], iter(range(10**6))

    class Graph:
        def replay(self):
            log.append("replay")

    class Event:
        def __init__(self, enable_timing):
            self.time = None

        def record(self):
            self.time = next(clock)

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return 0.021 * (other.time - self.time)

    @contextmanager
    def context(what):
        log.append("begin")
        yield
        log.append("end")

    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name, value in (("Stream", lambda: stream), ("current_stream", lambda: stream),
                        ("stream", context), ("graph", context), ("CUDAGraph", Graph),
                        ("Event", Event), ("synchronize", lambda: None)):
        monkeypatch.setattr(torch.cuda, name, value)
    calls = [lambda name=name: log.append(name) for name in "abc"]
    assert timing.time_graph(calls, 20, replays=3) == pytest.approx(1)
    assert log == (["begin", *"abc", "end", "begin", *"abc" * 7, "end"] + ["replay"] * 5)
