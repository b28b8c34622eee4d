//===- FoldCausalMask.h - Masks of sums and of exponentials -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of mamba-fold-causal-mask share.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_FOLDCAUSALMASK_H
#define MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_FOLDCAUSALMASK_H

#include "LinearForm.h"
#include "mamba/Dialect/Mamba/IR/MaskFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// A comparison, or the negation of one, that holds wherever an element may be
/// other than 0.
struct Conjunct {
  mlir::arith::CmpIOp compare;
  bool isNegated;

  mlir::arith::CmpIPredicate getPredicate() {
    return isNegated ? mlir::arith::invertPredicate(compare.getPredicate())
                     : compare.getPredicate();
  }
};

/// A selection of a float that is 0 where the mask does not hold.
struct ZeroMask {
  mlir::arith::SelectOp select;
  /// Whether the mask is the negation of the condition.
  bool isNegated;

  mlir::Value getKept() {
    return isNegated ? select.getFalseValue() : select.getTrueValue();
  }
};

/// Matches a selection between a value and 0.
std::optional<ZeroMask> matchZeroMask(mlir::Value value);

/// Conditions that all hold where an element of the result of `op` counts.
llvm::SmallVector<Conjunct> getConjuncts(mlir::linalg::GenericOp op);

/// Operations in `loop` that compute a masked factor of every sum that the loop
/// carries; none if it carries anything but sums of contractions.
llvm::SmallVector<mlir::linalg::GenericOp>
getMaskedFactors(mlir::scf::ForOp loop);

/// Whether a side of the comparison is computed from the variable of `loop`.
bool dependsOnIteration(Conjunct conjunct, mlir::scf::ForOp loop);

/// The parts of a loop in their order; null if there is none.
struct FoldedLoop {
  /// Iterations whose elements all count.
  mlir::scf::ForOp unmasked;
  mlir::scf::ForOp masked;
  /// Whether iterations without elements that count are left out.
  bool isShortened = false;
};

/// Leaves out iterations of `loop` in which `conjunct` holds nowhere in the
/// result of `factor`; those in which it holds everywhere, if there may be
/// `peelAtLeast` of them, get a loop of their own, without the comparison (0:
/// no such loop). Fails with a reason, or without one if the comparison does
/// not depend on the iteration.
llvm::FailureOr<FoldedLoop>
foldMask(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
         mlir::linalg::GenericOp factor, Conjunct conjunct, int64_t peelAtLeast,
         const BoundProver &prover, llvm::StringRef &reason);

/// Splits `loop` where a minimum with a constant, the size of a tile, starts to
/// be less than the constant. Returns the loop of whole tiles, and tells
/// `prover`; `loop` is for the rest, before the other one if iterations may run
/// in any order. Null if there is no such minimum, or the loop is known to have
/// fewer than `atLeast` iterations.
mlir::scf::ForOp splitTail(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                           int64_t atLeast, BoundProver &prover);

/// A mask by ids of sequences, each of which stands in one run of `ids`.
struct RunMask {
  mlir::Value ids;
  /// Comparisons that hold if the first and the last id are the same one and
  /// not negative.
  llvm::SmallVector<Conjunct> conjuncts;
};

std::optional<RunMask> matchRunMask(mlir::linalg::GenericOp factor,
                                    const BoundProver &prover);

/// Makes a loop in front of `loop` that has all its iterations if the ids are
/// of one sequence, without these comparisons, and none otherwise. Returns it,
/// and tells `prover`.
mlir::scf::ForOp splitRuns(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                           RunMask mask, BoundProver &prover);

/// Drops operands of minima in `loop` that are never the least.
void simplifyMinima(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                    const BoundProver &prover);

/// What became of the exponentials under a mask.
struct GuardedExponentials {
  /// Selections that moved before the exponential.
  unsigned numMoved = 0;
  /// Exponentials with a selection before them, beside the one after them.
  unsigned numGuarded = 0;
};

/// Selects the arguments of exponentials that may overflow before they are
/// taken, where their value does not count.
GuardedExponentials guardExponentials(mlir::RewriterBase &rewriter,
                                      mlir::linalg::GenericOp op);

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_FOLDCAUSALMASK_H
