//===- InterchangeContractions.cpp - Loop order of contractions -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAINTERCHANGECONTRACTIONSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;

namespace {
struct InterchangeContractions
    : mamba::impl::MambaInterchangeContractionsPassBase<
          InterchangeContractions> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureTensorSemantics() && linalg::isaContractionOpInterface(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops)
      if (failed(interchange(rewriter, op)))
        return signalPassFailure();
  }

  LogicalResult interchange(IRRewriter &rewriter, linalg::LinalgOp op) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> general =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(general))
        return op->emitOpError("expected a generalizable contraction");
      generic = *general;
    }
    AffineMap resultMap = generic.getIndexingMapsArray().back();
    if (resultMap.getNumResults() == 0)
      return success();
    unsigned inner = resultMap.getDimPosition(resultMap.getNumResults() - 1);
    rewriter.setInsertionPoint(generic);
    for (OpOperand *input : generic.getDpsInputOperands())
      makeContiguous(rewriter, generic, *input, inner);

    SmallVector<unsigned> order;
    for (unsigned loop = 0; loop < generic.getNumLoops(); ++loop)
      if (loop != inner)
        order.push_back(loop);
    order.push_back(inner);
    return LogicalResult(
        linalg::interchangeGenericOp(rewriter, generic, order));
  }

  /// Transposes an input so that loop `inner` is its last dimension.
  void makeContiguous(IRRewriter &rewriter, linalg::GenericOp generic,
                      OpOperand &input, unsigned inner) {
    AffineMap map = generic.getMatchingIndexingMap(&input);
    std::optional<unsigned> position =
        map.getResultPosition(getAffineDimExpr(inner, &getContext()));
    unsigned rank = map.getNumResults();
    if (!position || *position == rank - 1)
      return;
    SmallVector<int64_t> permutation;
    for (unsigned dim = 0; dim < rank; ++dim)
      if (dim != *position)
        permutation.push_back(dim);
    permutation.push_back(*position);

    Location loc = generic.getLoc();
    Value source = input.get();
    SmallVector<OpFoldResult> sizes;
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : permutation) {
      sizes.push_back(tensor::getMixedSize(rewriter, loc, source, dim));
      exprs.push_back(map.getResult(dim));
    }
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes,
                                          getElementTypeOrSelf(source));
    auto transposed =
        linalg::TransposeOp::create(rewriter, loc, source, empty, permutation);
    SmallVector<AffineMap> maps = generic.getIndexingMapsArray();
    maps[input.getOperandNumber()] =
        AffineMap::get(map.getNumDims(), 0, exprs, &getContext());
    rewriter.modifyOpInPlace(generic, [&] {
      input.set(transposed->getResult(0));
      generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
  }
};
} // namespace
