//===- MambaTiling.cpp - TilingInterface of the mamba operations ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of an operation is the same operation on slices of its operands.
//
//===----------------------------------------------------------------------===//

#include "RoleSizes.h"
#include "TileSlices.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mamba;

namespace {

/// A result without a dimension for a cut loop is the same in all tiles along
/// it; the first tile owns it, the others insert nothing.
void keepFirstOwner(OpBuilder &b, Operation *op, TileSlices &slices,
                    const ShapedValue &result,
                    MutableArrayRef<OpFoldResult> sizes) {
  Location loc = op->getLoc();
  Value isFirst;
  for (Role role : getLoops(op)) {
    bool derived =
        role == Role::Chunks && llvm::is_contained(result.roles, Role::Length);
    if (derived || llvm::is_contained(result.roles, role) ||
        !slices.isCut(role))
      continue;
    Value offset =
        getValueOrCreateConstantIndexOp(b, loc, slices.getLoop(role)->offset);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, offset, zero);
    isFirst = isFirst ? arith::AndIOp::create(b, loc, isFirst, here).getResult()
                      : here;
  }
  if (!isFirst)
    return;
  Value one = getValueOrCreateConstantIndexOp(b, loc, sizes.back());
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  sizes.back() =
      arith::SelectOp::create(b, loc, isFirst, one, zero).getResult();
}

//===----------------------------------------------------------------------===//
// Slots of ssu
//===----------------------------------------------------------------------===//

/// One row's slot as a slice of the state's first dimension: empty for a pad.
Slice getSlot(OpBuilder &b, SsuOp op, Value indices, OpFoldResult row,
              Value alsoValid = {}) {
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value rowValue = getValueOrCreateConstantIndexOp(b, loc, row);
  Value slot = rowValue;
  if (indices) {
    slot = tensor::ExtractOp::create(b, loc, indices, rowValue);
    slot = arith::IndexCastOp::create(b, loc, b.getIndexType(), slot);
  }
  Value slots =
      getValueOrCreateConstantIndexOp(b, loc, getRoleSize(b, op, Role::Slots));
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs,
                     Value rhs) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, lhs, rhs);
  };
  // Unsigned: a negative index is past the end.
  Value valid = compare(arith::CmpIPredicate::ult, slot, slots);
  if (indices) {
    Value notPad =
        compare(arith::CmpIPredicate::ne, slot, constant(op.getPadSlotId()));
    valid = arith::AndIOp::create(b, loc, valid, notPad);
  }
  if (alsoValid)
    valid = arith::AndIOp::create(b, loc, valid, alsoValid);
  Value zero = constant(0), one = constant(1);
  Value offset = arith::SelectOp::create(b, loc, valid, slot, zero);
  Value size = arith::SelectOp::create(b, loc, valid, one, zero);
  return {offset, size};
}

Slice getSourceSlot(OpBuilder &b, SsuOp op, OpFoldResult row) {
  return getSlot(b, op, op.getStateBatchIndices(), row);
}

Slice getDestinationSlot(OpBuilder &b, SsuOp op, OpFoldResult row) {
  Slice source = getSourceSlot(b, op, row);
  if (!op.getDstStateBatchIndices())
    return source;
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value sourceValid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                            cast<Value>(source.size), zero);
  return getSlot(b, op, op.getDstStateBatchIndices(), row, sourceValid);
}

FailureOr<TilingResult> tileSsu(OpBuilder &b, SsuOp op,
                                ArrayRef<OpFoldResult> offsets,
                                ArrayRef<OpFoldResult> sizes) {
  TileSlices slices(b, op, offsets, sizes);
  bool oneRow = isConstantIntValue(sizes[0], 1);
  if (!oneRow && slices.isCut(Role::Batch))
    return op.emitOpError("expected a tile of 1 row or all rows");
  SmallVector<Value> operands;
  SmallVector<int32_t> segments;
  size_t next = 0;
  SmallVector<ShapedValue> values = getShapedValues(op);
  for (auto [i, segment] :
       llvm::enumerate(op.getProperties().operandSegmentSizes)) {
    segments.push_back(segment);
    if (!segment)
      continue;
    const ShapedValue &value = values[next++];
    bool isIndices = value.value == op.getStateBatchIndices() ||
                     value.value == op.getDstStateBatchIndices();
    if (oneRow && isIndices) {
      segments.back() = 0; // the tile's only slot is its row's
      continue;
    }
    SmallVector<OpFoldResult> valueOffsets, valueSizes;
    if (failed(slices.get(value, valueOffsets, valueSizes)))
      return op.emitOpError(
          "expected a tile of 1 head, one group's heads or all heads");
    if (oneRow && i == 0) {
      Slice slot = getSourceSlot(b, op, offsets[0]);
      valueOffsets[0] = slot.offset;
      valueSizes[0] = slot.size;
    }
    operands.push_back(slices.extract(value.value, valueOffsets, valueSizes));
  }
  SmallVector<Type> types;
  for (const ShapedValue &value : ArrayRef(values).drop_front(next)) {
    SmallVector<OpFoldResult> valueOffsets, valueSizes;
    if (failed(slices.get(value, valueOffsets, valueSizes)))
      return failure();
    if (oneRow && value.value == op.getNewState()) {
      types.push_back(operands[0].getType());
      continue;
    }
    types.push_back(getTileType(value.type, valueSizes));
  }
  Operation *tile = mlir::clone(b, op, types, operands);
  auto tileOp = cast<SsuOp>(tile);
  tileOp.setRow(oneRow);
  llvm::copy(segments, tileOp.getProperties().operandSegmentSizes.begin());
  TilingResult result;
  result.tiledOps.push_back(tile);
  llvm::append_range(result.tiledValues, tile->getResults());
  if (oneRow && op.getNewState() && op.getDstStateBatchIndices()) {
    // The tile has the slot it read; nothing of it may be written to a pad.
    unsigned number = cast<OpResult>(op.getNewState()).getResultNumber();
    Slice slot = getDestinationSlot(b, op, offsets[0]);
    SmallVector<OpFoldResult> zeros(4, b.getIndexAttr(0)), tileSizes{slot.size};
    for (int64_t dim = 1; dim < 4; ++dim)
      tileSizes.push_back(
          tensor::getMixedSize(b, op.getLoc(), tile->getResult(number), dim));
    result.tiledValues[number] =
        slices.extract(tile->getResult(number), zeros, tileSizes);
  }
  result.generatedSlices = slices.takeGenerated();
  return result;
}

//===----------------------------------------------------------------------===//
// The chunk operations
//===----------------------------------------------------------------------===//

/// The id before each chunk of a tile of one chunk, read before slicing.
Value getPreviousId(OpBuilder &b, ChunkOutOp op,
                    ArrayRef<OpFoldResult> offsets) {
  Location loc = op.getLoc();
  auto value = [&](OpFoldResult ofr) {
    return getValueOrCreateConstantIndexOp(b, loc, ofr);
  };
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value chunk = value(offsets[1]);
  AffineExpr d0 = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {d0 * *getChunkSize(op) - 1, b.getAffineConstantExpr(0)},
      b.getContext());
  Value token =
      value(affine::makeComposedFoldedAffineMax(b, loc, map, {chunk}));
  Value id = tensor::ExtractOp::create(b, loc, op.getSeqIdx(),
                                       ValueRange{value(offsets[0]), token});
  Value first =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, chunk, zero);
  Value none = arith::ConstantIntOp::create(b, loc, 0, 32);
  id = arith::SelectOp::create(b, loc, first, none, id);
  return tensor::FromElementsOp::create(
      b, loc, RankedTensorType::get({1, 1}, b.getI32Type()), id);
}

FailureOr<TilingResult> tileByRole(OpBuilder &b, Operation *op,
                                   ArrayRef<OpFoldResult> offsets,
                                   ArrayRef<OpFoldResult> sizes) {
  TileSlices slices(b, op, offsets, sizes);
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<ShapedValue> values = getShapedValues(op);
  for (const ShapedValue &value : values) {
    bool isResult = value.value.getDefiningOp() == op;
    if (!isResult) {
      FailureOr<Value> slice = slices.extract(value);
      if (failed(slice))
        return op->emitOpError(
            "expected a tile of 1 head, one group's heads or all heads");
      operands.push_back(*slice);
      continue;
    }
    SmallVector<OpFoldResult> valueOffsets, valueSizes;
    if (failed(slices.get(value, valueOffsets, valueSizes)))
      return failure();
    types.push_back(getTileType(value.type, valueSizes));
  }
  auto out = dyn_cast<ChunkOutOp>(op);
  bool needsId = out && out.getSeqIdx() && !out.getPrevSeqIdx() &&
                 slices.isCut(Role::Chunks);
  if (needsId) {
    if (!isConstantIntValue(sizes[0], 1) || !isConstantIntValue(sizes[1], 1))
      return op->emitOpError(
          "expected a tile of 1 sequence and 1 chunk with 'seq_idx'");
    operands.push_back(getPreviousId(b, out, offsets));
  }
  Operation *tile = mlir::clone(b, op, types, operands);
  if (needsId)
    cast<ChunkOutOp>(tile).getProperties().operandSegmentSizes.back() = 1;
  TilingResult result;
  result.tiledOps.push_back(tile);
  for (auto [value, tiled] :
       llvm::zip_equal(ArrayRef(values).take_back(op->getNumResults()),
                       tile->getResults())) {
    SmallVector<OpFoldResult> valueOffsets, valueSizes;
    if (failed(slices.get(value, valueOffsets, valueSizes)))
      return failure();
    SmallVector<OpFoldResult> owned(valueSizes);
    keepFirstOwner(b, op, slices, value, owned);
    SmallVector<OpFoldResult> zeros(owned.size(), b.getIndexAttr(0));
    result.tiledValues.push_back(
        owned == valueSizes ? tiled : slices.extract(tiled, zeros, owned));
  }
  result.generatedSlices = slices.takeGenerated();
  return result;
}

LogicalResult getPosition(OpBuilder &b, Operation *op, unsigned resultNumber,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes,
                          SmallVectorImpl<OpFoldResult> &resultOffsets,
                          SmallVectorImpl<OpFoldResult> &resultSizes) {
  TileSlices slices(b, op, offsets, sizes);
  SmallVector<ShapedValue> values = getShapedValues(op);
  const ShapedValue &value =
      ArrayRef(values).take_back(op->getNumResults())[resultNumber];
  if (failed(slices.get(value, resultOffsets, resultSizes)))
    return failure();
  auto ssu = dyn_cast<SsuOp>(op);
  if (!ssu) {
    keepFirstOwner(b, op, slices, value, resultSizes);
    return success();
  }
  if (value.value == ssu.getNewState() && isConstantIntValue(sizes[0], 1)) {
    Slice slot = getDestinationSlot(b, ssu, offsets[0]);
    resultOffsets[0] = slot.offset;
    resultSizes[0] = slot.size;
  }
  return success();
}

/// Whether `size` is read from dimension `dim` of `tensor`.
bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim) {
  auto value = dyn_cast<Value>(size);
  auto read = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
  return read && read.getSource() == tensor && read.getConstantIndex() == dim;
}

/// The tile that computes one slice of a result: every dimension of it is a
/// loop, or whole.
FailureOr<TilingResult> tileForResult(OpBuilder &b, TilingInterface op,
                                      unsigned resultNumber,
                                      ArrayRef<OpFoldResult> offsets,
                                      ArrayRef<OpFoldResult> sizes) {
  ArrayRef<Role> loops = getLoops(op);
  SmallVector<OpFoldResult> tileOffsets(loops.size(), b.getIndexAttr(0)),
      tileSizes;
  for (Role role : loops)
    tileSizes.push_back(getRoleSize(b, op, role));
  SmallVector<ShapedValue> values = getShapedValues(op);
  const ShapedValue &result =
      ArrayRef(values).take_back(op->getNumResults())[resultNumber];
  for (auto [dim, role] : llvm::enumerate(result.roles)) {
    const auto *it = llvm::find(loops, role);
    if (it != loops.end()) {
      OpFoldResult &size = tileSizes[it - loops.begin()];
      tileOffsets[it - loops.begin()] = offsets[dim];
      if (!isSizeOf(sizes[dim], op->getResult(resultNumber), dim))
        size = sizes[dim];
    } else if (!isSameSize(sizes[dim], getRoleSize(b, op, role))) {
      return failure();
    }
  }
  FailureOr<TilingResult> tiled =
      op.getTiledImplementation(b, tileOffsets, tileSizes);
  if (succeeded(tiled))
    tiled->tiledValues = {tiled->tiledValues[resultNumber]};
  return tiled;
}

SmallVector<Range> getDomain(OpBuilder &b, Operation *op) {
  SmallVector<Range> domain;
  for (Role role : getLoops(op))
    domain.push_back(
        {b.getIndexAttr(0), getRoleSize(b, op, role), b.getIndexAttr(1)});
  return domain;
}

} // namespace

#define MAMBA_TILING(OP, TILE)                                                 \
  SmallVector<Range> OP::getIterationDomain(OpBuilder &b) {                    \
    return getDomain(b, *this);                                                \
  }                                                                            \
  SmallVector<utils::IteratorType> OP::getLoopIteratorTypes() {                \
    return SmallVector<utils::IteratorType>(getLoops(*this).size(),            \
                                            utils::IteratorType::parallel);    \
  }                                                                            \
  FailureOr<TilingResult> OP::getTiledImplementation(                          \
      OpBuilder &b, ArrayRef<OpFoldResult> offsets,                            \
      ArrayRef<OpFoldResult> sizes) {                                          \
    return TILE(b, *this, offsets, sizes);                                     \
  }                                                                            \
  LogicalResult OP::getResultTilePosition(                                     \
      OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,     \
      ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,  \
      SmallVector<OpFoldResult> &resultSizes) {                                \
    return getPosition(b, *this, resultNumber, offsets, sizes, resultOffsets,  \
                       resultSizes);                                           \
  }                                                                            \
  FailureOr<TilingResult> OP::generateResultTileValue(                         \
      OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,     \
      ArrayRef<OpFoldResult> sizes) {                                          \
    return tileForResult(b, cast<TilingInterface>(getOperation()),             \
                         resultNumber, offsets, sizes);                        \
  }
MAMBA_TILING(ChunkCumsumOp, tileByRole)
MAMBA_TILING(ChunkStateOp, tileByRole)
MAMBA_TILING(StatePassOp, tileByRole)
MAMBA_TILING(ChunkOutOp, tileByRole)
MAMBA_TILING(SsuOp, tileSsu)
#undef MAMBA_TILING

SmallVector<int64_t> ChunkCumsumOp::getUnitTile() { return {1, 0, 1}; }
SmallVector<int64_t> ChunkStateOp::getUnitTile() { return {1, 1, 1, 0, 0}; }
SmallVector<int64_t> StatePassOp::getUnitTile() { return {1, 1, 0, 0}; }
SmallVector<int64_t> ChunkOutOp::getUnitTile() { return {1, 1, 1, 0}; }
SmallVector<int64_t> SsuOp::getUnitTile() { return {1, 1, 0}; }

OpOperand *SsuOp::getUpdatedOperand(unsigned resultNumber) {
  // A row's new state goes to another slot than its state's, or to none.
  if (!getRow() && getNewState() && getResult(resultNumber) == getNewState())
    return &getStateMutable();
  return nullptr;
}
