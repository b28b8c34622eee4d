//===- Slices.h - Recompute values elsewhere --------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_STAGETILES_SLICES_H
#define MAMBA_LIB_CONVERSION_STAGETILES_SLICES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mamba {

/// Calls `visit` with the values of `value`'s computation that no operation can
/// be cloned for: block arguments, and results of operations with memory
/// effects or regions. Values `isKnown` are not looked into.
void forEachLeaf(mlir::Value value,
                 llvm::function_ref<bool(mlir::Value)> isKnown,
                 llvm::function_ref<void(mlir::Value)> visit);

/// `value` at the builder's insertion point, cloning the pure operations that
/// compute it from values `isKnown` or in `mapping`.
mlir::Value cloneSlice(mlir::OpBuilder &builder, mlir::Value value,
                       llvm::function_ref<bool(mlir::Value)> isKnown,
                       mlir::IRMapping &mapping);

/// The arguments and allocations (`findRoot`) that an operation in `parent`
/// may write.
llvm::DenseSet<mlir::Value> findWrittenRoots(mlir::Operation *parent);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_STAGETILES_SLICES_H
