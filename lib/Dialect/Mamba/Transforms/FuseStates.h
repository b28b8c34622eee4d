//===- FuseStates.h - States of segments in workspaces ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_FUSESTATES_H
#define MAMBA_LIB_TRANSFORMS_FUSESTATES_H

#include "mlir/IR/Builders.h"

namespace mamba {

/// A tensor's shape; of a scalar, that of no dimensions.
llvm::ArrayRef<int64_t> getStateShape(mlir::Type type);

/// Offsets and sizes of a state of `type` at `place` of a workspace, whose
/// further dimensions are the state's.
std::pair<llvm::SmallVector<mlir::OpFoldResult>,
          llvm::SmallVector<mlir::OpFoldResult>>
getStateSlice(mlir::OpBuilder &b, llvm::ArrayRef<mlir::OpFoldResult> place,
              mlir::Type type);

/// The state at `place` of a workspace.
mlir::Value readState(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value workspace, mlir::Type type,
                      llvm::ArrayRef<mlir::OpFoldResult> place);

/// factor * state + added
mlir::Value createNext(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value factor, mlir::Value state,
                       mlir::Value added);

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_FUSESTATES_H
