"""Rounding to the kernels' dtypes and random inputs of mamba.ssd and mamba.ssu.

Every generator returns a dict from operand name to array. Float operands are
float32 arrays that hold values of the operand's own dtype, so that a kernel
and the float64 recurrence read the same numbers.
"""

import numpy as np

STEP_RANGE = (0.001, 0.1)  # dt' of trained models, before any clamp
DECAY_RANGE = (1.0, 16.0)  # -A of the published initialization


def round_bf16(array):
    """float32 values rounded to the nearest bf16, ties to even; NaN stays NaN."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    is_nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    kept = np.where(is_nan, bits | np.uint32(0x00400000), rounded)
    return (kept & np.uint32(0xFFFF0000)).view(np.float32)


def round_f16(array):
    """float32 values rounded to the nearest f16, ties to even; overflow is inf."""
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype=np.float32).astype(np.float16).astype(np.float32)


def round_to(array, dtype):
    """float32 array with the values of `array` in "f32", "bf16" or "f16"."""
    rounders = {"f32": lambda a: np.asarray(a, dtype=np.float32),
                "bf16": round_bf16, "f16": round_f16}
    return rounders[dtype](array)


def inverse_softplus(value):
    """u with softplus(u) = value, for value > 0."""
    return value + np.log(-np.expm1(-value))


def _time_steps(rng, shape, dtype, softplus, has_bias):
    """(dt, dt_bias or None) whose dt' spreads over STEP_RANGE on a log scale.

    With a bias the head's share of the value sits in the bias, as in a model.
    The bias has bf16 values, so that any dtype of it holds them.
    """
    low, high = np.log(STEP_RANGE)
    step = np.exp(rng.uniform(low, high, size=shape))
    raw = inverse_softplus(step) if softplus else step
    if not has_bias:
        return round_to(raw, dtype), None
    center = np.exp(rng.uniform(low, high, size=shape[-1]))
    bias = round_bf16(inverse_softplus(center) if softplus else center / 2)
    return round_to(raw - bias, dtype), bias


def _common(rng, lead, *, heads, head_dim, state_dim, groups, dtype, dt_dtype,
            D, z, dt_bias, softplus):
    """Operands that ssd and ssu share; lead is (b, L), (b, T) or (b,)."""
    def normal(*shape, to=dtype):
        return round_to(rng.standard_normal(shape), to)

    dt, bias = _time_steps(rng, (*lead, heads), dt_dtype or dtype, softplus, dt_bias)
    arrays = {
        "x": normal(*lead, heads, head_dim),
        "dt": dt,
        "A": -rng.uniform(*DECAY_RANGE, size=heads).astype(np.float32),
        "B": normal(*lead, groups, state_dim),
        "C": normal(*lead, groups, state_dim),
    }
    if D is not None:
        shape = {"head": (heads,), "head_dim": (heads, head_dim)}[D]
        arrays["D"] = normal(*shape, to="bf16")
    if z:
        arrays["z"] = normal(*lead, heads, head_dim)
    if bias is not None:
        arrays["dt_bias"] = bias
    return arrays


def random_ssd(rng, *, batch=2, length, heads=2, head_dim=64, state_dim=128,
               groups=1, dtype="bf16", dt_dtype=None, state_dtype="f32", D="head",
               z=False, dt_bias=True, softplus=True, initial_state=False,
               seq_idx=None, chunk_size=64):
    """Operands of mamba.ssd in the layout of recurrence.ssd.

    D is None, "head" or "head_dim"; seq_idx None, "packed" or "padded" (see
    random_seq_idx). initial_state has about the size of a model's state.
    """
    arrays = _common(rng, (batch, length), heads=heads, head_dim=head_dim,
                     state_dim=state_dim, groups=groups, dtype=dtype,
                     dt_dtype=dt_dtype, D=D, z=z, dt_bias=dt_bias, softplus=softplus)
    if initial_state:
        state = 0.2 * rng.standard_normal((batch, heads, head_dim, state_dim))
        arrays["initial_state"] = round_to(state, state_dtype)
    if seq_idx is not None:
        arrays["seq_idx"] = random_seq_idx(rng, batch, length, seq_idx, chunk_size)
    return arrays


def random_seq_idx(rng, batch, length, kind, chunk_size):
    """(b, L) int32 ids of packed sequences, one contiguous run per id >= 0.

    About half of the boundaries fall on chunk boundaries. "padded" turns whole
    runs into padding: the last run of even rows, the first and one more run
    of odd rows. The first id is 0 or 3, so that an initial state is used by
    some rows and dropped by others.
    """
    ids = np.zeros((batch, length), dtype=np.int32)
    for row in range(batch):
        cuts = set()
        for _ in range(int(rng.integers(1, 5))):
            cut = int(rng.integers(0, length + 1))
            if rng.random() < 0.5:
                cut = cut // chunk_size * chunk_size
            cuts.add(cut)
        edges = sorted(cuts | {0, length})
        first = 3 * int(rng.integers(0, 2))
        runs = list(zip(edges[:-1], edges[1:]))
        for number, (begin, end) in enumerate(runs):
            ids[row, begin:end] = first + number
        if kind == "padded" and runs:
            padding = [runs[-1]] if row % 2 == 0 else [runs[0], runs[len(runs) // 2]]
            for begin, end in padding:
                ids[row, begin:end] = -1
    return ids


def random_ssu(rng, *, batch=3, tokens=None, slots=None, heads=2, head_dim=64,
               state_dim=128, groups=1, dtype="bf16", dt_dtype=None,
               state_dtype="f32", D="head", z=False, dt_bias=True, softplus=True,
               indices=None, dst_indices=None, index_dtype=np.int32):
    """Operands of mamba.ssu in the layout of recurrence.ssu.

    tokens None leaves the token axis out. indices is None (slot i), "shuffled"
    or "padded" (some rows read a pad); dst_indices None, "fresh" (slots that no
    row reads) or "padded" (some rows write a pad). slots defaults to enough.
    """
    lead = (batch,) if tokens is None else (batch, tokens)
    slots = 2 * batch + 3 if slots is None else slots
    arrays = _common(rng, lead, heads=heads, head_dim=head_dim, state_dim=state_dim,
                     groups=groups, dtype=dtype, dt_dtype=dt_dtype, D=D, z=z,
                     dt_bias=dt_bias, softplus=softplus)
    state = 0.2 * rng.standard_normal((slots, heads, head_dim, state_dim))
    arrays["state"] = round_to(state, state_dtype)
    order = rng.permutation(slots) if indices else np.arange(slots)
    pads = np.array([-1, slots, -7, slots + 5])
    if indices is not None:
        source = order[:batch].copy()
        if indices == "padded":
            source[::2] = np.resize(pads, len(source[::2]))
        arrays["state_batch_indices"] = source.astype(index_dtype)
    if dst_indices is not None:
        target = order[batch:2 * batch].copy()
        if dst_indices == "padded":
            target[1::2] = np.resize(pads, len(target[1::2]))
        arrays["dst_state_batch_indices"] = target.astype(index_dtype)
    return arrays
