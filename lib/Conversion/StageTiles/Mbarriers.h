//===- Mbarriers.h - Wait for copies by tensor map --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_STAGETILES_MBARRIERS_H
#define MAMBA_LIB_CONVERSION_STAGETILES_MBARRIERS_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// The mbarriers of a kernel.
class Mbarriers {
public:
  explicit Mbarriers(mlir::gpu::GPUFuncOp kernel)
      : kernel(kernel), rewriter(kernel.getContext()) {}

  /// `count` new mbarriers, which complete a phase when one thread has
  /// announced bytes and the bytes are there. They are initialized, and known
  /// to all threads, at the start of the kernel.
  mlir::Value create(int64_t count);

  /// `if` the thread is the one that starts copies.
  mlir::scf::IfOp createIfFirst(mlir::OpBuilder &builder, mlir::Location loc);

private:
  void createStart();

  mlir::gpu::GPUFuncOp kernel;
  mlir::IRRewriter rewriter;
  mlir::Value isFirst;
  /// Where the first thread initializes; its last operation is a fence.
  mlir::scf::IfOp start;
};

/// Announces `bytes` to one of `barriers`.
void createExpect(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value barriers, mlir::Value number, int64_t bytes);

/// Waits until the phase of parity `phase` of one of `barriers` is complete.
void createPhaseWait(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value barriers, mlir::Value number,
                     mlir::Value phase);

/// Makes all loops around `block` carry more values, `inits` at first, and
/// returns them as they are at the start of the block. The loops, and their
/// blocks, become others.
llvm::SmallVector<mlir::Value> carryInto(mlir::RewriterBase &rewriter,
                                         mlir::Block *block,
                                         llvm::ArrayRef<mlir::Value> inits);

/// Says what the values that `carryInto` added last are after the block.
void carryOut(mlir::Block *block, llvm::ArrayRef<mlir::Value> values);

/// Gives all groups with copies by tensor map that have no mbarrier one, and
/// takes away what nothing waits for any more.
mlir::LogicalResult lowerTensorCopyGroups(mlir::gpu::GPUFuncOp kernel,
                                          Mbarriers &mbarriers);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_STAGETILES_MBARRIERS_H
