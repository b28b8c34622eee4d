//===- TensorTiles.cpp - Tiles as boxes of a tensor map -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sources: PTX ISA, "Tensors" and "cp.async.bulk.tensor"; CUDA driver API,
// cuTensorMapEncodeTiled, for the limits.
//
//===----------------------------------------------------------------------===//

#include "TensorTiles.h"

#include "mamba/Conversion/StagedBuffers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

/// Limits of tensor maps.
static constexpr unsigned kMostDims = 5;
static constexpr int64_t kMostElements = 256; // of a box in a dimension
static constexpr int64_t kUnitBytes = 16;     // of strides and rows
static constexpr int64_t kTileAlignment = 128;

bool TensorTile::hasMapOf(const TensorTile &other) const {
  auto isSame = [](const Dim &lhs, const Dim &rhs) {
    return lhs.size == rhs.size && lhs.stride == rhs.stride;
  };
  return base == other.base && type == other.type &&
         std::equal(dims.begin(), dims.end(), other.dims.begin(),
                    other.dims.end(), isSame);
}

namespace {

/// Follows the views from the kernel's argument to a tile.
struct TensorView {
  BlockArgument base;
  SmallVector<TensorTile::Dim> dims;
  /// The dimensions that the memref has, and its sizes in them.
  SmallVector<unsigned> kept;
  SmallVector<OpFoldResult> sizes;
};

class TileFinder {
public:
  TileFinder(AsyncCopyOp copy, SizeSums &sums, TensorTile &tile,
             std::string &reason)
      : copy(copy), type(cast<MemRefType>(copy.getDestination().getType())),
        sums(sums), tile(tile), reason(reason) {}

  LogicalResult run();

private:
  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }
  LogicalResult follow(Value memref);
  LogicalResult clip(unsigned number);
  LogicalResult orderDims();
  LogicalResult checkStrides();
  int64_t getElementBytes() const { return type.getElementTypeBitWidth() / 8; }
  SizeSum getPosition(const TensorTile::Dim &dim);

  AsyncCopyOp copy;
  MemRefType type;
  SizeSums &sums;
  TensorTile &tile;
  std::string &reason;
  TensorView view;
};

} // namespace

LogicalResult TileFinder::follow(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (auto other = dyn_cast_or_null<memref::CastOp>(op))
    return follow(other.getSource());
  if (auto subview = dyn_cast_or_null<memref::SubViewOp>(op)) {
    if (failed(follow(subview.getSource())))
      return failure();
    if (!llvm::all_of(subview.getMixedStrides(), isOneInteger))
      return refuse("its elements are not side by side");
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    SmallVector<unsigned> kept;
    view.sizes.clear();
    for (auto [position, offset] : llvm::enumerate(subview.getMixedOffsets())) {
      view.dims[view.kept[position]].position.push_back({offset, 1});
      if (dropped.test(position))
        continue;
      kept.push_back(view.kept[position]);
      view.sizes.push_back(subview.getMixedSizes()[position]);
    }
    view.kept = std::move(kept);
    return success();
  }

  SmallVector<OpFoldResult> sizes, strides;
  Builder builder(copy);
  auto argument = dyn_cast<BlockArgument>(memref);
  if (auto rebuilt = dyn_cast_or_null<memref::ReinterpretCastOp>(op);
      rebuilt && isZeroInteger(rebuilt.getMixedOffsets()[0])) {
    sizes = rebuilt.getMixedSizes();
    strides = rebuilt.getMixedStrides();
    argument = dyn_cast<BlockArgument>(rebuilt.getSource());
  } else if (argument) {
    auto whole = cast<MemRefType>(memref.getType());
    if (!whole.hasStaticShape() || !whole.getLayout().isIdentity())
      argument = nullptr;
    sizes = getAsIndexOpFoldResult(builder.getContext(), whole.getShape());
    if (argument)
      strides = getAsIndexOpFoldResult(builder.getContext(),
                                       whole.getStridesAndOffset().first);
  }
  if (!argument || !isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()))
    return refuse("it is not part of a tensor that starts at an argument");
  view.base = argument;
  for (auto [number, size] : llvm::enumerate(sizes)) {
    TensorTile::Dim dim;
    dim.size = sums.get(size);
    dim.stride = sums.get(strides[number]);
    if (!sums.isUniform(dim.size) || !sums.isUniform(dim.stride))
      return refuse("its tensor's sizes or strides differ from block to block");
    view.dims.push_back(std::move(dim));
    view.kept.push_back(number);
  }
  view.sizes = std::move(sizes);
  return success();
}

SizeSum TileFinder::getPosition(const TensorTile::Dim &dim) {
  SizeSum sum;
  for (auto [value, factor] : dim.position)
    sum = sum + sums.get(value) * SizeSum(factor);
  return sum;
}

/// Chooses the size of the tensor in the tile's dimension `number` such that
/// zeros start where the tile ends.
LogicalResult TileFinder::clip(unsigned number) {
  TensorTile::Dim &dim = view.dims[view.kept[number]];
  dim.box = llvm::PowerOf2Ceil(type.getDimSize(number));
  SmallVector<SizeSum> ends;
  auto isAtLeast = [&](const SizeSum &sum, const SizeSum &other) {
    std::optional<int64_t> least = sums.getLowerBound(sum - other);
    return least && *least >= 0;
  };
  for (const SizeSum &end : sums.getMinimumOf(sums.get(view.sizes[number]))) {
    if (isAtLeast(end, dim.box) ||
        llvm::any_of(ends, [&](auto &other) { return isAtLeast(end, other); }))
      continue;
    llvm::erase_if(ends, [&](auto &other) { return isAtLeast(other, end); });
    ends.push_back(end);
  }
  if (ends.empty())
    return success(); // the whole box is part of the tensor
  if (ends.size() > 1)
    return refuse("its size in dimension " + Twine(number) +
                  " has several bounds");
  SizeSum end = ends.front() + getPosition(dim);
  if (sums.isUniform(end)) {
    dim.size = end;
    return success();
  }
  // The bound may run on from one row of a dimension around to the next.
  for (auto &outer : llvm::reverse(view.dims)) {
    unsigned outerNumber = &outer - view.dims.data();
    if (&outer == &dim || llvm::is_contained(view.kept, outerNumber))
      continue;
    std::optional<int64_t> factor = outer.stride.getMultipleOf(dim.stride);
    if (!factor || *factor < 1)
      continue;
    SizeSum joined = end + getPosition(outer) * SizeSum(*factor);
    if (!sums.isUniform(joined))
      continue;
    for (auto [value, times] : outer.position)
      dim.position.push_back({value, times * *factor});
    dim.size = joined;
    view.dims.erase(&outer);
    for (unsigned &kept : view.kept)
      kept -= kept > outerNumber;
    return success();
  }
  return refuse("elements past its end in dimension " + Twine(number) +
                " have to be zero, but are elements of the tensor");
}

/// The contiguous dimension goes last; dimensions of one element go away.
LogicalResult TileFinder::orderDims() {
  unsigned contiguous = view.kept.back();
  for (auto [number, dim] : llvm::enumerate(view.dims)) {
    bool isTile = llvm::is_contained(view.kept, number);
    if (number != contiguous && (isTile || dim.size != SizeSum(1)))
      tile.dims.push_back(dim);
  }
  tile.dims.push_back(view.dims[contiguous]);
  if (tile.dims.back().stride != SizeSum(1))
    return refuse("its rows are not contiguous");
  if (tile.dims.size() > kMostDims)
    return refuse("its tensor has " + Twine(tile.dims.size()) +
                  " dimensions, more than " + Twine(kMostDims));
  return success();
}

LogicalResult TileFinder::checkStrides() {
  int64_t unit = kUnitBytes / getElementBytes();
  for (auto [number, dim] : llvm::enumerate(ArrayRef(tile.dims).drop_back()))
    for (const auto &[product, factor] : dim.stride.getTerms())
      if (factor % unit != 0 || factor < 0)
        return refuse("the tensor's stride in dimension " + Twine(number) +
                      " may not be a multiple of " + Twine(kUnitBytes) +
                      " bytes");
  if (sums.getDivisor(getPosition(tile.dims.back())) % unit != 0)
    return refuse("its rows may not start at a multiple of " +
                  Twine(kUnitBytes) + " bytes");
  return success();
}

LogicalResult TileFinder::run() {
  Type element = type.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (bits != 16 && bits != 32)
    return refuse("its elements have neither 16 nor 32 bits");
  auto subview = copy.getDestination().getDefiningOp<memref::SubViewOp>();
  Operation *alloc = subview ? subview.getSource().getDefiningOp() : nullptr;
  if (!isStagedBuffer(alloc) || type.getRank() > 2)
    return refuse("its destination is no stage of a buffer of tiles");
  if (failed(follow(copy.getSource())))
    return failure();
  for (unsigned number = 0, rank = type.getRank(); number < rank; ++number)
    if (failed(clip(number)))
      return failure();
  if (failed(orderDims()) || failed(checkStrides()))
    return failure();

  // The box of a tile's rows, or as much of them as the swizzle spans.
  int64_t swizzle = getSwizzle(alloc);
  int64_t &columns = tile.dims.back().box;
  int64_t most = swizzle ? swizzle / getElementBytes() : kMostElements;
  int64_t padded = columns;
  columns = std::min(columns, most);
  SmallVector<int64_t> box;
  for (const TensorTile::Dim &dim : tile.dims) {
    if (dim.box > kMostElements)
      return refuse("it has " + Twine(dim.box) + " rows, more than " +
                    Twine(kMostElements));
    box.push_back(dim.box);
  }
  int64_t rowBytes = columns * getElementBytes();
  int64_t boxBytes = llvm::product_of(box) * getElementBytes();
  if (rowBytes % kUnitBytes != 0 || (swizzle && rowBytes != swizzle) ||
      boxBytes % kTileAlignment != 0)
    return refuse("its rows of " + Twine(padded) +
                  " elements are no boxes of whole " + Twine(kTileAlignment) +
                  " bytes");
  tile.base = view.base;
  auto space = IntegerAttr::get(IntegerType::get(copy.getContext(), 64), 3);
  auto kind = swizzle == 128  ? nvgpu::TensorMapSwizzleKind::SWIZZLE_128B
              : swizzle == 64 ? nvgpu::TensorMapSwizzleKind::SWIZZLE_64B
              : swizzle == 32 ? nvgpu::TensorMapSwizzleKind::SWIZZLE_32B
                              : nvgpu::TensorMapSwizzleKind::SWIZZLE_NONE;
  tile.type = nvgpu::TensorMapDescriptorType::get(
      copy.getContext(),
      MemRefType::get(box, element, MemRefLayoutAttrInterface(), space), kind,
      nvgpu::TensorMapL2PromoKind::L2PROMO_128B,
      nvgpu::TensorMapOOBKind::OOB_ZERO,
      nvgpu::TensorMapInterleaveKind::INTERLEAVE_NONE);
  return success();
}

LogicalResult mamba::findTensorTile(AsyncCopyOp copy, SizeSums &sums,
                                    TensorTile &tile, std::string &reason) {
  return TileFinder(copy, sums, tile, reason).run();
}
