//===- FuseStates.cpp - States of segments in workspaces ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseStates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

ArrayRef<int64_t> mamba::getStateShape(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
mamba::getStateSlice(OpBuilder &b, ArrayRef<OpFoldResult> place, Type type) {
  SmallVector<OpFoldResult> offsets(place);
  SmallVector<OpFoldResult> sizes(place.size(), b.getIndexAttr(1));
  for (int64_t size : getStateShape(type)) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(size));
  }
  return {offsets, sizes};
}

Value mamba::readState(OpBuilder &b, Location loc, Value workspace, Type type,
                       ArrayRef<OpFoldResult> place) {
  if (!isa<RankedTensorType>(type)) {
    SmallVector<Value> indices;
    for (OpFoldResult index : place)
      indices.push_back(getValueOrCreateConstantIndexOp(b, loc, index));
    return tensor::ExtractOp::create(b, loc, workspace, indices);
  }
  auto [offsets, sizes] = getStateSlice(b, place, type);
  return tensor::ExtractSliceOp::create(
      b, loc, cast<RankedTensorType>(type), workspace, offsets, sizes,
      SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(1)));
}

Value mamba::createNext(OpBuilder &b, Location loc, Value factor, Value state,
                        Value added) {
  auto type = dyn_cast<RankedTensorType>(state.getType());
  auto combine = [&](OpBuilder &nested, Value carried, Value term) {
    Value kept = arith::MulFOp::create(nested, loc, factor, carried);
    return arith::AddFOp::create(nested, loc, kept, term).getResult();
  };
  if (!type)
    return combine(b, state, added);
  AffineMap map = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, added, state, ArrayRef<AffineMap>{map, map},
             iterators,
             [&](OpBuilder &nested, Location, ValueRange args) {
               linalg::YieldOp::create(nested, loc,
                                       combine(nested, args[1], args[0]));
             })
      .getResult(0);
}
