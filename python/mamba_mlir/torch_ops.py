"""The operations as custom operators of torch, torch.ops.mamba_mlir.*, so that
torch.compile keeps them whole. mamba_mlir.ops calls them; importing this module
registers them."""

from typing import Optional, Tuple

import torch
from torch import Tensor

from mamba_mlir import _torch, ops


@torch.library.custom_op("mamba_mlir::ssd", mutates_args=())
def ssd(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: Optional[int],
        D: Optional[Tensor], z: Optional[Tensor], dt_bias: Optional[Tensor],
        initial_states: Optional[Tensor], seq_idx: Optional[Tensor], dt_softplus: bool,
        dt_min: float, dt_max: float, state_dtype: str,
        return_final_states: bool) -> Tuple[Tensor, Tensor]:
    """mamba_mlir.ops.run_ssd; without final states the second tensor is empty."""
    y, final_states = ops.run_ssd(x, dt, A, B, C, chunk_size, D, z, dt_bias, initial_states,
                                  seq_idx, dt_softplus, dt_min, dt_max, state_dtype,
                                  return_final_states)
    return y, _no_states(x, state_dtype) if final_states is None else final_states


def _no_states(x, state_dtype):
    return x.new_empty((0,), dtype=_torch.make_dtype(state_dtype))


@ssd.register_fake
def _(x, dt, A, B, C, chunk_size, D, z, dt_bias, initial_states, seq_idx, dt_softplus, dt_min,
      dt_max, state_dtype, return_final_states):
    y = x.new_empty(x.shape)
    if not return_final_states:
        return y, _no_states(x, state_dtype)
    batch, _, heads, head_dim = x.shape
    return y, x.new_empty((batch, heads, head_dim, B.shape[3]),
                          dtype=_torch.make_dtype(state_dtype))


@torch.library.custom_op("mamba_mlir::selective_state_update",
                         mutates_args=("state", "out", "intermediate_states_buffer"))
def selective_state_update(
        state: Tensor, x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor,
        D: Optional[Tensor], z: Optional[Tensor], dt_bias: Optional[Tensor], dt_softplus: bool,
        state_batch_indices: Optional[Tensor], dst_state_batch_indices: Optional[Tensor],
        out: Tensor, disable_state_update: bool,
        intermediate_states_buffer: Optional[Tensor]) -> None:
    """mamba_mlir.ops.run_ssu."""
    ops.run_ssu(state, x, dt, A, B, C, D, z, dt_bias, dt_softplus, state_batch_indices,
                dst_state_batch_indices, out, disable_state_update, intermediate_states_buffer)


@selective_state_update.register_fake
def _(state, x, dt, A, B, C, D, z, dt_bias, dt_softplus, state_batch_indices,
      dst_state_batch_indices, out, disable_state_update, intermediate_states_buffer):
    return None
