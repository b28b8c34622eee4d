//===- TensorTiles.h - Tiles as boxes of a tensor map -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_STAGETILES_TENSORTILES_H
#define MAMBA_LIB_CONVERSION_STAGETILES_TENSORTILES_H

#include "SizeSums.h"

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

#include <string>

namespace mamba {

/// A tile of a tensor in global memory.
struct TensorTile {
  struct Dim {
    /// The size from which on there are zeros, and the stride in elements.
    SizeSum size, stride;
    /// The tile's first element: the sum of these values with their factors.
    llvm::SmallVector<std::pair<mlir::OpFoldResult, int64_t>, 2> position;
    /// The elements of a copy.
    int64_t box = 1;
  };

  /// The argument that points to the tensor's first element.
  mlir::BlockArgument base;
  /// Outermost first; the last one is contiguous.
  llvm::SmallVector<Dim, 5> dims;
  /// The type of the tensor map.
  mlir::nvgpu::TensorMapDescriptorType type;

  /// True if one tensor map serves both.
  bool hasMapOf(const TensorTile &other) const;
};

/// Describes what `copy` reads so that a tensor map can do the same, zeros
/// included; or says in `reason` why none can.
mlir::LogicalResult findTensorTile(AsyncCopyOp copy, SizeSums &sums,
                                   TensorTile &tile, std::string &reason);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_STAGETILES_TENSORTILES_H
