//===- TileInner.cpp - Computes the end of a tile program in parts --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATILEINNERPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// Whether the loop `loop` of `op` has more than `size` steps, or may have.
bool isLonger(linalg::LinalgOp op, unsigned loop, int64_t size) {
  int64_t extent = op.getStaticLoopRanges()[loop];
  if (!ShapedType::isDynamic(extent))
    return extent > size;
  Value operand;
  unsigned dim;
  if (failed(op.mapIterationSpaceDimToOperandDim(loop, operand, dim)))
    return true;
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {operand, static_cast<int64_t>(dim)},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  return failed(bound) || *bound > size;
}

/// The loop over which `op` sums, if it is a contraction of something that a
/// linalg operation beside it computes.
std::optional<unsigned> getSumOfComputed(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op) || op.getNumReductionLoops() != 1)
    return std::nullopt;
  bool isComputed = llvm::any_of(op.getDpsInputs(), [&](Value input) {
    auto producer = input.getDefiningOp<linalg::LinalgOp>();
    if (!producer || producer->getBlock() != op->getBlock())
      return false;
    // What a loop carries, however rounded, is there as a whole.
    return !llvm::all_of(producer.getDpsInputs(), [](Value value) {
      while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
        value = slice.getSource();
      return isa<BlockArgument>(value) &&
             isa<scf::ForOp>(value.getParentBlock()->getParentOp());
    });
  });
  if (!isComputed)
    return std::nullopt;
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return loops.front();
}

/// Whether sizes from offset 0 on are all that `tensor` has.
bool isWhole(Value tensor, ArrayRef<OpFoldResult> offsets,
             ArrayRef<OpFoldResult> sizes, ArrayRef<OpFoldResult> strides) {
  if (!areAllConstantIntValue(offsets, 0) ||
      !areAllConstantIntValue(strides, 1))
    return false;
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (!type.isDynamicDim(dim)) {
      if (!isConstantIntValue(size, type.getDimSize(dim)))
        return false;
      continue;
    }
    FailureOr<bool> isSame = ValueBoundsConstraintSet::areEqual(
        size, {tensor, static_cast<int64_t>(dim)});
    if (failed(isSame) || !*isSame)
      return false;
  }
  return true;
}

/// A slice of all of a tensor is the tensor: tiling leaves such slices where
/// it does not cut a dimension, between a sum and its accumulator for one.
struct FoldWholeExtract : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType() != op.getSourceType() ||
        !isWhole(op.getSource(), op.getMixedOffsets(), op.getMixedSizes(),
                 op.getMixedStrides()))
      return rewriter.notifyMatchFailure(op, "may be less than the whole");
    rewriter.replaceOp(op, op.getSource());
    return success();
  }
};

struct FoldWholeInsert : OpRewritePattern<tensor::InsertSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::InsertSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getSourceType() != op.getType() ||
        !isWhole(op.getDest(), op.getMixedOffsets(), op.getMixedSizes(),
                 op.getMixedStrides()))
      return rewriter.notifyMatchFailure(op, "may be less than the whole");
    rewriter.replaceOp(op, op.getSource());
    return success();
  }
};

struct TileInner : mamba::impl::MambaTileInnerPassBase<TileInner> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> roots;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op->hasAttrOfType<PlanAttr>(kPlanAttrName))
        roots.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp root : roots)
      if (failed(tile(rewriter, root)))
        return signalPassFailure();
    // What a loop of the program computes has no plan of its own.
    WalkResult result = getOperation()->walk([&](scf::ForallOp block) {
      auto plan = block->getAttrOfType<PlanAttr>(kPlanAttrName);
      if (!plan || !plan.getInner().empty())
        return WalkResult::advance();
      SmallVector<Block *> programs;
      block.walk([&](scf::ForOp loop) { programs.push_back(loop.getBody()); });
      for (Block *program : programs)
        if (failed(tileReductions(rewriter, *program, plan.getReduction())))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    // Fused producers write slices of whole empty tensors: make those small.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
    patterns.add<FoldWholeExtract>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    // An insertion into what a loop carries shows that the size of that does
    // not change: it has to stay until the slices are gone.
    RewritePatternSet insertions(&getContext());
    insertions.add<FoldWholeInsert>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(insertions))))
      return signalPassFailure();
  }

  LogicalResult tile(IRRewriter &rewriter, linalg::LinalgOp root) {
    auto plan = root->getAttrOfType<PlanAttr>(kPlanAttrName);
    root->removeAttr(kPlanAttrName);
    ArrayRef<int64_t> inner = plan.getInner();
    if (inner.size() > root.getNumLoops())
      return root->emitOpError("expected at most ")
             << root.getNumLoops() << " 'inner' sizes in the plan, got "
             << inner.size();
    auto iterators = root.getIteratorTypesArray();
    SmallVector<OpFoldResult> sizes;
    for (auto [loop, size] : llvm::enumerate(inner)) {
      if (size != 0 && iterators[loop] != utils::IteratorType::parallel)
        return root->emitOpError("expected 'inner' size 0 for loop ")
               << loop << ", which is not parallel, got " << size;
      sizes.push_back(rewriter.getIndexAttr(size));
    }
    if (llvm::all_of(inner, [](int64_t size) { return size == 0; }))
      return tileReductions(rewriter, *root->getBlock(), plan.getReduction());
    scf::SCFTileAndFuseOptions options;
    scf::SCFTilingOptions tiling;
    tiling.setTileSizes(sizes);
    options.setTilingOptions(tiling);
    FailureOr<scf::SCFTileAndFuseResult> tiled =
        scf::tileConsumerAndFuseProducersUsingSCF(
            rewriter, cast<TilingInterface>(root.getOperation()), options);
    if (failed(tiled))
      return root->emitOpError("expected to tile by 'inner' sizes");
    for (auto [before, after] : tiled->replacements)
      rewriter.replaceAllUsesWith(before, after);
    Block *program = tiled->tiledAndFusedOps.front()->getBlock();
    rewriter.eraseOp(root);
    return tileReductions(rewriter, *program, plan.getReduction());
  }

  /// Cuts the sums of `program` over more than `size` steps of what the program
  /// computes.
  static LogicalResult tileReductions(IRRewriter &rewriter, Block &program,
                                      int64_t size) {
    if (size == 0)
      return success();
    // Later ones first: what one sums moves into its loop.
    auto ops = llvm::to_vector(program.getOps<linalg::LinalgOp>());
    for (linalg::LinalgOp op : llvm::reverse(ops)) {
      std::optional<unsigned> loop = getSumOfComputed(op);
      if (!loop || op->use_empty() || !isLonger(op, *loop, size))
        continue;
      if (failed(tileReduction(rewriter, op, *loop, size)))
        return failure();
    }
    return success();
  }

  static LogicalResult tileReduction(IRRewriter &rewriter, linalg::LinalgOp op,
                                     unsigned loop, int64_t size) {
    SmallVector<int64_t> sizes(op.getNumLoops(), 0);
    sizes[loop] = size;
    scf::SCFTilingOptions tiling;
    tiling.setTileSizes(getAsIndexOpFoldResult(op->getContext(), sizes));
    scf::SCFTileAndFuseOptions options;
    options.setTilingOptions(tiling);
    // Neither what the sum starts from nor what every step reads whole is
    // computed again in each step.
    options.setFusionControlFn(
        [](tensor::ExtractSliceOp slice, OpResult, bool isDestination)
            -> std::optional<scf::SCFTileAndFuseOptions::ControlFnResult> {
          if (isDestination ||
              areAllConstantIntValue(slice.getMixedOffsets(), 0))
            return std::nullopt;
          return scf::SCFTileAndFuseOptions::ControlFnResult{};
        });
    FailureOr<scf::SCFTileAndFuseResult> tiled =
        scf::tileConsumerAndFuseProducersUsingSCF(
            rewriter, cast<TilingInterface>(op.getOperation()), options);
    if (failed(tiled))
      return op->emitOpError("expected to tile the sum by 'reduction'");
    for (auto [before, after] : tiled->replacements)
      rewriter.replaceAllUsesWith(before, after);
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace
