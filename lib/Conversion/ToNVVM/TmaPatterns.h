//===- TmaPatterns.h - Tensor maps and mbarriers ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_TONVVM_TMAPATTERNS_H
#define MAMBA_LIB_CONVERSION_TONVVM_TMAPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// The array in dynamic shared memory that all kernels of a module use.
constexpr llvm::StringLiteral kSharedGlobalName = "mamba_shared";

/// Lowers nvgpu.tma.async.load, tma.prefetch.descriptor and mbarrier.create,
/// init, arrive.expect_tx and try_wait.parity, and teaches `converter` the
/// types of tensor maps and mbarriers. `hasBlockForm`: the PTX version has
/// copies to the memory of a block (8.6), not only to that of a cluster.
void populateTmaPatterns(mlir::LLVMTypeConverter &converter,
                         mlir::RewritePatternSet &patterns, bool hasBlockForm);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_TONVVM_TMAPATTERNS_H
