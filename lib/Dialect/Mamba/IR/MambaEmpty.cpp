//===- MambaEmpty.cpp - Operations known to have nothing to compute -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A static dimension of 0 cannot be sliced, not even whole, so operations on
// such tensors are replaced by their results instead of tiled.
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"
#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

static bool isKnownEmpty(Operation *op) {
  return llvm::any_of(getShapedValues(op), [](const ShapedValue &value) {
    return llvm::is_contained(value.type.getShape(), 0);
  });
}

/// A tensor of result `result`'s size: of the converted elements of `source`,
/// or of zeros.
static Value fill(TileEmitter &emit, OpResult result, Value source = {}) {
  OpBuilder &b = emit.builder();
  auto type = cast<RankedTensorType>(result.getType());
  ReifiedRankedShapedTypeDims shapes;
  (void)cast<ReifyRankedShapedTypeOpInterface>(result.getOwner())
      .reifyResultShapes(b, shapes);
  SmallVector<Value> inputs;
  SmallVector<SmallVector<int64_t>> loops;
  if (source) {
    inputs.push_back(source);
    loops.push_back(llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  }
  return emit.map(shapes[result.getResultNumber()], type.getElementType(),
                  inputs, loops, [](ScalarEmitter &e, ValueRange v) {
                    return v.empty() ? e.constant(0.0) : v[0];
                  });
}

/// Every result has a dimension that is 0.
static FailureOr<SmallVector<Value>> getEmptyResults(OpBuilder &b,
                                                     Operation *op) {
  if (!isKnownEmpty(op))
    return failure();
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifyResultShapes(b, op, shapes)))
    return failure();
  SmallVector<Value> results;
  for (auto [type, shape] : llvm::zip_equal(op->getResultTypes(), shapes))
    results.push_back(tensor::EmptyOp::create(b, op->getLoc(), shape,
                                              getElementTypeOrSelf(type)));
  return results;
}

FailureOr<SmallVector<Value>> ChunkCumsumOp::getResultsIfEmpty(OpBuilder &b) {
  return getEmptyResults(b, *this);
}

FailureOr<SmallVector<Value>> ChunkStateOp::getResultsIfEmpty(OpBuilder &b) {
  return getEmptyResults(b, *this);
}

FailureOr<SmallVector<Value>> ChunkOutOp::getResultsIfEmpty(OpBuilder &b) {
  return getEmptyResults(b, *this);
}

FailureOr<SmallVector<Value>> StatePassOp::getResultsIfEmpty(OpBuilder &b) {
  if (!isKnownEmpty(*this))
    return failure();
  // There may be sequences and heads, and only no chunks.
  TileEmitter emit(b, getLoc());
  SmallVector<Value> results{
      fill(emit, cast<OpResult>(Value(getChunkStates())))};
  if (getFinalState())
    results.push_back(
        fill(emit, cast<OpResult>(Value(getFinalState())), getInitialState()));
  if (getTotalDecay())
    results.push_back(fill(emit, cast<OpResult>(Value(getTotalDecay()))));
  return results;
}

FailureOr<SmallVector<Value>> SsuOp::getResultsIfEmpty(OpBuilder &b) {
  if (!isKnownEmpty(*this))
    return failure();
  // There may be rows and only no slots: every row is a pad.
  TileEmitter emit(b, getLoc());
  SmallVector<Value> results{fill(emit, cast<OpResult>(Value(getY())))};
  if (getNewState()) {
    Value state = getState();
    if (state.getType() != getNewState().getType())
      state =
          tensor::CastOp::create(b, getLoc(), getNewState().getType(), state);
    results.push_back(state);
  }
  if (getIntermediateStates())
    results.push_back(
        fill(emit, cast<OpResult>(Value(getIntermediateStates()))));
  return results;
}
