//===- ThreadReduction.cpp - Sums across registers and lanes --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;
using namespace mamba;

static Value combine(OpBuilder &b, Location loc, vector::CombiningKind kind,
                     Value lhs, Value rhs) {
  return vector::makeArithReduction(b, loc, kind, lhs, rhs);
}

/// What changes no sum, product, minimum or maximum.
static TypedAttr getNeutral(vector::CombiningKind kind, Type type) {
  using vector::CombiningKind;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned bits = integer.getWidth();
    switch (kind) {
    case CombiningKind::MUL:
      return IntegerAttr::get(type, APInt(bits, 1));
    case CombiningKind::AND:
    case CombiningKind::MINUI:
      return IntegerAttr::get(type, APInt::getMaxValue(bits));
    case CombiningKind::MINSI:
      return IntegerAttr::get(type, APInt::getSignedMaxValue(bits));
    case CombiningKind::MAXSI:
      return IntegerAttr::get(type, APInt::getSignedMinValue(bits));
    default:
      return IntegerAttr::get(type, APInt(bits, 0));
    }
  }
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  switch (kind) {
  case CombiningKind::MUL:
    return FloatAttr::get(type, APFloat::getOne(semantics));
  case CombiningKind::MAXIMUMF:
  case CombiningKind::MAXNUMF:
    return FloatAttr::get(type, APFloat::getInf(semantics, /*Negative=*/true));
  case CombiningKind::MINIMUMF:
  case CombiningKind::MINNUMF:
    return FloatAttr::get(type, APFloat::getInf(semantics));
  default:
    return FloatAttr::get(type, APFloat::getZero(semantics));
  }
}

LogicalResult ThreadProgram::rewriteReduction(vector::MultiDimReductionOp op) {
  auto resultType = dyn_cast<VectorType>(op.getType());
  if (!resultType)
    return op.emitOpError("expected a vector as result, got ") << op.getType();
  Held from = getHeld(op.getSource()), to = getHeld(op.getResult());
  SmallVector<bool> mask = op.getReductionMask();
  // In the thread.
  std::map<SmallVector<uint32_t, 4>, Value> sums;
  Value source = map.lookup(op.getSource());
  Value neutral;
  // Threads past the end of a summed dimension add nothing.
  auto replaceOutside = [&](Value element, unsigned register_) {
    for (auto [dim, coordinate] : llvm::enumerate(from.at(register_))) {
      uint64_t possible = getThreadBits(from.layout, dim);
      if (!mask[dim] || (coordinate | possible) < from.extents[dim])
        continue;
      if (!neutral)
        neutral = arith::ConstantOp::create(
            b, loc(), getNeutral(op.getKind(), element.getType()));
      Value at =
          addConstant(getThreadPart(from.layout, dim), possible, coordinate);
      Value isInside =
          arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ult, at,
                                constantI32(from.extents[dim]));
      element = arith::SelectOp::create(b, loc(), isInside, element, neutral);
    }
    return element;
  };
  for (unsigned i = 0; i < from.size(); ++i) {
    SmallVector<uint32_t, 4> kept;
    for (auto [dim, coordinate] : llvm::enumerate(from.at(i)))
      if (!mask[dim])
        kept.push_back(coordinate);
    Value element =
        replaceOutside(vector::ExtractOp::create(b, loc(), source, i), i);
    Value &sum = sums[kept];
    sum = sum ? combine(b, loc(), op.getKind(), sum, element) : element;
  }
  // Across lanes that differ along a summed dimension only.
  uint32_t laneMask = 0;
  for (StringRef in : {StringRef(kLane), StringRef(kWarp)})
    for (unsigned bit = 0; bit < from.layout.getInBits(in); ++bit) {
      bool along = false, across = false;
      for (auto [dim, coordinate] :
           llvm::enumerate(from.layout.getBasis(in, bit)))
        (mask[dim] ? along : across) |= coordinate != 0;
      if (!along)
        continue;
      if (across || in == kWarp)
        return op.emitOpError("expected a reduction within warps, got layout ")
               << from.layout.str();
      laneMask |= 1u << bit;
    }
  Value acc = map.lookup(op.getAcc());
  SmallVector<Value> results;
  for (unsigned i = 0; i < to.size(); ++i) {
    Value sum = sums.at(SmallVector<uint32_t, 4>(to.at(i)));
    for (uint32_t rest = laneMask; rest; rest &= rest - 1) {
      Value other = gpu::ShuffleOp::create(b, loc(), sum, int32_t(rest & -rest),
                                           32, gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      sum = combine(b, loc(), op.getKind(), sum, other);
    }
    Value start = vector::ExtractOp::create(b, loc(), acc, i);
    results.push_back(combine(b, loc(), op.getKind(), start, sum));
  }
  map.map(op.getResult(),
          vector::FromElementsOp::create(
              b, loc(), getThreadType(op.getResult()), results));
  return success();
}
