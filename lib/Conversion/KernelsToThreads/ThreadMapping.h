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

/// How the iteration space of an operation on buffers is spread over threads.
/// The points of the parallel dimensions, numbered with the last one of
/// `parallel` fastest, go round the groups of `lanes` threads. With one lane, a
/// thread runs the reduction dimensions of its points in order; with more, they
/// go round the lanes of the group, and its first lane gets the result.
struct ThreadMapping {
  /// Sizes of all dimensions.
  llvm::SmallVector<Extent> extents;
  /// The parallel dimensions that are not of size one, the slowest first.
  llvm::SmallVector<unsigned> parallel;
  /// The reduction dimensions that are not of size one, the outermost first.
  llvm::SmallVector<unsigned> reduction;
  /// A power of two, at most the size of a warp.
  int64_t lanes = 1;

  /// One point and one lane: the operation is the first thread's work.
  bool isSingle() const { return parallel.empty() && lanes == 1; }

  /// The mapping to a block of `threads` threads.
  static ThreadMapping get(mlir::linalg::LinalgOp op, int64_t threads);
  static ThreadMapping get(mlir::memref::CopyOp op);
};

/// The operations in the body of `op` that continue the reductions, one for
/// each output, if all outputs are reductions whose partial results can be
/// combined in any order; else empty.
llvm::SmallVector<mlir::Operation *> findCombiners(mlir::linalg::LinalgOp op);

/// Says which thread touches which element of `view`: element `e` belongs to
/// the group whose point has the coordinates `e[position]`. Accesses with equal
/// owners meet only in elements of the same thread.
struct Owner {
  mlir::Value view;
  /// For each dimension of the view the position in `extents` of the parallel
  /// dimension that indexes it, or -1 if the index is the constant 0.
  llvm::SmallVector<int> positions;
  /// Sizes of the parallel dimensions, the slowest first.
  llvm::SmallVector<Extent> extents;
  int64_t lanes = 1;

  bool operator==(const Owner &other) const {
    return view == other.view && positions == other.positions &&
           extents == other.extents && lanes == other.lanes;
  }
};

/// The owner of an access to `view` through `map`, or nothing if different
/// threads touch the same element.
std::optional<Owner> getOwner(const ThreadMapping &mapping, mlir::Value view,
                              mlir::AffineMap map);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADMAPPING_H
