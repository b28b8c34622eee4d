//===- NvgpuPatterns.h - Tensor cores and asynchronous copies ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_TONVVM_NVGPUPATTERNS_H
#define MAMBA_LIB_CONVERSION_TONVVM_NVGPUPATTERNS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// Lowers nvgpu.ldmatrix, mma.sync (bf16, f16 and tf32 with f32 accumulators),
/// device_async_copy, device_async_create_group and device_async_wait, and
/// teaches `converter` the type of their tokens.
void populateNvgpuPatterns(mlir::LLVMTypeConverter &converter,
                           mlir::RewritePatternSet &patterns);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_TONVVM_NVGPUPATTERNS_H
