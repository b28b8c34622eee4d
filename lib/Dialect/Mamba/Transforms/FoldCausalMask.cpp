//===- FoldCausalMask.cpp - Masks only where they can bind ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAFOLDCAUSALMASKPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

struct FoldCausalMask
    : mamba::impl::MambaFoldCausalMaskPassBase<FoldCausalMask> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    BoundProver prover;
    SmallVector<scf::ForOp> whole;
    SmallVector<scf::ForOp> candidates;
    if (tails)
      getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
        if (hasLinalg(loop))
          candidates.push_back(loop);
      });
    for (scf::ForOp loop : candidates) {
      // What is in a short tile is short as well: one rest is enough.
      if (isInRest(loop))
        continue;
      if (scf::ForOp first = splitTail(rewriter, loop, tailsAtLeast, prover)) {
        ++numSplit;
        whole.push_back(first);
        loop->setAttr(kRestAttrName, rewriter.getUnitAttr());
      }
    }

    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      fold(rewriter, loop, /*isHot=*/!isInRest(loop), prover);
    if (guard)
      getOperation()->walk([&](linalg::GenericOp op) {
        GuardedExponentials count = guardExponentials(rewriter, op);
        numMoved += count.numMoved;
        numGuarded += count.numGuarded;
      });
    for (scf::ForOp loop : whole)
      simplifyMinima(rewriter, loop, prover);
  }

  static bool hasLinalg(scf::ForOp loop) {
    return loop.getBody()
        ->walk([](linalg::LinalgOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  void fold(RewriterBase &rewriter, scf::ForOp loop, bool isHot,
            BoundProver &prover) {
    SmallVector<linalg::GenericOp> factors = getMaskedFactors(loop);
    if (factors.empty()) {
      for (auto op : loop.getBody()->getOps<linalg::GenericOp>())
        for (Conjunct conjunct : getConjuncts(op))
          if (isSummed(op, loop) && dependsOnIteration(conjunct, loop))
            refuse(conjunct, "expected a loop that carries only sums of "
                             "contractions");
      return;
    }
    std::optional<RunMask> mask;
    if (isHot && runs)
      for (linalg::GenericOp factor : factors)
        if (!mask)
          mask = matchRunMask(factor, prover);
    bool isPeeled = isHot && peel && peelAtLeast > 0;
    foldBounds(rewriter, loop, factors, isPeeled && !mask, prover);
    if (!mask)
      return;
    // The other loop is for boundaries between sequences, and is as it was.
    scf::ForOp free = splitRuns(rewriter, loop, *mask, prover);
    ++numRuns;
    if (isPeeled)
      foldBounds(rewriter, free, getMaskedFactors(free), isPeeled, prover);
  }

  using Bound = std::pair<linalg::GenericOp, Conjunct>;

  void foldBounds(RewriterBase &rewriter, scf::ForOp loop,
                  ArrayRef<linalg::GenericOp> factors, bool isPeeled,
                  const BoundProver &prover) {
    SmallVector<Bound> bounds;
    for (linalg::GenericOp factor : factors)
      for (Conjunct conjunct : getConjuncts(factor))
        if (dependsOnIteration(conjunct, loop))
          bounds.push_back({factor, conjunct});
    // Every comparison may leave out iterations; the first one is peeled, last.
    bool isShortened = false;
    FoldedLoop folded;
    for (size_t i = bounds.size(); i-- > 0;) {
      auto [factor, conjunct] = bounds[i];
      StringRef reason;
      FailureOr<FoldedLoop> part = foldMask(
          rewriter, loop, factor, conjunct,
          isPeeled && i == 0 ? peelAtLeast.getValue() : 0, prover, reason);
      if (failed(part)) {
        refuse(conjunct, reason);
        continue;
      }
      isShortened |= part->isShortened;
      folded = *part;
    }
    numShortened += isShortened;
    if (!folded.unmasked)
      return;
    ++numPeeled;
    if (inlineOnce)
      numInlined += succeeded(inlineIfOnce(rewriter, folded.masked, prover));
    // Another condition keeps the selection.
    if (getConjuncts(bounds.front().first).size() == 1)
      ++numRemoved;
  }

  /// Replaces a loop of one iteration by its body.
  static LogicalResult inlineIfOnce(RewriterBase &rewriter, scf::ForOp loop,
                                    const BoundProver &prover) {
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    FailureOr<LinearForm> first = LinearForm::get(loop.getLowerBound()),
                          end = LinearForm::get(loop.getUpperBound());
    if (!step || failed(first) || failed(end) ||
        !prover.isNeverNegative(*end - *first - 1) ||
        !prover.isNeverNegative(*first + *step - *end))
      return failure();
    SmallVector<Value> arguments{loop.getLowerBound()};
    llvm::append_range(arguments, loop.getInitArgs());
    SmallVector<Value> results(loop.getYieldedValues());
    Operation *yield = loop.getBody()->getTerminator();
    rewriter.setInsertionPoint(loop);
    rewriter.inlineBlockBefore(loop.getBody(), loop, arguments);
    results.assign(yield->operand_begin(), yield->operand_end());
    rewriter.eraseOp(yield);
    rewriter.replaceOp(loop, results);
    return success();
  }

  /// Whether a contraction with `op` is added to something that `loop` carries.
  static bool isSummed(linalg::GenericOp op, scf::ForOp loop) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      auto sum = dyn_cast<linalg::LinalgOp>(user);
      return sum && linalg::isaContractionOpInterface(sum) &&
             llvm::is_contained(loop.getRegionIterArgs(),
                                sum.getDpsInits().front());
    });
  }

  static void refuse(Conjunct conjunct, StringRef reason) {
    mlir::emitRemark(conjunct.compare.getLoc(), reason)
        << " to fold a mask into the bounds of the loop around it";
  }
};
} // namespace
