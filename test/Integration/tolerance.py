"""Error bounds of the integration tests, from the rounding points of the ops.

A dtype with p significant bits rounds with a relative error of at most
u = 2^-p (bf16: 2^-8, f16: 2^-11, f32: 2^-24). For values whose logarithm is
spread evenly the root mean square of that error is

    u / sqrt(3) * sqrt(E[1/m^2]),  m in [1, 2) with density 1/(m ln 2),

which is RMS_PER_UNIT * u = 0.425 u: 1.66e-3 for bf16, 2.07e-4 for f16.

Rounding points a result passes (T the dtype of x, S the dtype of the state):

* ssd y: the weights W or w*B and then the entering state, each rounded to T,
  and y itself: at most three roundings to T.
* ssd states: w*B rounded to T, the stored state rounded to S.
* ssu y: one rounding to T; ssu states: one rounding to S.

Independent roundings add up as a root of squares: k of them to T give
0.425 u sqrt(k) of relative rms error, in bf16 2.9e-3 for the worst y (one
that the entering state dominates) and 2.3e-3 for a usual one. Everything else
is float32 arithmetic, which leaves an error of

    ARITHMETIC * 2^-24  +  EXPONENT * 2^-24 * (largest |dA_cumsum|):

the running sum of A*dt' is rounded relative to its own size, and that
absolute error of an exponent is a relative error of its exponential.
`exponent_range` gives the last factor. `derive_tolerance.py` measures the
constants below against a float32 emulation of the chunked form.

A result that a few rows dominate (few tokens, or very different sizes) has
few independent errors, whose mean square scatters: the rms bound grows by
1 + 1/sqrt(rows), where rows is the effective number (sum E)^2 / sum E^2 of
rows with energy E, a row being the last axis.
"""

from dataclasses import dataclass
import math

import numpy as np

UNIT = {"f32": 2.0**-24, "bf16": 2.0**-8, "f16": 2.0**-11}
RMS_PER_UNIT = math.sqrt((1 - 0.25) / (2 * math.log(2)) / 3)
SMALLEST = {"f32": 2.0**-150, "bf16": 2.0**-134, "f16": 2.0**-25}

MARGIN = 1.2  # of the rms bound over the expected rms
ARITHMETIC = 32.0  # float32 products and sums, in units of 2^-24
EXPONENT = 1.0  # of |dA_cumsum| * 2^-24
PEAK = 3.0  # largest element error in units of the expected rms


@dataclass(frozen=True)
class Bound:
    """rms: bound of ||out - ref|| / ||ref||; element: bound of one element's
    error relative to its scale; floor: absolute error always allowed (half of
    the dtype's smallest number)."""

    rms: float
    element: float
    floor: float


def _roundings(*dtypes):
    """Relative rms of independent roundings to these dtypes (f32: none)."""
    units = [UNIT[d] for d in dtypes if d != "f32"]
    return RMS_PER_UNIT * math.sqrt(sum(u * u for u in units))


def _bound(rounding, exponents, floor_dtype):
    arithmetic = UNIT["f32"] * (ARITHMETIC + EXPONENT * exponents)
    return Bound(rms=MARGIN * rounding + arithmetic,
                 element=PEAK * rounding + PEAK * arithmetic,
                 floor=SMALLEST[floor_dtype])


def ssd_bounds(dtype, state_dtype="f32", exponents=0.0):
    """Bounds by result name of mamba.ssd; exponents from exponent_range."""
    state = _bound(_roundings(dtype, state_dtype), exponents, state_dtype)
    return {"y": _bound(_roundings(dtype, dtype, dtype), exponents, dtype),
            "chunk_states": state, "final_state": state,
            "total_decay": _bound(0.0, 0.0, "f32")}


def tf32_bounds(state_dtype="f32", exponents=0.0):
    """Bounds by result name of mamba.ssd on f32 with factors rounded to tf32,
    which has f16's 11 significant bits. Every matrix that is read is rounded
    too, so there are twice as many roundings as with f16."""
    return {name: Bound(2 * bound.rms, 2 * bound.element, 2 * bound.floor)
            for name, bound in ssd_bounds("f16", state_dtype, exponents).items()}


def ssu_bounds(dtype, state_dtype="f32"):
    """Bounds by result name of mamba.ssu."""
    state = _bound(_roundings(state_dtype), 0.0, state_dtype)
    return {"y": _bound(_roundings(dtype), 0.0, dtype),
            "new_state": state, "intermediate_states": state}


def exponent_range(decay, chunk_size):
    """Largest |dA_cumsum|: decay (b, L, H) is A * dt' of every token."""
    if decay.size == 0:
        return 0.0
    return max(float(np.abs(decay[:, begin:begin + chunk_size].sum(axis=1)).max())
               for begin in range(0, decay.shape[1], chunk_size))


@dataclass(frozen=True)
class Errors:
    """Measured errors, to be read against the Bound of the same field."""

    rms: float
    element: float
    finite: bool
    rows: float = 1.0  # effective number of rows

    def within(self, bound):
        return (self.finite and self.element <= bound.element
                and self.rms <= bound.rms * (1 + 1 / math.sqrt(self.rows)))


def measure(out, ref, scale, floor=0.0):
    """Errors of out against ref; scale as described in recurrence.py.

    The element error is relative to the element's own scale plus the rms of
    ref over its last axis. An element of scale 0 has nothing to round (a slot
    that nothing writes, say) and must equal ref, as must infinities of ref.
    """
    out, ref = np.asarray(out, dtype=np.float64), np.asarray(ref, dtype=np.float64)
    if ref.size == 0:
        return Errors(0.0, 0.0, True)
    exact = np.isinf(ref) | (scale == 0)
    if not np.isfinite(out[~np.isinf(ref)]).all():
        return Errors(math.inf, math.inf, False)
    if (out[exact] != ref[exact]).any():
        return Errors(math.inf, math.inf, True)
    out, ref = np.where(exact, 0.0, out), np.where(exact, 0.0, ref)
    size = np.sqrt(np.mean(ref**2, axis=-1, keepdims=True)) + np.abs(ref) + scale
    error = np.maximum(np.abs(out - ref) - floor, 0.0)
    energy = np.sum(ref**2, axis=-1)
    norm, fourth = math.sqrt(energy.sum()), np.sum(energy**2)
    if norm == 0.0 or fourth == 0.0:
        return Errors(math.inf if error.any() else 0.0, 0.0, True)
    element = np.divide(error, size, out=np.zeros_like(error), where=error > 0)
    return Errors(math.sqrt(np.sum(error**2)) / norm, float(element.max()), True,
                  max(1.0, norm**4 / fourth))


def check(name, out, ref, scale, bound):
    """Raises AssertionError unless out has ref's shape and is within bound."""
    if np.shape(out) != np.shape(ref):
        raise AssertionError(f"{name}: shape {np.shape(out)}, expected {np.shape(ref)}")
    errors = measure(out, ref, scale, bound.floor)
    if not errors.finite:
        raise AssertionError(f"{name}: not finite where the recurrence is")
    if not errors.within(bound):
        raise AssertionError(
            f"{name}: rms error {errors.rms:.3g} (bound {bound.rms:.3g} "
            f"for many rows, here {errors.rows:.3g}), "
            f"element error {errors.element:.3g} (bound {bound.element:.3g})")


def check_all(outs, reference, bounds):
    """check() of every result in outs against the recurrence's dict."""
    for name, out in outs.items():
        check(name, out, reference[name], reference[f"{name}_scale"], bounds[name])
