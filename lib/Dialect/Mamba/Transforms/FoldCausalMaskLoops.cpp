//===- FoldCausalMaskLoops.cpp - Loops over masked and unmasked tiles -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison holds where a sum of the loop's variable, of positions in the
// tile and of values from outside is not negative. Its least and its largest
// value in an iteration say which iterations have only elements that count,
// and which have none.
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mamba;

namespace {

/// `low <= high`, and whether negative numbers count as large ones.
struct Order {
  LinearForm low, high;
  /// What must not be negative for the sign not to matter: `low` before it was
  /// made one larger for `<`.
  LinearForm bareLow;
  bool isUnsigned;
};

std::optional<Order> getOrder(Conjunct conjunct) {
  if (!conjunct.compare.getLhs().getType().isIndex())
    return std::nullopt;
  FailureOr<LinearForm> lhs = LinearForm::get(conjunct.compare.getLhs()),
                        rhs = LinearForm::get(conjunct.compare.getRhs());
  if (failed(lhs) || failed(rhs))
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  switch (conjunct.getPredicate()) {
  case Predicate::sle:
    return Order{*lhs, *rhs, *lhs, false};
  case Predicate::ule:
    return Order{*lhs, *rhs, *lhs, true};
  case Predicate::slt:
    return Order{*lhs + 1, *rhs, *lhs, false};
  case Predicate::ult:
    return Order{*lhs + 1, *rhs, *lhs, true};
  case Predicate::sge:
    return Order{*rhs, *lhs, *rhs, false};
  case Predicate::uge:
    return Order{*rhs, *lhs, *rhs, true};
  case Predicate::sgt:
    return Order{*rhs + 1, *lhs, *rhs, false};
  case Predicate::ugt:
    return Order{*rhs + 1, *lhs, *rhs, true};
  default:
    return std::nullopt;
  }
}

/// Whether `value` is computed from `source`.
bool dependsOn(Value value, Value source) {
  if (value == source)
    return true;
  Operation *op = value.getDefiningOp();
  return op && isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return operand.getType().isIndex() && dependsOn(operand, source);
         });
}

class LoopFolder {
public:
  LoopFolder(RewriterBase &rewriter, scf::ForOp loop, linalg::GenericOp factor,
             const BoundProver &prover)
      : b(rewriter), loop(loop), loc(loop.getLoc()), factor(factor),
        prover(prover), step(getConstantIntValue(loop.getStep()).value_or(0)) {}

  FailureOr<FoldedLoop> run(Conjunct conjunct, int64_t peelAtLeast,
                            StringRef &reason);

private:
  std::optional<LinearForm> getLastPosition(unsigned dim);
  std::optional<LinearForm> getExtreme(const LinearForm &form, bool largest);
  Value create(const LinearForm &form);
  LinearForm alignDown(const LinearForm &form, int64_t step);
  bool mayBeAtLeast(const LinearForm &span, int64_t iterations);
  LinearForm getExtreme(const LinearForm &lhs, const LinearForm &rhs,
                        bool isLess);
  LinearForm getLess(const LinearForm &lhs, const LinearForm &rhs) {
    return getExtreme(lhs, rhs, /*isLess=*/true);
  }
  LinearForm getMore(const LinearForm &lhs, const LinearForm &rhs) {
    return getExtreme(lhs, rhs, /*isLess=*/false);
  }
  scf::ForOp split(const LinearForm &middle, bool firstIsUnmasked,
                   Conjunct conjunct);

  RewriterBase &b;
  scf::ForOp loop;
  Location loc;
  linalg::GenericOp factor;
  const BoundProver &prover;
  /// 0 if it is not known.
  int64_t step;
};

/// The last position of loop `dim` of the masked operation: known before the
/// loop, or else a constant that is no less.
std::optional<LinearForm> LoopFolder::getLastPosition(unsigned dim) {
  auto known = [&](OpFoldResult size) -> std::optional<LinearForm> {
    if (std::optional<int64_t> number = getConstantIntValue(size))
      return LinearForm(*number - 1);
    auto value = cast<Value>(size);
    if (!loop.isDefinedOutsideOfLoop(value))
      return std::nullopt;
    FailureOr<LinearForm> form = LinearForm::get(value);
    return succeeded(form) ? std::optional(*form - 1) : std::nullopt;
  };
  SmallVector<std::pair<Value, unsigned>> operands;
  factor.mapIterationSpaceDimToAllOperandDims(dim, operands);
  std::optional<int64_t> most;
  for (auto [operand, operandDim] : operands) {
    std::optional<LinearForm> last;
    if (loop.isDefinedOutsideOfLoop(operand) ||
        !cast<ShapedType>(operand.getType()).isDynamicDim(operandDim))
      last = known(tensor::getMixedSize(b, loc, operand, operandDim));
    else if (auto empty = operand.getDefiningOp<tensor::EmptyOp>())
      last = known(empty.getMixedSizes()[operandDim]);
    else if (auto slice = operand.getDefiningOp<tensor::ExtractSliceOp>();
             slice && slice.getDroppedDims().none())
      last = known(slice.getMixedSizes()[operandDim]);
    if (last)
      return last;
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {operand, static_cast<int64_t>(operandDim)},
        /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (succeeded(bound))
      most = most ? std::min(*most, *bound) : *bound;
  }
  return most ? std::optional(LinearForm(*most - 1)) : std::nullopt;
}

/// The least or the largest value of `form` in a tile, without positions.
std::optional<LinearForm> LoopFolder::getExtreme(const LinearForm &form,
                                                 bool largest) {
  LinearForm extreme = form;
  for (auto [term, multiple] : llvm::zip_equal(form.terms, form.factors)) {
    auto index = term.getDefiningOp<linalg::IndexOp>();
    if (!index)
      continue;
    if ((multiple > 0) != largest) {
      extreme = extreme.replace(term, 0);
      continue;
    }
    std::optional<LinearForm> last = getLastPosition(index.getDim());
    if (!last)
      return std::nullopt;
    extreme = extreme.replace(term, *last);
  }
  return extreme;
}

Value LoopFolder::create(const LinearForm &form) {
  SmallVector<OpFoldResult> operands;
  AffineExpr expr = form.getExpr(b.getContext(), operands);
  return getValueOrCreateConstantIndexOp(
      b, loc,
      affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(operands.size(), 0, expr), operands));
}

/// The largest multiple of `divisor` that is not larger.
LinearForm LoopFolder::alignDown(const LinearForm &form, int64_t divisor) {
  LinearForm multiple, rest(form.constant);
  for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors)) {
    LinearForm part = LinearForm::of(term, factor);
    if (part.isMultipleOf(divisor))
      multiple = multiple + part;
    else
      rest = rest + part;
  }
  if (rest.terms.empty())
    return multiple + divisor * llvm::divideFloorSigned(rest.constant, divisor);
  SmallVector<OpFoldResult> operands;
  AffineExpr expr = rest.getExpr(b.getContext(), operands);
  AffineMap map =
      AffineMap::get(operands.size(), 0, expr.floorDiv(divisor) * divisor);
  OpFoldResult aligned =
      affine::makeComposedFoldedAffineApply(b, loc, map, operands);
  return multiple +
         LinearForm::of(getValueOrCreateConstantIndexOp(b, loc, aligned));
}

/// Whether `span` is not known to be less than some steps.
bool LoopFolder::mayBeAtLeast(const LinearForm &span, int64_t iterations) {
  return !prover.isNeverNegative(LinearForm(iterations * step - 1) - span);
}

/// The lesser of two sums, or the greater one.
LinearForm LoopFolder::getExtreme(const LinearForm &lhs, const LinearForm &rhs,
                                  bool isLess) {
  const LinearForm &less = isLess ? lhs : rhs, &more = isLess ? rhs : lhs;
  if (prover.isNeverNegative(more - less))
    return lhs;
  if (prover.isNeverNegative(less - more))
    return rhs;
  SmallVector<OpFoldResult> operands;
  SmallVector<AffineExpr> exprs{lhs.getExpr(b.getContext(), operands)};
  exprs.push_back(rhs.getExpr(b.getContext(), operands));
  AffineMap map = AffineMap::get(operands.size(), 0, exprs, b.getContext());
  OpFoldResult result =
      isLess ? affine::makeComposedFoldedAffineMin(b, loc, map, operands)
             : affine::makeComposedFoldedAffineMax(b, loc, map, operands);
  return LinearForm::of(getValueOrCreateConstantIndexOp(b, loc, result));
}

/// Splits the loop at `middle`; in one part the comparison holds throughout.
/// Returns the part in front.
scf::ForOp LoopFolder::split(const LinearForm &middle, bool firstIsUnmasked,
                             Conjunct conjunct) {
  Value bound = create(middle);
  IRMapping mapping;
  auto first = cast<scf::ForOp>(b.clone(*loop, mapping));
  Operation *compare = conjunct.compare;
  if (firstIsUnmasked)
    compare = mapping.lookup(compare);
  first.getUpperBoundMutable().assign(bound);
  b.modifyOpInPlace(loop, [&] {
    loop.getLowerBoundMutable().assign(bound);
    loop.getInitArgsMutable().assign(first.getResults());
  });
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(compare);
  b.replaceOpWithNewOp<arith::ConstantIntOp>(compare, !conjunct.isNegated, 1);
  return first;
}

FailureOr<FoldedLoop> LoopFolder::run(Conjunct conjunct, int64_t peelAtLeast,
                                      StringRef &reason) {
  if (!dependsOnIteration(conjunct, loop))
    return failure();
  Value variable = loop.getInductionVar();
  auto refuse = [&](StringRef why) {
    reason = why;
    return failure();
  };
  std::optional<Order> order = getOrder(conjunct);
  FailureOr<LinearForm> first = LinearForm::get(loop.getLowerBound()),
                        end = LinearForm::get(loop.getUpperBound());
  if (!order || failed(first) || failed(end))
    return refuse("expected an order of two sums of positions");
  if (loop.getUnsignedCmp())
    return refuse("expected a loop that counts with signs");
  // The comparison holds where this is not negative.
  LinearForm distance = order->high - order->low;
  int64_t direction = distance.getFactor(variable);
  if (direction != 1 && direction != -1)
    return refuse("expected the loop's variable on one side, as it is,");
  if (direction > 0 && step <= 0)
    return refuse("expected a constant step");
  distance = distance - LinearForm::of(variable, direction);
  for (Value term : distance.terms)
    if (!term.getDefiningOp<linalg::IndexOp>() &&
        !loop.isDefinedOutsideOfLoop(term))
      return refuse("expected positions that are known before the loop");
  if (order->isUnsigned && !prover.isNeverNegative(order->high))
    return refuse("expected a signed comparison, since the larger side may be "
                  "negative,");

  b.setInsertionPoint(loop);
  std::optional<LinearForm> most = getExtreme(distance, /*largest=*/true);
  if (!most)
    return refuse("expected tiles of bounded size");
  std::optional<LinearForm> least;
  if (peelAtLeast > 0 && step > 0 &&
      (!order->isUnsigned || prover.isNeverNegative(order->bareLow)))
    least = getExtreme(distance, /*largest=*/false);
  FoldedLoop folded;
  folded.masked = loop;
  if (direction < 0) {
    LinearForm shorter = getLess(*end, *most + 1);
    folded.isShortened = !(shorter == *end);
    if (folded.isShortened) {
      Value bound = create(shorter);
      b.modifyOpInPlace(loop,
                        [&] { loop.getUpperBoundMutable().assign(bound); });
    }
    if (least) {
      LinearForm middle = *first + alignDown(*least - *first + step, step);
      middle = getLess(getMore(middle, *first), shorter);
      if (!(middle == *first) && mayBeAtLeast(middle - *first, peelAtLeast))
        folded.unmasked = split(middle, /*firstIsUnmasked=*/true, conjunct);
    }
    return folded;
  }
  auto getStart = [&](const LinearForm &distanceOfTile) {
    LinearForm start =
        *first + alignDown(distanceOfTile * -1 - *first + (step - 1), step);
    return getMore(start, *first);
  };
  LinearForm later = getStart(*most);
  folded.isShortened = !(later == *first);
  if (folded.isShortened) {
    Value bound = create(later);
    b.modifyOpInPlace(loop, [&] { loop.getLowerBoundMutable().assign(bound); });
  }
  if (least) {
    LinearForm middle = getLess(getStart(*least), *end);
    if (!(middle == *end) && mayBeAtLeast(*end - middle, peelAtLeast)) {
      folded.masked = split(middle, /*firstIsUnmasked=*/false, conjunct);
      folded.unmasked = loop;
    }
  }
  return folded;
}

} // namespace

bool mamba::dependsOnIteration(Conjunct conjunct, scf::ForOp loop) {
  return dependsOn(conjunct.compare.getLhs(), loop.getInductionVar()) ||
         dependsOn(conjunct.compare.getRhs(), loop.getInductionVar());
}

FailureOr<FoldedLoop> mamba::foldMask(RewriterBase &rewriter, scf::ForOp loop,
                                      linalg::GenericOp factor,
                                      Conjunct conjunct, int64_t peelAtLeast,
                                      const BoundProver &prover,
                                      StringRef &reason) {
  return LoopFolder(rewriter, loop, factor, prover)
      .run(conjunct, peelAtLeast, reason);
}
