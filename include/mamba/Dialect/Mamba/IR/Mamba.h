//===- Mamba.h - The mamba dialect ------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, its operations, attributes and interfaces. Shapes, types and
// formulas: docs/reference/dialect.md, generated from the TableGen files.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_MAMBA_H
#define MAMBA_DIALECT_MAMBA_IR_MAMBA_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

// The generated interface declarations name MLIR's types without a namespace.
namespace mamba {
using namespace mlir; // NOLINT(google-build-using-namespace)
} // namespace mamba

#include "mamba/Dialect/Mamba/IR/MambaDialect.h.inc"
#include "mamba/Dialect/Mamba/IR/MambaEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "mamba/Dialect/Mamba/IR/MambaAttrs.h.inc"
#include "mamba/Dialect/Mamba/IR/MambaInterfaces.h.inc"
#define GET_OP_CLASSES
#include "mamba/Dialect/Mamba/IR/MambaOps.h.inc"

namespace mamba {

/// Name under which `#mamba.plan` is attached to an operation.
inline constexpr llvm::StringLiteral kPlanAttrName = "mamba.plan";

/// Name of the kernel that a loop over blocks becomes: "chunk_state", ...
inline constexpr llvm::StringLiteral kKernelAttrName = "mamba.kernel";

/// Unit attribute of a block's program whose tiles are all vectors.
inline constexpr llvm::StringLiteral kVectorizedAttrName = "mamba.vectorized";

/// Name of an argument or result of a function: "x", "dt", "y", ...
inline constexpr llvm::StringLiteral kNameAttrName = "mamba.name";

/// Unit attribute of a memref argument that holds a result of the function.
inline constexpr llvm::StringLiteral kResultAttrName = "mamba.result";

/// Name of the result that an argument is updated to in place.
inline constexpr llvm::StringLiteral kUpdatedAttrName = "mamba.updated";

/// The mamba operations that a function was written with, as dictionaries.
inline constexpr llvm::StringLiteral kOperationsAttrName = "mamba.operations";

/// Names of an argument's or result's dynamic sizes, one string a dimension.
inline constexpr llvm::StringLiteral kDimsAttrName = "mamba.dims";

/// One `#mamba.layout` for each result of vector type, a unit attribute for
/// each other one.
inline constexpr llvm::StringLiteral kLayoutsAttrName = "mamba.layouts";

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_MAMBA_H
