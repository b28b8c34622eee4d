"""Token-by-token recurrences of mamba.ssd and mamba.ssu in float64.

This is the meaning of the two ops, written as a loop over tokens and nothing
else: no chunks, no matrix form, no code shared with the compiler. All arrays
are numpy arrays; the recurrences take any float dtype and compute in float64.
The inputs must already hold the values the kernel sees (rounded to bf16 or
f16 where it reads such a type); `inputs.py` makes such inputs.

Letters: b batch, L tokens, T tokens of one decode call, H heads, P head dim,
N state size, G groups of B and C, Q chunk size, nc = ceil(L / Q). Head h reads
group h // (H // G).

Beside every result there is a `<name>_scale` of the same shape: the root of
the sum of the squared terms that the element sums up. It measures how large
the effect of independent rounding errors of those terms is, also where the
terms cancel; `tolerance.py` uses it.
"""

import numpy as np


def softplus(u):
    """log(1 + exp(u)) in float64 without overflow, exact for very small u."""
    return np.maximum(u, 0.0) + np.log1p(np.exp(-np.abs(u)))


def sigmoid(u):
    """1 / (1 + exp(-u)) in float64 without overflow."""
    small = np.exp(-np.abs(u))
    return np.where(u >= 0, 1.0, small) / (1.0 + small)


def _f64(array):
    return None if array is None else np.asarray(array, dtype=np.float64)


def time_step(dt, dt_bias, use_softplus, dt_limit):
    """dt' of every token: bias first, then softplus, the clamp last."""
    step = _f64(dt)
    if dt_bias is not None:
        step = step + _f64(dt_bias)
    if use_softplus:
        step = softplus(step)
    if dt_limit is not None:
        step = np.minimum(np.maximum(step, dt_limit[0]), dt_limit[1])
    return step


def _per_head(array, heads):
    """(..., G, N) to (..., H, N): head h gets group h // (H // G)."""
    groups = array.shape[-2]
    if groups == 0 or heads % groups:
        raise ValueError(f"{heads} heads do not divide into {groups} groups")
    return np.repeat(array, heads // groups, axis=-2)


def _skip(D):
    """D (H) or (H, P) so that it multiplies (b, H, P)."""
    return _f64(D)[:, None] if np.ndim(D) == 1 else _f64(D)


class _State:
    """The state h (rows, H, P, N) with the sum of squares of its terms."""

    def __init__(self, h):
        self.h = _f64(h).copy()
        self.squares = self.h**2

    def reset(self, rows):
        self.h[rows] = 0.0
        self.squares[rows] = 0.0

    def update(self, rows, step, decay, x, B):
        """h = decay * h + step * x B for the chosen rows.

        rows (rows) bool; step, decay (rows, H); x (rows, H, P);
        B (rows, H, N).
        """
        if rows.all():
            rows = slice(None)  # views instead of copies
        factor = decay[rows][:, :, None, None]
        term = (step[rows][:, :, None] * x[rows])[..., None] * B[rows][:, :, None]
        self.h[rows] = self.h[rows] * factor + term
        self.squares[rows] = self.squares[rows] * factor**2 + term**2

    def scale(self):
        return np.sqrt(self.squares)

    def output(self, C, x, D, z):
        """y and its scale (rows, H, P) from C (rows, H, N), x and z (rows, H, P)."""
        y = np.matmul(self.h, C[..., None])[..., 0]
        squares = np.matmul(self.squares + self.h**2, C[..., None]**2)[..., 0]
        if D is not None:
            skip = D * x
            y = y + skip
            squares = squares + skip**2
        scale = np.sqrt(squares)
        if z is not None:
            gate = z * sigmoid(z)
            y, scale = y * gate, scale * np.abs(gate)
        return y, scale


def ssd(x, dt, A, B, C, *, D=None, z=None, dt_bias=None, initial_state=None,
        seq_idx=None, softplus=True, dt_limit=None, chunk_size=None):
    """The chunked scan's meaning, token by token.

    x, z (b, L, H, P); dt (b, L, H); A, dt_bias (H); B, C (b, L, G, N);
    D (H) or (H, P); initial_state (b, H, P, N); seq_idx (b, L) integers, where
    a change (before the first token: from 0) restarts the state from 0 and a
    negative id is padding. dt_limit is (lo, hi), by default (0, inf).

    Returns a dict: y (b, L, H, P); final_state (b, H, P, N); total_decay
    (b, H), the sum of A * dt' or -inf after any restart; and with chunk_size
    chunk_states (b, nc, H, P, N), the state before tokens 0, Q, 2Q, ...
    """
    x, B, C, A, z = _f64(x), _f64(B), _f64(C), _f64(A), _f64(z)
    batch, length, heads, head_dim = x.shape
    B, C = _per_head(B, heads), _per_head(C, heads)
    D = None if D is None else _skip(D)
    limit = (0.0, np.inf) if dt_limit is None else dt_limit
    step = time_step(dt, dt_bias, softplus, limit)
    decay = np.exp(np.minimum(A * step, 0.0))
    if seq_idx is None:
        seq_idx = np.zeros((batch, length), dtype=np.int64)
    if initial_state is None:
        initial_state = np.zeros((batch, heads, head_dim, B.shape[-1]))

    state = _State(initial_state)
    y, y_scale = np.zeros(x.shape), np.zeros(x.shape)
    entering, entering_scale = [], []
    survives = np.ones(batch, dtype=bool)
    previous = np.zeros(batch, dtype=np.int64)
    for t in range(length):
        if chunk_size is not None and t % chunk_size == 0:
            entering.append(state.h.copy())
            entering_scale.append(state.scale())
        restart = seq_idx[:, t] != previous
        survives &= ~restart
        state.reset(restart)
        real = seq_idx[:, t] >= 0
        state.update(real, step[:, t], decay[:, t], x[:, t], B[:, t])
        out, scale = state.output(C[:, t], x[:, t], D,
                                  None if z is None else z[:, t])
        y[real, t], y_scale[real, t] = out[real], scale[real]
        previous = seq_idx[:, t]

    total = np.where(survives[:, None], np.sum(A * step, axis=1), -np.inf)
    result = {"y": y, "y_scale": y_scale, "final_state": state.h,
              "final_state_scale": state.scale(), "total_decay": total,
              "total_decay_scale": np.where(np.isinf(total), 0.0, np.abs(total))}
    if chunk_size is not None:
        shape = (batch, len(entering), *state.h.shape[1:])
        for name, parts in (("chunk_states", entering),
                            ("chunk_states_scale", entering_scale)):
            result[name] = np.stack(parts, axis=1) if parts else np.zeros(shape)
    return result


def ssu(state, x, dt, A, B, C, *, D=None, z=None, dt_bias=None,
        state_batch_indices=None, dst_state_batch_indices=None, softplus=True,
        pad_slot_id=-1, disable_state_update=False):
    """Decoding of one token (no T axis) or of T tokens.

    state (slots, H, P, N); x, z (b, [T,] H, P); dt (b, [T,] H); A, dt_bias
    (H); B, C (b, [T,] G, N); D (H) or (H, P); indices (b) integers. An index
    that is negative, pad_slot_id or not below slots is a pad: read from a pad
    gives zeros and writes nothing, write to a pad writes nothing.

    Returns a dict: y as x; intermediate_states (b, T, H, P, N); new_state as
    state, absent with disable_state_update. States are not rounded; slots that
    nothing writes hold exactly the values of `state`.
    """
    single = np.ndim(x) == 3
    x, dt, B, C, z = (None if a is None else _f64(a)[:, None] if single else _f64(a)
                      for a in (x, dt, B, C, z))
    state, A = _f64(state), _f64(A)
    batch, tokens, heads = x.shape[:3]
    slots = state.shape[0]
    B, C = _per_head(B, heads), _per_head(C, heads)
    D = None if D is None else _skip(D)
    step = time_step(dt, dt_bias, softplus, None)
    decay = np.exp(np.minimum(A * step, 0.0))

    source = np.arange(batch) if state_batch_indices is None else (
        np.asarray(state_batch_indices, dtype=np.int64))
    target = source if dst_state_batch_indices is None else (
        np.asarray(dst_state_batch_indices, dtype=np.int64))
    reads, writes = ((index >= 0) & (index < slots) & (index != pad_slot_id)
                     for index in (source, target))
    writes = writes & reads

    rows = _State(np.zeros((batch, *state.shape[1:])))
    rows.h[reads] = state[source[reads]]
    rows.squares[reads] = rows.h[reads]**2
    y, y_scale = np.zeros(x.shape), np.zeros(x.shape)
    after = np.zeros((batch, tokens, *state.shape[1:]))
    after_scale = np.zeros(after.shape)
    for t in range(tokens):
        rows.update(reads, step[:, t], decay[:, t], x[:, t], B[:, t])
        out, scale = rows.output(C[:, t], x[:, t], D,
                                 None if z is None else z[:, t])
        y[reads, t], y_scale[reads, t] = out[reads], scale[reads]
        after[:, t], after_scale[:, t] = rows.h, rows.scale()

    result = {"y": y[:, 0] if single else y,
              "y_scale": y_scale[:, 0] if single else y_scale,
              "intermediate_states": after,
              "intermediate_states_scale": after_scale}
    if not disable_state_update:
        new_state, new_scale = state.copy(), np.zeros(state.shape)
        new_state[target[writes]] = rows.h[writes]
        new_scale[target[writes]] = rows.scale()[writes]
        result.update(new_state=new_state, new_state_scale=new_scale)
    return result
