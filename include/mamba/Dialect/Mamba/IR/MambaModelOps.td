//===- MambaModelOps.td - Prefill and decode of a model ----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_MODEL_OPS_TD
#define MAMBA_MODEL_OPS_TD

include "mamba/Dialect/Mamba/IR/MambaOpBase.td"

def Mamba_SsdOp : Mamba_Op<"ssd", [AttrSizedOperandSegments,
                                   AttrSizedResultSegments]> {
  let summary = "The whole chunked scan of a Mamba-2 layer (prefill)";
  let description = [{
    For each sequence and head, from `h = initial_state` or 0, with `d` the
    processed time step of `mamba.chunk_cumsum`:

        h[p,n] = exp(min(A * d[t], 0)) * h[p,n] + d[t] * x[t,p] * B[t,n]
        y[t,p] = sum over n of C[t,n] * h[p,n] + D * x[t,p]
        y[t,p] = y[t,p] * z[t,p] * sigmoid(z[t,p])           with z

    computed in chunks of `chunk_size` tokens as the composition of
    `mamba.chunk_cumsum`, `mamba.chunk_state`, `mamba.state_pass` and
    `mamba.chunk_out`, whose documentation gives the rounding points. `L` need
    not be a multiple of the chunk; it may be 0, which gives an empty `y`, the
    initial state as `final_state` and 0 as `total_decay`. With `A * d[t] > 0`,
    which only a positive `A` or a negative lower `dt_limit` gives, the chunked
    form clamps sums of exponents and differs from the recurrence. Exponents are
    differences of f32 sums in a chunk, so they are off by up to `2^-24` times
    the largest sum: a token with a huge `A * d` costs later tokens of its chunk
    precision.

    **Packed sequences.** `seq_idx[b,t]` names the sequence of a token. Where
    it changes from one token to the next (before the first token: from 0) the
    state restarts from 0. Tokens of negative id are padding: their `y` is 0
    and they add nothing, though their inputs must be finite. Each id that is not negative occupies one contiguous
    run. So an initial state reaches only a first run of id 0, and padding at
    the end leaves `final_state` 0.

    **Optional results.** `chunk_states[b,c]` is the state entering chunk `c`,
    `final_state` the state after the last token, `total_decay[b,h]` the sum of
    `A * d` over all tokens (-inf if the state carried in does not survive).

    | operand | shape | type |
    |---|---|---|
    | `x`, `z` (optional), `y` | `[b, L, H, P]` | bf16, f16, f32 |
    | `dt` | `[b, L, H]` | bf16, f16, f32 |
    | `A` | `[H]` | f32, not positive |
    | `B`, `C` | `[b, L, G, N]` | as `x` |
    | `D` (optional) | `[H]` or `[H, P]` | bf16, f16, f32 |
    | `dt_bias` (optional) | `[H]` | bf16, f16, f32 |
    | `initial_state` (optional) | `[b, H, P, N]` | bf16, f16, f32 |
    | `seq_idx` (optional) | `[b, L]` | i32 |
    | `chunk_states` (optional) | `[b, nc, H, P, N]` | bf16, f16, f32 |
    | `final_state` (optional) | `[b, H, P, N]` | bf16, f16, f32 |
    | `total_decay` (optional) | `[b, H]` | f32 |

    ```mlir
    %y, %last = mamba.ssd chunk_size(256) softplus
        x(%x : tensor<?x?x24x64xbf16>) dt(%dt : tensor<?x?x24xbf16>)
        A(%A : tensor<24xf32>) B(%B : tensor<?x?x1x128xbf16>)
        C(%C : tensor<?x?x1x128xbf16>) D(%D : tensor<24xf32>)
        -> y(tensor<?x?x24x64xbf16>) final_state(tensor<?x24x64x128xf32>)
    ```

    Source: the state-space dual form of Dao and Gu, "Transformers are SSMs"
    (2024), with the options of the mamba-ssm library.
  }];
  let arguments = (ins
    Mamba_TokenTensor:$x, Mamba_StepTensor:$dt, Mamba_DecayTensor:$A,
    Mamba_TokenTensor:$B, Mamba_TokenTensor:$C,
    Optional<Mamba_SkipTensor>:$D, Optional<Mamba_TokenTensor>:$z,
    Optional<Mamba_HeadTensor>:$dt_bias,
    Optional<Mamba_StateTensor>:$initial_state,
    Optional<Mamba_SeqIdxTensor>:$seq_idx,
    ConfinedAttr<I64Attr, [IntPositive]>:$chunk_size,
    UnitAttr:$softplus,
    OptionalAttr<DenseF64ArrayAttr>:$dt_limit);
  let results = (outs
    Mamba_TokenTensor:$y,
    Optional<Mamba_StatesTensor>:$chunk_states,
    Optional<Mamba_StateTensor>:$final_state,
    Optional<Mamba_TotalTensor>:$total_decay);
  let assemblyFormat = [{
    `chunk_size` `(` $chunk_size `)` (`softplus` $softplus^)?
    (`dt_limit` `(` custom<DtLimit>($dt_limit)^ `)`)?
    `x` `(` $x `:` type($x) `)` `dt` `(` $dt `:` type($dt) `)`
    `A` `(` $A `:` type($A) `)` `B` `(` $B `:` type($B) `)`
    `C` `(` $C `:` type($C) `)`
    (`D` `(` $D^ `:` type($D) `)`)? (`z` `(` $z^ `:` type($z) `)`)?
    (`dt_bias` `(` $dt_bias^ `:` type($dt_bias) `)`)?
    (`initial_state` `(` $initial_state^ `:` type($initial_state) `)`)?
    (`seq_idx` `(` $seq_idx^ `:` type($seq_idx) `)`)?
    attr-dict `->` `y` `(` type($y) `)`
    (`chunk_states` `(` type($chunk_states)^ `)`)?
    (`final_state` `(` type($final_state)^ `)`)?
    (`total_decay` `(` type($total_decay)^ `)`)?
  }];
  let hasCanonicalizer = 1;
}

def Mamba_SlotTensor : TensorRankOf<[I32, I64], [1]>;                  // b
def Mamba_StepTokenTensor : TensorRankOf<[Mamba_Float], [3, 4]>;       // b [T] H P
def Mamba_StepDtTensor : TensorRankOf<[Mamba_Float], [2, 3]>;          // b [T] H

def Mamba_SsuOp : Mamba_TileOp<"ssu", [AttrSizedOperandSegments,
                                       AttrSizedResultSegments]> {
  let summary = "Selective state update: one or several decoded tokens";
  let description = [{
    For each row `i` of the batch and each token `t` in order, in f32, with `h`
    the state of the row's slot, `g` the group of the head and

        u = dt[i,t,h] + dt_bias[h]
        d = max(u, 0) + log1p(exp(-|u|))   with softplus, else u

    (there is no clamp):

        h[p,n]   = exp(min(A * d, 0)) * h[p,n] + d * x[i,t,p] * B[i,t,g,n]
        y[i,t,p] = sum over n of C[i,t,g,n] * h[p,n] + D * x[i,t,p]
        y[i,t,p] = y[i,t,p] * z[i,t,p] * sigmoid(z[i,t,p])      with z

    The state stays f32 between the tokens of one call and is rounded once to
    its type when stored; `y` reads the unrounded state.

    **Slots.** Row `i` reads slot `state_batch_indices[i]` (without that
    operand: slot `i`) and writes slot `dst_state_batch_indices[i]` (without
    it: the slot it read). A negative index, `pad_slot_id`, or an index past
    the last slot is a pad: a row that reads a pad leaves every slot untouched
    and gives 0 in `y` and in `intermediate_states`; a row that writes a pad
    computes its outputs and writes no slot. The slots that rows write are
    distinct, and no row reads a slot that another row writes.

    **Results.** `new_state` is `state` with the written slots replaced (it is
    updated in place); it is absent with `disable_state_update`.
    `intermediate_states[i,t]` is the state after token `t`.

    | operand | shape | type |
    |---|---|---|
    | `state`, `new_state` | `[slots, H, P, N]` | bf16, f16, f32 |
    | `x`, `z` (optional), `y` | `[b, T, H, P]` or `[b, H, P]` | bf16, f16, f32 |
    | `dt` | `[b, T, H]` or `[b, H]` | bf16, f16, f32 |
    | `A` | `[H]` | f32, not positive |
    | `B`, `C` | `[b, T, G, N]` or `[b, G, N]` | as `x` |
    | `D` (optional) | `[H]` or `[H, P]` | bf16, f16, f32 |
    | `dt_bias` (optional) | `[H]` | bf16, f16, f32 |
    | `state_batch_indices`, `dst_state_batch_indices` (optional) | `[b]` | i32, i64 |
    | `intermediate_states` (optional) | `[b, T, H, P, N]` | bf16, f16, f32 |

    Iteration domain for tiling: `(b, H, P)`, all parallel. The unit tile holds
    one row, one head and any number of head-dim rows; it is marked `row`, has
    no index operands, and its `state` and `new_state` hold nothing but the
    row's slot, or no slot at all for a pad.

    ```mlir
    %y, %new = mamba.ssu softplus state(%state : tensor<?x24x64x128xf32>)
        x(%x : tensor<?x24x64xbf16>) dt(%dt : tensor<?x24xbf16>)
        A(%A : tensor<24xf32>) B(%B : tensor<?x1x128xbf16>)
        C(%C : tensor<?x1x128xbf16>) state_batch_indices(%slot : tensor<?xi32>)
        -> y(tensor<?x24x64xbf16>) new_state(tensor<?x24x64x128xf32>)
    ```
  }];
  let arguments = (ins
    Mamba_StateTensor:$state, Mamba_StepTokenTensor:$x, Mamba_StepDtTensor:$dt,
    Mamba_DecayTensor:$A, Mamba_StepTokenTensor:$B, Mamba_StepTokenTensor:$C,
    Optional<Mamba_SkipTensor>:$D, Optional<Mamba_StepTokenTensor>:$z,
    Optional<Mamba_HeadTensor>:$dt_bias,
    Optional<Mamba_SlotTensor>:$state_batch_indices,
    Optional<Mamba_SlotTensor>:$dst_state_batch_indices,
    UnitAttr:$softplus,
    DefaultValuedAttr<I64Attr, "-1">:$pad_slot_id,
    UnitAttr:$disable_state_update,
    UnitAttr:$row);
  let results = (outs
    Mamba_StepTokenTensor:$y,
    Optional<Mamba_StateTensor>:$new_state,
    Optional<Mamba_StatesTensor>:$intermediate_states);
  let extraClassDeclaration = [{
    ::mlir::OpOperand *getUpdatedOperand(unsigned resultNumber);
  }];
  let assemblyFormat = [{
    (`row` $row^)? (`softplus` $softplus^)?
    (`pad_slot_id` `(` $pad_slot_id^ `)`)?
    (`disable_state_update` $disable_state_update^)?
    `state` `(` $state `:` type($state) `)`
    `x` `(` $x `:` type($x) `)` `dt` `(` $dt `:` type($dt) `)`
    `A` `(` $A `:` type($A) `)` `B` `(` $B `:` type($B) `)`
    `C` `(` $C `:` type($C) `)`
    (`D` `(` $D^ `:` type($D) `)`)? (`z` `(` $z^ `:` type($z) `)`)?
    (`dt_bias` `(` $dt_bias^ `:` type($dt_bias) `)`)?
    (`state_batch_indices` `(` $state_batch_indices^ `:`
      type($state_batch_indices) `)`)?
    (`dst_state_batch_indices` `(` $dst_state_batch_indices^ `:`
      type($dst_state_batch_indices) `)`)?
    attr-dict `->` `y` `(` type($y) `)`
    (`new_state` `(` type($new_state)^ `)`)?
    (`intermediate_states` `(` type($intermediate_states)^ `)`)?
  }];
  let hasCanonicalizer = 1;
}

#endif // MAMBA_MODEL_OPS_TD
