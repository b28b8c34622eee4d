//===- ThreadTensorCopy.cpp - Copies by tensor map ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace mamba;

/// The boxes of a tile are side by side in its rows, and one behind the other
/// in memory.
LogicalResult ThreadProgram::rewriteTensorCopy(TensorCopyOp copy) {
  if (!copy.getBarriers())
    return copy.emitOpError("expected an mbarrier, as mamba-pipeline gives it");
  FailureOr<SharedTileRef> tile = getSharedTile(copy.getDestination(), copy);
  if (failed(tile))
    return failure();
  MemRefType box = copy.getBox();
  SmallVector<Value> coordinates;
  for (Value coordinate : copy.getCoordinates())
    coordinates.push_back(map.lookupOrDefault(coordinate));
  auto buffer = cast<MemRefType>(tile->buffer.getType());
  SmallVector<int64_t> strides = box.getStridesAndOffset().first;
  auto type = MemRefType::get(
      box.getShape(), box.getElementType(),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, strides),
      buffer.getMemorySpace());
  Value base = tile->base ? tile->base : constantIndex(0);
  Value first = coordinates.back();
  for (int64_t number = 0; number < copy.getNumBoxes(); ++number) {
    Value offset = base;
    if (number != 0) {
      offset = arith::AddIOp::create(
          b, loc(), base, constantIndex(number * box.getNumElements()));
      coordinates.back() = arith::AddIOp::create(
          b, loc(), first, constantIndex(number * box.getShape().back()));
    }
    Value destination = memref::ReinterpretCastOp::create(
        b, loc(), type, tile->buffer, OpFoldResult(offset),
        getAsIndexOpFoldResult(b.getContext(), box.getShape()),
        getAsIndexOpFoldResult(b.getContext(), strides));
    nvgpu::TmaAsyncLoadOp::create(
        b, loc(), destination, map.lookupOrDefault(copy.getBarriers()),
        map.lookupOrDefault(copy.getMap()), coordinates,
        map.lookupOrDefault(copy.getBarrier()), /*multicastMask=*/Value(),
        /*predicate=*/Value());
  }
  return success();
}
