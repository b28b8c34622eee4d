//===- Tile.cpp - Tiles mamba operations to the programs of blocks --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATILEPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
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
    for (MambaTileOpInterface op : ops)
      if (failed(tile(rewriter, op, isForall)))
        return signalPassFailure();
  }

  LogicalResult tile(IRRewriter &rewriter, MambaTileOpInterface op,
                     bool isForall) {
    if (replaceIfEmpty(rewriter, op))
      return success();
    auto plan = op->getAttrOfType<PlanAttr>(kPlanAttrName);
    SmallVector<int64_t> sizes =
        plan ? SmallVector<int64_t>(plan.getTile()) : op.getUnitTile();
    StringRef name = op->getName().stripDialect();
    FailureOr<scf::SCFTilingResult> tiled =
        tileToLoops(rewriter, op, sizes,
                    isForall ? scf::SCFTilingOptions::LoopType::ForallOp
                             : scf::SCFTilingOptions::LoopType::ForOp);
    if (failed(tiled))
      return failure();
    if (!isForall || tiled->loops.empty())
      return success();
    Operation *loop = tiled->loops.front();
    loop->setAttr("mamba.kernel", rewriter.getStringAttr(name));
    if (plan)
      loop->setAttr(kPlanAttrName, plan);
    return success();
  }
};
} // namespace
