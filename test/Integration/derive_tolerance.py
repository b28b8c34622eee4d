"""Measures the constants of tolerance.py; run it by hand, it prints a table.

Emulates the chunked form of mamba.ssd in numpy float32 with the rounding
points of the op and compares with the float64 recurrence over many random
inputs. The table gives, per dtype and result, the largest error relative to
what tolerance.py expects: `rms` in units of the expected rms (MARGIN must be
above), `element` in units of the same (PEAK must be above).

    python derive_tolerance.py [number of seeds]
"""

import sys

import numpy as np

from inputs import random_ssd, round_to
import recurrence
import tolerance

SHAPES = [  # batch, length, heads, groups, head_dim, state_dim, chunk_size
    (2, 55, 3, 1, 16, 16, 16),
    (1, 105, 4, 2, 80, 64, 32),
    (2, 64, 2, 1, 64, 128, 64),
    (1, 300, 2, 2, 64, 256, 128),
    (1, 700, 2, 1, 128, 128, 256),
    (4, 1, 6, 2, 64, 128, 64),
]


def emulate_ssd(arrays, chunk_size, dtype, state_dtype):
    """y, final_state, chunk_states of the chunked form in float32.

    arrays as from inputs.random_ssd, without seq_idx; softplus, no limits.
    """
    f32 = np.float32
    x, A, D, z = arrays["x"], arrays["A"], arrays.get("D"), arrays.get("z")
    batch, length, heads, head_dim = x.shape
    repeat = heads // arrays["B"].shape[2]
    B, C = (np.repeat(arrays[name], repeat, axis=2) for name in "BC")
    raw = arrays["dt"] + arrays.get("dt_bias", f32(0))
    step = np.maximum(raw, 0) + np.log1p(np.exp(-np.abs(raw)))

    h = np.zeros((batch, heads, head_dim, B.shape[-1]), dtype=f32)
    h = h + arrays.get("initial_state", f32(0))
    y, entering = np.zeros(x.shape, dtype=f32), []
    for begin in range(0, length, chunk_size):
        part = slice(begin, min(begin + chunk_size, length))
        d = np.moveaxis(step[:, part], 1, 2)  # b H q
        xc, Bc, Cc = (np.moveaxis(a[:, part], 1, 2) for a in (x, B, C))
        cs = np.cumsum(A[:, None] * d, axis=-1, dtype=f32)
        exponent = np.minimum(cs[..., :, None] - cs[..., None, :], 0)
        weights = (Cc @ np.swapaxes(Bc, -1, -2)) * np.exp(exponent) * d[..., None, :]
        weights = round_to(np.tril(weights), dtype)
        entering.append(h)
        out = np.exp(np.minimum(cs, 0))[..., None] * (
            Cc @ np.swapaxes(round_to(h, dtype), -1, -2)) + weights @ xc
        y[:, part] = np.moveaxis(out, 2, 1)
        w = d * np.exp(np.minimum(cs[..., -1:] - cs, 0))
        update = np.swapaxes(xc, -1, -2) @ round_to(w[..., None] * Bc, dtype)
        h = np.exp(np.minimum(cs[..., -1:], 0))[..., None] * h + update
    if D is not None:
        y = y + (D if D.ndim == 2 else D[:, None]) * x
    if z is not None:
        y = y * (z / (1 + np.exp(-z)))
    return {"y": round_to(y, dtype), "final_state": round_to(h, state_dtype),
            "chunk_states": round_to(np.stack(entering, axis=1), state_dtype)}


def ratios(seed, shape, dtype, state_dtype):
    """(result, rms, element) errors in units of the expected rms."""
    rng = np.random.default_rng(seed)
    batch, length, heads, groups, head_dim, state_dim, chunk_size = shape
    arrays = random_ssd(
        rng, batch=batch, length=length, heads=heads, groups=groups,
        head_dim=head_dim, state_dim=state_dim, dtype=dtype, dt_dtype="f32",
        state_dtype=state_dtype, D="head" if seed % 2 else None, z=seed % 3 == 0,
        initial_state=seed % 4 < 2)
    reference = recurrence.ssd(**arrays, chunk_size=chunk_size)
    outs = emulate_ssd(arrays, chunk_size, dtype, state_dtype)
    step = recurrence.softplus(arrays["dt"].astype(np.float64) + arrays["dt_bias"])
    exponents = tolerance.exponent_range(arrays["A"] * step, chunk_size)
    bounds = tolerance.ssd_bounds(dtype, state_dtype, exponents)
    for name, out in outs.items():
        errors = tolerance.measure(out, reference[name], reference[f"{name}_scale"],
                                   bounds[name].floor)
        expected = bounds[name].element / tolerance.PEAK
        yield name, errors.rms / expected, errors.element / expected


def main():
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    print(f"{'x':5} {'state':5} {'result':13} {'rms':>6} {'element':>8}")
    for dtype, state_dtype in (("f32", "f32"), ("bf16", "f32"), ("f16", "f32"),
                               ("bf16", "bf16"), ("f32", "bf16")):
        worst = {}
        for shape in SHAPES:
            for seed in range(seeds):
                for name, rms, element in ratios(seed, shape, dtype, state_dtype):
                    old = worst.get(name, (0.0, 0.0))
                    worst[name] = (max(old[0], rms), max(old[1], element))
        for name, (rms, element) in worst.items():
            print(f"{dtype:5} {state_dtype:5} {name:13} {rms:6.2f} {element:8.2f}")


if __name__ == "__main__":
    main()
