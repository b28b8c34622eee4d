//===- ThreadMapping.h - Which thread computes which point ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADMAPPING_H
#define MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADMAPPING_H

#include "Buffers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mamba {

/// How the iteration space of an operation on buffers is spread over threads:
/// the points of the parallel dimensions, numbered with the last one of
/// `parallel` fastest, go round the threads of the block; each thread runs the
/// reduction dimensions of its points in order.
struct ThreadMapping {
  /// Sizes of all dimensions.
  llvm::SmallVector<Extent> extents;
  /// The parallel dimensions that are not of size one, the slowest first.
  llvm::SmallVector<unsigned> parallel;
  /// The reduction dimensions, the outermost first.
  llvm::SmallVector<unsigned> reduction;

  /// One point only: the operation is the first thread's work.
  bool isSingle() const { return parallel.empty(); }

  static ThreadMapping get(mlir::linalg::LinalgOp op);
  static ThreadMapping get(mlir::memref::CopyOp op);
};

/// Says which thread touches which element of `view`: element `e` belongs to the
/// thread whose point has the coordinates `e[position]`. Accesses with equal
/// owners meet only in elements of the same thread.
struct Owner {
  mlir::Value view;
  /// For each dimension of the view the position in `extents` of the parallel
  /// dimension that indexes it, or -1 if the index is the constant 0.
  llvm::SmallVector<int> positions;
  /// Sizes of the parallel dimensions, the slowest first.
  llvm::SmallVector<Extent> extents;

  bool operator==(const Owner &other) const {
    return view == other.view && positions == other.positions &&
           extents == other.extents;
  }
};

/// The owner of an access to `view` through `map`, or nothing if different
/// threads touch the same element.
std::optional<Owner> getOwner(const ThreadMapping &mapping, mlir::Value view,
                              mlir::AffineMap map);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADMAPPING_H
