//===- MathPatterns.h - Mathematics without a device library ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_TONVVM_MATHPATTERNS_H
#define MAMBA_LIB_CONVERSION_TONVVM_MATHPATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// True if `op` is of another dialect than math, or has a lowering on its
/// operand type: by the patterns below, or as an LLVM intrinsic for which the
/// hardware has instructions.
bool hasMathLowering(mlir::Operation *op);

/// Rewrites exp, exp2, log, log1p, log2, tanh and rsqrt on f32 (or vectors of
/// it) to arith, math.fma and NVVM intrinsics, clampf to arith, and functions
/// of bf16 and f16 to the same functions of f32.
void populateMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_TONVVM_MATHPATTERNS_H
