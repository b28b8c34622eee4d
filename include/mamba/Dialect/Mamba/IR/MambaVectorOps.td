//===- MambaVectorOps.td - Vectors of a block --------------*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_VECTOR_OPS_TD
#define MAMBA_VECTOR_OPS_TD

include "mamba/Dialect/Mamba/IR/MambaAttrs.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mamba_ConvertLayoutOp : Op<Mamba_Dialect, "convert_layout",
    [Pure, SameOperandsAndResultType]> {
  let summary = "The same vector, held by other threads";
  let description = [{
    Moves the elements of a block's vector to where `layout` says. What it
    costs follows from the two layouts (docs/layouts.md): nothing, a renaming
    of registers, shuffles within warps, or a way through shared memory. Every
    thread of the block must reach it.

    ```mlir
    %w = mamba.convert_layout %v to #mamba.layout<"..."> : vector<64x16xbf16>
    ```
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$source, Mamba_LayoutAttr:$layout);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$source `to` $layout attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // MAMBA_VECTOR_OPS_TD
