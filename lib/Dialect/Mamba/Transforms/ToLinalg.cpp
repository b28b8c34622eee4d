//===- ToLinalg.cpp - Mamba operations in linalg --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATOLINALGPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// Inserts `source` directly where a tile goes that is nothing but `source`
/// with unit dimensions. (The upstream pattern of this kind sees only static
/// shapes.)
template <typename InsertOp>
struct InsertWithoutUnitDims : OpRewritePattern<InsertOp> {
  using OpRewritePattern<InsertOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(InsertOp op,
                                PatternRewriter &rewriter) const override {
    auto tile = op.getSource().template getDefiningOp<tensor::InsertSliceOp>();
    if (!tile)
      return rewriter.notifyMatchFailure(op, "source is no insertion");
    auto empty = tile.getDest().template getDefiningOp<tensor::EmptyOp>();
    if (!empty || !isEqualConstantIntOrValueArray(empty.getMixedSizes(),
                                                  tile.getMixedSizes()))
      return rewriter.notifyMatchFailure(op, "source holds more than a slice");
    rewriter.modifyOpInPlace(
        op, [&] { op.getSourceMutable().assign(tile.getSource()); });
    return success();
  }
};

/// A slice of a tensor whose dimensions are parts of those of another one is a
/// slice of that one, if it takes one place along all parts of a dimension but
/// the last: heads that lie side by side in a row.
struct SliceOfExpanded : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getSource().getDefiningOp<tensor::ExpandShapeOp>();
    if (!expand || !op.hasUnitStride())
      return rewriter.notifyMatchFailure(op, "no slice of an expansion");
    auto type = expand.getResultType();
    SmallVector<OpFoldResult> offsets, sizes;
    llvm::SmallBitVector droppedDims = op.getDroppedDims();
    for (ReassociationIndices parts : expand.getReassociationIndices()) {
      AffineExpr offset = rewriter.getAffineConstantExpr(0);
      SmallVector<OpFoldResult> operands;
      OpFoldResult size = rewriter.getIndexAttr(1);
      for (auto [i, dim] : llvm::enumerate(parts)) {
        bool isLast = i + 1 == parts.size();
        if (i != 0 && type.isDynamicDim(dim))
          return rewriter.notifyMatchFailure(op, "parts of unknown size");
        if (!isLast && !isOneInteger(op.getMixedSizes()[dim]))
          return rewriter.notifyMatchFailure(op, "several places");
        // What is left has to be as it was, without the other parts.
        if (!isLast && !droppedDims.test(dim))
          return rewriter.notifyMatchFailure(op, "dimensions of one place");
        if (i != 0)
          offset = offset * type.getDimSize(dim);
        offset = offset + rewriter.getAffineDimExpr(operands.size());
        operands.push_back(op.getMixedOffsets()[dim]);
        if (isLast)
          size = op.getMixedSizes()[dim];
      }
      sizes.push_back(size);
      offsets.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, op.getLoc(), AffineMap::get(operands.size(), 0, offset),
          operands));
    }
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, op.getType(), expand.getSrc(), offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1)));
    return success();
  }
};

struct ToLinalg : mamba::impl::MambaToLinalgPassBase<ToLinalg> {
  void runOnOperation() override {
    SmallVector<MambaTileOpInterface> ops;
    getOperation()->walk([&](MambaTileOpInterface op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    // Readers first: what they read a slice at a time is computed there.
    for (MambaTileOpInterface op : llvm::reverse(ops)) {
      FailureOr<MambaTileOpInterface> place = fuse(rewriter, op);
      if (failed(place) || failed(lower(rewriter, *place)))
        return signalPassFailure();
    }
    // A tile's slice of a slice is a slice; a result without its unit
    // dimensions goes where the tile with them went.
    RewritePatternSet patterns(&getContext());
    tensor::populateMergeConsecutiveInsertExtractSlicePatterns(patterns);
    tensor::populateDropRedundantInsertSliceRankExpansionPatterns(patterns);
    patterns.add<InsertWithoutUnitDims<tensor::InsertSliceOp>,
                 InsertWithoutUnitDims<tensor::ParallelInsertSliceOp>,
                 SliceOfExpanded>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }

  /// Moves a tile of a block whose only reader is a slice in an inner loop to
  /// that slice, if a tile of it computes that.
  FailureOr<MambaTileOpInterface> fuse(IRRewriter &rewriter,
                                       MambaTileOpInterface op) {
    auto readers = llvm::make_filter_range(op->getUsers(), [](Operation *user) {
      return !isa<tensor::DimOp>(user);
    });
    if (!op->getParentOfType<scf::ForallOp>() ||
        !llvm::hasSingleElement(readers))
      return op;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(*readers.begin());
    if (!slice || slice->getBlock() == op->getBlock() ||
        !isa<LoopLikeOpInterface>(slice->getParentOp()))
      return op;
    FailureOr<MambaTileOpInterface> tile = fuseIntoSlice(rewriter, slice);
    if (failed(tile))
      return op;
    if (failed(eraseAllButSizes(rewriter, op)))
      return failure();
    return tile;
  }

  LogicalResult lower(IRRewriter &rewriter, MambaTileOpInterface op) {
    if (replaceIfEmpty(rewriter, op))
      return success();
    if (isUnitTile(op))
      return decompose(rewriter, op);
    FailureOr<scf::SCFTilingResult> tiled = tileToLoops(
        rewriter, op, op.getUnitTile(), scf::SCFTilingOptions::LoopType::ForOp);
    if (failed(tiled))
      return failure();
    for (Operation *tile : tiled->tiledOps)
      if (failed(decompose(rewriter, cast<MambaTileOpInterface>(tile))))
        return failure();
    return success();
  }

  LogicalResult decompose(IRRewriter &rewriter, MambaTileOpInterface op) {
    rewriter.setInsertionPoint(op);
    auto plan = op->getAttrOfType<PlanAttr>(kPlanAttrName);
    FailureOr<SmallVector<Value>> results =
        cast<linalg::AggregatedOpInterface>(op.getOperation())
            .decomposeOperation(rewriter);
    if (failed(results))
      return op->emitOpError("expected a unit tile");
    if (plan && (!plan.getInner().empty() || plan.getReduction())) {
      Value root = results->front();
      while (auto insert = root.getDefiningOp<tensor::InsertSliceOp>())
        root = insert.getSource();
      auto linalgOp = root.getDefiningOp<linalg::LinalgOp>();
      if (!linalgOp && !plan.getInner().empty())
        return op->emitOpError("expected no 'inner' sizes in the plan: a loop "
                               "computes the first result");
      if (linalgOp)
        linalgOp->setAttr(kPlanAttrName, plan);
    }
    rewriter.replaceOp(op, *results);
    return success();
  }
};
} // namespace
