//===- StagedBuffers.h - Tiles in shared memory -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A staged buffer is a `memref.alloc` of [stages, rows, columns] or [stages,
// elements] in workgroup memory that `mamba.async_copy` fills. Its integer
// attribute `mamba.swizzle` is the span of the swizzle in bytes: 0, 32, 64 or
// 128, see mamba/Layout/SharedMemory.h. Each stage is one `SharedTile`, whose
// rows and columns are padded to powers of two if the tile is swizzled.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CONVERSION_STAGEDBUFFERS_H
#define MAMBA_CONVERSION_STAGEDBUFFERS_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Layout/SharedMemory.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/StringRef.h"

namespace mamba {

/// Integer on the `memref.alloc` of a staged buffer.
inline constexpr llvm::StringLiteral kSwizzleAttrName = "mamba.swizzle";

/// The alignment of the other staged buffers: a cache line.
inline constexpr int64_t kStagedAlignment = 128;

/// The span that suits tiles of `shape` ([rows, columns]): the largest that a
/// row fills, 0 if there is none or the tile has one dimension.
int64_t chooseSwizzle(llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

/// True for the allocation of a staged buffer, or the `memref.view` of shared
/// memory that it becomes.
bool isStagedBuffer(mlir::Operation *alloc);

/// The span of a staged buffer; 0 without one.
int64_t getSwizzle(mlir::Operation *alloc);

/// Closes a group of copies.
mlir::nvgpu::DeviceAsyncCreateGroupOp createCopyGroup(mlir::OpBuilder &builder,
                                                      mlir::Location loc);

/// The bytes from one stage to the next of a buffer of `type`.
int64_t getStageBytes(mlir::MemRefType type, int64_t swizzle);

/// The bytes of a staged buffer of `type`, all stages together.
int64_t getStagedBytes(mlir::MemRefType type, int64_t swizzle);

/// The bytes of a staged buffer with what aligning the next one costs.
int64_t getPaddedBytes(mlir::memref::AllocOp alloc);

/// The bytes of all buffers of a block.
int64_t getBufferBytes(mlir::gpu::GPUFuncOp kernel);

} // namespace mamba

#endif // MAMBA_CONVERSION_STAGEDBUFFERS_H
