//===- ToLinalg.cpp - Mamba operations in linalg --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBATOLINALGPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct ToLinalg : mamba::impl::MambaToLinalgPassBase<ToLinalg> {
  void runOnOperation() override {
    SmallVector<MambaTileOpInterface> ops;
    getOperation()->walk([&](MambaTileOpInterface op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (MambaTileOpInterface op : ops)
      if (failed(lower(rewriter, op)))
        return signalPassFailure();
  }

  LogicalResult lower(IRRewriter &rewriter, MambaTileOpInterface op) {
    if (isUnitTile(op))
      return decompose(rewriter, op);
    FailureOr<scf::SCFTilingResult> tiled =
        tileToLoops(rewriter, op, op.getUnitTile(),
                    scf::SCFTilingOptions::LoopType::ForOp);
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
    if (plan && !plan.getInner().empty()) {
      Value root = results->front();
      while (auto expand = root.getDefiningOp<tensor::ExpandShapeOp>())
        root = expand.getSrc();
      if (auto linalgOp = root.getDefiningOp<linalg::LinalgOp>())
        linalgOp->setAttr(kPlanAttrName, plan);
    }
    rewriter.replaceOp(op, *results);
    return success();
  }
};
} // namespace
