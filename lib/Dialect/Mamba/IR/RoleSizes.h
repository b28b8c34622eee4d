//===- RoleSizes.h - Sizes of an operation's dimensions by role -*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_IR_ROLESIZES_H
#define MAMBA_LIB_DIALECT_MAMBA_IR_ROLESIZES_H

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mamba {

/// The static chunk size of `op`: its attribute or a dimension of its operands;
/// nullopt for operations without chunks.
std::optional<int64_t> getChunkSize(mlir::Operation *op);

/// The size of the dimensions of `role`: a constant if any operand or result
/// has it statically, else a `tensor.dim` of an operand.
mlir::OpFoldResult getRoleSize(mlir::OpBuilder &b, mlir::Operation *op,
                               Role role);

/// Whether two sizes are the same constant, value or computation of equal
/// values, such as two `tensor.dim` of one dimension.
bool isSameSize(mlir::OpFoldResult lhs, mlir::OpFoldResult rhs);

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_IR_ROLESIZES_H
