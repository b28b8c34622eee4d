//===- Tiling.h - Tiles mamba operations ------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_TILING_H
#define MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_TILING_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mamba {

/// Block dimensions for `count` loops, the innermost fastest.
llvm::SmallVector<mlir::Attribute> getBlockMapping(mlir::MLIRContext *context,
                                                   size_t count);

/// Replaces `op` by loops over tiles of `sizes` (0: the whole loop). Fails with
/// a diagnostic if the operation does not tile so. A tile size other than 0
/// and 1 must divide a static extent, since head and state dims are static.
mlir::FailureOr<mlir::scf::SCFTilingResult>
tileToLoops(mlir::RewriterBase &rewriter, MambaTileOpInterface op,
            llvm::ArrayRef<int64_t> sizes,
            mlir::scf::SCFTilingOptions::LoopType loopType);

/// Replaces `op` by its results if a static dimension of 0 says that there is
/// nothing to loop over.
bool replaceIfEmpty(mlir::RewriterBase &rewriter, MambaTileOpInterface op);

/// Whether `op` is a unit tile, which its decomposition accepts.
bool isUnitTile(MambaTileOpInterface op);

/// The state_pass that is the only user of `op`, or null.
StatePassOp getOnlyStatePass(ChunkStateOp op);

/// Whether the blocks of a state_pass compute the states that they sum.
bool computesChunkStates(Schedule schedule);

/// Replaces a slice of a result of an operation that tiles by the tile that
/// computes it. Fails if no tile computes that slice only.
mlir::FailureOr<MambaTileOpInterface>
fuseIntoSlice(mlir::RewriterBase &rewriter, mlir::tensor::ExtractSliceOp slice);

/// Erases an operation of whose results only sizes are read any more.
llvm::LogicalResult eraseAllButSizes(mlir::RewriterBase &rewriter,
                                     MambaTileOpInterface op);

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_TILING_H
