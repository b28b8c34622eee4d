//===- MambaMemory.cpp - What a block does to memory ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

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
