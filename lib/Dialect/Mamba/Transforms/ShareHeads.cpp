//===- ShareHeads.cpp - Joins blocks that have work in common -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a loop have work in common along a dimension if contractions of
// their program depend on its position not at all, or only through a quotient:
// heads of a group read the same B and C. The pass works on buffers: there the
// joined programs write their results as they come, where tensors would need a
// destination that both share.
//
//===----------------------------------------------------------------------===//

#include "JoinBlocks.h"
#include "Tiling.h"
#include "mamba/Dialect/Mamba/IR/BlockLoops.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBASHAREHEADSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// A dimension along which blocks have contractions in common.
struct SharedDimension {
  unsigned index;
  /// Positions with the same quotient by it share; null if all do.
  Value divisor;
  /// The quotients in the program.
  SmallVector<Value> quotients;
  /// What differs between the positions.
  llvm::DenseSet<Value> dependent;
  unsigned numShared = 0;
};

/// Contractions in the program of `loop` that do not depend on `dependent`.
unsigned countShared(scf::ForallOp loop,
                     const llvm::DenseSet<Value> &dependent) {
  unsigned count = 0;
  loop.getBody()->walk([&](vector::ContractionOp op) {
    if (!readsAny(op, dependent))
      ++count;
  });
  return count;
}

/// Whether `value` and what it is computed from can be computed before `loop`:
/// collects the operations in the loop that this takes.
bool canHoist(Value value, scf::ForallOp loop,
              SetVector<Operation *> &operations) {
  Operation *op = value.getDefiningOp();
  if (!loop->isAncestor(value.getParentBlock()->getParentOp()))
    return true;
  if (!op || op->getNumRegions() || !isMemoryEffectFree(op))
    return false;
  for (Value operand : op->getOperands())
    if (!canHoist(operand, loop, operations))
      return false;
  operations.insert(op);
  return true;
}

SharedDimension analyze(scf::ForallOp loop, unsigned index) {
  SharedDimension shared{index, {}, {}, {}};
  Value position = loop.getInductionVar(index);
  llvm::DenseSet<Value> cuts;
  for (Operation *user : position.getUsers()) {
    auto quotient = dyn_cast<arith::DivUIOp>(user);
    SetVector<Operation *> operations;
    if (!quotient || quotient.getLhs() != position ||
        !canHoist(quotient.getRhs(), loop, operations))
      continue;
    if (shared.divisor && shared.divisor != quotient.getRhs())
      continue;
    shared.divisor = quotient.getRhs();
    shared.quotients.push_back(quotient);
    cuts.insert(quotient);
  }
  shared.dependent = findDependent(loop, position, cuts);
  shared.numShared = countShared(loop, shared.dependent);
  return shared;
}

struct ShareHeads : mamba::impl::MambaShareHeadsPassBase<ShareHeads> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) {
      auto plan = loop->getAttrOfType<PlanAttr>(kPlanAttrName);
      if (plan && plan.getHeads() > 1 && isMappedToBlocks(loop))
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    for (scf::ForallOp loop : loops)
      share(rewriter, loop);
  }

  void share(IRRewriter &rewriter, scf::ForallOp loop) {
    // Buffers of its own would have to be one for each position.
    bool isVectors = loop.getNumResults() == 0 &&
                     !loop.getBody()
                          ->walk([](Operation *op) {
                            return isa<memref::AllocOp, memref::AllocaOp>(op)
                                       ? WalkResult::interrupt()
                                       : WalkResult::advance();
                          })
                          .wasInterrupted();
    if (!isVectors) {
      loop.emitRemark("blocks are not joined: what they compute is not in "
                      "vectors");
      return;
    }
    if (!loop.isNormalized()) {
      loop.emitRemark("blocks are not joined: the loop over them does not "
                      "count from 0 by 1");
      return;
    }
    SharedDimension best{0, {}, {}, {}};
    for (unsigned index = 0; index < loop.getRank(); ++index) {
      SharedDimension shared = analyze(loop, index);
      if (shared.numShared > best.numShared)
        best = std::move(shared);
    }
    if (best.numShared == 0) {
      loop.emitRemark("blocks are not joined: no contraction is the same for "
                      "several of them");
      return;
    }
    auto plan = loop->getAttrOfType<PlanAttr>(kPlanAttrName);
    join(rewriter, loop, best, plan.getHeads());
    ++numJoined;
    numShared += best.numShared;
  }

  /// The loop with `count` neighbouring positions of the dimension in a block.
  /// Where they are no multiple of `count`, the last block has some twice: it
  /// computes the same twice, which costs less than a branch around all of it.
  void join(IRRewriter &rewriter, scf::ForallOp loop,
            const SharedDimension &shared, int64_t count) {
    Location loc = loop.getLoc();
    rewriter.setInsertionPoint(loop);
    AffineExpr d0 = rewriter.getAffineDimExpr(0),
               s0 = rewriter.getAffineSymbolExpr(0),
               s1 = rewriter.getAffineSymbolExpr(1);
    Value extent = getValueOrCreateConstantIndexOp(
        rewriter, loc, loop.getMixedUpperBound()[shared.index]);
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value divisor;
    if (shared.divisor)
      divisor = hoistDivisor(rewriter, loop, shared.divisor, one);

    // Outer positions, one for each quotient, and parts of each.
    SmallVector<OpFoldResult> bounds = loop.getMixedUpperBound();
    auto divide = [&](Value size) -> OpFoldResult {
      return affine::makeComposedFoldedAffineApply(rewriter, loc,
                                                   s0.ceilDiv(count), {size});
    };
    bounds[shared.index] = divide(divisor ? divisor : extent);
    if (divisor)
      bounds.insert(bounds.begin() + shared.index,
                    arith::CeilDivUIOp::create(rewriter, loc, extent, divisor)
                        .getResult());
    auto joined =
        scf::ForallOp::create(rewriter, loc, bounds, /*outputs=*/ValueRange(),
                              rewriter.getArrayAttr(getBlockMapping(
                                  rewriter.getContext(), bounds.size())));
    for (NamedAttribute attr : loop->getDiscardableAttrs())
      joined->setDiscardableAttr(attr.getName(), attr.getValue());

    rewriter.setInsertionPointToStart(joined.getBody());
    unsigned part = shared.index + (divisor ? 1 : 0);
    Value first, last;
    AffineExpr scaled = d0 * count;
    if (divisor) {
      Value outer = joined.getInductionVar(shared.index);
      first = arith::MulIOp::create(rewriter, loc, outer, divisor);
      last = affine::AffineMinOp::create(
          rewriter, loc,
          AffineMap::get(0, 3,
                         {s0 + s1 - 1, rewriter.getAffineSymbolExpr(2) - 1},
                         rewriter.getContext()),
          ValueRange{first, divisor, extent});
    }
    SmallVector<IRMapping> copies(count);
    for (auto [i, copy] : llvm::enumerate(copies)) {
      int64_t offset = i;
      Value position =
          divisor ? affine::AffineMinOp::create(
                        rewriter, loc,
                        AffineMap::get(1, 2, {scaled + s0 + offset, s1},
                                       rewriter.getContext()),
                        ValueRange{joined.getInductionVar(part), first, last})
                        .getResult()
                  : affine::AffineMinOp::create(
                        rewriter, loc,
                        AffineMap::get(1, 1, {scaled + offset, s0 - 1},
                                       rewriter.getContext()),
                        ValueRange{joined.getInductionVar(part), extent})
                        .getResult();
      for (unsigned dim = 0, next = 0; dim < loop.getRank(); ++dim, ++next) {
        if (dim == shared.index) {
          next = part;
          copy.map(loop.getInductionVar(dim), position);
          continue;
        }
        copy.map(loop.getInductionVar(dim), joined.getInductionVar(next));
      }
      for (auto [before, after] : llvm::zip_equal(loop.getRegionIterArgs(),
                                                  joined.getRegionIterArgs()))
        copy.map(before, after);
      if (divisor)
        for (Value quotient : shared.quotients)
          copy.map(quotient, joined.getInductionVar(shared.index));
    }
    // The quotients are known; what reads them is the same for all copies.
    for (Value quotient : shared.quotients) {
      rewriter.replaceAllUsesWith(quotient,
                                  joined.getInductionVar(shared.index));
      rewriter.eraseOp(quotient.getDefiningOp());
    }
    joinCopies(rewriter, *loop.getBody(), copies, shared.dependent);
    rewriter.eraseOp(loop);
  }

  /// The divisor in front of the loop, at least 1: the loop may be empty
  /// because it is 0.
  static Value hoistDivisor(IRRewriter &rewriter, scf::ForallOp loop,
                            Value divisor, Value one) {
    SetVector<Operation *> operations;
    canHoist(divisor, loop, operations);
    auto atLeastOne = [&](Value value) -> Value {
      IntegerAttr constant;
      if (matchPattern(value, m_Constant(&constant)) && constant.getInt() > 0)
        return value;
      return arith::MaxUIOp::create(rewriter, loop.getLoc(), value, one);
    };
    IRMapping copy;
    for (Operation *op : operations) {
      Operation *hoisted = rewriter.clone(*op, copy);
      if (auto quotient = dyn_cast<arith::DivUIOp>(hoisted)) {
        rewriter.setInsertionPoint(quotient);
        quotient.getRhsMutable().assign(atLeastOne(quotient.getRhs()));
        rewriter.setInsertionPointAfter(quotient);
      }
    }
    return atLeastOne(copy.lookupOrDefault(divisor));
  }
};
} // namespace
