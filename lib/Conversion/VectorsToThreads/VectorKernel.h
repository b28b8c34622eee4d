//===- VectorKernel.h - Kernels whose program is on vectors -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_VECTORKERNEL_H
#define MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_VECTORKERNEL_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/Support/MathExtras.h"

namespace mamba {

/// True if the kernel says what its block does with vectors.
inline bool isVectorKernel(mlir::gpu::GPUFuncOp kernel) {
  return kernel.isKernel() && kernel->hasAttr(kVectorizedAttrName);
}

/// Warps of a block of `kernel`, a power of two, or an error.
inline mlir::FailureOr<uint32_t> getWarps(mlir::gpu::GPUFuncOp kernel) {
  std::optional<llvm::ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  if (!size || (*size)[1] != 1 || (*size)[2] != 1 || (*size)[0] % 32 != 0 ||
      !llvm::isPowerOf2_32((*size)[0]))
    return kernel.emitOpError("expected a one-dimensional known_block_size of "
                              "a power of two of warps");
  return (*size)[0] / 32;
}

/// An error unless every operation on vectors in `kernel` can be laid out and
/// distributed.
mlir::LogicalResult checkVectors(mlir::gpu::GPUFuncOp kernel);

/// An error unless every operation that gives vectors has their layouts.
mlir::LogicalResult checkLayouts(mlir::gpu::GPUFuncOp kernel);

/// Turns the vectors of a kernel with assigned layouts into those of a thread
/// (`mamba-distribute`).
mlir::LogicalResult distributeVectors(mlir::gpu::GPUFuncOp kernel);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_VECTORKERNEL_H
