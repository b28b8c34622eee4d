"""Cases of mamba_mlir.ssd and selective_state_update with what the float64
recurrence says (test/Integration), for any library of arrays."""

from pathlib import Path
import sys

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "test/Integration"))

import inputs  # noqa: E402
import recurrence  # noqa: E402
import tolerance  # noqa: E402

SIZES = {"heads": 4, "groups": 2, "head_dim": 16, "state_dim": 32}
CHUNK = 32
LENGTH = 2 * CHUNK + 5

# Options of inputs.random_ssd, and of the call.
SSD = {
    "plain": ({"D": None, "dt_bias": False, "softplus": False}, {}),
    "usual": ({}, {"return_final_states": True}),
    "16-bit-states": ({"state_dtype": "f16", "initial_state": True},
                      {"return_final_states": True, "state_dtype": "f16"}),
    "gated": ({"z": True, "D": "head_dim", "initial_state": True}, {}),
    "packed": ({"seq_idx": "packed"}, {"dt_limit": (0.004, 0.05), "return_final_states": True}),
    "dt-f32": ({"dt_dtype": "f32"}, {"dt_limit": (0.001, float("inf"))}),
}
# Options of inputs.random_ssu, and of the call.
SSU = {
    "plain": ({"D": None, "dt_bias": False, "softplus": False, "slots": 3}, {}),
    "slots": ({"indices": "padded", "dst_indices": "fresh"}, {}),
    "gated": ({"z": True, "D": "head_dim", "indices": "shuffled"}, {}),
    "16-bit-state": ({"state_dtype": "f16"}, {}),
    "tokens": ({"tokens": 4, "slots": 3}, {"intermediate": True, "disable_state_update": True}),
    "one-of-tokens": ({"tokens": 1}, {"cache_steps": 1}),
}


class Arrays:
    """Operands as float32 arrays (of a case), and converted for a call."""

    def __init__(self, generate, options, dtype, convert, **sizes):
        self.dtype = dtype
        self.state_dtype = options.get("state_dtype", "f32")
        self.values = generate(np.random.default_rng(1), **SIZES, **sizes,
                               **{"dtype": dtype, **options})
        dtypes = {"dt": options.get("dt_dtype") or dtype, "state": self.state_dtype,
                  "initial_state": self.state_dtype, "A": "f32", "D": "f32", "dt_bias": "f32"}
        self.given = {name: convert(array, dtypes.get(name, dtype))
                      if array.dtype == np.float32 else convert(array, "i32")
                      for name, array in self.values.items()}


def make_ssd(name, dtype, convert):
    """(Arrays, keyword arguments of mamba_mlir.ssd) of a case."""
    options, call = SSD[name]
    arrays = Arrays(inputs.random_ssd, options, dtype, convert, length=LENGTH, chunk_size=CHUNK)
    given = dict(arrays.given)
    if "initial_state" in given:
        given["initial_states"] = given.pop("initial_state")
    return arrays, {**given, **call, "chunk_size": CHUNK,
                    "dt_softplus": options.get("softplus", True)}


def check_ssd(arrays, arguments, results):
    """results: y, or (y, final states), as float64 arrays."""
    values = arrays.values
    limit = arguments.get("dt_limit")
    softplus = arguments["dt_softplus"]
    reference = recurrence.ssd(**values, softplus=softplus, dt_limit=limit)
    step = recurrence.time_step(values["dt"], values.get("dt_bias"), softplus, limit)
    bounds = tolerance.ssd_bounds(arrays.dtype, arrays.state_dtype,
                                  tolerance.exponent_range(values["A"] * step, CHUNK))
    names = ("y", "final_state") if arguments.get("return_final_states") else ("y",)
    assert len(names) == len(results)
    tolerance.check_all(dict(zip(names, results)), reference, bounds)


def make_ssu(name, dtype, convert):
    """(Arrays, keyword arguments of selective_state_update) of a case."""
    options, call = SSU[name]
    call = dict(call)
    arrays = Arrays(inputs.random_ssu, options, dtype, convert)
    if call.pop("intermediate", False):
        # A row more than the batch has.
        state = arrays.values["state"]
        shape = (4, options["tokens"], *state.shape[1:])
        call["intermediate_states_buffer"] = convert(np.full(shape, 7, np.float32),
                                                     arrays.state_dtype)
    return arrays, {**arrays.given, **call, "dt_softplus": options.get("softplus", True)}


def check_ssu(arrays, arguments, y, restore):
    """y and what `arguments` hold after the call, read by restore()."""
    reference = recurrence.ssu(**arrays.values, softplus=arguments["dt_softplus"])
    bounds = tolerance.ssu_bounds(arrays.dtype, arrays.state_dtype)
    results = {"y": restore(y)}
    state = restore(arguments["state"])
    if arguments.get("disable_state_update"):
        np.testing.assert_array_equal(state, arrays.values["state"])
    else:
        results["new_state"] = state
    buffer = arguments.get("intermediate_states_buffer")
    if buffer is not None:
        batch = arrays.values["x"].shape[0]
        results["intermediate_states"] = restore(buffer)[:batch]
        assert (restore(buffer)[batch:] == 7).all()
    tolerance.check_all(results, reference, bounds)
