"""Tests of the oracle itself: closed forms, symmetries and the error measure."""

import numpy as np
import pytest

from inputs import inverse_softplus, random_ssd, random_ssu, round_bf16, round_f16
import recurrence
import tolerance


def rng():
    return np.random.default_rng(0)


def test_geometric_sum():
    """Constant inputs: h_t = s (1 - a^t) / (1 - a), y = N h + D x, gated by z."""
    length, heads, head_dim, state_dim, step, decay = 9, 2, 3, 4, 0.25, -2.0
    ones = np.ones((1, length, heads, head_dim))
    BC = np.ones((1, length, 1, state_dim))
    result = recurrence.ssd(ones, np.full((1, length, heads), step), np.full(heads, decay), BC,
                            BC, D=np.full(heads, 0.5), z=2 * ones, softplus=False, chunk_size=4)
    a = np.exp(decay * step)
    h = step * (1 - a ** np.arange(1, length + 1)) / (1 - a)
    gate = 2 / (1 + np.exp(-2))
    np.testing.assert_allclose(result["y"][0, :, 1, 2], (state_dim * h + 0.5) * gate)
    np.testing.assert_allclose(result["final_state"], h[-1])
    np.testing.assert_allclose(result["total_decay"], length * decay * step)
    assert result["chunk_states"].shape == (1, 3, heads, head_dim, state_dim)
    np.testing.assert_allclose(result["chunk_states"][0, :, 0, 0, 0], [0, h[3], h[7]])


def test_time_step_order_is_bias_softplus_clamp():
    dt, bias = np.array([[[-30.0, 1.0, 900.0, 5.0]]]), np.array([0.0, 1.0, 100.0, -5.0])
    step = recurrence.time_step(dt, bias, True, (0.0, 2.5))
    np.testing.assert_allclose(step[0, 0], [np.exp(-30), np.log1p(np.exp(2)), 2.5, np.log(2)],
                               rtol=1e-12)
    np.testing.assert_allclose(recurrence.time_step(dt, bias, False, (0.0, np.inf))[0, 0],
                               [0, 2, 1000, 0])
    np.testing.assert_allclose(recurrence.softplus(inverse_softplus(np.array([1e-9, 3.0, 900.0]))),
                               [1e-9, 3.0, 900.0])


def test_heads_read_consecutive_groups():
    arrays = random_ssd(rng(), length=5, heads=6, groups=2, head_dim=4, state_dim=3)
    whole = recurrence.ssd(**arrays)
    for group, heads in ((0, slice(0, 3)), (1, slice(3, 6))):
        part = {n: a[..., heads, :] if n == "x" else a[..., heads] if n == "dt" else
                a[:, :, group:group + 1] if n in "BC" else a[heads] for n, a in arrays.items()}
        np.testing.assert_allclose(recurrence.ssd(**part)["y"], whole["y"][:, :, heads])


def test_sequences_restart_and_padding_is_silent():
    arrays = random_ssd(rng(), batch=1, length=12, heads=2, head_dim=4, state_dim=3,
                        initial_state=True)
    ids = np.array([[0, 0, 0, 7, 7, -1, -1, 2, 2, 2, 2, -1]])
    packed = recurrence.ssd(**arrays, seq_idx=ids, chunk_size=3)
    for begin, end in ((0, 3), (3, 5), (7, 11)):
        part = {n: a[:, begin:end] if n in ("x", "dt", "B", "C") else a
                for n, a in arrays.items() if n != "initial_state" or begin == 0}
        alone = recurrence.ssd(**part)
        np.testing.assert_allclose(packed["y"][:, begin:end], alone["y"])
        if end % 3 == 0:
            np.testing.assert_allclose(packed["chunk_states"][:, end // 3], alone["final_state"])
    assert not packed["y"][:, [5, 6, 11]].any() and not packed["final_state"].any()
    assert np.isneginf(packed["total_decay"]).all()
    assert np.isfinite(recurrence.ssd(**arrays, seq_idx=0 * ids)["total_decay"]).all()


@pytest.mark.parametrize("D,z", [("head", False), ("head_dim", True)])
def test_decode_equals_prefill(D, z):
    """T tokens of ssu from the same state are T tokens of ssd."""
    arrays = random_ssd(rng(), length=6, heads=4, groups=2, head_dim=4, state_dim=3, D=D, z=z,
                        initial_state=True)
    prefill = recurrence.ssd(**arrays, chunk_size=1)
    state = arrays.pop("initial_state")
    decode = recurrence.ssu(state, **arrays)
    for name in ("y", "y_scale"):
        np.testing.assert_allclose(decode[name], prefill[name])
    np.testing.assert_allclose(decode["new_state"], prefill["final_state"])
    np.testing.assert_allclose(decode["intermediate_states"][:, :-1],
                               prefill["chunk_states"][:, 1:])
    one = recurrence.ssu(state, **{n: a[:, 0] if n in ("x", "z", "dt", "B", "C") else a
                                   for n, a in arrays.items()})
    np.testing.assert_allclose(one["y"], prefill["y"][:, 0])


def test_slots():
    """Row 0 moves slot 4 to 1, row 1 reads a pad, row 2 writes a pad, row 3 reads pad id 3."""
    arrays = random_ssu(rng(), batch=4, tokens=2, slots=6, head_dim=4, state_dim=3)
    source, target = np.array([4, 6, 2, 3]), np.array([1, 0, -1, 5])
    result = recurrence.ssu(**arrays, state_batch_indices=source, dst_state_batch_indices=target,
                            pad_slot_id=3)
    plain = recurrence.ssu(arrays["state"][[4, 0, 2, 0]],
                           **{n: a for n, a in arrays.items() if n != "state"})
    for name in ("y", "intermediate_states"):
        np.testing.assert_allclose(result[name][[0, 2]], plain[name][[0, 2]])
        assert not result[name][[1, 3]].any()
    expected = arrays["state"].astype(np.float64)
    expected[1] = plain["new_state"][0]
    np.testing.assert_allclose(result["new_state"], expected)
    assert "new_state" not in recurrence.ssu(**arrays, disable_state_update=True)


def test_negative_step_of_decode_does_not_grow_the_state():
    arrays = random_ssu(rng(), softplus=False, dt_bias=False, head_dim=4, state_dim=3)
    arrays["dt"][:], arrays["x"][:] = -30.0, 0.0
    result = recurrence.ssu(**arrays, softplus=False)
    np.testing.assert_array_equal(result["new_state"], arrays["state"])


def test_rounding():
    ulp = 2.0**-7
    values = np.float32([1 + ulp / 2, 1 + 3 * ulp / 2, 1 + 0.51 * ulp, np.inf, 3.4e38, -0.0])
    np.testing.assert_array_equal(round_bf16(values), [1, 1 + 2 * ulp, 1 + ulp, np.inf, np.inf, 0])
    assert np.isnan(round_bf16(np.uint32([0x7F800001, 0xFFFFFFFF]).view(np.float32))).all()
    np.testing.assert_array_equal(round_f16(np.float32([1 + 2.0**-11, 65519, 65520, 2.0**-25])),
                                  [1, 65504, np.inf, 0])


def test_error_measure():
    """Pure rounding to bf16 is within the bound of one rounding and near it; a
    single element that is 2 % off, a NaN or a changed exact element is not."""
    ref = rng().standard_normal((50, 64))
    scale = np.abs(ref)
    bound = tolerance.ssu_bounds("bf16")["y"]
    rounded = round_bf16(ref).astype(np.float64)
    errors = tolerance.measure(rounded, ref, scale)
    assert errors.within(bound)
    assert 0.9 < errors.rms / (tolerance.RMS_PER_UNIT * tolerance.UNIT["bf16"]) < 1.1
    peak = np.unravel_index(np.argmax(np.abs(ref)), ref.shape)
    for wrong in (rounded[peak] * 1.03, np.nan, np.inf):
        out = rounded.copy()
        out[peak] = wrong
        assert not tolerance.measure(out, ref, scale).within(bound)
    scale[peak] = 0.0
    assert not tolerance.measure(rounded, ref, scale).within(bound)
    with pytest.raises(AssertionError, match="shape"):
        tolerance.check("y", rounded[1:], ref, scale, bound)
