//===- MambaCanonicalize.cpp - Canonicalization patterns ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mamba;

namespace {

bool isZero(Attribute attr) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attr))
    return value.getValue().isZero();
  if (auto dense = dyn_cast_or_null<DenseElementsAttr>(attr))
    return dense.isSplat() && dense.getElementType().isIntOrFloat() &&
           isa<FloatType>(dense.getElementType()) &&
           dense.getSplatValue<APFloat>().isZero();
  return false;
}

/// A constant of zeros, or a tensor filled with zero, through casts.
bool isZeroTensor(Value value) {
  Attribute attr;
  if (matchPattern(value, m_Constant(&attr)))
    return isZero(attr);
  if (auto cast = value.getDefiningOp<tensor::CastOp>())
    return isZeroTensor(cast.getSource());
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return matchPattern(splat.getInput(), m_AnyZeroFloat());
  return false;
}

/// Drops an optional operand that is all zeros: the operation without it
/// starts from, or adds, nothing.
template <typename OpTy, MutableOperandRange (OpTy::*getMutable)()>
struct DropZeroOperand : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    MutableOperandRange operand = (op.*getMutable)();
    if (operand.empty() || !isZeroTensor(operand[0].get()))
      return rewriter.notifyMatchFailure(op, "operand absent or not zero");
    rewriter.modifyOpInPlace(op, [&] { operand.clear(); });
    return success();
  }
};

/// Drops optional results that nothing reads. Result 0 always stays.
template <typename OpTy> struct DropUnusedResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    SmallVector<Value> kept;
    SmallVector<int32_t> segments;
    unsigned next = 0;
    for (auto [number, count] :
         llvm::enumerate(op.getProperties().resultSegmentSizes)) {
      bool keep = count && (number == 0 || !op->getResult(next).use_empty());
      segments.push_back(keep);
      if (keep) {
        types.push_back(op->getResult(next).getType());
        kept.push_back(op->getResult(next));
      }
      next += count;
    }
    if (kept.size() == op->getNumResults())
      return rewriter.notifyMatchFailure(op, "every result is used");
    Operation *smaller = mlir::clone(rewriter, op, types, op->getOperands());
    llvm::copy(segments,
               cast<OpTy>(smaller).getProperties().resultSegmentSizes.begin());
    for (auto [before, after] : llvm::zip_equal(kept, smaller->getResults()))
      rewriter.replaceAllUsesWith(before, after);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Drops the results of `ssu` beside `y` that nothing reads; without a new
/// state it updates none.
struct DropUnusedSsuResults : OpRewritePattern<SsuOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SsuOp op,
                                PatternRewriter &rewriter) const override {
    Value state = op.getNewState(), between = op.getIntermediateStates();
    bool dropsState = state && state.use_empty();
    bool dropsBetween = between && between.use_empty();
    if (!dropsState && !dropsBetween)
      return rewriter.notifyMatchFailure(op, "every result is used");
    auto type = [](Value value, bool drops) {
      return value && !drops ? value.getType() : Type();
    };
    auto smaller = SsuOp::create(
        rewriter, op.getLoc(), op.getY().getType(), type(state, dropsState),
        type(between, dropsBetween), op.getState(), op.getX(), op.getDt(),
        op.getA(), op.getB(), op.getC(), op.getD(), op.getZ(), op.getDtBias(),
        op.getStateBatchIndices(),
        dropsState ? Value() : op.getDstStateBatchIndices(), op.getSoftplus(),
        op.getPadSlotId(), op.getDisableStateUpdate() || dropsState,
        op.getRow());
    smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceAllUsesWith(op.getY(), smaller.getY());
    if (state && !dropsState)
      rewriter.replaceAllUsesWith(state, smaller.getNewState());
    if (between && !dropsBetween)
      rewriter.replaceAllUsesWith(between, smaller.getIntermediateStates());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Drops a clamp that cannot bind: softplus is not negative, so a lower bound
/// of at most 0 says nothing; an upper bound past f32 is none.
template <typename OpTy> struct FoldDtLimit : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    std::optional<ArrayRef<double>> limits = op.getDtLimit();
    if (!limits)
      return rewriter.notifyMatchFailure(op, "no clamp beyond the default");
    double lo = (*limits)[0], hi = (*limits)[1];
    double inf = std::numeric_limits<double>::infinity();
    if (op.getSoftplus() && lo < 0.0 && hi >= 0.0)
      lo = 0.0;
    if (hi > static_cast<double>(std::numeric_limits<float>::max()))
      hi = inf;
    if (lo == 0.0 && hi == inf) {
      rewriter.modifyOpInPlace(op, [&] { op.removeDtLimitAttr(); });
      return success();
    }
    if (lo == (*limits)[0] && hi == (*limits)[1])
      return rewriter.notifyMatchFailure(op, "the clamp can bind");
    rewriter.modifyOpInPlace(op, [&] {
      op.setDtLimitAttr(rewriter.getDenseF64ArrayAttr({lo, hi}));
    });
    return success();
  }
};

} // namespace

void ChunkCumsumOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns
      .add<FoldDtLimit<ChunkCumsumOp>,
           DropZeroOperand<ChunkCumsumOp, &ChunkCumsumOp::getDtBiasMutable>>(
          context);
}

void StatePassOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns
      .add<DropUnusedResults<StatePassOp>,
           DropZeroOperand<StatePassOp, &StatePassOp::getInitialStateMutable>>(
          context);
}

void ChunkOutOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropZeroOperand<ChunkOutOp, &ChunkOutOp::getDMutable>>(context);
}

void SsdOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<FoldDtLimit<SsdOp>, DropUnusedResults<SsdOp>,
               DropZeroOperand<SsdOp, &SsdOp::getDMutable>,
               DropZeroOperand<SsdOp, &SsdOp::getDtBiasMutable>,
               DropZeroOperand<SsdOp, &SsdOp::getInitialStateMutable>>(context);
}

void SsuOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns
      .add<DropUnusedSsuResults, DropZeroOperand<SsuOp, &SsuOp::getDMutable>,
           DropZeroOperand<SsuOp, &SsuOp::getDtBiasMutable>>(context);
}
