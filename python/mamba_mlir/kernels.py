"""What kernels are for: the static key by which one is picked, and the command
that compiles it."""

from dataclasses import dataclass, fields, replace
import os
from pathlib import Path
import shlex
from typing import Optional, Tuple

# A model whose every option the command overrides.
_MODEL = "mamba2-130m"
_NO_LIMIT = (0.0, float("inf"))


@dataclass(frozen=True)
class Key:
    """What is compiled into a kernel. Of a call, None stands for "any"; of a
    kernel, None of heads and groups stands for "of any number".

    d: "none", "head" for a D of shape (heads), "channel" for (heads, head dim).
    """

    op: str  # "ssd" or "ssu"
    target: str
    head_dim: int
    state_dim: int
    dtype: str  # of x, B, C, z and y
    dt_dtype: str
    state_dtype: Optional[str]
    heads: Optional[int] = None
    groups: Optional[int] = None
    d: str = "none"
    z: bool = False
    dt_bias: bool = False
    softplus: bool = False
    # ssd
    chunk_size: Optional[int] = None
    dt_limit: Tuple[float, float] = _NO_LIMIT
    initial_state: bool = False
    seq_idx: bool = False
    final_state: bool = False
    # ssu
    tokens: Optional[int] = None
    state_indices: bool = False
    dst_state_indices: bool = False
    state_update: bool = True
    intermediate_states: bool = False
    # Results that no call asks for.
    extras: Tuple[str, ...] = ()

    def describe(self):
        """The key as text."""
        return ", ".join([f"{self.op} for {self.target}",
                          *(f"{_TEXTS[name]}{_show(value)}" for name, value in self._shown())])

    def _shown(self):
        defaults = _Defaults
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _TEXTS and value != getattr(defaults, field.name, None):
                yield field.name, value


class _Defaults:
    """Values that go without saying."""

    d, z, dt_bias, softplus, dt_limit = "none", False, False, False, _NO_LIMIT
    initial_state = seq_idx = final_state = False
    state_indices = dst_state_indices = intermediate_states = False
    state_update = True


_TEXTS = {"head_dim": "head dim ", "state_dim": "state dim ", "chunk_size": "chunk size ",
          "tokens": "tokens ", "dtype": "dtype ", "dt_dtype": "dt dtype ",
          "state_dtype": "state dtype ", "d": "D per ", "z": "z ", "dt_bias": "dt_bias ",
          "softplus": "softplus ", "dt_limit": "dt limit ", "initial_state": "initial states ",
          "seq_idx": "seq_idx ", "final_state": "final states ",
          "state_indices": "state indices ", "dst_state_indices": "destination indices ",
          "state_update": "state update ", "intermediate_states": "intermediate states "}


def _show(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _limit(values):
    return _NO_LIMIT if values is None else tuple(float(value) for value in values)


def _static(size):
    return size if isinstance(size, int) else None


def key_of_function(function):
    """The key of a function that mamba-compile --model makes, else None."""
    if len(function.operations) != 1:
        return None
    options = function.operations[0]
    op = {"mamba.ssd": "ssd", "mamba.ssu": "ssu"}.get(options.get("op"))
    arguments = {argument.name: argument for argument in function.arguments}
    # Less exact than its types say: only for those who load it themselves.
    if options.get("tf32"):
        return None
    if op is None or not {"x", "dt", "A", "B", "C", "y"} <= set(arguments):
        return None
    known = {"x", "dt", "A", "B", "C", "D", "z", "dt_bias", "y"}
    x, B, D = arguments["x"], arguments["B"], arguments.get("D")
    key = Key(op=op, target=function.target, head_dim=x.shape[-1], state_dim=B.shape[-1],
              dtype=x.dtype, dt_dtype=arguments["dt"].dtype, state_dtype=None,
              heads=_static(x.shape[-2]), groups=_static(B.shape[-2]),
              d="none" if D is None else ("head", "channel")[len(D.shape) - 1],
              z="z" in arguments, dt_bias="dt_bias" in arguments,
              softplus=bool(options.get("softplus")))
    if op == "ssd":
        known |= {"initial_state", "seq_idx", "final_state", "chunk_states", "total_decay"}
        states = [arguments[name].dtype for name in ("initial_state", "final_state")
                  if name in arguments]
        key = replace(key, state_dtype=states[0] if states else None,
                      chunk_size=options.get("chunk_size"),
                      dt_limit=_limit(options.get("dt_limit")),
                      initial_state="initial_state" in arguments,
                      seq_idx="seq_idx" in arguments,
                      final_state="final_state" in arguments,
                      extras=tuple(sorted({"chunk_states", "total_decay"} & set(arguments))))
    else:
        known |= {"state", "state_batch_indices", "dst_state_batch_indices",
                  "intermediate_states"}
        if "state" not in arguments or options.get("pad_slot_id", -1) >= 0:
            return None
        key = replace(key, state_dtype=arguments["state"].dtype,
                      tokens=_static(x.shape[1]) if len(x.shape) == 4 else None,
                      state_indices="state_batch_indices" in arguments,
                      dst_state_indices="dst_state_batch_indices" in arguments,
                      state_update=not options.get("disable_state_update"),
                      intermediate_states="intermediate_states" in arguments)
    return key if set(arguments) <= known else None


# Results that may be there without being asked for.
_RESULTS = ("final_state", "intermediate_states")


def find_mismatches(wanted, kernel):
    """What is wrong with a kernel for a call, as texts; empty if it fits."""
    texts = []
    for field in fields(Key):
        name, want, have = field.name, getattr(wanted, field.name), getattr(kernel, field.name)
        if want == have or name == "extras":
            continue
        if name in ("heads", "groups"):
            if have is not None:
                texts.append(f"{have} {name} instead of {want}")
        elif name in ("op", "target"):
            texts.append(f"{'for ' if name == 'target' else ''}{have} instead of {want}")
        elif name in ("state_dtype", "chunk_size") and want is None:
            continue
        elif name in _RESULTS and have:
            continue
        elif isinstance(want, bool):
            texts.append(f"{'no ' if want else ''}{_TEXTS[name].strip()}")
        elif name == "d":
            texts.append({"none": "no D", "head": "D per head", "channel": "D per channel"}[have])
        elif have is None or want is None:
            texts.append(f"{'no ' if have is None else ''}{_TEXTS[name].strip()}"
                         + ("" if have is None else f" {_show(have)}"))
        else:
            texts.append(f"{_TEXTS[name]}{_show(have)} instead of {_show(want)}")
    return texts


def count_waste(wanted, kernel):
    """How much a kernel that fits does beyond the call, to prefer another."""
    unasked = sum(getattr(kernel, name) and not getattr(wanted, name) for name in _RESULTS)
    return 2 * (unasked + len(kernel.extras)) + (kernel.heads is None) + (kernel.groups is None)


def get_flags(key):
    """The flags of mamba-compile for a kernel with this key."""
    flags = [f"--model={_MODEL}", f"--op={key.op}", f"--head-dim={key.head_dim}",
             f"--state-dim={key.state_dim}"]
    if key.op == "ssd":
        flags.append(f"--chunk-size={key.chunk_size or 256}")
    elif key.tokens is not None:
        flags.append(f"--tokens={key.tokens}")
    flags += [f"--dtype={key.dtype}", f"--dt-dtype={key.dt_dtype}",
              f"--state-dtype={key.state_dtype or 'f32'}"]
    switches = [("--no-d", key.d == "none"), ("--d-has-head-dim", key.d == "channel"),
                ("--z", key.z), ("--no-dt-bias", not key.dt_bias),
                ("--no-softplus", not key.softplus)]
    if key.op == "ssd":
        if key.dt_limit != _NO_LIMIT:
            flags.append(f"--dt-limit={key.dt_limit[0]!r},{key.dt_limit[1]!r}")
        switches += [("--initial-state", key.initial_state), ("--seq-idx", key.seq_idx),
                     ("--no-final-state", not key.final_state)]
    else:
        switches += [("--state-indices", key.state_indices),
                     ("--dst-state-indices", key.dst_state_indices),
                     ("--intermediate-states", key.intermediate_states),
                     ("--no-state-update", not key.state_update)]
    return flags + [flag for flag, is_set in switches if is_set]


def get_folder_name(key):
    """A name for the bundle of a kernel with this key, of no other key."""
    parts = [key.op, f"p{key.head_dim}", f"n{key.state_dim}"]
    if key.op == "ssd":
        parts.append(f"q{key.chunk_size or 256}")
    elif key.tokens is not None:
        parts.append(f"t{key.tokens}")
    parts += [key.dtype, f"dt_{key.dt_dtype}", f"state_{key.state_dtype or 'f32'}"]
    if key.dt_limit != _NO_LIMIT:
        parts.append("limit_{!r}_{!r}".format(*key.dt_limit))
    names = [("d", key.d == "head"), ("dp", key.d == "channel"), ("z", key.z),
             ("bias", key.dt_bias), ("softplus", key.softplus), ("initial", key.initial_state),
             ("seq", key.seq_idx), ("final", key.final_state), ("from", key.state_indices),
             ("to", key.dst_state_indices), ("keep", not key.state_update),
             ("steps", key.intermediate_states)]
    return "-".join(parts + [name for name, is_set in names if is_set]) + f".{key.target}"


def find_compiler():
    """mamba-compile: $MAMBA_COMPILE, or of the checkout this file is in, or the
    one on PATH."""
    named = os.environ.get("MAMBA_COMPILE")
    if named:
        return named
    built = Path(__file__).resolve().parents[2] / "build/bin/mamba-compile"
    return str(built) if built.is_file() else "mamba-compile"


def get_command(key, folder):
    """The command, a list, that writes a kernel's bundle into a folder."""
    return [find_compiler(), *get_flags(key), f"--target={key.target}", "--emit=bundle",
            "-o", str(Path(folder) / get_folder_name(key))]


def quote(command):
    """A command for a shell."""
    return shlex.join(command)
