//===- Captures.cpp - What a loop over blocks uses from outside -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Captures.h"
#include "mamba/Dialect/Mamba/IR/Pitches.h"
#include "mamba/Dialect/Mamba/IR/SizeNames.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mamba;

Captures::Key Captures::keyOf(Value value) {
  if (auto dimOp = value.getDefiningOp<memref::DimOp>())
    if (std::optional<int64_t> dim = dimOp.getConstantIndex())
      return {dimOp.getSource(), *dim};
  return {value, -1};
}

bool Captures::isBuffer(Value value) {
  if (!isa<MemRefType>(value.getType()))
    return false;
  if (auto alloc = value.getDefiningOp<memref::AllocOp>())
    return alloc->getBlock() == loop->getBlock();
  return isa<BlockArgument>(value) &&
         value.getParentBlock() == &function.getBody().front();
}

OpFoldResult Captures::sizeOf(Value buffer, int64_t dim) {
  // Sizes of one name are one kernel parameter.
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    std::tie(buffer, dim) = getFirstOfSize(argument, dim);
  auto type = cast<MemRefType>(buffer.getType());
  OpBuilder builder(loop);
  if (!type.isDynamicDim(dim))
    return builder.getIndexAttr(type.getDimSize(dim));
  if (auto alloc = buffer.getDefiningOp<memref::AllocOp>())
    return getAsOpFoldResult(
        alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  for (Operation *user : buffer.getUsers())
    if (auto dimOp = dyn_cast<memref::DimOp>(user))
      if (dimOp.getConstantIndex() == dim &&
          dimOp->getBlock() == loop->getBlock() && dimOp->isBeforeInBlock(loop))
        return dimOp.getResult();
  return memref::DimOp::create(builder, loop.getLoc(), buffer, dim).getResult();
}

std::pair<Value, int64_t> Captures::strideOf(Value buffer, int64_t dim) {
  int64_t unit = getPitchUnit(cast<MemRefType>(buffer.getType()));
  Value &stride = strides[{buffer, dim}];
  if (!stride) {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    stride = memref::ExtractStridedMetadataOp::create(builder, loc, buffer)
                 .getStrides()[dim];
    if (unit != 1)
      stride = arith::DivSIOp::create(
          builder, loc, stride,
          arith::ConstantIndexOp::create(builder, loc, unit));
  }
  return {stride, unit};
}

void Captures::hoistSizes() {
  SmallVector<memref::DimOp> dimOps;
  loop.getRegion().walk([&](memref::DimOp dimOp) {
    if (isBuffer(dimOp.getSource()) && dimOp.getConstantIndex())
      dimOps.push_back(dimOp);
  });
  OpBuilder builder(loop);
  for (memref::DimOp dimOp : dimOps) {
    OpFoldResult size = sizeOf(dimOp.getSource(), *dimOp.getConstantIndex());
    dimOp.replaceAllUsesWith(
        getValueOrCreateConstantIndexOp(builder, dimOp.getLoc(), size));
    dimOp.erase();
  }
}

void Captures::addIndex(OpFoldResult value) {
  if (getConstantIntValue(value))
    return;
  indexValues.insert(cast<Value>(value));
  indices.insert({keyOf(cast<Value>(value)), cast<Value>(value)});
}

std::optional<unsigned> Captures::findIndex(Value value) const {
  const auto *it = indices.find(keyOf(value));
  if (it == indices.end())
    return std::nullopt;
  return it - indices.begin();
}

LogicalResult Captures::refuse(Value value, StringRef expected) {
  InFlightDiagnostic diag = loop.emitOpError("expected ")
                            << expected << ", got " << value.getType();
  diag.attachNote(value.getLoc()) << "captured here";
  return diag;
}

LogicalResult Captures::add(Value value) {
  if (isBuffer(value)) {
    if (!getNumPitches(cast<MemRefType>(value.getType())))
      return refuse(value, "captured buffers that are dense but for their "
                           "leading strides");
    buffers.insert(value);
    return success();
  }
  Operation *op = value.getDefiningOp();
  // The kernel must see constants, and the minimum that bounds a tile's size.
  bool isSeen =
      matchPattern(value, m_Constant()) ||
      isa_and_nonnull<arith::MinSIOp, arith::MinUIOp, affine::AffineMinOp>(op);
  if (value.getType().isIndex() && !isSeen) {
    addIndex(value);
    return success();
  }
  // A kernel's module does not hold the host's constants.
  bool isGlobal = isa_and_nonnull<memref::GetGlobalOp>(op);
  if (op && !isGlobal && isMemoryEffectFree(op) && op->getNumRegions() == 0) {
    for (Value operand : op->getOperands())
      if (failed(add(operand)))
        return failure();
    recomputed.insert(op);
    return success();
  }
  if (isa<BaseMemRefType>(value.getType()))
    return refuse(value, "captured buffers to be arguments of the function, "
                         "allocs in it or views of those");
  return refuse(value, "captured values of type index or memref, or computed "
                       "from such values");
}

LogicalResult Captures::collect() {
  hoistSizes();
  Region &body = loop.getRegion();
  WalkResult result = body.walk([&](Operation *op) {
    if (auto global = dyn_cast<memref::GetGlobalOp>(op)) {
      (void)refuse(global, "no constant tensors in a kernel (pass them as "
                           "arguments)");
      return WalkResult::interrupt();
    }
    for (Value operand : op->getOperands())
      if (!body.isAncestor(operand.getParentRegion()) && failed(add(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void Captures::addSizes() {
  // The function's order is easier to read than the order of first use, and
  // does not change with the body.
  SmallVector<Value> sorted = buffers.takeVector();
  llvm::sort(sorted, [](Value lhs, Value rhs) {
    auto lhsArg = dyn_cast<BlockArgument>(lhs);
    auto rhsArg = dyn_cast<BlockArgument>(rhs);
    if (lhsArg && rhsArg)
      return lhsArg.getArgNumber() < rhsArg.getArgNumber();
    if (lhsArg || rhsArg)
      return static_cast<bool>(lhsArg);
    return lhs.getDefiningOp()->isBeforeInBlock(rhs.getDefiningOp());
  });
  buffers.insert(sorted.begin(), sorted.end());
  for (Value buffer : buffers) {
    auto type = cast<MemRefType>(buffer.getType());
    for (int64_t dim : llvm::seq(type.getRank()))
      addIndex(sizeOf(buffer, dim));
    if (type.getLayout().isIdentity())
      continue;
    for (int64_t dim : llvm::seq(*getNumPitches(type)))
      addIndex(strideOf(buffer, dim).first);
  }
}
