//===- LinearForm.cpp - Index values as linear sums -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearForm.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mamba;

void LinearForm::add(Value term, int64_t factor) {
  auto *it = llvm::find(terms, term);
  if (it == terms.end()) {
    if (factor != 0) {
      terms.push_back(term);
      factors.push_back(factor);
    }
    return;
  }
  auto *position = factors.begin() + (it - terms.begin());
  *position += factor;
  if (*position == 0) {
    terms.erase(it);
    factors.erase(position);
  }
}

LinearForm LinearForm::of(Value term, int64_t factor) {
  LinearForm form;
  form.add(term, factor);
  return form;
}

LinearForm LinearForm::operator+(const LinearForm &other) const {
  LinearForm sum = *this;
  sum.constant += other.constant;
  for (auto [term, factor] : llvm::zip_equal(other.terms, other.factors))
    sum.add(term, factor);
  return sum;
}

LinearForm LinearForm::operator-(const LinearForm &other) const {
  return *this + other * -1;
}

LinearForm LinearForm::operator*(int64_t factor) const {
  LinearForm product(constant * factor);
  for (auto [term, old] : llvm::zip_equal(terms, factors))
    product.add(term, old * factor);
  return product;
}

int64_t LinearForm::getFactor(Value term) const {
  auto *it = llvm::find(terms, term);
  return it == terms.end() ? 0 : factors[it - terms.begin()];
}

LinearForm LinearForm::replace(Value term, const LinearForm &form) const {
  int64_t factor = getFactor(term);
  return *this - of(term, factor) + form * factor;
}

FailureOr<LinearForm> LinearForm::get(AffineMap map, unsigned result,
                                      ValueRange operands) {
  SmallVector<int64_t> flat;
  if (failed(getFlattenedAffineExpr(map.getResult(result), map.getNumDims(),
                                    map.getNumSymbols(), &flat)) ||
      flat.size() != operands.size() + 1)
    return failure();
  LinearForm form(flat.pop_back_val());
  for (auto [operand, factor] : llvm::zip_equal(operands, flat)) {
    if (factor == 0)
      continue;
    FailureOr<LinearForm> value = get(operand);
    if (failed(value))
      return failure();
    form = form + *value * factor;
  }
  return form;
}

FailureOr<LinearForm> LinearForm::get(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return LinearForm(*number);
  if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
    FailureOr<LinearForm> form =
        get(apply.getAffineMap(), 0, apply.getMapOperands());
    // What is divided is a value of its own.
    return succeeded(form) ? form : of(value);
  }
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return of(value);
  FailureOr<LinearForm> lhs = get(op->getOperand(0)),
                        rhs = get(op->getOperand(1));
  if (failed(lhs) || failed(rhs))
    return failure();
  return isa<arith::AddIOp>(op) ? *lhs + *rhs : *lhs - *rhs;
}

/// The loop that counts `value`, if it has a constant step.
static scf::ForOp getCountingLoop(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  bool isVariable = loop && loop.getInductionVar() == value;
  std::optional<int64_t> step =
      isVariable ? getConstantIntValue(loop.getStep()) : std::nullopt;
  return step && *step > 0 && !loop.getUnsignedCmp() ? loop : scf::ForOp();
}

/// What a minimum, a maximum or a selection is one of, as sums; nothing if one
/// of them is no sum, or if the value is none of these.
struct Choice {
  SmallVector<LinearForm> forms;
  /// Whether it is at most, or at least, any of them.
  bool isMinimum = false, isMaximum = false;
};

static Choice getChoice(Value value) {
  SmallVector<FailureOr<LinearForm>> forms;
  Choice choice;
  Operation *op = value.getDefiningOp();
  auto addResults = [&](AffineMap map) {
    for (unsigned i : llvm::seq(map.getNumResults()))
      forms.push_back(LinearForm::get(map, i, op->getOperands()));
  };
  if (auto least = dyn_cast_or_null<affine::AffineMinOp>(op))
    addResults(least.getAffineMap());
  else if (auto most = dyn_cast_or_null<affine::AffineMaxOp>(op))
    addResults(most.getAffineMap());
  else if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op))
    for (Value operand : op->getOperands())
      forms.push_back(LinearForm::get(operand));
  else if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    for (Value operand : {select.getTrueValue(), select.getFalseValue()})
      forms.push_back(LinearForm::get(operand));
  choice.isMinimum = isa_and_nonnull<affine::AffineMinOp, arith::MinSIOp>(op);
  choice.isMaximum = isa_and_nonnull<affine::AffineMaxOp, arith::MaxSIOp>(op);
  for (FailureOr<LinearForm> &form : forms) {
    if (failed(form))
      return {};
    choice.forms.push_back(*form);
  }
  return choice;
}

bool LinearForm::isMultipleOf(int64_t divisor) const {
  if (constant % divisor != 0)
    return false;
  for (auto [term, factor] : llvm::zip_equal(terms, factors)) {
    if (factor % divisor == 0)
      continue;
    if (scf::ForOp loop = getCountingLoop(term)) {
      FailureOr<LinearForm> first = get(loop.getLowerBound());
      if (factor * *getConstantIntValue(loop.getStep()) % divisor == 0 &&
          succeeded(first) && (*first * factor).isMultipleOf(divisor))
        continue;
    }
    Choice choice = getChoice(term);
    if (!choice.forms.empty() &&
        llvm::all_of(choice.forms, [&, multiple = factor](LinearForm &form) {
          return (form * multiple).isMultipleOf(divisor);
        }))
      continue;
    auto apply = term.getDefiningOp<affine::AffineApplyOp>();
    if (!apply || apply.getAffineMap().getResult(0).getLargestKnownDivisor() *
                          factor % divisor !=
                      0)
      return false;
  }
  return true;
}

AffineExpr LinearForm::getExpr(MLIRContext *context,
                               SmallVectorImpl<OpFoldResult> &operands) const {
  AffineExpr sum = getAffineConstantExpr(constant, context);
  for (auto [term, factor] : llvm::zip_equal(terms, factors)) {
    sum = sum + getAffineDimExpr(operands.size(), context) * factor;
    operands.push_back(term);
  }
  return sum;
}

/// Proves the sum for all values of a minimum, a maximum or a selection in
/// turn, if that is what the sum being negative comes down to. None otherwise.
std::optional<bool> BoundProver::proveForEach(const LinearForm &form,
                                              Value term, int64_t factor,
                                              unsigned depth) const {
  Choice choice = getChoice(term);
  bool isAny = factor < 0 ? choice.isMinimum : choice.isMaximum;
  if (choice.forms.empty() || isAny)
    return std::nullopt;
  return llvm::all_of(choice.forms, [&](const LinearForm &one) {
    return prove(form.replace(term, one), depth);
  });
}

/// Replaces `term` by a bound: from above if it is subtracted, else from below.
std::optional<bool> BoundProver::proveWithBound(const LinearForm &form,
                                                Value term, int64_t factor,
                                                unsigned depth) const {
  if (scf::ForOp loop = getCountingLoop(term)) {
    FailureOr<LinearForm> first = LinearForm::get(loop.getLowerBound()),
                          end = LinearForm::get(loop.getUpperBound());
    if (failed(first) || failed(end))
      return std::nullopt;
    if (factor > 0)
      return prove(form.replace(term, *first), depth);
    int64_t step = *getConstantIntValue(loop.getStep());
    int64_t last = (*end - *first).isMultipleOf(step) ? step : 1;
    return prove(form.replace(term, *end - last), depth);
  }
  Choice choice = getChoice(term);
  if (choice.forms.empty())
    return std::nullopt;
  return llvm::any_of(choice.forms, [&](const LinearForm &one) {
    return prove(form.replace(term, one), depth);
  });
}

/// Whether `term` comes from an affine map that makes no sum of numbers that
/// are not negative negative, and these are its operands.
bool BoundProver::isQuotient(Value term, unsigned depth) const {
  auto apply = term.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return false;
  bool isMonotone = true;
  apply.getAffineMap().getResult(0).walk([&](AffineExpr expr) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    isMonotone &= !constant || constant.getValue() >= 0;
  });
  return isMonotone && llvm::all_of(apply.getMapOperands(), [&](Value operand) {
           FailureOr<LinearForm> form = LinearForm::get(operand);
           return succeeded(form) && prove(*form, depth);
         });
}

bool BoundProver::prove(const LinearForm &form, unsigned depth) const {
  // The bounds of a loop may depend on loops around it.
  constexpr unsigned kMaxDepth = 16;
  if (depth++ == kMaxDepth)
    return false;
  for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors)) {
    auto it = facts.find(term);
    if (factor > 0 || it == facts.end() || factor % it->second.factor != 0)
      continue;
    if (prove(form - LinearForm::of(term, factor) +
                  it->second.most * (factor / it->second.factor),
              depth))
      return true;
  }
  for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors))
    if (std::optional<bool> known = proveForEach(form, term, factor, depth))
      return *known;
  // What is subtracted first: it may cancel what is added.
  for (bool isSubtracted : {true, false})
    for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors))
      if ((factor < 0) == isSubtracted)
        if (std::optional<bool> known =
                proveWithBound(form, term, factor, depth))
          return *known;
  // Constants are left.
  int64_t least = form.constant;
  for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors)) {
    if (factor < 0)
      return false;
    if (term.getDefiningOp<linalg::IndexOp>() || isQuotient(term, depth))
      continue;
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::LB, term);
    if (failed(bound))
      return false;
    least += factor * *bound;
  }
  return least >= 0;
}
