//===- HostSizes.h - Evaluates index arithmetic of a function ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_MANIFEST_HOSTSIZES_H
#define MAMBA_LIB_TARGET_MANIFEST_HOSTSIZES_H

#include "SizeExpression.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/LogicalResult.h"

#include <utility>

namespace mamba {

/// Turns index values of a host function into expressions over the sizes of its
/// arguments.
class HostSizes {
public:
  /// Calls axis `axis` of the memref argument `argument` `name`.
  void defineSymbol(mlir::Value argument, unsigned axis, llvm::StringRef name) {
    symbols.insert({{argument, axis}, SizeExpression::symbol(name)});
  }

  /// The same for a stride, in elements.
  void defineStride(mlir::Value argument, unsigned axis, llvm::StringRef name) {
    strides.insert({{argument, axis}, SizeExpression::symbol(name)});
  }

  /// The expression of an integer or index. If there is none, emits an error at
  /// the operation that cannot be expressed.
  mlir::FailureOr<SizeExpression> evaluate(mlir::Value value);

  /// The same for size `axis` of a memref that is an argument or an allocation.
  mlir::FailureOr<SizeExpression> evaluateDim(mlir::Operation *user,
                                              mlir::Value memref, int64_t axis);

private:
  mlir::FailureOr<SizeExpression> evaluateOp(mlir::Operation *op);
  mlir::FailureOr<SizeExpression>
  evaluateStride(mlir::memref::ExtractStridedMetadataOp op, mlir::Value stride);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, SizeExpression> symbols,
      strides;
  llvm::DenseMap<mlir::Value, SizeExpression> known;
};

/// The value behind casts that leave the elements where they are.
mlir::Value stripMemRefCasts(mlir::Value memref);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_MANIFEST_HOSTSIZES_H
