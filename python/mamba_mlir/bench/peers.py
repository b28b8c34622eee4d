"""mamba-ssm and FlashInfer, where they are installed."""

from concurrent.futures import ProcessPoolExecutor
import functools
import importlib
import multiprocessing
import os
import sys

import torch

from mamba_mlir.bench.problems import Implementation, make_problem

ALGORITHMS = ("auto", "simple", "vertical", "horizontal")
_TUNED_MODULES = ("ssd_bmm", "ssd_chunk_scan", "ssd_chunk_state", "ssd_state_passing")


class MissingPeerError(RuntimeError):
    """A peer cannot be imported."""


def _import(name, what):
    try:
        return importlib.import_module(name)
    except Exception as error:  # pylint: disable=broad-except
        # Packages with kernels fail in many ways.
        raise MissingPeerError(f"{what}: {type(error).__name__}: {error}") from error


class MambaSsm(Implementation):
    """mamba-ssm's Triton kernels."""

    name = "mamba-ssm"

    def __init__(self):
        prefix = "mamba_ssm.ops.triton"
        self._ssd = _import(f"{prefix}.ssd_combined", self.name)
        self._ssu = _import(f"{prefix}.selective_state_update", self.name)
        self._tuned = [_import(f"{prefix}.{name}", self.name) for name in _TUNED_MODULES]
        self._triton = _import("triton", self.name)
        _import("triton.testing", self.name)
        # The autotuner's own 25 and 100 ms take four times as long for the same choice.
        self.set_tuning(functools.partial(self._triton.testing.do_bench, warmup=5, rep=25))

    def set_tuning(self, do_bench):
        """Replaces the function that the autotuner times with."""
        self._triton.testing.do_bench = do_bench

    def refuse(self, row):
        if row.op == "multi":
            return "mamba-ssm decodes one token a call"
        return None if row.state in ("f32", "bf16", "f16") else f"mamba-ssm has no {row.state}"

    def prepare(self, row):
        # It keeps the choice for the first batch and length that it sees.
        if row.op != "prefill":
            return
        for module in self._tuned:
            for value in vars(module).values():
                if isinstance(value, self._triton.runtime.Autotuner):
                    value.cache.clear()

    def prefill(self, problem, variant):
        return self._ssd.mamba_chunk_scan_combined(
            **problem.arguments, chunk_size=problem.row.chunk, return_final_states=True)

    def decode(self, problem, index, variant):
        state, given = problem.states[index], _expand(problem)
        return self._ssu.selective_state_update(
            state, **given, dt_softplus=problem.dt_softplus)

    def compile_ahead(self, rows):
        """Fills Triton's cache for rows of prefill in several processes: there are
        40 variants for each set of static sizes, and one process takes minutes."""
        jobs = {}
        for row in rows:
            if row.op == "prefill" and self.refuse(row) is None:
                # Batch 1 is compiled apart, tokens are not.
                jobs.setdefault((row.batch == 1, row.heads, row.head_dim, row.state_dim,
                                 row.groups, row.chunk, row.dtype), row)
        if len(jobs) > 1:
            count = min(len(jobs), os.cpu_count() or 1, 12)
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(count, mp_context=context) as pool:
                list(pool.map(_compile_one, jobs.values()))


def _compile_one(row):
    """Compiles every variant and times none."""
    peer = MambaSsm()

    def run_once(function, **_):
        function()
        return [0.0, 0.0, 0.0]

    peer.set_tuning(run_once)
    with torch.no_grad():
        peer.prefill(make_problem(row, "cuda"), "")
    torch.cuda.synchronize()


def _expand(problem):
    """Operands of decode with the axes that the peers want."""
    given = dict(problem.arguments)
    head_dim, state_dim = problem.row.head_dim, problem.row.state_dim
    given["dt"] = given["dt"][..., None].expand(*given["dt"].shape, head_dim)
    given["A"] = given["A"][:, None, None].expand(-1, head_dim, state_dim)
    for name in ("D", "dt_bias"):
        given[name] = given[name][:, None].expand(-1, head_dim)
    return given


class FlashInfer(Implementation):
    """FlashInfer's selective_state_update: `flashinfer_decode` of a module `peers`,
    which calls compiled libraries, or the package's own, which compiles at the
    first call."""

    name = "FlashInfer"

    def __init__(self):
        self._helper = self._update = None
        try:
            self._helper = _import("peers", self.name).flashinfer_decode
        except (MissingPeerError, AttributeError):
            self._update = _import("flashinfer.mamba", self.name).selective_state_update

    def refuse(self, row):
        if row.op == "prefill":
            return "FlashInfer has no prefill for Hopper"
        if row.state == "i16-scale" and row.kept:
            return "int16 states after every token are not measured here"
        return None

    def variants(self, row):
        if row.op == "multi":
            return ["auto"]  # the only one on Hopper
        without = {"horizontal"} if row.state == "i16-scale" else set()
        return [name for name in ALGORITHMS if name not in without]

    def decode(self, problem, index, variant):
        row, state, scale = problem.row, problem.states[index], problem.scales[index]
        seed = _seed(state.device) if row.state == "f16-philox" else None
        if self._helper:
            return self._helper(state, **problem.arguments, dt_softplus=problem.dt_softplus,
                                state_scale=scale, rand_seed=seed, update_state=not row.kept,
                                keep_states=problem.buffers[index], algorithm=variant)
        return self._update(
            state, **_expand(problem), dt_softplus=problem.dt_softplus, state_scale=scale,
            rand_seed=seed, philox_rounds=5, disable_state_update=row.kept,
            intermediate_states_buffer=problem.buffers[index],
            cache_steps=row.tokens if row.op == "multi" else 0, algorithm=variant)


@functools.lru_cache(maxsize=None)
def _seed(device):
    return torch.tensor([1234], device=device)


PEERS = {"mamba-ssm": MambaSsm, "flashinfer": FlashInfer}


def load(names, path=None):
    """(peers, why others are missing) for a list of names; `path`: a folder to
    import from first."""
    if path:
        sys.path.insert(0, str(path))
    peers, missing = [], []
    for name in names:
        try:
            peers.append(PEERS[name]())
        except MissingPeerError as error:
            missing.append(str(error).splitlines()[0])
    return peers, missing
