"""The recurrence in float64 on torch tensors, token by token, and error bounds."""

import torch

_BLOCK = 1024  # tokens that are in float64 at a time
_ROUNDING = {"f32": 0.0, "f16": 2.1e-4, "bf16": 1.7e-3}  # relative rms of one
_ARITHMETIC = 1e-5  # of f32 sums and exponents
_MARGIN = 1.2


def run(x, dt, A, B, C, D, state=None, dt_bias=None, dt_softplus=False, keep=False):
    """x (b, t, h, p), dt (b, t, h), A, D, dt_bias (h), B, C (b, t, g, n), state (b,
    h, p, n) or None for 0 -> y in float64, and the state after the last token or,
    with `keep`, after every token (b, t, h, p, n)."""
    batch, tokens, heads, head_dim = x.shape
    groups, state_dim = B.shape[2:]
    A, D = A.double(), D.double()
    rows = batch * heads
    h = (x.new_zeros((rows, head_dim, state_dim), dtype=torch.float64) if state is None
         else state.double().reshape(rows, head_dim, state_dim).clone())
    y = torch.empty(x.shape, dtype=torch.float64, device=x.device)
    kept = []

    def per_row(block):  # (b, t, g, n) -> (t, rows, n)
        block = block.double().permute(1, 0, 2, 3).repeat_interleave(heads // groups, 2)
        return block.reshape(block.shape[0], rows, state_dim)

    for begin in range(0, tokens, _BLOCK):
        part = slice(begin, min(begin + _BLOCK, tokens))
        step = dt[:, part].double() + (0 if dt_bias is None else dt_bias.double())
        if dt_softplus:
            step = torch.logaddexp(step, torch.zeros_like(step))
        values = x[:, part].double()
        decay = torch.exp(A * step).permute(1, 0, 2).reshape(-1, rows, 1, 1)
        scaled = (values * step[..., None]).permute(1, 0, 2, 3).reshape(-1, rows, head_dim, 1)
        Bs, Cs = per_row(B[:, part])[:, :, None], per_row(C[:, part])[..., None]
        out = torch.empty_like(scaled)
        for i in range(len(decay)):
            h.mul_(decay[i]).baddbmm_(scaled[i], Bs[i])
            torch.bmm(h, Cs[i], out=out[i])
            if keep:
                kept.append(h.view(batch, heads, head_dim, state_dim).clone())
        y[:, part] = (out.view(-1, batch, heads, head_dim).permute(1, 0, 2, 3)
                      + D[:, None] * values)
    return y, torch.stack(kept, 1) if keep else h.view(batch, heads, head_dim, state_dim)


def get_error(out, reference):
    """Root of the mean squared error over the reference's; inf if out is not
    finite. In parts, since a whole difference may not fit."""
    squares = total = 0.0
    for index in range(len(reference)):
        ours, exact = out[index].double(), reference[index]
        squares += (ours - exact).square_().sum().item()
        total += exact.square().sum().item()
    error = (squares / total) ** 0.5 if total else float(squares > 0)
    return error if error == error else float("inf")


def get_bounds(row):
    """Largest errors (of y, of states) of a kernel of ours, from its rounding
    points (docs/testing.md)."""
    once, state = _ROUNDING[row.dtype], _ROUNDING[row.state]
    if row.op == "prefill":
        # Weights, entering state and y; w * B and the state.
        rounding = once * 3 ** 0.5, (once ** 2 + state ** 2) ** 0.5
    else:
        rounding = once, state
    return tuple(_MARGIN * value + _ARITHMETIC for value in rounding)
