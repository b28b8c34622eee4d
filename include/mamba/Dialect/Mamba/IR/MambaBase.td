//===- MambaBase.td - The mamba dialect --------------------*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_BASE_TD
#define MAMBA_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Mamba_Dialect : Dialect {
  let name = "mamba";
  let cppNamespace = "::mamba";
  let summary = "Tile-level operations of Mamba-2 and other state-space models";
  let description = [{
    The dialect holds the operations of Mamba-2's state-space dual form at the
    level of whole tensors or of tiles of them. Every operation has one
    meaning: its decomposition into `linalg`, `tensor`, `arith` and `math`.

    **Symbols.** `b` batch, `L` length in tokens, `H` heads, `P` head dim, `N`
    state dim, `G` groups, `Q` chunk size, `nc = ceil(L / Q)` chunks. `P`, `N`
    and `Q` are static; `b`, `L`, `H` and `G` may be dynamic. Head `h` reads
    group `floor(h / (H / G))` of `B` and `C`; `H` is a multiple of `G`.

    **Layouts.** Tokens are row-major `[b, L, H, P]`, states `[b, H, P, N]`,
    per-chunk states `[b, nc, H, P, N]`, and the processed time steps and the
    cumulative sums `[b, H, nc, Q]`, contiguous in the token.

    **Types.** `x`, `B`, `C`, `z` and `y` are bf16, f16 or f32; `dt`, `D` and
    `dt_bias` are any of these; `A` is f32; accumulation is f32. A 16-bit value
    comes from f32 only through an explicit `arith.truncf` in the decomposition
    (round to nearest, ties to even).

    **Decay.** No exponential is taken of a positive number: the exponent of
    every decay factor is clamped to at most 0. With `A <= 0` and `dt >= 0` the
    clamp never binds. A mask selects weights, it does not multiply: a weight
    that it drops may be infinite or not a number. A dropped weight is a factor
    0 of `x`, `B` and states, which must be finite: an infinity in one token
    makes the others of its chunk NaN.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // MAMBA_BASE_TD
