//===- MambaChunkOps.td - The steps of the chunked scan ----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CHUNK_OPS_TD
#define MAMBA_CHUNK_OPS_TD

include "mamba/Dialect/Mamba/IR/MambaOpBase.td"

def Mamba_ChunkCumsumOp : Mamba_TileOp<"chunk_cumsum", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Processed time steps and their decays summed inside each chunk";
  let description = [{
    All arithmetic is f32. For token `t = c*Q + q` of head `h`:

        u  = dt[b,t,h] + dt_bias[h]
        v  = max(u, 0) + log1p(exp(-|u|))    with softplus, else u
        d  = min(max(v, lo), hi)             dt_limit = (lo, hi)
        dt_out[b,h,c,q]    = d               0 where t >= L
        dA_cumsum[b,h,c,q] = sum over i <= q of A[h] * dt_out[b,h,c,i]

    The bias comes first and the clamp last. The order in which `dA_cumsum` is
    summed is not said; its error is about 1e-7 of the sum. Without `dt_limit` the limits are
    `(0, inf)`. Past the end of a short last chunk `dt_out` is 0, so
    `dA_cumsum` stays constant there and its last element is the decay of the
    whole chunk. The softplus form is exact for very negative `u`, where
    `log(1 + exp(u))` rounds to 0.

    | operand | shape | type |
    |---|---|---|
    | `dt` | `[b, L, H]` | bf16, f16, f32 |
    | `A` | `[H]` | f32, not positive |
    | `dt_bias` (optional) | `[H]` | bf16, f16, f32 |
    | results | `[b, H, nc, Q]` | f32 |

    Iteration domain for tiling: `(b, H, nc)`, all parallel.

    ```mlir
    %d, %cs = mamba.chunk_cumsum chunk_size(128) softplus
        dt(%dt : tensor<2x?x24xbf16>) A(%A : tensor<24xf32>)
        -> tensor<2x24x?x128xf32>, tensor<2x24x?x128xf32>
    ```
  }];
  let arguments = (ins
    Mamba_StepTensor:$dt, Mamba_DecayTensor:$A,
    Optional<Mamba_HeadTensor>:$dt_bias,
    ConfinedAttr<I64Attr, [IntPositive]>:$chunk_size,
    UnitAttr:$softplus,
    OptionalAttr<DenseF64ArrayAttr>:$dt_limit);
  let results = (outs Mamba_ChunkTensor:$dt_out, Mamba_ChunkTensor:$dA_cumsum);
  // A result may be known more or less statically than its operands say.
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange lhs,
                                        ::mlir::TypeRange rhs);
  }];
  let assemblyFormat = [{
    `chunk_size` `(` $chunk_size `)` (`softplus` $softplus^)?
    (`dt_limit` `(` custom<DtLimit>($dt_limit)^ `)`)?
    `dt` `(` $dt `:` type($dt) `)` `A` `(` $A `:` type($A) `)`
    (`dt_bias` `(` $dt_bias^ `:` type($dt_bias) `)`)?
    attr-dict `->` type($dt_out) `,` type($dA_cumsum)
  }];
  let hasCanonicalizer = 1;
}

def Mamba_ChunkStateOp : Mamba_TileOp<"chunk_state", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "What the tokens of each chunk add to the state";
  let description = [{
    With `g` the group of head `h` and `last = Q - 1`:

        w[k]              = dt[b,h,c,k] * exp(min(dA[b,h,c,last] - dA[b,h,c,k], 0))
        states[b,c,h,p,n] = sum over k of x[b,cQ+k,h,p] * round(w[k] * B[b,cQ+k,g,n])

    where `dA` is `dA_cumsum` and `round` rounds to the type of `x`. Tokens
    past `L` count as zero. With `seq_idx`, only tokens whose id equals the id
    of the chunk's last token count, and none if that id is negative.

    | operand | shape | type |
    |---|---|---|
    | `x` | `[b, L, H, P]` | bf16, f16, f32 |
    | `B` | `[b, L, G, N]` | as `x` |
    | `dt`, `dA_cumsum` | `[b, H, nc, Q]` | f32 |
    | `seq_idx` (optional) | `[b, L]` | i32 |
    | result | `[b, nc, H, P, N]` | f32 |

    Iteration domain for tiling: `(b, nc, H, P, N)`, all parallel; a tile of
    more than one head must cover all heads or one group.

    ```mlir
    %s = mamba.chunk_state x(%x : tensor<2x?x24x64xbf16>)
        B(%B : tensor<2x?x1x128xbf16>) dt(%d : tensor<2x24x?x128xf32>)
        dA_cumsum(%cs : tensor<2x24x?x128xf32>) -> tensor<2x?x24x64x128xf32>
    ```
  }];
  let arguments = (ins
    Mamba_TokenTensor:$x, Mamba_TokenTensor:$B,
    Mamba_ChunkTensor:$dt, Mamba_ChunkTensor:$dA_cumsum,
    Optional<Mamba_SeqIdxTensor>:$seq_idx);
  let results = (outs Mamba_F32StatesTensor:$states);
  // A result may be known more or less statically than its operands say.
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange lhs,
                                        ::mlir::TypeRange rhs);
  }];
  let assemblyFormat = [{
    `x` `(` $x `:` type($x) `)` `B` `(` $B `:` type($B) `)`
    `dt` `(` $dt `:` type($dt) `)`
    `dA_cumsum` `(` $dA_cumsum `:` type($dA_cumsum) `)`
    (`seq_idx` `(` $seq_idx^ `:` type($seq_idx) `)`)?
    attr-dict `->` type($states)
  }];
}

def Mamba_StatePassOp : Mamba_TileOp<"state_pass", [AttrSizedOperandSegments,
                                                    AttrSizedResultSegments]> {
  let summary = "The recurrence over chunks";
  let description = [{
    In f32, for chunks `c = 0 .. nc-1` in order, from `h = initial_state` or 0:

        chunk_states[b,c,h,:,:] = h
        h = exp(min(dA_cumsum[b,h,c,Q-1], 0)) * h + states[b,c,h,:,:]

    `final_state` is `h` after the last chunk, `total_decay[b,h]` the sum of
    `dA_cumsum[b,h,c,Q-1]`: the logarithm of what the whole sequence leaves of
    a state carried in from its left. Each stored state is rounded once to its
    result's type.

    With `seq_idx` the factor is 0 and the total decay -inf unless the ids of
    the chunk's first and last token are that of the previous chunk's last
    token (before the first chunk: 0). An empty sequence passes the initial
    state.

    | operand | shape | type |
    |---|---|---|
    | `states` | `[b, nc, H, P, N]` | f32 |
    | `dA_cumsum` | `[b, H, nc, Q]` | f32 |
    | `initial_state` (optional) | `[b, H, P, N]` | bf16, f16, f32 |
    | `seq_idx` (optional) | `[b, L]` | i32 |
    | `chunk_states` | `[b, nc, H, P, N]` | bf16, f16, f32 |
    | `final_state` (optional) | `[b, H, P, N]` | bf16, f16, f32 |
    | `total_decay` (optional) | `[b, H]` | f32 |

    Iteration domain for tiling: `(b, H, P, N)`, all parallel; the first tile
    along `P` and `N` writes `total_decay`.

    ```mlir
    %h, %last = mamba.state_pass states(%s : tensor<2x?x24x64x128xf32>)
        dA_cumsum(%cs : tensor<2x24x?x128xf32>)
        -> chunk_states(tensor<2x?x24x64x128xbf16>)
           final_state(tensor<2x24x64x128xf32>)
    ```
  }];
  let arguments = (ins
    Mamba_F32StatesTensor:$states, Mamba_ChunkTensor:$dA_cumsum,
    Optional<Mamba_StateTensor>:$initial_state,
    Optional<Mamba_SeqIdxTensor>:$seq_idx);
  let results = (outs
    Mamba_StatesTensor:$chunk_states,
    Optional<Mamba_StateTensor>:$final_state,
    Optional<Mamba_TotalTensor>:$total_decay);
  let assemblyFormat = [{
    `states` `(` $states `:` type($states) `)`
    `dA_cumsum` `(` $dA_cumsum `:` type($dA_cumsum) `)`
    (`initial_state` `(` $initial_state^ `:` type($initial_state) `)`)?
    (`seq_idx` `(` $seq_idx^ `:` type($seq_idx) `)`)?
    attr-dict `->` `chunk_states` `(` type($chunk_states) `)`
    (`final_state` `(` type($final_state)^ `)`)?
    (`total_decay` `(` type($total_decay)^ `)`)?
  }];
  let hasCanonicalizer = 1;
}

def Mamba_ChunkOutOp : Mamba_TileOp<"chunk_out", [AttrSizedOperandSegments]> {
  let summary = "The outputs of each chunk from its tokens and its entering state";
  let description = [{
    For position `m` of chunk `c`, with `g` the group of head `h` and the other
    indices left out:

        W[m,k] = round((sum over n of C[m,n] * B[k,n])
                       * exp(min(dA[m] - dA[k], 0)) * dt[k])     for k <= m, else 0
        y[m,p] = sum over k of W[m,k] * x[k,p]
               + exp(min(dA[m], 0)) * sum over n of C[m,n] * round(chunk_states[p,n])
               + D * x[m,p]
        y[m,p] = y[m,p] * z[m,p] * sigmoid(z[m,p])               with z

    where `dA` is `dA_cumsum` and `round` rounds to the type of `x`; the result
    is rounded once. `mask` says which `k` count; it selects whole weights.
    With `seq_idx`, `W[m,k]` is 0 unless both tokens have the same id, the
    entering state counts only for tokens whose id, as the id of the chunk's
    first token, is that of the previous chunk's last token (before the first
    chunk: 0), and tokens of negative id give 0.

    | operand | shape | type |
    |---|---|---|
    | `x`, `z` (optional), `y` | `[b, L, H, P]` | bf16, f16, f32 |
    | `B`, `C` | `[b, L, G, N]` | as `x` |
    | `dt`, `dA_cumsum` | `[b, H, nc, Q]` | f32 |
    | `chunk_states` | `[b, nc, H, P, N]` | bf16, f16, f32 |
    | `D` (optional) | `[H]` or `[H, P]` | bf16, f16, f32 |
    | `seq_idx` (optional) | `[b, L]` | i32 |
    | `prev_seq_idx` (optional, with `seq_idx`) | `[b, nc]` | i32 |

    `prev_seq_idx` holds the id before each chunk; without it the id is read
    from `seq_idx`. Tiling adds it, since a tile does not hold that token.

    Iteration domain for tiling: `(b, nc, H, P)`, all parallel; a tile of more
    than one head must cover all heads or one group.

    ```mlir
    %y = mamba.chunk_out mask<causal> x(%x : tensor<2x?x24x64xbf16>)
        B(%B : tensor<2x?x1x128xbf16>) C(%C : tensor<2x?x1x128xbf16>)
        dt(%d : tensor<2x24x?x128xf32>) dA_cumsum(%cs : tensor<2x24x?x128xf32>)
        chunk_states(%h : tensor<2x?x24x64x128xbf16>) -> tensor<2x?x24x64xbf16>
    ```
  }];
  let arguments = (ins
    Mamba_TokenTensor:$x, Mamba_TokenTensor:$B, Mamba_TokenTensor:$C,
    Mamba_ChunkTensor:$dt, Mamba_ChunkTensor:$dA_cumsum,
    Mamba_StatesTensor:$chunk_states,
    Optional<Mamba_SkipTensor>:$D, Optional<Mamba_TokenTensor>:$z,
    Optional<Mamba_SeqIdxTensor>:$seq_idx,
    Optional<Mamba_SeqIdxTensor>:$prev_seq_idx,
    DefaultValuedAttr<Mamba_MaskAttr, "::mamba::Mask::Causal">:$mask);
  let results = (outs Mamba_TokenTensor:$y);
  let assemblyFormat = [{
    `mask` `` $mask `x` `(` $x `:` type($x) `)`
    `B` `(` $B `:` type($B) `)` `C` `(` $C `:` type($C) `)`
    `dt` `(` $dt `:` type($dt) `)`
    `dA_cumsum` `(` $dA_cumsum `:` type($dA_cumsum) `)`
    `chunk_states` `(` $chunk_states `:` type($chunk_states) `)`
    (`D` `(` $D^ `:` type($D) `)`)? (`z` `(` $z^ `:` type($z) `)`)?
    (`seq_idx` `(` $seq_idx^ `:` type($seq_idx) `)`)?
    (`prev_seq_idx` `(` $prev_seq_idx^ `:` type($prev_seq_idx) `)`)?
    attr-dict `->` type($y)
  }];
  let hasCanonicalizer = 1;
}

#endif // MAMBA_CHUNK_OPS_TD
