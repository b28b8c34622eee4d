//===- Divisors.h - What index values are multiples of ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_DIVISORS_H
#define MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_DIVISORS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mamba {

/// A power of two (at most 2^30) that divides `value` always.
int64_t getKnownDivisor(mlir::Value value);

/// The same for the offset, in elements from the base of its buffer, and for
/// the strides of `memref`.
struct KnownDivisors {
  int64_t offset = 1;
  llvm::SmallVector<int64_t, 4> strides;
};
KnownDivisors getKnownDivisors(mlir::Value memref);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_DIVISORS_H
