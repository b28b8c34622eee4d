//===- MaskFacts.h - What masks rely on, and leave --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes that mamba-fold-causal-mask reads and writes.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_MASKFACTS_H
#define MAMBA_DIALECT_MAMBA_IR_MASKFACTS_H

#include "mlir/IR/Operation.h"

namespace mamba {

/// On an argument of a function, of integers: along its last dimension, each
/// number that is not negative stands in one contiguous run.
inline constexpr llvm::StringLiteral kRunsAttrName = "mamba.runs";

/// On a loop over what whole tiles leave: it rarely runs, and not often then.
inline constexpr llvm::StringLiteral kRestAttrName = "mamba.rest";

/// Whether a loop is one over rests, or in one.
inline bool isInRest(mlir::Operation *loop) {
  for (; loop; loop = loop->getParentOp())
    if (loop->hasAttr(kRestAttrName))
      return true;
  return false;
}

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_MASKFACTS_H
