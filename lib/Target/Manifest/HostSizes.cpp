//===- HostSizes.cpp - Evaluates index arithmetic of a function -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostSizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mamba {
namespace {

SizeExpression evaluateAffine(AffineExpr expr, unsigned numDims,
                              ArrayRef<SizeExpression> operands) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return SizeExpression::constant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  SizeExpression x = evaluateAffine(binary.getLHS(), numDims, operands);
  SizeExpression y = evaluateAffine(binary.getRHS(), numDims, operands);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return x + y;
  case AffineExprKind::Mul:
    return x * y;
  case AffineExprKind::Mod:
    return SizeExpression::mod(x, y);
  case AffineExprKind::FloorDiv:
    return SizeExpression::floorDiv(x, y);
  case AffineExprKind::CeilDiv:
    return SizeExpression::ceilDiv(x, y);
  default:
    llvm_unreachable("not a binary affine expression");
  }
}

/// The smallest or largest result of a map.
SizeExpression evaluateMap(AffineMap map, ArrayRef<SizeExpression> operands,
                           SizeExpression (*combine)(const SizeExpression &,
                                                     const SizeExpression &)) {
  SizeExpression result =
      evaluateAffine(map.getResult(0), map.getNumDims(), operands);
  for (AffineExpr expr : map.getResults().drop_front())
    result = combine(result, evaluateAffine(expr, map.getNumDims(), operands));
  return result;
}

/// arith has one expression for each of these only if nothing is negative.
bool needsNonNegative(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::CeilDivUIOp, arith::MinUIOp, arith::MaxUIOp, arith::ExtUIOp,
             arith::IndexCastUIOp>(op);
}

} // namespace

Value stripMemRefCasts(Value memref) {
  while (auto cast = memref.getDefiningOp<memref::CastOp>())
    memref = cast.getSource();
  return memref;
}

FailureOr<SizeExpression> HostSizes::evaluate(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return SizeExpression::constant(constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (!op)
    return emitError(value.getLoc(),
                     "expected sizes to be computed from the shapes of memrefs "
                     "only, but a size is passed as an argument");
  auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(op);
  FailureOr<SizeExpression> result =
      metadata ? evaluateStride(metadata, value) : evaluateOp(op);
  if (succeeded(result))
    known.insert({value, *result});
  return result;
}

FailureOr<SizeExpression>
HostSizes::evaluateStride(memref::ExtractStridedMetadataOp op, Value stride) {
  for (auto [axis, candidate] : llvm::enumerate(op.getStrides())) {
    if (candidate != stride)
      continue;
    auto it = strides.find(
        {stripMemRefCasts(op.getSource()), static_cast<unsigned>(axis)});
    if (it != strides.end())
      return it->second;
  }
  return op.emitOpError(
      "expected only strides of it to be used, of an argument "
      "of the function whose strides the caller chooses");
}

FailureOr<SizeExpression> HostSizes::evaluateDim(Operation *user, Value memref,
                                                 int64_t axis) {
  memref = stripMemRefCasts(memref);
  auto type = cast<MemRefType>(memref.getType());
  if (axis < 0 || axis >= type.getRank())
    return user->emitOpError("expected an axis of a memref of rank ")
           << type.getRank() << ", got " << axis;
  if (!type.isDynamicDim(axis))
    return SizeExpression::constant(type.getDimSize(axis));
  auto it = symbols.find({memref, static_cast<unsigned>(axis)});
  if (it != symbols.end())
    return it->second;
  if (auto alloc = memref.getDefiningOp<memref::AllocOp>())
    return evaluate(alloc.getDynamicSizes()[type.getDynamicDimIndex(axis)]);
  return user->emitOpError("expected the memref to be an argument of the "
                           "function or an allocation");
}

FailureOr<SizeExpression> HostSizes::evaluateOp(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> axis = dim.getConstantIndex();
    if (!axis)
      return op->emitOpError("expected a constant axis");
    return evaluateDim(op, dim.getSource(), *axis);
  }

  SmallVector<SizeExpression> x;
  if (isa<affine::AffineDialect, arith::ArithDialect>(op->getDialect())) {
    for (Value operand : op->getOperands()) {
      if (!operand.getType().isIntOrIndex())
        break;
      FailureOr<SizeExpression> size = evaluate(operand);
      if (failed(size))
        return failure();
      if (needsNonNegative(op) && !size->isNonNegative())
        return op->emitOpError("expected operands that cannot be negative, got "
                               "'")
               << size->str() << "'";
      x.push_back(*size);
    }
  }
  using Result = FailureOr<SizeExpression>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::AddIOp>([&](auto) -> Result { return x[0] + x[1]; })
      .Case<arith::SubIOp>([&](auto) -> Result { return x[0] - x[1]; })
      .Case<arith::MulIOp>([&](auto) -> Result { return x[0] * x[1]; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](auto) -> Result { return SizeExpression::ceilDiv(x[0], x[1]); })
      .Case<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(
          [&](auto) -> Result { return SizeExpression::floorDiv(x[0], x[1]); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) -> Result { return SizeExpression::mod(x[0], x[1]); })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](auto) -> Result { return SizeExpression::min(x[0], x[1]); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](auto) -> Result { return SizeExpression::max(x[0], x[1]); })
      // Sizes fit in any integer that a program keeps them in.
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp>([&](auto) -> Result { return x[0]; })
      .Case<affine::AffineApplyOp, affine::AffineMinOp>([&](auto affineOp) {
        return Result(
            evaluateMap(affineOp.getAffineMap(), x, SizeExpression::min));
      })
      .Case<affine::AffineMaxOp>([&](affine::AffineMaxOp max) {
        return Result(evaluateMap(max.getMap(), x, SizeExpression::max));
      })
      .Default([](Operation *op) -> Result {
        return op->emitOpError(
            "expected a size that a manifest can express: constants, "
            "memref.dim, and sums, products, quotients, remainders, minima and "
            "maxima of these");
      });
}

} // namespace mamba
