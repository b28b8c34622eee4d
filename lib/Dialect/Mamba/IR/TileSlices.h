//===- TileSlices.h - Slices of operands for one tile -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of an iteration domain are dimension roles, so which slice an
// operand needs follows from the roles of its dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_IR_TILESLICES_H
#define MAMBA_LIB_DIALECT_MAMBA_IR_TILESLICES_H

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace mamba {

struct Slice {
  mlir::OpFoldResult offset, size;
};

/// The loops of an operation's iteration domain.
llvm::ArrayRef<Role> getLoops(mlir::Operation *op);

mlir::RankedTensorType getTileType(mlir::RankedTensorType type,
                                   llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// The slices of an operation's operands and results for one tile.
class TileSlices {
public:
  TileSlices(mlir::OpBuilder &b, mlir::Operation *op,
             llvm::ArrayRef<mlir::OpFoldResult> offsets,
             llvm::ArrayRef<mlir::OpFoldResult> sizes)
      : b(b), op(op), loc(op->getLoc()), loops(getLoops(op)), offsets(offsets),
        sizes(sizes) {}

  /// Whether the loop of `role` is cut into more than one tile, or may be.
  bool isCut(Role role);

  std::optional<Slice> getLoop(Role role);

  llvm::FailureOr<Slice> get(Role role);

  llvm::LogicalResult
  get(const ShapedValue &value,
      llvm::SmallVectorImpl<mlir::OpFoldResult> &valueOffsets,
      llvm::SmallVectorImpl<mlir::OpFoldResult> &valueSizes);

  llvm::FailureOr<mlir::Value> extract(const ShapedValue &value);

  mlir::Value extract(mlir::Value value,
                      llvm::ArrayRef<mlir::OpFoldResult> valueOffsets,
                      llvm::ArrayRef<mlir::OpFoldResult> valueSizes);

  llvm::SmallVector<mlir::Operation *> takeGenerated() {
    return std::move(generated);
  }

private:
  /// Tokens of a run of chunks; the last chunk may be short.
  Slice getTokens(Slice chunks);

  llvm::FailureOr<Slice> getGroups();

  /// Slices of every cut dimension are kept, even where types agree.
  bool isCutShape(mlir::Value value,
                  llvm::ArrayRef<mlir::OpFoldResult> valueSizes);

  mlir::OpBuilder &b;
  mlir::Operation *op;
  mlir::Location loc;
  llvm::ArrayRef<Role> loops;
  llvm::ArrayRef<mlir::OpFoldResult> offsets, sizes;
  llvm::SmallVector<mlir::Operation *> generated;
};

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_IR_TILESLICES_H
