//===- FoldCausalMaskExponents.cpp - Masks before exponentials ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a mask does not hold, the exponent may be any number, and its
// exponential infinite. A selection of the exponent keeps it at 0. Exponents
// that are bounded by a minimum need none.
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mamba;

/// Exponents up to this one have finite exponentials in every float type.
static constexpr double kLargestExponent = 10;

static bool isSmallNumber(Value value) {
  APFloat number(0.0);
  return matchPattern(value, m_ConstantFloat(&number)) && number.isFinite() &&
         number.convertToDouble() <= kLargestExponent;
}

/// Whether no element is above `kLargestExponent`.
static bool isBounded(Value exponent) {
  if (isSmallNumber(exponent))
    return true;
  Operation *op = exponent.getDefiningOp();
  if (isa_and_nonnull<arith::MinimumFOp, arith::MinNumFOp>(op))
    return llvm::any_of(op->getOperands(), isBounded);
  auto negated = dyn_cast_or_null<arith::NegFOp>(op);
  return negated && negated.getOperand().getDefiningOp<math::AbsFOp>();
}

static bool isExponential(Operation *op) {
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(op);
}

/// Whether every element is finite and not negative, so that 0 times it is 0.
static bool isFiniteFactor(Value value) {
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number.isFinite() && !number.isNegative();
  Operation *op = value.getDefiningOp();
  if (auto integer = dyn_cast_or_null<arith::UIToFPOp>(op))
    return value.getType().isF32() &&
           getElementTypeOrSelf(integer.getIn()).getIntOrFloatBitWidth() <= 64;
  return false;
}

namespace {

class Guard {
public:
  Guard(RewriterBase &rewriter, linalg::GenericOp op)
      : b(rewriter), body(op.getBody()) {}

  void guardUnder(ZeroMask mask, GuardedExponentials &count);
  /// Guards exponentials that a masked value is multiplied by.
  void guardBeside(arith::MulFOp product, GuardedExponentials &count);

private:
  void findExponentials(Value value, SmallVectorImpl<Operation *> &found);
  bool isProduct(Value value, Operation *exponential);
  bool select(Operation *exponential, ZeroMask mask);

  RewriterBase &b;
  Block *body;
};

/// Exponentials of unbounded exponents that nothing but `value` depends on.
void Guard::findExponentials(Value value, SmallVectorImpl<Operation *> &found) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != body || op->getNumRegions() != 0 ||
      !value.hasOneUse() || isa<arith::SelectOp>(op))
    return;
  if (isExponential(op)) {
    if (!isBounded(op->getOperand(0)))
      found.push_back(op);
    return;
  }
  for (Value operand : op->getOperands())
    findExponentials(operand, found);
}

/// Whether `value` is 0 where the exponential is.
bool Guard::isProduct(Value value, Operation *exponential) {
  Operation *op = value.getDefiningOp();
  if (op == exponential)
    return true;
  if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    return isProduct(op->getOperand(0), exponential);
  auto product = dyn_cast_or_null<arith::MulFOp>(op);
  if (!product)
    return false;
  return (isProduct(product.getLhs(), exponential) &&
          isFiniteFactor(product.getRhs())) ||
         (isProduct(product.getRhs(), exponential) &&
          isFiniteFactor(product.getLhs()));
}

/// Makes the exponential 0 where the mask does not hold.
bool Guard::select(Operation *exponential, ZeroMask mask) {
  Value condition = mask.select.getCondition();
  Operation *definition = condition.getDefiningOp();
  if (definition && definition->getBlock() == body &&
      !definition->isBeforeInBlock(exponential) &&
      failed(moveValueDefinitions(b, condition, exponential)))
    return false;
  b.setInsertionPoint(exponential);
  Location loc = exponential->getLoc();
  Value exponent = exponential->getOperand(0);
  auto type = cast<FloatType>(exponent.getType());
  Value lowest = arith::ConstantOp::create(
      b, loc,
      b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(),
                                           /*Negative=*/true)));
  Value kept = exponent, other = lowest;
  if (mask.isNegated)
    std::swap(kept, other);
  Value selected = arith::SelectOp::create(b, loc, condition, kept, other);
  b.modifyOpInPlace(exponential, [&] { exponential->setOperand(0, selected); });
  return true;
}

/// Whether infinities are excluded by the flags of `op`.
static bool assumesFinite(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags &&
         arith::bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(),
                                   arith::FastMathFlags::ninf);
}

void Guard::guardUnder(ZeroMask mask, GuardedExponentials &count) {
  SmallVector<Operation *> found;
  findExponentials(mask.getKept(), found);
  llvm::erase_if(found, assumesFinite);
  Value zero =
      mask.isNegated ? mask.select.getTrueValue() : mask.select.getFalseValue();
  bool isPositive = matchPattern(zero, m_PosZeroFloat());
  bool isMoved = false;
  for (Operation *exponential : found) {
    if (!select(exponential, mask))
      continue;
    if (isPositive && isProduct(mask.getKept(), exponential))
      isMoved = true;
    else
      ++count.numGuarded;
  }
  if (!isMoved)
    return;
  b.replaceOp(mask.select, mask.getKept());
  ++count.numMoved;
}

void Guard::guardBeside(arith::MulFOp product, GuardedExponentials &count) {
  for (auto [value, other] : {std::pair(product.getLhs(), product.getRhs()),
                              std::pair(product.getRhs(), product.getLhs())}) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::TruncFOp, arith::NegFOp>(op))
        break;
      value = op->getOperand(0);
    }
    std::optional<ZeroMask> mask = matchZeroMask(value);
    if (!mask || mask->select->getBlock() != body)
      continue;
    SmallVector<Operation *> found;
    findExponentials(other, found);
    llvm::erase_if(found, assumesFinite);
    for (Operation *exponential : found)
      count.numGuarded += select(exponential, *mask);
  }
}

} // namespace

GuardedExponentials mamba::guardExponentials(RewriterBase &rewriter,
                                             linalg::GenericOp op) {
  GuardedExponentials count;
  Guard guard(rewriter, op);
  for (Operation &nested : llvm::make_early_inc_range(*op.getBody())) {
    if (auto product = dyn_cast<arith::MulFOp>(nested))
      guard.guardBeside(product, count);
    else if (nested.getNumResults() == 1)
      if (std::optional<ZeroMask> mask = matchZeroMask(nested.getResult(0)))
        guard.guardUnder(*mask, count);
  }
  return count;
}
