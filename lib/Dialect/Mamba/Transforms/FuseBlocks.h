//===- FuseBlocks.h - Fusion of loops over blocks ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of mamba-fuse share: what a block writes of a result, what
// another one reads of it, and whether the two are the same.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_FUSEBLOCKS_H
#define MAMBA_LIB_TRANSFORMS_FUSEBLOCKS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mamba {

/// A loop's variable with its bounds.
struct Variable {
  mlir::Value value;
  mlir::OpFoldResult first, end, step;

  /// Whether the loop runs once, from a known number.
  bool isSingle() const;
};

/// The variables of a loop over blocks or in a block; none of other loops.
llvm::SmallVector<Variable, 4> getVariables(mlir::Operation *loop);

/// Whether both run over the same numbers.
bool haveSameRange(const Variable &lhs, const Variable &rhs);

/// Whether both are the same number: the same value, or computed alike.
bool isSameNumber(mlir::OpFoldResult lhs, mlir::OpFoldResult rhs);

/// The tile of a result that a block inserts, or an iteration of a loop in it.
struct Insertion {
  mlir::scf::ForallOp block;
  mlir::tensor::ParallelInsertSliceOp parallel;
  unsigned result;
  /// The loop in the block that inserts a tile in each iteration into what it
  /// carries as `carried`; null if the block inserts one tile.
  mlir::scf::ForOp loop;
  mlir::tensor::InsertSliceOp insert;
  unsigned carried = 0;
  mlir::Value tile;
  /// Where the tile lies in the result, and the dimensions it lacks.
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
  llvm::SmallBitVector dropped;

  /// Of the loop over blocks, then of the loop in it.
  llvm::SmallVector<Variable, 4> getVariables() const;
};

/// Fails unless `result` of a loop over blocks is written so.
llvm::FailureOr<Insertion> getInsertion(mlir::OpResult result);

/// A read of some elements of a tensor.
struct SliceRead {
  mlir::Operation *op;
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
};

/// The slice that `use` reads; fails if it does anything else.
llvm::FailureOr<SliceRead> getRead(mlir::OpOperand &use);

/// Finds the values of a producer's variables for which its tile holds what is
/// read.
class TileMatch {
public:
  explicit TileMatch(const Insertion &insertion);

  /// Fails if no tile holds all of it.
  llvm::LogicalResult match(const SliceRead &read);

  /// The value of a variable of the producer; null if it may be any.
  mlir::OpFoldResult lookup(mlir::Value variable) const {
    return values.lookup(variable);
  }
  const llvm::MapVector<mlir::Value, mlir::OpFoldResult> &getValues() const {
    return values;
  }
  /// Where the read lies in the tile, for each dimension of the result.
  llvm::ArrayRef<mlir::OpFoldResult> getOffsets() const { return offsets; }
  /// Whether the read is the whole tile.
  bool isWhole() const { return whole; }

private:
  bool unify(mlir::OpFoldResult produced, mlir::OpFoldResult read);
  /// Whether the producer has a tile for the variable's value.
  bool isInRange(const Variable &variable);

  const Insertion &insertion;
  llvm::SmallVector<Variable, 4> variables;
  llvm::MapVector<mlir::Value, mlir::OpFoldResult> values;
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  bool whole = true;
};

/// Computes what `consumer` computes in the loop whose tiles `read`, its only
/// read of the producer, takes. Returns why not, or an empty string.
std::string fuseConsumer(mlir::RewriterBase &rewriter,
                         mlir::scf::ForallOp consumer, const SliceRead &read,
                         const Insertion &insertion);

/// Computes each tile of `producer` where it is read. Returns why not, or an
/// empty string.
std::string fuseProducer(mlir::RewriterBase &rewriter,
                         mlir::scf::ForallOp producer,
                         llvm::function_ref<bool(mlir::scf::ForallOp)> mayFuse);

/// Cuts the loop in `block` into parts of `segment` iterations that blocks of
/// their own run through, after one kernel that computes what each part makes
/// of what it carries, and one that joins these. Returns why not, or an empty
/// string.
std::string segmentLoop(mlir::RewriterBase &rewriter, mlir::scf::ForallOp block,
                        int64_t segment);

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_FUSEBLOCKS_H
