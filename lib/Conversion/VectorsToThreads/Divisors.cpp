//===- Divisors.cpp - What index values are multiples of ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Divisors.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mamba;

/// Of 0, and the most that anybody needs.
static constexpr int64_t kMost = int64_t(1) << 30;

static int64_t ofConstant(int64_t value) {
  return value == 0 ? kMost : std::min(kMost, value & -value);
}

static int64_t multiply(int64_t lhs, int64_t rhs) {
  return std::min(kMost, lhs * rhs);
}

static int64_t ofFold(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return ofConstant(*constant);
  return getKnownDivisor(cast<Value>(value));
}

static int64_t ofExpr(AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ofConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return getKnownDivisor(dims[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return getKnownDivisor(symbols[symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = ofExpr(binary.getLHS(), dims, symbols);
  int64_t rhs = ofExpr(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return std::min(lhs, rhs);
  case AffineExprKind::Mul:
    return multiply(lhs, rhs);
  case AffineExprKind::Mod:
    return std::min(lhs, rhs);
  default:
    return 1;
  }
}

static int64_t ofMap(AffineMap map, ValueRange operands) {
  int64_t least = kMost;
  for (AffineExpr expr : map.getResults())
    least = std::min(least, ofExpr(expr, operands.take_front(map.getNumDims()),
                                   operands.drop_front(map.getNumDims())));
  return least;
}

int64_t mamba::getKnownDivisor(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return ofConstant(*constant);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument == loop.getInductionVar())
      return std::min(getKnownDivisor(loop.getLowerBound()),
                      getKnownDivisor(loop.getStep()));
    return 1;
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MinUIOp,
          arith::MaxSIOp, arith::MaxUIOp>(op))
    return std::min(getKnownDivisor(op->getOperand(0)),
                    getKnownDivisor(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return ::multiply(getKnownDivisor(op->getOperand(0)),
                      getKnownDivisor(op->getOperand(1)));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return getKnownDivisor(op->getOperand(0));
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return ofMap(apply.getAffineMap(), apply.getMapOperands());
  if (auto min = dyn_cast<affine::AffineMinOp>(op))
    return ofMap(min.getAffineMap(), min.getOperands());
  return 1;
}

KnownDivisors mamba::getKnownDivisors(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  KnownDivisors known;
  Operation *op = memref.getDefiningOp();
  if (auto view = dyn_cast_or_null<memref::SubViewOp>(op)) {
    KnownDivisors source = getKnownDivisors(view.getSource());
    known.offset = source.offset;
    llvm::SmallBitVector dropped = view.getDroppedDims();
    for (unsigned dim = 0; dim < source.strides.size(); ++dim) {
      known.offset = std::min(
          known.offset,
          ::multiply(source.strides[dim], ofFold(view.getMixedOffsets()[dim])));
      if (!dropped.test(dim))
        known.strides.push_back(::multiply(
            source.strides[dim], ofFold(view.getMixedStrides()[dim])));
    }
    return known;
  }
  if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(op)) {
    known.offset = ofFold(cast.getMixedOffsets()[0]);
    for (OpFoldResult stride : cast.getMixedStrides())
      known.strides.push_back(ofFold(stride));
    return known;
  }
  if (auto cast = dyn_cast_or_null<memref::CastOp>(op))
    return getKnownDivisors(cast.getSource());
  int64_t offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)))
    strides.assign(type.getRank(), ShapedType::kDynamic);
  auto ofStatic = [](int64_t number) {
    return ShapedType::isDynamic(number) ? 1 : ofConstant(number);
  };
  known.offset = ofStatic(offset);
  for (int64_t stride : strides)
    known.strides.push_back(ofStatic(stride));
  return known;
}
