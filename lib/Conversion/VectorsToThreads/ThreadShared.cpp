//===- ThreadShared.cpp - Tiles in shared memory --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Divisors.h"
#include "ThreadProgram.h"

#include "mamba/Conversion/StagedBuffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

static Swizzle toSwizzle(int64_t span) {
  switch (span) {
  case 32:
    return Swizzle::Bytes32;
  case 64:
    return Swizzle::Bytes64;
  case 128:
    return Swizzle::Bytes128;
  default:
    return Swizzle::None;
  }
}

/// Where the elements of one stage's tile lie, (dim0, dim1) or (dim0).
static LinearLayout getTileOffsets(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  unsigned bytes = type.getElementTypeBitWidth() / 8;
  ArrayRef<int64_t> shape = type.getShape().drop_front();
  if (shape.size() == 1)
    return LinearLayout::identity(tensorDim(0), kOffset,
                                  llvm::PowerOf2Ceil(shape[0]));
  SharedTile tile;
  tile.rows = llvm::PowerOf2Ceil(shape[0]);
  tile.columns = llvm::PowerOf2Ceil(shape[1]);
  tile.elementBytes = bytes;
  tile.swizzle = toSwizzle(mamba::getSwizzle(alloc));
  return sharedOffsets(tile);
}

FailureOr<SharedTileRef> ThreadProgram::getSharedTile(Value memref,
                                                      Operation *user) {
  auto view = memref.getDefiningOp<memref::SubViewOp>();
  auto alloc = view ? view.getSource().getDefiningOp<memref::AllocOp>()
                    : memref::AllocOp();
  if (!alloc || !alloc.getType().hasStaticShape() ||
      alloc.getType().getRank() < 2 || alloc.getType().getRank() > 3)
    return user->emitOpError("expected one stage of a buffer of stages of "
                             "tiles in shared memory");
  for (unsigned dim = 1; dim < alloc.getType().getRank(); ++dim)
    if (!isConstantIntValue(view.getMixedOffsets()[dim], 0))
      return user->emitOpError("expected a whole tile of the buffer");
  SharedTileRef tile;
  tile.offsets = getTileOffsets(alloc);
  int64_t size = tile.offsets.getOutSize(kOffset);
  Value &buffer = flat[alloc.getResult()];
  if (!buffer) {
    OpBuilder::InsertionGuard guard(b);
    // The new program starts behind the old one.
    b.setInsertionPointAfter(warp.getDefiningOp());
    auto type = MemRefType::get({alloc.getType().getDimSize(0) * size},
                                alloc.getType().getElementType(),
                                MemRefLayoutAttrInterface(),
                                alloc.getType().getMemorySpace());
    buffer = memref::AllocOp::create(b, alloc.getLoc(), type,
                                     b.getI64IntegerAttr(kSwizzledAlignment));
  }
  tile.buffer = buffer;
  OpFoldResult stage = view.getMixedOffsets()[0];
  if (!isConstantIntValue(stage, 0)) {
    Value number = isa<Value>(stage)
                       ? map.lookupOrDefault(cast<Value>(stage))
                       : constantIndex(*getConstantIntValue(stage));
    tile.base = arith::MulIOp::create(b, loc(), number, constantIndex(size));
  }
  return tile;
}

LogicalResult ThreadProgram::rewriteSharedRead(vector::TransferReadOp op) {
  FailureOr<SharedTileRef> tile = getSharedTile(op.getBase(), op);
  if (failed(tile))
    return failure();
  VectorType type = op.getVectorType();
  Held held = getHeld(op.getResult());
  // The box of the vector within the tile.
  Coordinates first;
  for (Value index : op.getIndices()) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    if (!constant)
      return op.emitOpError("expected constant indices in a shared tile");
    first.push_back(*constant);
  }
  LinearLayout offsets = tile->offsets;
  SmallVector<uint32_t, 4> padded = mamba::getPaddedShape(type);
  BinaryVectors columns;
  LayoutDims ins;
  for (auto [dim, size] : llvm::enumerate(padded)) {
    if (first[dim] & (size - 1))
      return op.emitOpError("expected an index that is a multiple of the size ")
             << size << ", got " << first[dim];
    unsigned bits = llvm::Log2_32(size);
    if (bits > offsets.getInBits(tensorDim(dim)))
      return op.emitOpError("expected a vector within the tile");
    ins.push_back({tensorDim(dim), bits});
    for (unsigned bit = 0; bit < bits; ++bit)
      columns.push_back(offsets.getColumns(tensorDim(dim))[bit]);
  }
  uint32_t constant = offsets.apply(first)[0];
  LinearLayout box = LinearLayout::fromColumns(
      std::move(ins), LayoutDims(offsets.getOuts()), std::move(columns));
  ConversionOptions options;
  options.elementBytes = type.getElementTypeBitWidth() / 8;
  llvm::Expected<std::vector<ConversionStep>> steps =
      planSharedLoad(held.layout, box, options);
  if (!steps)
    return op.emitOpError("expected a layout that shared memory can give: ")
           << llvm::toString(steps.takeError());
  // Registers that do not exist are not loaded, if the steps tell.
  Value file;
  for (auto [index, step] : llvm::enumerate(*steps)) {
    if (step.kind != ConversionStep::Load) {
      FailureOr<Value> next =
          runStep(step, file, type.getElementType(), *tile, constant, 0, op);
      if (failed(next))
        return failure();
      file = *next;
      continue;
    }
    SmallVector<bool> needed;
    if (steps->size() == 1) {
      needed.assign(step.access.offsets.getInSize(kRegister), false);
      for (uint32_t number : held.registers)
        needed[number] = true;
    }
    file =
        loadShared(step.access, type.getElementType(), *tile, constant, needed);
  }
  map.map(op.getResult(), fromFile(file, held));
  return success();
}

LogicalResult ThreadProgram::rewriteAsyncCopy(AsyncCopyOp copy) {
  Value original = copy.getSource(), source = map.lookupOrDefault(original);
  FailureOr<SharedTileRef> tile = getSharedTile(copy.getDestination(), copy);
  if (failed(tile))
    return failure();
  auto type = cast<MemRefType>(copy.getDestination().getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  unsigned rank = type.getRank();
  int64_t rows = rank == 2 ? type.getDimSize(0) : 1;
  int64_t columns = type.getShape().back();
  // Elements of one copy: cp.async moves 4, 8 or 16 bytes.
  KnownDivisors known = getKnownDivisors(original);
  int64_t aligned = known.offset;
  if (rank == 2)
    aligned = std::min(aligned, known.strides[0]);
  auto sourceType = cast<MemRefType>(source.getType());
  bool isWhole = !sourceType.isDynamicDim(rank - 1) &&
                 sourceType.getDimSize(rank - 1) == columns;
  int64_t width = 16 / bytes;
  while (width > 1 && (aligned % width || columns % width))
    width /= 2;
  if (!isWhole && width * bytes > 4)
    width = std::max<int64_t>(1, 4 / bytes);
  if (width * bytes < 4)
    return copy.emitOpError("expected rows that start at multiples of 4 bytes");
  if (!isWhole && width != 1)
    return copy.emitOpError("expected whole rows of elements of two bytes");

  int64_t threads = int64_t(warps) * 32, perRow = columns / width;
  // Up to the next power of two there are zeros too: a warp may read them.
  int64_t paddedRows = llvm::PowerOf2Ceil(rows);
  if (rank == 1)
    perRow = llvm::divideCeil(int64_t(llvm::PowerOf2Ceil(columns)), width);
  int64_t total = paddedRows * perRow;
  uint32_t widthBits = llvm::Log2_64(width);
  // Each thread copies the same columns of rows that are `rowStep` apart, if
  // the copies of a row divide the threads.
  bool isEven = threads % perRow == 0;
  int64_t rowStep = threads / perRow;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc(), source);
  Value rowStride = rank == 2 ? metadata.getStrides()[0] : Value();
  // Sizes to compare with, in 32 bits: a tile is small.
  auto getSize = [&](unsigned dim) -> Value {
    if (sourceType.isDynamicDim(dim)) {
      Value size = arith::MinSIOp::create(b, loc(), metadata.getSizes()[dim],
                                          constantIndex(type.getDimSize(dim)));
      return arith::IndexCastOp::create(b, loc(), b.getI32Type(), size);
    }
    bool isPadded =
        (rank == 1 || dim == 0) && !llvm::isPowerOf2_64(type.getDimSize(dim));
    if (sourceType.getDimSize(dim) < type.getDimSize(dim) || isPadded)
      return constantI32(sourceType.getDimSize(dim));
    return {};
  };
  Value rowSize = rank == 2 ? getSize(0) : Value();
  Value columnSize = getSize(rank - 1);
  auto getOffset = [&](Value row, Value column) {
    Value offset =
        arith::AddIOp::create(b, loc(), metadata.getOffset(), toIndex(column));
    if (rank != 2)
      return offset;
    Value ofRow = arith::MulIOp::create(b, loc(), toIndex(row), rowStride);
    return arith::AddIOp::create(b, loc(), offset, ofRow).getResult();
  };
  auto isBelow = [&](Value coordinate, Value size) -> Value {
    return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::slt,
                                 coordinate, size);
  };
  Value firstRow, firstColumn, firstOffset, firstPlace, lastOffset;
  uint64_t possible = 0;
  if (isEven) {
    firstRow = arith::DivUIOp::create(b, loc(), threadId, constantI32(perRow));
    Value inRow =
        arith::RemUIOp::create(b, loc(), threadId, constantI32(perRow));
    firstColumn =
        arith::ShLIOp::create(b, loc(), inRow, constantI32(widthBits));
    firstOffset = getOffset(firstRow, firstColumn);
    firstPlace = applyOffsets(tile->offsets, firstRow, firstColumn);
    for (unsigned dim = 0; dim < rank; ++dim) {
      uint64_t largest = rank == 2 && dim == 0 ? rowStep - 1 : columns - 1;
      auto ofDim = tile->offsets.getColumns(tensorDim(dim));
      for (unsigned bit = 0; bit < ofDim.size(); ++bit)
        if (largest >> bit)
          possible |= ofDim[bit];
    }
  }
  for (int64_t start = 0; start < total; start += threads) {
    OpBuilder::InsertionGuard guard(b);
    if (start + threads > total) {
      Value isOwn = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ult,
                                          threadId, constantI32(total - start));
      auto branch = scf::IfOp::create(b, loc(), isOwn, /*withElse=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    Value row, column, offset, place;
    // The rows' bits of a step may overlap those within it, unless the step is
    // a power of two.
    if (isEven && (start == 0 || llvm::isPowerOf2_64(rowStep))) {
      int64_t rowsBefore = start / perRow;
      row = firstRow;
      if (rowsBefore)
        row = arith::AddIOp::create(b, loc(), row, constantI32(rowsBefore));
      column = firstColumn;
      offset = firstOffset;
      Coordinates before(rank, 0);
      before[0] = rank == 2 ? rowsBefore : 0;
      place = addConstantToIndex(firstPlace, possible,
                                 tile->offsets.apply(before)[0]);
      // From one to the next, so that a loop around does not keep all of them.
      if (rowsBefore) {
        Value ahead =
            arith::MulIOp::create(b, loc(), rowStride, constantIndex(rowStep));
        offset = arith::AddIOp::create(b, loc(), lastOffset, ahead);
      }
      lastOffset = offset;
    } else {
      Value chunk =
          arith::AddIOp::create(b, loc(), threadId, constantI32(start));
      row = arith::DivUIOp::create(b, loc(), chunk, constantI32(perRow));
      column = arith::RemUIOp::create(b, loc(), chunk, constantI32(perRow));
      column = arith::ShLIOp::create(b, loc(), column, constantI32(widthBits));
      offset = getOffset(row, column);
      place = toIndex(applyOffsets(tile->offsets, row, column));
    }
    if (tile->base)
      place = arith::AddIOp::create(b, loc(), tile->base, place);
    // Past the end nothing is read, whatever the address: zeros are written.
    Value within = rowSize ? isBelow(row, rowSize) : Value();
    if (columnSize) {
      within = both(within, isBelow(column, columnSize));
    }
    Value count;
    if (within)
      count = arith::SelectOp::create(b, loc(), within, constantIndex(width),
                                      constantIndex(0));
    auto elements = memref::ReinterpretCastOp::create(
        b, loc(),
        MemRefType::get(
            {width}, type.getElementType(),
            StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}),
            sourceType.getMemorySpace()),
        metadata.getBaseBuffer(), OpFoldResult(offset),
        ArrayRef<OpFoldResult>{b.getIndexAttr(width)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    nvgpu::DeviceAsyncCopyOp::create(
        b, loc(), nvgpu::DeviceAsyncTokenType::get(b.getContext()),
        tile->buffer, ValueRange{place}, elements, ValueRange{constantIndex(0)},
        b.getIndexAttr(width), count,
        width * bytes == 16 ? b.getUnitAttr() : UnitAttr());
  }
  return success();
}
