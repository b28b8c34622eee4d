//===- Buffers.cpp - What a memref in a kernel refers to ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mamba;

/// The value that a loop-carried memref starts as, if every iteration hands on
/// the buffer it got.
static Value findInit(scf::ForOp loop, unsigned position);

Value mamba::findRoot(Value memref) {
  while (true) {
    if (auto arg = dyn_cast<BlockArgument>(memref)) {
      Operation *parent = arg.getOwner()->getParentOp();
      if (isa<gpu::GPUFuncOp>(parent))
        return memref;
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop || arg == loop.getInductionVar())
        return Value();
      memref = findInit(loop, arg.getArgNumber() - 1);
      if (!memref)
        return Value();
      continue;
    }
    Operation *op = memref.getDefiningOp();
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      return memref;
    if (auto view = dyn_cast<memref::ViewOp>(op);
        view && view.getSource().getDefiningOp<gpu::DynamicSharedMemoryOp>())
      return memref; // an allocation that has been placed
    if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      memref = view.getViewSource();
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      memref = findInit(loop, cast<OpResult>(memref).getResultNumber());
      if (!memref)
        return Value();
    } else {
      return Value();
    }
  }
}

static Value findInit(scf::ForOp loop, unsigned position) {
  // Follow the yielded value back to the iteration's own argument.
  Value yielded = loop.getYieldedValues()[position];
  while (yielded != loop.getRegionIterArg(position)) {
    auto view = yielded.getDefiningOp<ViewLikeOpInterface>();
    if (!view)
      return Value();
    yielded = view.getViewSource();
  }
  return loop.getInitArgs()[position];
}

bool mamba::isShared(Value memref) {
  Value root = findRoot(memref);
  if (!root)
    return false;
  if (root.getDefiningOp())
    return true;
  return gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
      cast<MemRefType>(root.getType()));
}

static Extent fromFoldResult(OpFoldResult size) {
  Extent extent;
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    extent.constant = *constant;
  else
    extent.value = cast<Value>(size);
  return extent;
}

Extent mamba::getExtent(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  Extent extent;
  if (!type.isDynamicDim(dim)) {
    extent.constant = type.getDimSize(dim);
    return extent;
  }
  Operation *op = memref.getDefiningOp();
  if (auto subview = dyn_cast_or_null<memref::SubViewOp>(op)) {
    llvm::SmallBitVector dropped = subview.getDroppedDims();
    int64_t kept = -1;
    for (auto [position, size] : llvm::enumerate(subview.getMixedSizes()))
      if (!dropped.test(position) && ++kept == dim)
        return fromFoldResult(size);
  }
  if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(op))
    return fromFoldResult(cast.getMixedSizes()[dim]);
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op))
    if (isa<MemRefType>(cast.getSource().getType()))
      return getExtent(cast.getSource(), dim);
  unsigned position = type.getDynamicDimIndex(dim);
  if (auto alloc = dyn_cast_or_null<memref::AllocOp>(op))
    return fromFoldResult(alloc.getDynamicSizes()[position]);
  if (auto view = dyn_cast_or_null<memref::ViewOp>(op))
    return fromFoldResult(view.getSizes()[position]);
  extent.value = memref;
  extent.dim = dim;
  return extent;
}

std::optional<int64_t> mamba::findUpperBound(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  auto smaller = [](std::optional<int64_t> lhs, std::optional<int64_t> rhs) {
    return lhs && rhs ? std::min(*lhs, *rhs) : lhs ? lhs : rhs;
  };
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MinSIOp, arith::MinUIOp>(op))
    return smaller(findUpperBound(op->getOperand(0)),
                   findUpperBound(op->getOperand(1)));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
    std::optional<int64_t> lhs = findUpperBound(select.getTrueValue());
    std::optional<int64_t> rhs = findUpperBound(select.getFalseValue());
    if (lhs && rhs)
      return std::max(*lhs, *rhs);
    return std::nullopt;
  }
  if (auto min = dyn_cast_or_null<affine::AffineMinOp>(op)) {
    std::optional<int64_t> bound;
    for (AffineExpr expr : min.getMap().getResults())
      if (auto constant = dyn_cast<AffineConstantExpr>(expr))
        bound = smaller(bound, constant.getValue());
    return bound;
  }
  return std::nullopt;
}

std::optional<int64_t> mamba::findUpperBound(const Extent &extent) {
  if (extent.isStatic())
    return extent.constant;
  if (extent.dim >= 0)
    return std::nullopt;
  return findUpperBound(extent.value);
}
