"""The operations with the interfaces of their peers: mamba-ssm's
mamba_chunk_scan_combined, and selective_state_update of mamba-ssm and
FlashInfer."""

from mamba_mlir import _numpy, _torch
from mamba_mlir._library import ArgumentError
from mamba_mlir.dispatch import registry
from mamba_mlir.kernels import Key


class UnsupportedError(NotImplementedError):
    """A peer takes this argument or value, and no kernel here does."""


def _library_of(array):
    return _torch if hasattr(array, "data_ptr") else _numpy


def _unsupported(op, what, instead):
    raise UnsupportedError(f"{op}: {what} is not supported; {instead}")


def _check(op, x, arrays):
    """arrays: name, array or None, and what each allowed number of axes means.
    All are to be of the library that x is of, which is returned."""
    library = _library_of(x)
    kind = "torch tensor" if library is _torch else "numpy array"
    for name, array, layouts in arrays:
        if array is None:
            continue
        prefix = f"{op}: argument '{name}': expected "
        if _library_of(array) is not library or not hasattr(array, "ndim"):
            raise ArgumentError(f"{prefix}a {kind}, got {type(array).__name__}")
        if array.ndim not in layouts:
            expected = " or ".join(f"({', '.join(axes)})" for axes in layouts.values())
            raise ArgumentError(f"{prefix}axes {expected}, got shape {tuple(array.shape)}")
    return library


def _shapes(*layouts):
    return {len(layout.split()): layout.split() for layout in layouts}


# By the number of axes.
_HEADS = _shapes("heads")
_SKIP = _shapes("heads", "heads head_dim")
_SSD_X = _shapes("batch length heads head_dim")
_SSD_DT = _shapes("batch length heads")
_SSD_B = _shapes("batch length groups state_dim")
_SSD_STATES = _shapes("batch heads head_dim state_dim")
_SEQ_IDX = _shapes("batch length")
_SSU_X = _shapes("batch heads head_dim", "batch tokens heads head_dim")
_SSU_STATE = _shapes("slots heads head_dim state_dim")
_SSU_A = _shapes("heads", "heads head_dim state_dim")
_SSU_BUFFER = _shapes("rows tokens heads head_dim state_dim")
_SLOTS = _shapes("batch")
# Of one token, and of several in a call.
_SSU_ROWS = _shapes("batch heads head_dim"), _shapes("batch tokens heads head_dim")
_SSU_DT = (_shapes("batch heads", "batch heads head_dim"),
           _shapes("batch tokens heads", "batch tokens heads head_dim"))
_SSU_B = _shapes("batch groups state_dim"), _shapes("batch tokens groups state_dim")


def _untie(op, name, array, axes, rank):
    """Drops the last axes along which every element is one in memory, as peers'
    decode wants dt, A, D and dt_bias. `rank`: what is left."""
    library = _library_of(array)
    while array.ndim > rank:
        if not library.is_repeated(array, array.ndim - 1):
            _unsupported(op, f"{name} with values of its own along {axes[array.ndim - 1]}",
                         f"pass it with {rank} axes, ({', '.join(axes[:rank])}), or expand()ed "
                         "from there")
        array = array[..., 0]
    return array


# ---- ssd

def ssd(x, dt, A, B, C, chunk_size, D=None, z=None, dt_bias=None, initial_states=None,
        seq_idx=None, cu_seqlens=None, dt_softplus=False, dt_limit=(0.0, float("inf")),
        return_final_states=False, return_varlen_states=False, *, state_dtype=None):
    """The chunked scan: mamba-ssm's mamba_chunk_scan_combined, forward.

    Takes torch tensors of one device, or numpy arrays, and returns the like.

    x, z (batch, length, heads, head dim); dt (batch, length, heads), in the dtype
    of x or another; B, C (batch, length, groups, state dim), in the dtype of x;
    A, dt_bias (heads); D (heads) or (heads, head dim); initial_states (batch,
    heads, head dim, state dim); seq_idx (batch, length), integers: where it
    changes, the state restarts from 0. A, D and dt_bias are used as f32,
    initial_states as state_dtype, seq_idx as i32: of other dtypes they are
    converted first. Arrays that are not contiguous, or on a GPU not aligned to 16
    bytes, are copied first.

    chunk_size: of the kernel; it changes results by rounding only. None takes
    any kernel. dt_limit: (low, high). state_dtype: of the states that enter and
    leave, by default f32, which is what mamba-ssm returns.

    Returns y, as x; with return_final_states (y, final_states). Not supported:
    cu_seqlens, return_varlen_states, gradients.

    The kernel is one of a registered bundle (mamba_mlir.register); NoKernelError
    says how to make it if there is none. On a GPU it is queued on the current
    stream.
    """
    if cu_seqlens is not None:
        _unsupported("ssd", "cu_seqlens", "pack sequences with seq_idx")
    if return_varlen_states:
        _unsupported("ssd", "return_varlen_states", "return_final_states gives the state after "
                     "the last token")
    library = _check("ssd", x, (
        ("x", x, _SSD_X), ("dt", dt, _SSD_DT), ("A", A, _HEADS), ("B", B, _SSD_B),
        ("C", C, _SSD_B), ("D", D, _SKIP), ("z", z, _SSD_X), ("dt_bias", dt_bias, _HEADS),
        ("initial_states", initial_states, _SSD_STATES), ("seq_idx", seq_idx, _SEQ_IDX)))
    low, high = dt_limit
    states = "f32" if state_dtype is None else library.name_of_dtype(state_dtype)
    arguments = dict(
        x=x, dt=dt, A=library.cast(A, "f32"), B=B, C=C,
        chunk_size=None if chunk_size is None else int(chunk_size),
        D=None if D is None else library.cast(D, "f32"), z=z,
        dt_bias=None if dt_bias is None else library.cast(dt_bias, "f32"),
        initial_states=None if initial_states is None else library.cast(initial_states, states),
        seq_idx=None if seq_idx is None else library.cast(seq_idx, "i32"),
        dt_softplus=bool(dt_softplus), dt_min=float(low), dt_max=float(high),
        state_dtype=states, return_final_states=bool(return_final_states))
    if library is _torch:
        from mamba_mlir import torch_ops
        y, final_states = torch_ops.ssd(**arguments)
    else:
        y, final_states = run_ssd(**arguments)
    return (y, final_states) if return_final_states else y


def run_ssd(x, dt, A, B, C, chunk_size, D, z, dt_bias, initial_states, seq_idx, dt_softplus,
            dt_min, dt_max, state_dtype, return_final_states):
    """(y, final_states or None) of arguments as `ssd` makes them."""
    library = _library_of(x)
    has_states = initial_states is not None or return_final_states
    function = registry.find(Key(
        op="ssd", target=library.target(x), head_dim=int(x.shape[3]), state_dim=int(B.shape[3]),
        heads=int(x.shape[2]), groups=int(B.shape[2]), dtype=library.dtype_name(x),
        dt_dtype=library.dtype_name(dt), state_dtype=state_dtype if has_states else None,
        d=_kind_of_skip(D), z=z is not None, dt_bias=dt_bias is not None, softplus=dt_softplus,
        chunk_size=chunk_size, dt_limit=(dt_min, dt_max),
        initial_state=initial_states is not None, seq_idx=seq_idx is not None,
        final_state=return_final_states))
    results = _run(function, {"x": x, "dt": dt, "A": A, "B": B, "C": C, "D": D, "z": z,
                              "dt_bias": dt_bias, "initial_state": initial_states,
                              "seq_idx": seq_idx})
    return results["y"], results["final_state"] if return_final_states else None


# ---- ssu

def selective_state_update(
        state, x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False,
        state_batch_indices=None, pad_slot_id=-1, state_scale=None, out=None,
        disable_state_update=False, intermediate_states_buffer=None,
        intermediate_state_indices=None, intermediate_state_scales=None, rand_seed=None,
        philox_rounds=10, cache_steps=0, algorithm="auto", dst_state_batch_indices=None,
        cu_seqlens=None, num_accepted_tokens=None):
    """Decode: selective_state_update of mamba-ssm and FlashInfer. Updates `state`
    in place and returns y.

    Takes torch tensors of one device, or numpy arrays.

    state (slots, heads, head dim, state dim), contiguous; x, z (batch, heads, head
    dim), or (batch, tokens, heads, head dim) for several tokens in one call; dt
    (batch, [tokens,] heads); B, C (batch, [tokens,] groups, state dim); A, dt_bias
    (heads); D (heads) or (heads, head dim). dt, A and dt_bias may have the axes of
    head dim and state dim too, as the peers take them, if they are expand()ed
    along these. state_batch_indices, dst_state_batch_indices (batch): the slot
    that each row reads and writes, without the first one slot a row; a negative
    one, or one that is no slot, is a pad: y is 0 then and nothing is written.
    out, as x: where y goes. intermediate_states_buffer (at least batch, tokens,
    heads, head dim, state dim): gets the state after each token.

    A, D and dt_bias are used as f32, indices as i32: of other dtypes they are
    converted first. Inputs that are not contiguous, or on a GPU not aligned to 16
    bytes, are copied first; what is written must be contiguous.

    Not supported: quantized states (state_scale), stochastic rounding (rand_seed),
    pad_slot_id of 0 or more, intermediate_state_indices, cu_seqlens,
    num_accepted_tokens, a choice of algorithm, layouts without heads.
    """
    op = "selective_state_update"
    for name, value, instead in (
            ("state_scale", state_scale, "states are bf16, f16 or f32"),
            ("intermediate_state_scales", intermediate_state_scales, "states are bf16, f16 or f32"),
            ("rand_seed", rand_seed, "states are rounded to nearest even"),
            ("intermediate_state_indices", intermediate_state_indices,
             "row b of the buffer gets the states of row b of x"),
            ("cu_seqlens", cu_seqlens, "pass x of shape (batch, tokens, heads, head_dim)"),
            ("num_accepted_tokens", num_accepted_tokens,
             "choose the slot to read with state_batch_indices")):
        if value is not None:
            _unsupported(op, name, instead)
    if pad_slot_id is not None and pad_slot_id >= 0:
        _unsupported(op, f"pad_slot_id={pad_slot_id}", "negative indices are pads")
    if algorithm != "auto":
        _unsupported(op, f"algorithm={algorithm!r}", "there is 'auto' only")
    several = int(getattr(x, "ndim", None) == 4)
    rows = _SSU_ROWS[several]
    library = _check(op, x, (
        ("state", state, _SSU_STATE), ("x", x, _SSU_X), ("dt", dt, _SSU_DT[several]),
        ("A", A, _SSU_A), ("B", B, _SSU_B[several]), ("C", C, _SSU_B[several]), ("D", D, _SKIP),
        ("z", z, rows), ("dt_bias", dt_bias, _SKIP), ("out", out, rows),
        ("state_batch_indices", state_batch_indices, _SLOTS),
        ("dst_state_batch_indices", dst_state_batch_indices, _SLOTS),
        ("intermediate_states_buffer", intermediate_states_buffer, _SSU_BUFFER)))
    count = x.shape[1] if several else 1
    if cache_steps not in (0, count):
        _unsupported(op, f"cache_steps={cache_steps} with {count} tokens",
                     "the tokens of x are the steps")
    if intermediate_states_buffer is not None:
        steps = intermediate_states_buffer.shape[1]
        if steps != count:
            _unsupported(op, f"an intermediate_states_buffer of {steps} steps with {count} "
                         "tokens", "the tokens of x are the steps")
        if state_batch_indices is not None:
            # FlashInfer numbers the buffer's rows by slot then.
            _unsupported(op, "intermediate_states_buffer with state_batch_indices",
                         "give one of them")
    if D is not None and D.ndim == 2 and library.is_repeated(D, 1):
        D = D[:, 0]
    if out is None:
        out = library.empty(tuple(x.shape), library.dtype_name(x), x)
    arguments = dict(
        state=state, x=x, dt=_untie(op, "dt", dt, rows[x.ndim], x.ndim - 1),
        A=library.cast(_untie(op, "A", A, _SSU_A[3], 1), "f32"),
        B=B, C=C, D=None if D is None else library.cast(D, "f32"), z=z,
        dt_bias=None if dt_bias is None else library.cast(
            _untie(op, "dt_bias", dt_bias, _SKIP[2], 1), "f32"),
        dt_softplus=bool(dt_softplus),
        state_batch_indices=None if state_batch_indices is None else library.cast(
            state_batch_indices, "i32"),
        dst_state_batch_indices=None if dst_state_batch_indices is None else library.cast(
            dst_state_batch_indices, "i32"),
        out=out, disable_state_update=bool(disable_state_update),
        intermediate_states_buffer=intermediate_states_buffer)
    if library is _torch:
        from mamba_mlir import torch_ops
        torch_ops.selective_state_update(**arguments)
    else:
        run_ssu(**arguments)
    return out


def run_ssu(state, x, dt, A, B, C, D, z, dt_bias, dt_softplus, state_batch_indices,
            dst_state_batch_indices, out, disable_state_update, intermediate_states_buffer):
    """Runs arguments as `selective_state_update` makes them."""
    library = _library_of(x)
    buffer = intermediate_states_buffer
    function = registry.find(Key(
        op="ssu", target=library.target(x), head_dim=int(x.shape[-1]), state_dim=int(B.shape[-1]),
        heads=int(x.shape[-2]), groups=int(B.shape[-2]), dtype=library.dtype_name(x),
        dt_dtype=library.dtype_name(dt), state_dtype=library.dtype_name(state),
        d=_kind_of_skip(D), z=z is not None, dt_bias=dt_bias is not None, softplus=dt_softplus,
        tokens=int(x.shape[1]) if x.ndim == 4 else None,
        state_indices=state_batch_indices is not None,
        dst_state_indices=dst_state_batch_indices is not None,
        state_update=not disable_state_update, intermediate_states=buffer is not None))
    _run(function, {"state": state, "x": x, "dt": dt, "A": A, "B": B, "C": C, "D": D, "z": z,
                    "dt_bias": dt_bias, "state_batch_indices": state_batch_indices,
                    "dst_state_batch_indices": dst_state_batch_indices, "y": out,
                    "intermediate_states": None if buffer is None else buffer[:x.shape[0]]})


def _kind_of_skip(D):
    return "none" if D is None else ("head", "channel")[D.ndim - 1]


def _run(function, arrays):
    """Results of a function; inputs become dense first."""
    given = {}
    for name, array in arrays.items():
        if array is None:
            continue
        library = _library_of(array)
        argument = function.argument(name)
        if argument.role == "input" and not library.is_taken(function, argument, array):
            array = library.make_dense(array)
        given[name] = array
    return function(**given)
