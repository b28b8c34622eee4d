//===- VectorPatterns.h - A thread's vectors to its registers ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_TONVVM_VECTORPATTERNS_H
#define MAMBA_LIB_CONVERSION_TONVVM_VECTORPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// Takes operations of math, and of arith where the hardware has them only on
/// single values, apart that work on vectors of one dimension; conversions
/// between f32 and 16-bit floats go by pairs, which share a register.
void populateVectorUnrollPatterns(mlir::RewritePatternSet &patterns);

/// Lowers vector.shape_cast between one and two dimensions, and slices of
/// vectors of one dimension.
void populateVectorRegisterPatterns(mlir::LLVMTypeConverter &converter,
                                    mlir::RewritePatternSet &patterns);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_TONVVM_VECTORPATTERNS_H
