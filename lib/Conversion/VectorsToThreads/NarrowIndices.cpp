//===- NarrowIndices.cpp - Compare positions in 32 bits -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorKernel.h"

#include "mamba/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {
#define GEN_PASS_DEF_NARROWINDICESPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// Positions are less than this far from the base.
constexpr int64_t kMostSteps = int64_t(1) << 24;
/// Where distances of bases are cut: no sum with steps leaves 32 bits.
constexpr int64_t kFar = int64_t(1) << 28;

/// An index vector as the sum of a scalar and of small steps.
struct Position {
  Value base;  // index; null: 0
  Value steps; // vector of i32; null: 0
  int64_t most = 0;
};

class Narrower {
public:
  explicit Narrower(OpBuilder &b) : b(b) {}

  void narrow(arith::CmpIOp op);

private:
  std::optional<Position> split(Value value, bool emit);
  Value addBases(Location loc, Value lhs, Value rhs);

  OpBuilder &b;
};

} // namespace

Value Narrower::addBases(Location loc, Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AddIOp::create(b, loc, lhs, rhs);
}

/// With `emit` the parts are computed at the builder's place; without, only
/// `most` is set.
std::optional<Position> Narrower::split(Value value, bool emit) {
  auto type = cast<VectorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  Location loc = op->getLoc();
  VectorType narrow = type.cloneWith(std::nullopt, b.getI32Type());
  Position result;
  if (isa<vector::StepOp>(op)) {
    result.most = type.getDimSize(0);
    if (emit)
      result.steps = arith::IndexCastOp::create(b, loc, narrow, value);
    return result;
  }
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    if (!isa<VectorType>(broadcast.getSourceType())) {
      result.base = broadcast.getSource();
      return result;
    }
    std::optional<Position> source = split(broadcast.getSource(), emit);
    if (source && source->steps)
      source->steps =
          vector::BroadcastOp::create(b, loc, narrow, source->steps);
    return source;
  }
  if (auto transpose = dyn_cast<vector::TransposeOp>(op)) {
    std::optional<Position> source = split(transpose.getVector(), emit);
    if (source && source->steps)
      source->steps = vector::TransposeOp::create(b, loc, source->steps,
                                                  transpose.getPermutation());
    return source;
  }
  if (isa<arith::AddIOp>(op)) {
    std::optional<Position> lhs = split(op->getOperand(0), emit);
    std::optional<Position> rhs = split(op->getOperand(1), emit);
    if (!lhs || !rhs || lhs->most + rhs->most > kMostSteps)
      return std::nullopt;
    result.most = lhs->most + rhs->most;
    if (!emit) {
      // Only whether there is a base matters.
      result.base = lhs->base ? lhs->base : rhs->base;
      return result;
    }
    result.base = addBases(loc, lhs->base, rhs->base);
    if (lhs->steps && rhs->steps)
      result.steps = arith::AddIOp::create(b, loc, lhs->steps, rhs->steps);
    else
      result.steps = lhs->steps ? lhs->steps : rhs->steps;
    return result;
  }
  DenseElementsAttr elements;
  if (matchPattern(op, m_Constant(&elements)) && elements.isSplat()) {
    if (emit)
      result.base = arith::ConstantIndexOp::create(
          b, loc, elements.getSplatValue<APInt>().getSExtValue());
    return result;
  }
  return std::nullopt;
}

void Narrower::narrow(arith::CmpIOp op) {
  auto type = dyn_cast<VectorType>(op.getLhs().getType());
  if (!type || !type.getElementType().isIndex())
    return;
  // Positions are not negative, so signed and unsigned orders agree.
  arith::CmpIPredicate predicate = op.getPredicate();
  switch (predicate) {
  case arith::CmpIPredicate::ult:
    predicate = arith::CmpIPredicate::slt;
    break;
  case arith::CmpIPredicate::ule:
    predicate = arith::CmpIPredicate::sle;
    break;
  case arith::CmpIPredicate::ugt:
    predicate = arith::CmpIPredicate::sgt;
    break;
  case arith::CmpIPredicate::uge:
    predicate = arith::CmpIPredicate::sge;
    break;
  default:
    break;
  }
  std::optional<Position> lhs = split(op.getLhs(), /*emit=*/false);
  std::optional<Position> rhs = split(op.getRhs(), /*emit=*/false);
  if (!lhs || !rhs)
    return;
  b.setInsertionPoint(op);
  Location loc = op.getLoc();
  lhs = split(op.getLhs(), /*emit=*/true);
  rhs = split(op.getRhs(), /*emit=*/true);
  Type i32 = b.getI32Type();
  VectorType narrow = type.cloneWith(std::nullopt, i32);
  Value left = lhs->steps, right = rhs->steps;
  if (!left)
    left = arith::ConstantOp::create(b, loc, b.getZeroAttr(narrow));
  if (lhs->base || rhs->base || !right) {
    // The distance of the bases, cut to where steps cannot change the order.
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value distance = arith::SubIOp::create(b, loc, rhs->base ? rhs->base : zero,
                                           lhs->base ? lhs->base : zero);
    Value far = arith::ConstantIndexOp::create(b, loc, kFar);
    Value near = arith::ConstantIndexOp::create(b, loc, -kFar);
    distance = arith::MinSIOp::create(b, loc, distance, far);
    distance = arith::MaxSIOp::create(b, loc, distance, near);
    distance = arith::IndexCastOp::create(b, loc, i32, distance);
    Value spread = vector::BroadcastOp::create(b, loc, narrow, distance);
    right = right ? arith::AddIOp::create(b, loc, right, spread).getResult()
                  : spread;
  }
  Value compared = arith::CmpIOp::create(b, loc, predicate, left, right);
  op.replaceAllUsesWith(compared);
  op.erase();
}

/// The vector along one dimension that `value`, of two, repeats, and whether
/// along columns; null if it is none.
static std::pair<Value, bool> getRepeated(Value value) {
  auto transpose = value.getDefiningOp<vector::TransposeOp>();
  if (transpose)
    value = transpose.getVector();
  auto broadcast = value.getDefiningOp<vector::BroadcastOp>();
  auto source = broadcast ? dyn_cast<VectorType>(broadcast.getSourceType())
                          : VectorType();
  if (!source || source.getRank() != 1)
    return {};
  return {broadcast.getSource(), transpose != nullptr};
}

static bool isPosition(Value value) {
  auto cast =
      value ? value.getDefiningOp<arith::IndexCastOp>() : arith::IndexCastOp();
  return cast && cast.getIn().getDefiningOp<vector::StepOp>();
}

/// x <= y and x < end, of positions x along a dimension that y does not depend
/// on, is x <= min(y, end - 1): one comparison an element, and none that a loop
/// would keep for all its iterations.
static void joinBounds(OpBuilder &b, arith::AndIOp op) {
  auto type = dyn_cast<VectorType>(op.getType());
  if (!type || type.getRank() != 2)
    return;
  for (auto [first, second] : {std::pair(op.getLhs(), op.getRhs()),
                               std::pair(op.getRhs(), op.getLhs())}) {
    auto order = first.getDefiningOp<arith::CmpIOp>();
    if (!order || order.getPredicate() != arith::CmpIPredicate::sle)
      continue;
    auto [position, isAcross] = getRepeated(order.getLhs());
    auto [most, isMostAcross] = getRepeated(order.getRhs());
    auto [within, isWithinAcross] = getRepeated(second);
    auto bound =
        within ? within.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!isPosition(position) || !most || isAcross == isMostAcross || !bound ||
        isAcross != isWithinAcross ||
        bound.getPredicate() != arith::CmpIPredicate::slt ||
        !isPosition(bound.getLhs()))
      continue;
    auto end = bound.getRhs().getDefiningOp<vector::BroadcastOp>();
    if (!end || isa<VectorType>(end.getSourceType()))
      continue;
    Location loc = op.getLoc();
    b.setInsertionPoint(op);
    Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
    Value last = arith::SubIOp::create(b, loc, end.getSource(), one);
    last = vector::BroadcastOp::create(b, loc, most.getType(), last);
    Value limit = arith::MinSIOp::create(b, loc, most, last);
    IRMapping mapping;
    mapping.map(most, limit);
    auto transpose = order.getRhs().getDefiningOp<vector::TransposeOp>();
    Operation *spread =
        (transpose ? transpose.getVector() : order.getRhs()).getDefiningOp();
    Value limits = b.clone(*spread, mapping)->getResult(0);
    if (transpose)
      limits = b.clone(*transpose, mapping)->getResult(0);
    op.replaceAllUsesWith(arith::CmpIOp::create(b, loc, order.getPredicate(),
                                                order.getLhs(), limits)
                              .getResult());
    op.erase();
    return;
  }
}

namespace {
struct NarrowIndices final : mamba::impl::NarrowIndicesPassBase<NarrowIndices> {
  using NarrowIndicesPassBase::NarrowIndicesPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!isVectorKernel(kernel))
        continue;
      SmallVector<arith::CmpIOp> comparisons;
      kernel.walk([&](arith::CmpIOp op) { comparisons.push_back(op); });
      OpBuilder b(&getContext());
      for (arith::CmpIOp op : comparisons)
        Narrower(b).narrow(op);
      SmallVector<arith::AndIOp> conjunctions;
      kernel.walk([&](arith::AndIOp op) { conjunctions.push_back(op); });
      for (arith::AndIOp op : conjunctions)
        joinBounds(b, op);
    }
  }
};
} // namespace
