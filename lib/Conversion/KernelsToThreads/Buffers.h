//===- Buffers.h - What a memref in a kernel refers to ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BUFFERS_H
#define MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BUFFERS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mamba {

/// The argument of the kernel or the allocating operation's result that
/// `memref` is a view of, through views, loop-carried values that never change
/// their buffer and results of loops. Null if there is no such value.
mlir::Value findRoot(mlir::Value memref);

/// True if `memref` lies in memory that only one block sees.
bool isShared(mlir::Value memref);

/// A size of a buffer: a constant, a value, or (`dim >= 0`) size `dim` of the
/// memref `value`. Unlike an OpFoldResult it exists before any operation that
/// computes it, so analyses can compare sizes without changing the IR.
struct Extent {
  int64_t constant = mlir::ShapedType::kDynamic;
  mlir::Value value;
  int64_t dim = -1;

  bool isStatic() const { return !mlir::ShapedType::isDynamic(constant); }
  bool isOne() const { return constant == 1; }
  bool operator==(const Extent &other) const {
    return constant == other.constant && value == other.value &&
           dim == other.dim;
  }
};

/// Size `dim` of `memref`, looked up through the views that define it.
Extent getExtent(mlir::Value memref, int64_t dim);

/// The largest value that `value` can have, if that is easy to see: it is a
/// constant, a minimum with one, or a choice of such values.
std::optional<int64_t> findUpperBound(mlir::Value value);
std::optional<int64_t> findUpperBound(const Extent &extent);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BUFFERS_H
