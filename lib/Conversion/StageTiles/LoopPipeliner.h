//===- LoopPipeliner.h - Run copies ahead of a loop -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_STAGETILES_LOOPPIPELINER_H
#define MAMBA_LIB_CONVERSION_STAGETILES_LOOPPIPELINER_H

#include "Mbarriers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mamba {

/// A tile that every iteration copies, by `mamba.async_copy` or
/// `mamba.tensor_copy`.
struct StagedCopy {
  mlir::Operation *op;
  mlir::memref::SubViewOp view;
  mlir::memref::AllocOp buffer;

  /// The values that say where the tile is.
  mlir::OperandRange getPlace() const;
};

/// The destination of a copy; null if `op` is none.
mlir::Value getCopyDestination(mlir::Operation *op);

struct StagedLoop {
  mlir::scf::ForOp loop;
  llvm::SmallVector<StagedCopy> copies;
  llvm::SmallVector<mlir::nvgpu::DeviceAsyncCreateGroupOp> groups;
  llvm::SmallVector<mlir::nvgpu::DeviceAsyncWaitOp> waits;
  llvm::SmallVector<mlir::memref::LoadOp> loads;
};

/// Gives the tiles of a loop `stages` buffers, and starts each copy
/// `stages - 1` iterations before the one that uses the tile.
void pipelineLoop(StagedLoop &staged, int64_t stages, Mbarriers &mbarriers);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_STAGETILES_LOOPPIPELINER_H
