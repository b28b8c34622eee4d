//===- ToLinalg.cpp - Mamba operations in linalg --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

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
                 InsertWithoutUnitDims<tensor::ParallelInsertSliceOp>>(
        &getContext());
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
