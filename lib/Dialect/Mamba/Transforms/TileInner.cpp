//===- TileInner.cpp - Computes the end of a tile program in parts --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATILEINNERPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
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
    // Fused producers write slices of whole empty tensors: make those small.
    RewritePatternSet patterns(&getContext());
    tensor::populateFoldTensorEmptyPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
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
      return success();
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
    rewriter.eraseOp(root);
    return success();
  }
};
} // namespace
