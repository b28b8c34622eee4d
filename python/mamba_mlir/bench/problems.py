"""Tensors of a row, and our kernels on them."""

from dataclasses import dataclass, field
import math
from typing import Dict, List, Optional

import torch

import mamba_mlir
from mamba_mlir import _torch
from mamba_mlir.bench import reference

_UNCACHED_BYTES = 250_000_000  # of the states that calls go through in turn


@dataclass
class Problem:
    """Operands of a row. states, buffers: one for each call in turn."""

    row: object
    arguments: Dict[str, torch.Tensor]
    states: List[torch.Tensor] = field(default_factory=list)
    buffers: List[Optional[torch.Tensor]] = field(default_factory=list)
    # Of int16 states.
    scales: List[Optional[torch.Tensor]] = field(default_factory=list)
    dt_softplus: bool = False

    def get_reference(self):
        """(y, state or states) in float64."""
        given = dict(self.arguments)
        if self.row.op == "decode":
            for name in ("x", "dt", "B", "C"):
                given[name] = given[name][:, None]
        state = None
        if self.states:
            state = self.states[0]
            if self.scales[0] is not None:
                state = state.double() * self.scales[0].double()[..., None]
        y, states = reference.run(**given, state=state, dt_softplus=self.dt_softplus,
                                  keep=self.row.kept)
        return (y[:, 0] if self.row.op == "decode" else y), states


def make_problem(row, device, seed=0):
    """Random operands: for prefill, dt is ready to use; for decode it is not."""
    generator = torch.Generator(device).manual_seed(seed)
    dtype = _torch.make_dtype(row.dtype)

    def normal(*shape, to=dtype):
        return torch.randn(shape, generator=generator, device=device).to(to)

    lead = (row.batch,) if row.op == "decode" else (row.batch, row.tokens)
    f32 = torch.float32
    arguments = {
        "x": normal(*lead, row.heads, row.head_dim), "dt": normal(*lead, row.heads, to=f32),
        "A": -torch.exp(torch.rand(row.heads, generator=generator, device=device)),
        "B": normal(*lead, row.groups, row.state_dim),
        "C": normal(*lead, row.groups, row.state_dim), "D": normal(row.heads, to=f32)}
    if row.op == "prefill":
        arguments["dt"] = torch.nn.functional.softplus(arguments["dt"] - 4)
        return Problem(row, arguments)
    arguments["dt_bias"] = normal(row.heads, to=f32) - 4

    shape = (row.batch, row.heads, row.head_dim, row.state_dim)
    scale = None
    if row.state == "i16-scale":
        state = torch.randint(-32767, 32768, shape, generator=generator, device=device,
                              dtype=torch.int16)
        scale = torch.rand(shape[:3], generator=generator, device=device) * 1e-4
    else:
        state = normal(*shape, to=_torch.make_dtype(row.state.split("-")[0]))
    count = 1
    if not row.cached and torch.device(device).type == "cuda":
        count = max(1, math.ceil(_UNCACHED_BYTES / (state.numel() * state.element_size())))
    problem = Problem(row, arguments, dt_softplus=True)
    for _ in range(count):
        problem.states.append(state.clone())
        problem.scales.append(None if scale is None else scale.clone())
        problem.buffers.append(state.new_empty((row.batch, row.tokens, *shape[1:]))
                               if row.kept else None)
    return problem


class Implementation:
    """Something that can do rows: ours or a peer."""

    name = ""

    def refuse(self, row):
        """Why it cannot do a row, or None."""
        raise NotImplementedError

    def variants(self, row):
        """Names of its ways to do a row."""
        del row
        return [""]

    def prepare(self, row):
        """Called before a row."""

    def prefill(self, problem, variant):
        """(y, final state)."""
        raise NotImplementedError

    def decode(self, problem, index, variant):
        """y; updates problem.states[index], or fills problem.buffers[index]."""
        raise NotImplementedError

    def calls(self, problem, variant):
        """Functions without arguments to call in turn."""
        if problem.row.op == "prefill":
            return [lambda: self.prefill(problem, variant)]
        return [lambda index=index: self.decode(problem, index, variant)
                for index in range(len(problem.states))]

    def run_once(self, problem, variant):
        """(y, state or states) for a check; problem.states stay as they are."""
        if problem.row.op == "prefill":
            return self.prefill(problem, variant)
        state, scale = problem.states[0], problem.scales[0]
        saved = state.clone(), None if scale is None else scale.clone()
        y = self.decode(problem, 0, variant)
        result = problem.buffers[0] if problem.row.kept else state
        result = result.clone()
        if scale is not None:
            result = result.double() * scale.double()[..., None]
            scale.copy_(saved[1])
        state.copy_(saved[0])
        return y, result


class Ours(Implementation):
    """The kernels of registered bundles."""

    name = "ours"

    def refuse(self, row):
        return row.unsupported

    def prefill(self, problem, variant):
        return mamba_mlir.ssd(**problem.arguments, chunk_size=problem.row.chunk,
                              return_final_states=True)

    def decode(self, problem, index, variant):
        row = problem.row
        return mamba_mlir.selective_state_update(
            problem.states[index], **problem.arguments, dt_softplus=problem.dt_softplus,
            disable_state_update=row.kept, intermediate_states_buffer=problem.buffers[index])
