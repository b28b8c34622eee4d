//===- DimensionRoles.h - What each dimension of an operand is --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One table of the dimensions of every operand and result of every mamba
// operation. Verifiers, shape reification, tiling and the driver's argument
// checks read it, so that a shape rule is written once.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_DIMENSIONROLES_H
#define MAMBA_DIALECT_MAMBA_IR_DIMENSIONROLES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mamba {

/// The meaning of a dimension. Dimensions of one role have one size in an
/// operation; `Chunks` is `ceil(Length / Chunk)` and `Heads` a multiple of
/// `Groups`.
enum class Role : unsigned {
  Batch,
  Length,
  Heads,
  HeadDim,
  Groups,
  StateDim,
  Chunks,
  Chunk,
  Slots,
  Tokens,
};

/// The role's name in diagnostics: "batch", "length", "heads", ...
llvm::StringRef stringify(Role role);

/// An operand or result with the roles of its dimensions, in order.
struct ShapedValue {
  llvm::StringRef name;
  mlir::RankedTensorType type;
  mlir::Value value;
  llvm::SmallVector<Role, 5> roles;
};

/// The operands that are present, then the results that are present, of a
/// mamba operation, each in order; empty for any other operation.
llvm::SmallVector<ShapedValue> getShapedValues(mlir::Operation *op);

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_DIMENSIONROLES_H
