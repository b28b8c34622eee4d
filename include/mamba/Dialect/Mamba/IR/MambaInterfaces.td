//===- MambaInterfaces.td - Interfaces of mamba operations -*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_INTERFACES_TD
#define MAMBA_INTERFACES_TD

include "mlir/IR/OpBase.td"

def MambaTileOpInterface : OpInterface<"MambaTileOpInterface"> {
  let cppNamespace = "::mamba";
  let description = [{
    What the tiling driver needs beyond `TilingInterface`: which tile is the
    unit that the decomposition into linalg accepts, which results update an
    operand in place, and what becomes of an operation without elements.
  }];
  let methods = [
    InterfaceMethod<[{
        Tile sizes of the unit tile, one per loop of the iteration domain; 0
        leaves a loop whole. `decomposeOperation` accepts operations whose
        loops with a unit size of 1 have that extent.
      }], "::llvm::SmallVector<int64_t>", "getUnitTile">,
    InterfaceMethod<[{
        The operand that result `resultNumber` updates in place, or null. The
        tiling driver starts that result from the operand, so that positions
        no tile writes keep their value.
      }], "::mlir::OpOperand *", "getUpdatedOperand",
      (ins "unsigned":$resultNumber), [{}], [{ return nullptr; }]>,
    InterfaceMethod<[{
        The results of an operation with a static dimension of 0, which has
        nothing to loop over; failure if there is no such dimension.
      }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>",
      "getResultsIfEmpty", (ins "::mlir::OpBuilder &":$b)>
  ];
}

#endif // MAMBA_INTERFACES_TD
