//===- ThreadLoops.h - Operations on buffers as one thread's loops -*- C++ -*-//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADLOOPS_H
#define MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADLOOPS_H

#include "ThreadMapping.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mamba {

/// Replaces block-level operations by the part that one thread does.
class ThreadLoops {
public:
  ThreadLoops(mlir::gpu::GPUFuncOp kernel, int64_t threads)
      : kernel(kernel), threads(threads) {}

  /// True if `op` is one of those that `lower` replaces.
  static bool isDistributed(mlir::Operation *op);

  void lower(mlir::Operation *op);

private:
  using PointBody = llvm::function_ref<void(
      mlir::OpBuilder &, llvm::MutableArrayRef<mlir::Value>)>;

  void lower(mlir::linalg::LinalgOp op);
  void lower(mlir::memref::CopyOp op);
  void lower(mlir::memref::StoreOp op);

  /// Creates the loop over this thread's points in front of `op`. `body` gets
  /// the indices of all dimensions; those of reductions are null.
  void forEachPoint(mlir::Operation *op, const ThreadMapping &mapping,
                    PointBody body);
  /// Runs the reduction dimensions of one point of `op`.
  void reducePoint(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
                   const ThreadMapping &mapping,
                   llvm::MutableArrayRef<mlir::Value> indices);
  /// Lets groups of lanes do `op`.
  void lowerWithLanes(mlir::linalg::LinalgOp op, const ThreadMapping &mapping);
  /// Runs the reduction of one point over the lanes of a group.
  void reduceWithLanes(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
                       const ThreadMapping &mapping,
                       llvm::MutableArrayRef<mlir::Value> indices,
                       mlir::Value isActive, mlir::Value lane);
  /// The index operands of the accesses to the outputs.
  static llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  getOutputPlaces(mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
                  llvm::ArrayRef<mlir::Value> indices);
  /// Evaluates the body of `op` once. `outputs` are the values of its outputs.
  llvm::SmallVector<mlir::Value> evaluate(mlir::OpBuilder &builder,
                                          mlir::linalg::LinalgOp op,
                                          llvm::ArrayRef<mlir::Value> indices,
                                          llvm::ArrayRef<mlir::Value> outputs);

  /// The number of points in `dims`, one if there are none.
  mlir::Value countPoints(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<unsigned> dims,
                          const ThreadMapping &mapping);
  /// Sets the indices of `dims` to the coordinates of point `point`.
  void splitPoint(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value point, llvm::ArrayRef<unsigned> dims,
                  const ThreadMapping &mapping,
                  llvm::MutableArrayRef<mlir::Value> indices);
  /// One null for each dimension of a loop, the constant 0 for those of size
  /// one.
  llvm::SmallVector<mlir::Value> startIndices(const ThreadMapping &mapping);

  mlir::Value isFirstThread(mlir::OpBuilder &builder, mlir::Location loc);
  mlir::Value getThreadId();
  /// An index constant at the top of the kernel.
  mlir::Value getConstant(int64_t value);
  mlir::Value materialize(mlir::OpBuilder &builder, mlir::Location loc,
                          const Extent &extent);

  mlir::gpu::GPUFuncOp kernel;
  int64_t threads;
  mlir::Value threadId;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  mlir::Operation *lastAtTop = nullptr;
};

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_THREADLOOPS_H
