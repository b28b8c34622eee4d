//===- StagedBuffers.cpp - Tiles in shared memory -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Conversion/StagedBuffers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

int64_t mamba::chooseSwizzle(ArrayRef<int64_t> shape, int64_t elementBytes) {
  if (shape.size() != 2)
    return 0;
  int64_t rowBytes = llvm::PowerOf2Ceil(shape[1]) * elementBytes;
  for (int64_t span : {128, 64, 32})
    if (span <= rowBytes)
      return span;
  return 0;
}

bool mamba::isStagedBuffer(Operation *alloc) {
  return isa_and_present<memref::AllocOp, memref::ViewOp>(alloc) &&
         alloc->hasAttrOfType<IntegerAttr>(kSwizzleAttrName);
}

int64_t mamba::getSwizzle(Operation *alloc) {
  auto swizzle = alloc->getAttrOfType<IntegerAttr>(kSwizzleAttrName);
  return swizzle ? swizzle.getInt() : 0;
}

int64_t mamba::getStageBytes(MemRefType type, int64_t swizzle) {
  int64_t elements = 1;
  for (int64_t size : type.getShape().drop_front())
    elements *= swizzle ? llvm::PowerOf2Ceil(size) : size;
  int64_t bytes = elements * type.getElementTypeBitWidth() / 8;
  return swizzle ? llvm::alignTo(bytes, kSwizzledAlignment) : bytes;
}

int64_t mamba::getStagedBytes(MemRefType type, int64_t swizzle) {
  return type.getDimSize(0) * getStageBytes(type, swizzle);
}

nvgpu::DeviceAsyncCreateGroupOp mamba::createCopyGroup(OpBuilder &builder,
                                                       Location loc) {
  auto group =
      nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, ValueRange());
  // Without an attribute the parser takes the next line's result for an operand
  // (docs/upstream-workarounds.md).
  group->setAttr("mamba.group", builder.getUnitAttr());
  return group;
}

int64_t mamba::getPaddedBytes(memref::AllocOp alloc) {
  int64_t bytes = getStagedBytes(alloc.getType(), getSwizzle(alloc));
  return llvm::alignTo(bytes, kStagedAlignment);
}

int64_t mamba::getBufferBytes(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (isStagedBuffer(alloc))
      bytes += getPaddedBytes(alloc);
    else if (type.hasStaticShape() && type.getElementType().isIntOrFloat())
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  });
  return bytes;
}
