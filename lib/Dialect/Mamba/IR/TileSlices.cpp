//===- TileSlices.cpp - Slices of operands for one tile -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSlices.h"
#include "RoleSizes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mamba;

ArrayRef<Role> mamba::getLoops(Operation *op) {
  static constexpr Role cumsum[] = {Role::Batch, Role::Heads, Role::Chunks};
  static constexpr Role state[] = {Role::Batch, Role::Chunks, Role::Heads,
                                   Role::HeadDim, Role::StateDim};
  static constexpr Role pass[] = {Role::Batch, Role::Heads, Role::HeadDim,
                                  Role::StateDim};
  static constexpr Role out[] = {Role::Batch, Role::Chunks, Role::Heads,
                                 Role::HeadDim};
  static constexpr Role ssu[] = {Role::Batch, Role::Heads, Role::HeadDim};
  if (isa<ChunkCumsumOp>(op))
    return cumsum;
  if (isa<ChunkStateOp>(op))
    return state;
  if (isa<StatePassOp>(op))
    return pass;
  if (isa<ChunkOutOp>(op))
    return out;
  assert(isa<SsuOp>(op) && "not a tiled operation");
  return ssu;
}

RankedTensorType mamba::getTileType(RankedTensorType type,
                                    ArrayRef<OpFoldResult> sizes) {
  SmallVector<int64_t> shape;
  for (OpFoldResult size : sizes)
    shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, type.getElementType());
}

bool TileSlices::isCut(Role role) {
  std::optional<Slice> slice = getLoop(role);
  return slice && !isSameSize(slice->size, getRoleSize(b, op, role));
}

std::optional<Slice> TileSlices::getLoop(Role role) {
  auto *it = llvm::find(loops, role);
  if (it == loops.end())
    return std::nullopt;
  size_t i = it - loops.begin();
  return Slice{offsets[i], sizes[i]};
}

FailureOr<Slice> TileSlices::get(Role role) {
  if (std::optional<Slice> loop = getLoop(role))
    return *loop;
  if (role == Role::Length && getLoop(Role::Chunks))
    return getTokens(*getLoop(Role::Chunks));
  if (role == Role::Groups)
    return getGroups();
  return Slice{b.getIndexAttr(0), getRoleSize(b, op, role)};
}

LogicalResult TileSlices::get(const ShapedValue &value,
                              SmallVectorImpl<OpFoldResult> &valueOffsets,
                              SmallVectorImpl<OpFoldResult> &valueSizes) {
  for (Role role : value.roles) {
    FailureOr<Slice> slice = get(role);
    if (failed(slice))
      return failure();
    valueOffsets.push_back(slice->offset);
    valueSizes.push_back(slice->size);
  }
  return success();
}

FailureOr<Value> TileSlices::extract(const ShapedValue &value) {
  SmallVector<OpFoldResult> valueOffsets, valueSizes;
  if (failed(get(value, valueOffsets, valueSizes)))
    return failure();
  return extract(value.value, valueOffsets, valueSizes);
}

Value TileSlices::extract(Value value, ArrayRef<OpFoldResult> valueOffsets,
                          ArrayRef<OpFoldResult> valueSizes) {
  SmallVector<OpFoldResult> strides(valueOffsets.size(), b.getIndexAttr(1));
  auto slice = tensor::ExtractSliceOp::create(b, loc, value, valueOffsets,
                                              valueSizes, strides);
  if (slice.getType() == value.getType() && !isCutShape(value, valueSizes)) {
    slice.erase();
    return value;
  }
  generated.push_back(slice);
  return slice;
}

Slice TileSlices::getTokens(Slice chunks) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  int64_t chunk = *getChunkSize(op);
  OpFoldResult length = getRoleSize(b, op, Role::Length);
  bool isBound = getConstantIntValue(chunks.size).has_value();
  if (!isBound && isConstantIntValue(chunks.offset, 0) && !isCut(Role::Chunks))
    return {chunks.offset, length};
  OpFoldResult offset = affine::makeComposedFoldedAffineApply(
      b, loc, d0 * chunk, {chunks.offset});
  AffineExpr s0 = b.getAffineSymbolExpr(0);
  AffineMap map =
      AffineMap::get(2, 1, {d0 * chunk, s0 - d1 * chunk}, b.getContext());
  // A constant size keeps the bound `size * chunk` visible to later passes.
  OpFoldResult size = affine::makeComposedFoldedAffineMin(
      b, loc, map, {chunks.size, chunks.offset, length});
  return {offset, size};
}

FailureOr<Slice> TileSlices::getGroups() {
  OpFoldResult groups = getRoleSize(b, op, Role::Groups);
  std::optional<Slice> heads = getLoop(Role::Heads);
  if (!heads || isConstantIntValue(groups, 1) || !isCut(Role::Heads))
    return Slice{b.getIndexAttr(0), groups};
  OpFoldResult allHeads = getRoleSize(b, op, Role::Heads);
  std::optional<int64_t> size = getConstantIntValue(heads->size),
                         h = getConstantIntValue(allHeads),
                         g = getConstantIntValue(groups);
  bool oneGroup = size == 1 || (size && h && g && (*h / *g) % *size == 0);
  if (!oneGroup)
    return failure();
  auto value = [&](OpFoldResult ofr) {
    return getValueOrCreateConstantIndexOp(b, loc, ofr);
  };
  Value ratio =
      b.createOrFold<arith::DivUIOp>(loc, value(allHeads), value(groups));
  Value group =
      b.createOrFold<arith::DivUIOp>(loc, value(heads->offset), ratio);
  return Slice{getAsOpFoldResult(group), b.getIndexAttr(1)};
}

bool TileSlices::isCutShape(Value value, ArrayRef<OpFoldResult> valueSizes) {
  for (auto [dim, size] : llvm::enumerate(valueSizes))
    if (!isSameSize(size, tensor::getMixedSize(b, loc, value, dim)))
      return true;
  return false;
}
