"""One configuration of an op: command-line flags, inputs, reference, bounds."""

from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np

import inputs
import recurrence
import tolerance

# The preset only lends its name; every field that matters is overridden.
BASE_MODEL = "mamba2-130m"


def _shared_flags(config, op):
    flags = [f"--model={BASE_MODEL}", f"--op={op}", f"--heads={config.heads}",
             f"--groups={config.groups}", f"--head-dim={config.head_dim}",
             f"--state-dim={config.state_dim}", f"--dtype={config.dtype}",
             f"--dt-dtype={config.dt_dtype}", f"--state-dtype={config.state_dtype}"]
    flags += {None: ["--no-d"], "head": [], "head_dim": ["--d-has-head-dim"]}[config.D]
    for present, flag in ((config.z, "--z"), (not config.dt_bias, "--no-dt-bias"),
                          (not config.softplus, "--no-softplus"),
                          (config.static_heads, "--static-heads")):
        flags += [flag] if present else []
    return flags


def _label(config):
    """Test id: the fields that differ from their defaults, shapes first."""
    words = [config.dtype, f"H{config.heads}G{config.groups}",
             f"P{config.head_dim}N{config.state_dim}"]
    skip = {"dtype", "heads", "groups", "head_dim", "state_dim"}
    for name, value in vars(config).items():
        default = type(config).__dataclass_fields__[name].default
        if name not in skip and value != default:
            words.append(name if value is True else f"no-{name}" if value in (False, None)
                         else f"{name}={value}".replace(" ", ""))
    return "-".join(words)


@dataclass(frozen=True)
class SsdConfig:
    """Options of mamba.ssd; D, seq_idx as in inputs.random_ssd."""

    heads: int = 2
    groups: int = 1
    head_dim: int = 16
    state_dim: int = 16
    chunk_size: int = 16
    dtype: str = "f32"
    dt_dtype: str = "f32"
    state_dtype: str = "f32"
    D: Optional[str] = "head"
    z: bool = False
    dt_bias: bool = True
    softplus: bool = True
    dt_limit: Optional[Tuple[float, float]] = None
    initial_state: bool = False
    seq_idx: Optional[str] = None
    chunk_states: bool = False
    final_state: bool = True
    total_decay: bool = False
    static_heads: bool = False

    label = property(_label)

    def flags(self):
        """Command line that describes this kernel."""
        flags = _shared_flags(self, "ssd") + [f"--chunk-size={self.chunk_size}"]
        if self.dt_limit is not None:
            flags.append("--dt-limit={},{}".format(*self.dt_limit))
        for present, flag in ((self.initial_state, "--initial-state"),
                              (self.seq_idx, "--seq-idx"),
                              (self.chunk_states, "--chunk-states"),
                              (not self.final_state, "--no-final-state"),
                              (self.total_decay, "--total-decay")):
            flags += [flag] if present else []
        return flags

    def result_dtypes(self):
        """dtype by result name, in the op's order."""
        dtypes = {"y": self.dtype}
        if self.chunk_states:
            dtypes["chunk_states"] = self.state_dtype
        if self.final_state:
            dtypes["final_state"] = self.state_dtype
        if self.total_decay:
            dtypes["total_decay"] = "f32"
        return dtypes

    def inputs(self, seed, batch, length):
        return inputs.random_ssd(
            np.random.default_rng(seed), batch=batch, length=length,
            heads=self.heads, head_dim=self.head_dim, state_dim=self.state_dim,
            groups=self.groups, dtype=self.dtype, dt_dtype=self.dt_dtype,
            state_dtype=self.state_dtype, D=self.D, z=self.z, dt_bias=self.dt_bias,
            softplus=self.softplus, initial_state=self.initial_state,
            seq_idx=self.seq_idx, chunk_size=self.chunk_size)

    def reference(self, arrays):
        return recurrence.ssd(**arrays, softplus=self.softplus, dt_limit=self.dt_limit,
                              chunk_size=self.chunk_size)

    def bounds(self, arrays):
        step = recurrence.time_step(arrays["dt"], arrays.get("dt_bias"), self.softplus,
                                    self.dt_limit or (0.0, np.inf))
        exponents = tolerance.exponent_range(arrays["A"] * step, self.chunk_size)
        return tolerance.ssd_bounds(self.dtype, self.state_dtype, exponents)


@dataclass(frozen=True)
class SsuConfig:
    """Options of mamba.ssu; indices, dst_indices, D as in inputs.random_ssu."""

    tokens: Optional[int] = None
    heads: int = 2
    groups: int = 1
    head_dim: int = 16
    state_dim: int = 16
    dtype: str = "f32"
    dt_dtype: str = "f32"
    state_dtype: str = "f32"
    D: Optional[str] = "head"
    z: bool = False
    dt_bias: bool = True
    softplus: bool = True
    indices: Optional[str] = None
    dst_indices: Optional[str] = None
    intermediate_states: bool = False
    state_update: bool = True
    static_heads: bool = False

    label = property(_label)

    def flags(self):
        """Command line that describes this kernel."""
        flags = _shared_flags(self, "ssu")
        if self.tokens is not None:
            flags.append(f"--tokens={self.tokens}")
        for present, flag in ((self.indices, "--state-indices"),
                              (self.dst_indices, "--dst-state-indices"),
                              (self.intermediate_states, "--intermediate-states"),
                              (not self.state_update, "--no-state-update")):
            flags += [flag] if present else []
        return flags

    def result_dtypes(self):
        """dtype by result name, in the op's order."""
        dtypes = {"y": self.dtype}
        if self.state_update:
            dtypes["new_state"] = self.state_dtype
        if self.intermediate_states:
            dtypes["intermediate_states"] = self.state_dtype
        return dtypes

    def inputs(self, seed, batch):
        return inputs.random_ssu(
            np.random.default_rng(seed), batch=batch, tokens=self.tokens,
            heads=self.heads, head_dim=self.head_dim, state_dim=self.state_dim,
            groups=self.groups, dtype=self.dtype, dt_dtype=self.dt_dtype,
            state_dtype=self.state_dtype, D=self.D, z=self.z, dt_bias=self.dt_bias,
            softplus=self.softplus, indices=self.indices, dst_indices=self.dst_indices)

    def reference(self, arrays):
        return recurrence.ssu(**arrays, softplus=self.softplus,
                              disable_state_update=not self.state_update)

    def bounds(self):
        return tolerance.ssu_bounds(self.dtype, self.state_dtype)


# Factors of a grid of cases that are the same in every such grid.
SSD_OPTIONS = {
    "dtype": ["bf16", "f16", "f32"],
    "dt_is_f32": [False, True],
    "state_is_f32": [False, True],
    "D": [None, "head", "head_dim"],
    "z": [False, True],
    "dt_bias": [False, True],
    "softplus": [False, True],
    "dt_limit": [None, (0.004, 0.05)],
    "initial_state": [False, True],
    "seq_idx": [None, "packed", "padded"],
    "chunk_states": [False, True],
    "final_state": [False, True],
    "total_decay": [False, True],
    "static_heads": [False, True],
}
SSU_OPTIONS = {
    "D": [None, "head", "head_dim"],
    "z": [False, True],
    "dt_bias": [False, True],
    "softplus": [False, True],
    "indices": [None, "shuffled", "padded"],
    "dst_indices": [None, "fresh", "padded"],
    "intermediate_states": [False, True],
    "state_update": [False, True],
    "static_heads": [False, True],
}


def is_legal_ssu(row):
    """Destination slots only make sense when the state is written."""
    return row["state_update"] or row["dst_indices"] is None


def config_of(kind, row):
    """The SsdConfig or SsuConfig of a row of a grid, whose dtypes of dt and of
    the state may be given as whether they are f32."""
    fields = dict(row)
    fields["heads"], fields["groups"] = fields.pop("heads_groups")
    for name in ("dt", "state"):
        if f"{name}_is_f32" in fields:
            is_f32 = fields.pop(f"{name}_is_f32")
            fields[f"{name}_dtype"] = "f32" if is_f32 else fields["dtype"]
    return kind(**fields)
