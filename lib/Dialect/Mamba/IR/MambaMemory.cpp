//===- MambaMemory.cpp - What a block does to memory ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

LogicalResult AsyncCopyOp::verify() {
  auto from = cast<MemRefType>(getSource().getType());
  auto to = cast<MemRefType>(getDestination().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return emitOpError("expected source and destination of the same rank and "
                       "element type, got ")
           << from << " and " << to;
  if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(to))
    return emitOpError("expected a destination in workgroup memory, got ")
           << to;
  if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(from))
    return emitOpError("expected a source in global memory, got ") << from;
  if (!to.hasStaticShape())
    return emitOpError("expected a destination of static shape, got ") << to;
  for (auto [dim, sizes] :
       llvm::enumerate(llvm::zip_equal(from.getShape(), to.getShape()))) {
    auto [source, destination] = sizes;
    if (!ShapedType::isDynamic(source) && source > destination)
      return emitOpError("expected at most ")
             << destination << " elements in dimension " << dim
             << " of the source, got " << source;
  }
  return success();
}

LogicalResult TensorMapOp::verify() {
  auto tensor =
      cast<nvgpu::TensorMapDescriptorType>(getMap().getType()).getTensor();
  auto base = cast<MemRefType>(getBase().getType());
  if (base.getElementType() != tensor.getElementType())
    return emitOpError("expected a base of ")
           << tensor.getElementType() << ", as the result's tensor, got "
           << base;
  int64_t rank = tensor.getRank();
  if (!tensor.hasStaticShape() || rank < 1 || rank > 5)
    return emitOpError(
               "expected a box of static shape and of rank 1 to 5, got ")
           << tensor;
  if (static_cast<int64_t>(getSizes().size()) != rank ||
      static_cast<int64_t>(getStrides().size()) != rank)
    return emitOpError("expected ")
           << rank << " sizes and strides, as the box has dimensions, got "
           << getSizes().size() << " and " << getStrides().size();
  return success();
}

MemRefType TensorCopyOp::getBox() {
  return cast<nvgpu::TensorMapDescriptorType>(getMap().getType()).getTensor();
}

int64_t TensorCopyOp::getNumBoxes() {
  auto tile = cast<MemRefType>(getDestination().getType());
  return llvm::divideCeil(tile.getShape().back(), getBox().getShape().back());
}

int64_t TensorCopyOp::getNumBytes() {
  MemRefType box = getBox();
  return getNumBoxes() * box.getNumElements() * box.getElementTypeBitWidth() /
         8;
}

LogicalResult TensorCopyOp::verify() {
  auto map = cast<nvgpu::TensorMapDescriptorType>(getMap().getType());
  MemRefType box = map.getTensor();
  auto tile = cast<MemRefType>(getDestination().getType());
  if (!box.hasStaticShape() || box.getRank() < 1 || box.getRank() > 5 ||
      llvm::any_of(box.getShape(), [](int64_t size) { return size < 1; }))
    return emitOpError(
               "expected a box of static shape and of rank 1 to 5, got ")
           << box;
  if (static_cast<int64_t>(getCoordinates().size()) != box.getRank())
    return emitOpError("expected ")
           << box.getRank() << " coordinates, as the box has dimensions, got "
           << getCoordinates().size();
  if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(tile))
    return emitOpError("expected a destination in workgroup memory, got ")
           << tile;
  if (!tile.hasStaticShape() || tile.getRank() < 1 || tile.getRank() > 2 ||
      llvm::any_of(tile.getShape(), [](int64_t size) { return size < 1; }))
    return emitOpError("expected a destination of static shape and of rank 1 "
                       "or 2, got ")
           << tile;
  if (tile.getElementType() != box.getElementType() ||
      !tile.getElementType().isIntOrFloat())
    return emitOpError("expected a destination of the map's elements, got ")
           << tile << " and " << box;
  // Tiles have room for a power of two of rows.
  int64_t rows = tile.getRank() == 2 ? tile.getDimSize(0) : 1;
  int64_t boxRows = box.getNumElements() / box.getShape().back();
  if (boxRows < rows || boxRows > int64_t(llvm::PowerOf2Ceil(rows)))
    return emitOpError("expected boxes of the ")
           << rows << " rows of the tile, or of the next power of two, got "
           << boxRows;
  if (!getBarriers() != !getBarrier())
    return emitOpError("expected barriers together with a barrier's number");
  return success();
}
