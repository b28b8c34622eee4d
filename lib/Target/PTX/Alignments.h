//===- Alignments.h - What kernels demand of addresses ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_PTX_ALIGNMENTS_H
#define MAMBA_LIB_TARGET_PTX_ALIGNMENTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mamba {

/// For each parameter of a kernel the bytes that its widest access is aligned
/// to, at least 1; 0 if it is not a pointer or is used in a way that does not
/// tell.
llvm::SmallVector<int64_t> getAlignments(mlir::LLVM::LLVMFuncOp kernel);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_PTX_ALIGNMENTS_H
