//===- FuseRecurrence.h - What a block's loop carries -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_FUSERECURRENCE_H
#define MAMBA_LIB_TRANSFORMS_FUSERECURRENCE_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/DenseSet.h"

namespace mamba {

/// A result of the block that the loop carries a slice of.
struct CarriedOutput {
  unsigned number; // among what the loop carries
  mlir::OpOperand *out;
  mlir::tensor::ParallelInsertSliceOp parallel;
  /// Elements along each dimension that an iteration writes after those of the
  /// one before; 0 where all write at one place.
  llvm::SmallVector<int64_t> widths;
};

/// The only loop of a block's program.
class Recurrence {
public:
  explicit Recurrence(mlir::scf::ForallOp block) : block(block) {}

  /// Says what is missing to cut the loop into parts; empty if nothing.
  std::string check();

  mlir::scf::ForOp getLoop() const { return loop; }
  /// What the loop carries: states, by h' = a * h + u; outputs; values that
  /// follow from the iteration alone.
  llvm::ArrayRef<unsigned> getStates() const { return states; }
  llvm::ArrayRef<CarriedOutput> getOutputs() const { return outputs; }
  llvm::ArrayRef<unsigned> getPassed() const { return passed; }
  /// Results of the block that are computed from the last states.
  llvm::ArrayRef<mlir::tensor::ParallelInsertSliceOp> getFinals() const {
    return finals;
  }

  /// Operations of the block that `roots` are computed by; not the loop, and
  /// what the loop carries ends the search.
  llvm::DenseSet<mlir::Operation *>
  findNeeded(llvm::ArrayRef<mlir::Value> roots) const;
  /// Of what `roots` are computed from, the numbers of carried values.
  llvm::SmallVector<unsigned>
  findCarried(llvm::ArrayRef<mlir::Value> roots) const;
  /// The factor of a state, from values of the loop as `mapping` has them.
  mlir::Value createFactor(mlir::OpBuilder &builder, unsigned state,
                           const mlir::IRMapping &mapping) const;

private:
  void visit(llvm::ArrayRef<mlir::Value> roots,
             llvm::function_ref<void(mlir::Operation *)> visitOp,
             llvm::function_ref<void(mlir::BlockArgument)> visitArgument) const;
  bool isState(unsigned number) const;
  std::string checkOutput(unsigned number, bool &isOutput);
  std::string checkResults();

  mlir::scf::ForallOp block;
  mlir::scf::ForOp loop;
  llvm::SmallVector<unsigned> states, passed;
  std::vector<CarriedOutput> outputs;
  llvm::SmallVector<mlir::tensor::ParallelInsertSliceOp> finals;
};

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_FUSERECURRENCE_H
