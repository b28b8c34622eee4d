"""What is measured: sizes and dtypes, one row each. Needs no torch."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from mamba_mlir.kernels import Key

OPS = ("prefill", "decode", "multi")
# Elements of a state; None where there is no kernel of ours.
STATES = {"f32": "f32", "bf16": "bf16", "f16": "f16", "f16-philox": None, "i16-scale": None}
_WHY = {"f16-philox": "no kernel of ours rounds stochastically",
        "i16-scale": "no kernel of ours has int16 states"}


@dataclass(frozen=True)
class Row:
    """A row of the tables.

    op: "prefill", "decode" (one token) or "multi" (several tokens in one call).
    tokens: of a sequence, or of a call of "multi". state: a key of STATES.
    cached: every call has the same state, which stays in the L2 cache; else
    states come from memory. kept: the state after every token is written to a
    buffer, instead of the last one to its slot.
    """

    op: str
    batch: int
    tokens: int
    heads: int
    head_dim: int
    state_dim: int
    groups: int
    chunk: int = 0
    dtype: str = "bf16"
    state: str = "f32"
    cached: bool = False
    kept: bool = False

    @property
    def name(self):
        """How --rows calls it."""
        if self.op == "prefill":
            return (f"prefill/b{self.batch}-t{self.tokens}-h{self.heads}-p{self.head_dim}"
                    f"-n{self.state_dim}-g{self.groups}-q{self.chunk}")
        tokens = f"-t{self.tokens}" if self.op == "multi" else ""
        return (f"{self.op}/{self.state}{tokens}-b{self.batch}" + "-L2" * self.cached
                + "-kept" * self.kept)

    @property
    def unsupported(self):
        """Why no kernel of ours can do it, or None."""
        return _WHY.get(self.state)

    def key(self, target):
        """Of the kernel that does it."""
        common = dict(target=target, head_dim=self.head_dim, state_dim=self.state_dim,
                      heads=self.heads, groups=self.groups, dtype=self.dtype, dt_dtype="f32",
                      state_dtype=STATES[self.state], d="head")
        if self.op == "prefill":
            return Key(op="ssd", chunk_size=self.chunk, final_state=True, **common)
        return Key(op="ssu", dt_bias=True, softplus=True, state_update=not self.kept,
                   tokens=self.tokens if self.op == "multi" else None,
                   intermediate_states=self.kept, **common)

    def shrink(self):
        """The same kernel on sizes for a CPU."""
        groups = min(self.groups, 2)
        tokens = min(self.tokens, self.chunk + 5) if self.op == "prefill" else self.tokens
        return replace(self, batch=min(self.batch, 2), tokens=tokens, groups=groups,
                       heads=2 * groups, cached=False)

    def count_bytes(self):
        """Bytes that a call must read and write in memory."""
        size = {"bf16": 2, "f16": 2, "f32": 4}[self.dtype]
        rows = self.batch * (1 if self.op == "decode" else self.tokens)
        moved = rows * (2 * self.heads * self.head_dim * size
                        + 2 * self.groups * self.state_dim * size + 4 * self.heads)
        state = self.batch * self.heads * self.head_dim * self.state_dim
        element = {"f32": 4}.get(self.state, 2)
        if self.op == "prefill":
            return moved + element * state
        return moved + element * state * (1 + (self.tokens if self.kept else 1))


def _prefill():
    sizes = [(4, tokens, 8, 64, state_dim, 1, 128) for state_dim in (64, 128, 256)
             for tokens in (1024, 4096, 16384, 65536)]
    sizes += [(1, 8192, 128, 64, 128, 8, 128), (1, 51200, 128, 64, 128, 8, 128),
              (1, 8192, 80, 64, 128, 1, 256), (8, 2048, 80, 64, 128, 1, 256)]
    return [Row("prefill", *size) for size in sizes]


def _decode():
    rows = []
    for state in STATES:
        for batch in (1, 4, 16, 64, 256, 512):
            row = Row("decode", batch, 1, 128, 64, 128, 8, state=state)
            rows.append(row)
            # What fits in the L2 cache of an H200.
            if batch * 128 * 64 * 128 * (4 if state == "f32" else 2) < 50e6:
                rows.append(replace(row, cached=True))
    return rows


def _multi():
    return [Row("multi", batch, tokens, 128, 64, 128, 8, state=state, kept=kept)
            for state in STATES for tokens in (4, 8) for batch in (1, 16, 64)
            for kept in (False, True)]


ROWS = tuple(_prefill() + _decode() + _multi())


def matches(name, patterns):
    """Whether a name matches one of the patterns, or there are none.

    A pattern is one of the shell ("decode/f32-*"), or part of a name.
    """
    return not patterns or any(pattern in name or fnmatchcase(name, pattern)
                               for pattern in patterns)


def choose(ops=None, patterns=None, with_unsupported=False):
    """Rows of some operations whose names match."""
    return [row for row in ROWS
            if (not ops or row.op in ops) and matches(row.name, patterns)
            and (with_unsupported or row.unsupported is None)]
