//===- MambaMemory.cpp - What a block does to memory ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

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
