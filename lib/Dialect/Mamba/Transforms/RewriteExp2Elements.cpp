//===- RewriteExp2Elements.cpp - Which elements an exponential reads ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mamba;

static FailureOr<LinearForm> getForm(OpFoldResult value) {
  if (auto attribute = dyn_cast<Attribute>(value))
    return LinearForm(cast<IntegerAttr>(attribute).getInt());
  return LinearForm::get(cast<Value>(value));
}

std::optional<Element> mamba::getElement(Value value) {
  Element element;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast<linalg::GenericOp>(argument.getOwner()->getParentOp());
    OpOperand *operand = op ? op.getMatchingOpOperand(argument) : nullptr;
    if (!operand || !op.isDpsInput(operand))
      return std::nullopt;
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!map.isProjectedPermutation() ||
        !isa<RankedTensorType>(operand->get().getType()))
      return std::nullopt;
    element.root = operand->get();
    for (unsigned i : llvm::seq(map.getNumResults()))
      element.position.push_back({LinearForm(), map.getDimPosition(i)});
  } else if (auto extract = value.getDefiningOp<tensor::ExtractOp>()) {
    element.root = extract.getTensor();
    for (Value index : extract.getIndices()) {
      FailureOr<LinearForm> form = LinearForm::get(index);
      if (failed(form) || llvm::any_of(form->terms, [](Value term) {
            return term.getDefiningOp<linalg::IndexOp>();
          }))
        return std::nullopt;
      element.position.push_back({*form, std::nullopt});
    }
  } else {
    return std::nullopt;
  }
  while (auto slice = element.root.getDefiningOp<tensor::ExtractSliceOp>()) {
    if (!slice.hasUnitStride())
      return std::nullopt;
    SmallVector<Position> position;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    auto *inner = element.position.begin();
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      FailureOr<LinearForm> form = getForm(offset);
      if (failed(form))
        return std::nullopt;
      position.push_back({*form, std::nullopt});
      if (dropped[dim])
        continue;
      position.back().first = *form + inner->first;
      position.back().second = inner->second;
      ++inner;
    }
    element.position = std::move(position);
    element.root = slice.getSource();
  }
  return element;
}

bool Element::isSameRow(const Element &other) const {
  if (root.getType() != other.root.getType() || position.empty())
    return false;
  for (auto [mine, others] :
       llvm::zip_equal(ArrayRef(position).drop_back(),
                       ArrayRef(other.position).drop_back()))
    if (mine.second || others.second || !(mine.first == others.first))
      return false;
  return true;
}

bool Element::isSamePosition(const Element &other) const {
  return isSameRow(other) &&
         position.back().second == other.position.back().second &&
         position.back().first == other.position.back().first;
}

/// Whether all that `value` goes to in its block is the selected value of
/// `select`.
static bool goesOnlyTo(Value value, arith::SelectOp select,
                       unsigned depth = 0) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *op = use.getOwner();
    if (op == select)
      return use.get() == select.getTrueValue() && use.getOperandNumber() == 1;
    constexpr unsigned kMaxDepth = 8;
    return depth < kMaxDepth && op->getBlock() == select->getBlock() &&
           isPure(op) && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
           goesOnlyTo(op->getResult(0), select, depth + 1);
  });
}

static void getConjuncts(Value condition,
                         SmallVectorImpl<arith::CmpIOp> &conjuncts) {
  if (auto conjunction = condition.getDefiningOp<arith::AndIOp>()) {
    getConjuncts(conjunction.getLhs(), conjuncts);
    getConjuncts(conjunction.getRhs(), conjuncts);
  } else if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    conjuncts.push_back(compare);
  }
}

/// A position as the sum of `form` and positions of loops.
static FailureOr<Position> getPosition(Value index) {
  FailureOr<LinearForm> form = LinearForm::get(index);
  if (failed(form))
    return failure();
  Position position{*form, std::nullopt};
  for (auto [term, factor] : llvm::zip_equal(form->terms, form->factors)) {
    auto loop = term.getDefiningOp<linalg::IndexOp>();
    if (!loop)
      continue;
    if (position.second || factor != 1)
      return failure();
    position.second = loop.getDim();
    position.first = position.first.replace(term, LinearForm());
  }
  return position;
}

/// Whether an element counts only where `before` is not after `after`.
static bool isMasked(Operation *exponent, const Position &before,
                     const Position &after) {
  using Predicate = arith::CmpIPredicate;
  auto op = dyn_cast<linalg::GenericOp>(exponent->getParentOp());
  if (!op || !before.second || !after.second)
    return false;
  for (Value value : op.getBody()->getTerminator()->getOperands()) {
    while (
        isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || !matchPattern(select.getFalseValue(), m_AnyZeroFloat()) ||
        !goesOnlyTo(exponent->getResult(0), select))
      continue;
    SmallVector<arith::CmpIOp> conjuncts;
    getConjuncts(select.getCondition(), conjuncts);
    for (arith::CmpIOp compare : conjuncts) {
      Predicate predicate = compare.getPredicate();
      Value low = compare.getLhs(), high = compare.getRhs();
      if (predicate == Predicate::uge || predicate == Predicate::sge)
        std::swap(low, high);
      else if (predicate != Predicate::ule && predicate != Predicate::sle)
        continue;
      if (!low.getType().isIndex())
        continue;
      FailureOr<Position> column = getPosition(low), row = getPosition(high);
      if (failed(column) || failed(row) || column->second != before.second ||
          row->second != after.second)
        continue;
      // Without sign, a negative position would be a large one.
      bool isSigned =
          predicate == Predicate::sle || predicate == Predicate::sge;
      if (column->first - before.first == row->first - after.first &&
          (isSigned || (BoundProver().isNeverNegative(column->first) &&
                        BoundProver().isNeverNegative(row->first))))
        return true;
    }
  }
  return false;
}

bool mamba::isNeverAfter(Operation *exponent, const Element &before,
                         const Element &after) {
  if (!before.isSameRow(after))
    return false;
  const Position &first = before.position.back(),
                 &second = after.position.back();
  // Nothing is after the last element.
  int64_t extent =
      cast<RankedTensorType>(after.root.getType()).getShape().back();
  if (second.first.terms.empty() && second.first.constant == extent - 1)
    return true;
  return isMasked(exponent, first, second) ||
         isAlwaysBefore(exponent, before, after);
}

bool mamba::isAlwaysBefore(Operation *exponent, const Element &before,
                           const Element &after) {
  if (!before.isSameRow(after))
    return false;
  const Position &first = before.position.back(),
                 &second = after.position.back();
  auto op = dyn_cast<linalg::GenericOp>(exponent->getParentOp());
  if (first.second && !op)
    return false;
  int64_t last = 0;
  if (first.second) {
    FailureOr<int64_t> bound = getLoopBound(op, *first.second);
    if (failed(bound))
      return false;
    last = *bound - 1;
  }
  return BoundProver().isNeverNegative(second.first - first.first -
                                       LinearForm(last));
}

FailureOr<int64_t> mamba::getLoopBound(linalg::GenericOp op, unsigned loop) {
  SmallVector<std::pair<Value, unsigned>> operands;
  op.mapIterationSpaceDimToAllOperandDims(loop, operands);
  for (auto [operand, dim] : operands) {
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {operand, static_cast<int64_t>(dim)},
        /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (succeeded(bound))
      return bound;
  }
  return failure();
}

bool mamba::collectReads(Value tensor, SmallVectorImpl<Value> &elements) {
  for (OpOperand &use : tensor.getUses()) {
    Operation *op = use.getOwner();
    if (isa<tensor::DimOp>(op))
      continue;
    if (isa<tensor::ExtractSliceOp>(op)) {
      if (!collectReads(op->getResult(0), elements))
        return false;
      continue;
    }
    if (isa<tensor::ExtractOp>(op)) {
      elements.push_back(op->getResult(0));
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic)
      return false;
    BlockArgument argument = generic.getMatchingBlockArgument(&use);
    if (argument.use_empty())
      continue;
    if (generic.isDpsInit(&use))
      return false;
    elements.push_back(argument);
  }
  return true;
}
