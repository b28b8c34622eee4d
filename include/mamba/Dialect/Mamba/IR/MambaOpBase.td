//===- MambaOpBase.td - Base classes of mamba operations ---*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_OP_BASE_TD
#define MAMBA_OP_BASE_TD

include "mamba/Dialect/Mamba/IR/MambaAttrs.td"
include "mamba/Dialect/Mamba/IR/MambaInterfaces.td"
include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

def Mamba_Float : AnyTypeOf<[BF16, F16, F32], "bf16, f16 or f32">;

// Ranks are part of the type constraint so that verifiers and interfaces can
// index dimensions without checking.
class Mamba_TensorOf<Type elem, list<int> ranks>
    : TensorRankOf<[elem], ranks>;
def Mamba_TokenTensor : Mamba_TensorOf<Mamba_Float, [4]>;   // b L H P | b L G N
def Mamba_StepTensor : Mamba_TensorOf<Mamba_Float, [3]>;    // b L H
def Mamba_HeadTensor : Mamba_TensorOf<Mamba_Float, [1]>;    // H
def Mamba_DecayTensor : Mamba_TensorOf<F32, [1]>;           // H
def Mamba_SkipTensor : Mamba_TensorOf<Mamba_Float, [1, 2]>; // H | H P
def Mamba_ChunkTensor : Mamba_TensorOf<F32, [4]>;           // b H nc Q
def Mamba_StateTensor : Mamba_TensorOf<Mamba_Float, [4]>;   // b H P N
def Mamba_StatesTensor : Mamba_TensorOf<Mamba_Float, [5]>;  // b nc H P N
def Mamba_F32StatesTensor : Mamba_TensorOf<F32, [5]>;       // b nc H P N
def Mamba_TotalTensor : Mamba_TensorOf<F32, [2]>;           // b H
def Mamba_SeqIdxTensor : Mamba_TensorOf<I32, [2]>;          // b L

class Mamba_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mamba_Dialect, mnemonic, !listconcat([
        Pure,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                                  ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>
      ], traits)> {
  let hasVerifier = 1;
}

// Operations that tile: everything but the model-level `ssd`, which becomes
// chunk operations first.
class Mamba_TileOp<string mnemonic, list<Trait> traits = []>
    : Mamba_Op<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<TilingInterface, [
          "getIterationDomain", "getLoopIteratorTypes", "getTiledImplementation",
          "getResultTilePosition", "generateResultTileValue"]>,
        DeclareOpInterfaceMethods<MambaTileOpInterface>
      ], traits)> {
}

#endif // MAMBA_OP_BASE_TD
