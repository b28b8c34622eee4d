"""Tests of the operations on torch's CPU tensors, and as its custom operators."""

import inspect

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (test/requirements-torch.txt)")

import mamba_mlir  # noqa: E402
from mamba_mlir import ArgumentError, Bundle, UnsupportedError, torch_ops  # noqa: E402
import op_cases  # noqa: E402

# torch's own, in its compiler.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int64}


def convert(array, dtype):
    return torch.from_numpy(np.array(array)).to(DTYPES[dtype])


def restore(tensor):
    return tensor.double().numpy()


def restore_all(results):
    return [restore(result) for result in (results if isinstance(results, tuple) else (results,))]


def clone_all(arguments):
    return {name: value.clone() if isinstance(value, torch.Tensor) else value
            for name, value in arguments.items()}


def make_ssd(name, dtype="bf16"):
    arrays, arguments = op_cases.make_ssd(name, dtype, convert)
    if "state_dtype" in arguments:
        arguments["state_dtype"] = torch.float16
    return arrays, arguments


@pytest.mark.parametrize("name", op_cases.SSD)
def test_ssd(make, name):
    arrays, arguments = make_ssd(name)
    results = make(lambda: mamba_mlir.ssd(**arguments))
    op_cases.check_ssd(arrays, arguments, restore_all(results))
    first = results[0] if isinstance(results, tuple) else results
    assert first.dtype == torch.bfloat16 and first.shape == arguments["x"].shape


@pytest.mark.parametrize("name", op_cases.SSU)
def test_ssu(make, name):
    arrays, arguments = op_cases.make_ssu(name, "bf16", convert)
    y = make(lambda: mamba_mlir.selective_state_update(**arguments))
    op_cases.check_ssu(arrays, arguments, y, restore)


def test_arguments_of_the_peers():
    """Names, order and defaults; what is added comes last, by name only."""
    ssd = inspect.signature(mamba_mlir.ssd).parameters
    assert list(ssd)[:16] == [
        "x", "dt", "A", "B", "C", "chunk_size", "D", "z", "dt_bias", "initial_states", "seq_idx",
        "cu_seqlens", "dt_softplus", "dt_limit", "return_final_states", "return_varlen_states"]
    assert [p.name for p in ssd.values() if p.kind is p.KEYWORD_ONLY] == ["state_dtype"]
    assert ssd["dt_limit"].default == (0.0, float("inf"))
    ssu = inspect.signature(mamba_mlir.selective_state_update).parameters
    assert list(ssu) == [
        "state", "x", "dt", "A", "B", "C", "D", "z", "dt_bias", "dt_softplus",
        "state_batch_indices", "pad_slot_id", "state_scale", "out", "disable_state_update",
        "intermediate_states_buffer", "intermediate_state_indices", "intermediate_state_scales",
        "rand_seed", "philox_rounds", "cache_steps", "algorithm", "dst_state_batch_indices",
        "cu_seqlens", "num_accepted_tokens"]


# ---- torch.library

def operands(operator, arguments):
    """Positional operands of a custom operator, absent ones as None."""
    names = inspect.signature(operator._init_fn).parameters
    return tuple(arguments.get(name) for name in names)


@pytest.mark.parametrize("name", ["usual", "16-bit-states", "gated", "packed"])
def test_opcheck_ssd(make, name):
    _, arguments = make_ssd(name)
    make(lambda: mamba_mlir.ssd(**arguments))
    low, high = arguments.pop("dt_limit", (0.0, float("inf")))
    arguments |= {"dt_min": low, "dt_max": high,
                  "state_dtype": "f16" if "state_dtype" in arguments else "f32",
                  "return_final_states": arguments.get("return_final_states", False)}
    if "seq_idx" in arguments:
        arguments["seq_idx"] = arguments["seq_idx"].int()
    torch.library.opcheck(torch.ops.mamba_mlir.ssd.default, operands(torch_ops.ssd, arguments))


@pytest.mark.parametrize("name", ["slots", "gated", "tokens"])
def test_opcheck_ssu(make, name):
    _, arguments = op_cases.make_ssu(name, "bf16", convert)
    make(lambda: mamba_mlir.selective_state_update(**clone_all(arguments)))
    for index in ("state_batch_indices", "dst_state_batch_indices"):
        if index in arguments:
            arguments[index] = arguments[index].int()
    arguments = {"disable_state_update": False, **arguments}
    arguments["out"] = torch.empty_like(arguments["x"])
    torch.library.opcheck(torch.ops.mamba_mlir.selective_state_update.default,
                          operands(torch_ops.selective_state_update, arguments))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_ssd(make, dynamic):
    _, arguments = make_ssd("packed")
    expected = make(lambda: mamba_mlir.ssd(**arguments))
    # The compiler proper would only add its own kernels around ours.
    compiled = torch.compile(lambda **kwargs: mamba_mlir.ssd(**kwargs), fullgraph=True,
                             backend="aot_eager", dynamic=dynamic)
    for one, other in zip(compiled(**arguments), expected):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["slots", "tokens"])
def test_compile_ssu(make, name):
    _, arguments = op_cases.make_ssu(name, "bf16", convert)
    eager, compiled = clone_all(arguments), clone_all(arguments)
    expected = make(lambda: mamba_mlir.selective_state_update(**eager))

    @torch.compile(fullgraph=True, backend="aot_eager")
    def two_steps(**kwargs):
        head_dim = kwargs["x"].shape[-1]
        kwargs["dt"] = kwargs["dt"].unsqueeze(-1).expand(*kwargs["dt"].shape, head_dim)
        first = mamba_mlir.selective_state_update(**kwargs)
        return first, mamba_mlir.selective_state_update(**kwargs)

    first, second = two_steps(**compiled)
    assert torch.equal(first, expected)
    assert torch.equal(second, mamba_mlir.selective_state_update(**eager))
    assert torch.equal(compiled["state"], eager["state"])


def test_compile_with_the_default_backend(make):
    """Nothing around the kernel, so that nothing is left to generate code for."""
    arrays, arguments = make_ssd("usual")
    make(lambda: mamba_mlir.ssd(**arguments))
    compiled = torch.compile(lambda **kwargs: mamba_mlir.ssd(**kwargs), fullgraph=True)
    op_cases.check_ssd(arrays, arguments, restore_all(compiled(**arguments)))


def test_no_gradients(make):
    _, arguments = make_ssd("usual")
    arguments["x"].requires_grad_()
    y, _ = make(lambda: mamba_mlir.ssd(**arguments))
    with pytest.raises(RuntimeError, match="mamba_mlir.ssd.default but no autograd"):
        y.sum().backward()


# ---- layouts and mistakes

def test_views(make):
    """x, B and C as slices of one projection, heads in an order of their own."""
    arrays, arguments = make_ssd("usual")
    x, B, C = (arguments[name] for name in ("x", "B", "C"))
    row = torch.cat([x.flatten(2), B.flatten(2), C.flatten(2)], dim=-1)
    parts = row.split([x.shape[2] * x.shape[3], B.shape[2] * B.shape[3], C.shape[2] * C.shape[3]],
                      dim=-1)
    for name, part in zip(("x", "B", "C"), parts):
        arguments[name] = part.unflatten(-1, arguments[name].shape[2:])
        assert not arguments[name].is_contiguous()
    arguments["dt"] = arguments["dt"].transpose(1, 2).contiguous().transpose(1, 2)
    op_cases.check_ssd(arrays, arguments, restore_all(make(lambda: mamba_mlir.ssd(**arguments))))


def test_other_dtypes_of_small_operands(make):
    arrays, arguments = make_ssd("16-bit-states")
    del arguments["state_dtype"]  # so the states are f32, as mamba-ssm's
    arrays.state_dtype = "f32"
    for name in ("D", "dt_bias"):  # these hold bf16 values
        arguments[name] = arguments[name].bfloat16()
    results = make(lambda: mamba_mlir.ssd(**arguments))
    assert results[1].dtype == torch.float32
    op_cases.check_ssd(arrays, arguments, restore_all(results))


def test_any_chunk_size(make):
    arrays, arguments = make_ssd("usual")
    make(lambda: mamba_mlir.ssd(**arguments))
    op_cases.check_ssd(arrays, arguments,
                       restore_all(mamba_mlir.ssd(**{**arguments, "chunk_size": None})))



SSD_MISTAKES = [
    ({"cu_seqlens": 1}, UnsupportedError, "ssd: cu_seqlens is not supported; pack sequences with"),
    ({"return_varlen_states": True}, UnsupportedError, "ssd: return_varlen_states is not"),
    (lambda a: {"x": a["x"][0]}, ArgumentError,
     r"'x': expected axes \(batch, length, heads, head_dim\), got shape \(69, 4, 16\)"),
    (lambda a: {"D": a["D"].numpy()}, ArgumentError, "'D': expected a torch tensor, got ndarray"),
    (lambda a: {"x": a["x"].tolist()}, ArgumentError, "'x': expected a numpy array, got list"),
    (lambda a: {"B": a["B"].float()}, ArgumentError, "'B': expected dtype bf16, got f32"),
    (lambda a: {"dt": a["dt"][:, :-1]}, ArgumentError, "'dt': expected size 69 of axis 1"),
    (lambda a: {"A": torch.cat([a["A"], a["A"]])}, ArgumentError, "'A': expected size 4 of axis 0"),
]


@pytest.mark.parametrize("change, error, message", SSD_MISTAKES)
def test_ssd_rejects(make, change, error, message):
    _, arguments = make_ssd("usual")
    make(lambda: mamba_mlir.ssd(**arguments))
    with pytest.raises(error, match=message):
        mamba_mlir.ssd(**{**arguments, **(change(arguments) if callable(change) else change)})


SSU_MISTAKES = [
    *(({name: 1}, UnsupportedError, f"selective_state_update: {name} is not supported; ")
      for name in ("state_scale", "intermediate_state_scales", "rand_seed",
                   "intermediate_state_indices", "cu_seqlens", "num_accepted_tokens")),
    ({"pad_slot_id": 0}, UnsupportedError, "pad_slot_id=0 is not supported; negative indices"),
    ({"algorithm": "simple"}, UnsupportedError, "algorithm='simple' is not supported"),
    ({"cache_steps": 4}, UnsupportedError, "cache_steps=4 with 1 tokens is not supported"),
    (lambda a: {"x": a["x"][:, 0]}, ArgumentError,
     r"'x': expected axes \(batch, heads, head_dim\) or \(batch, tokens, heads, head_dim\)"),
    (lambda a: {"dt": a["dt"].unsqueeze(-1).repeat(1, 1, 16)}, UnsupportedError,
     r"dt with values of its own along head_dim is not supported; pass it with 2 axes, "
     r"\(batch, heads\), or expand\(\)ed"),
    (lambda a: {"A": a["A"][:, None, None].repeat(1, 16, 1).expand(4, 16, 32)}, UnsupportedError,
     "A with values of its own along head_dim is not supported"),
    (lambda a: {"state": a["state"].transpose(2, 3).contiguous().transpose(2, 3)}, ArgumentError,
     "'state': expected a contiguous tensor"),
    (lambda a: {"state_batch_indices": torch.tensor([[0, 1]])}, ArgumentError,
     r"'state_batch_indices': expected axes \(batch\), got shape"),
    (lambda a: {"intermediate_states_buffer": torch.empty(3, 2, 4, 16, 32)}, UnsupportedError,
     "an intermediate_states_buffer of 2 steps with 1 tokens is not supported"),
    (lambda a: {"intermediate_states_buffer": torch.empty(3, 1, 4, 16, 32)}, UnsupportedError,
     "intermediate_states_buffer with state_batch_indices is not supported"),
]


@pytest.mark.parametrize("change, error, message", SSU_MISTAKES)
def test_ssu_rejects(make, change, error, message):
    _, arguments = op_cases.make_ssu("slots", "bf16", convert)
    make(lambda: mamba_mlir.selective_state_update(**arguments))
    with pytest.raises(error, match=message):
        mamba_mlir.selective_state_update(
            **{**arguments, **(change(arguments) if callable(change) else change)})


def test_functions_of_a_bundle(make, made, folder):
    _, arguments = make_ssd("usual")
    make(lambda: mamba_mlir.ssd(**arguments))
    place, = made.glob("ssd-*-q32-bf16-dt_bf16-state_f32-d-bias-softplus-final.cpu")
    names = ("x", "dt", "A", "B", "C", "D", "dt_bias")
    given = {name: arguments[name] for name in names}
    results = Bundle.load(place)["ssd"](**given)
    assert torch.equal(results["y"], mamba_mlir.ssd(**arguments)[0])
    with pytest.raises(ArgumentError, match="'x': expected a CUDA tensor, got one on cpu"):
        Bundle.load(folder / "ssd")["ssd"](**given)
