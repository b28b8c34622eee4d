//===- Tile.cpp - Tiles mamba operations to the programs of blocks --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATILEPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
/// Points of the innermost parallel loop of a linalg operation in a block.
constexpr int64_t kLinalgTile = 256;

struct Tile : mamba::impl::MambaTilePassBase<Tile> {
  using Base::Base;

  void runOnOperation() override {
    if (loops != "forall" && loops != "for") {
      emitError(UnknownLoc::get(&getContext()))
          << "expected option 'loops' to be 'forall' or 'for', got '" << loops
          << "'";
      return signalPassFailure();
    }
    bool isForall = loops == "forall";
    SmallVector<MambaTileOpInterface> ops;
    getOperation()->walk([&](MambaTileOpInterface op) {
      // Operations in loops are tiles already.
      if (!op->getParentOfType<LoopLikeOpInterface>())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (MambaTileOpInterface op : ops) {
      // Its reader comes later and computes it.
      if (isForall && isFused(op))
        continue;
      if (failed(tile(rewriter, op, isForall)))
        return signalPassFailure();
    }
    if (!isForall)
      return;
    SmallVector<linalg::LinalgOp> others;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!op->getParentOfType<LoopLikeOpInterface>() &&
          op.hasPureTensorSemantics())
        others.push_back(op);
    });
    for (linalg::LinalgOp op : others)
      if (failed(tileLinalg(rewriter, op)))
        return signalPassFailure();
  }

  /// Between operations of the dialect: a block computes one point of the outer
  /// parallel loops and some of the innermost one.
  LogicalResult tileLinalg(IRRewriter &rewriter, linalg::LinalgOp op) {
    rewriter.setInsertionPoint(op);
    // A dimension of 0 cannot be sliced, not even whole.
    if (llvm::all_of(op->getResultTypes(), [](Type type) {
          return llvm::is_contained(cast<RankedTensorType>(type).getShape(), 0);
        })) {
      rewriter.replaceOp(op, op.getDpsInits());
      return success();
    }
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    if (parallel.empty())
      return op->emitOpError("expected a parallel loop to share out to blocks");
    SmallVector<int64_t> sizes(op.getNumLoops(), 0);
    for (unsigned loop : parallel)
      sizes[loop] = loop == parallel.back() ? kLinalgTile : 1;
    StringRef name = op->getName().stripDialect();
    scf::SCFTilingOptions options;
    options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp)
        .setTileSizes(getAsIndexOpFoldResult(&getContext(), sizes))
        .setMapping(getBlockMapping(&getContext(), parallel.size()));
    FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
        rewriter, cast<TilingInterface>(op.getOperation()), options);
    if (failed(tiled))
      return op->emitOpError("expected to tile to blocks");
    rewriter.replaceOp(op, tiled->replacements);
    tiled->loops.front()->setAttr(kKernelAttrName,
                                  rewriter.getStringAttr(name));
    return success();
  }

  /// Whether the loop around the operation's reader computes it.
  static bool isFused(MambaTileOpInterface op) {
    auto state = dyn_cast<ChunkStateOp>(op.getOperation());
    StatePassOp pass = state ? getOnlyStatePass(state) : StatePassOp();
    if (!pass || op->hasAttr(kPlanAttrName))
      return false;
    auto plan = pass->getAttrOfType<PlanAttr>(kPlanAttrName);
    return plan && computesChunkStates(plan.getSchedule());
  }

  /// Computes in each block what its tile of a state_pass reads of `op`.
  static LogicalResult fuse(IRRewriter &rewriter, ChunkStateOp op,
                            StatePassOp tile) {
    if (auto slice = tile.getStates().getDefiningOp<tensor::ExtractSliceOp>()) {
      if (failed(fuseIntoSlice(rewriter, slice)))
        return op.emitOpError("expected to be tiled as its reader is");
    } else { // The only tile reads the whole.
      rewriter.setInsertionPoint(tile);
      auto whole = cast<ChunkStateOp>(rewriter.clone(*op));
      rewriter.modifyOpInPlace(
          tile, [&] { tile.getStatesMutable().assign(whole.getStates()); });
    }
    return eraseAllButSizes(rewriter,
                            cast<MambaTileOpInterface>(op.getOperation()));
  }

  LogicalResult tile(IRRewriter &rewriter, MambaTileOpInterface op,
                     bool isForall) {
    if (replaceIfEmpty(rewriter, op))
      return success();
    auto plan = op->getAttrOfType<PlanAttr>(kPlanAttrName);
    SmallVector<int64_t> sizes =
        plan ? SmallVector<int64_t>(plan.getTile()) : op.getUnitTile();
    StringRef name = op->getName().stripDialect();
    ChunkStateOp fused;
    if (auto pass = dyn_cast<StatePassOp>(op.getOperation()); pass && isForall)
      fused = pass.getStates().getDefiningOp<ChunkStateOp>();
    if (fused && !isFused(cast<MambaTileOpInterface>(fused.getOperation())))
      fused = nullptr;
    FailureOr<scf::SCFTilingResult> tiled =
        tileToLoops(rewriter, op, sizes,
                    isForall ? scf::SCFTilingOptions::LoopType::ForallOp
                             : scf::SCFTilingOptions::LoopType::ForOp);
    if (failed(tiled))
      return failure();
    if (fused && failed(fuse(rewriter, fused,
                             cast<StatePassOp>(tiled->tiledOps.front()))))
      return failure();
    if (!isForall || tiled->loops.empty())
      return success();
    Operation *loop = tiled->loops.front();
    loop->setAttr(kKernelAttrName, rewriter.getStringAttr(name));
    if (plan)
      loop->setAttr(kPlanAttrName, plan);
    return success();
  }
};
} // namespace
