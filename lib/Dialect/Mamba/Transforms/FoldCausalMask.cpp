//===- FoldCausalMask.cpp - Skips what a causal mask makes zero -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAFOLDCAUSALMASKPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;

namespace {

/// An index value as a sum of others with constant factors.
class LinearForm {
public:
  /// Fails where the value is no such sum.
  static FailureOr<LinearForm> get(Value value) {
    LinearForm form;
    AffineExpr expr = form.build(value);
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(expr, form.terms.size(), 0, &flat)) ||
        flat.size() != form.terms.size() + 1)
      return failure();
    form.constant = flat.pop_back_val();
    form.factors = std::move(flat);
    return form;
  }

  SmallVector<Value> terms;
  SmallVector<int64_t> factors;
  int64_t constant = 0;

private:
  AffineExpr build(Value value) {
    MLIRContext *context = value.getContext();
    if (std::optional<int64_t> number = getConstantIntValue(value))
      return getAffineConstantExpr(*number, context);
    if (auto add = value.getDefiningOp<arith::AddIOp>())
      return build(add.getLhs()) + build(add.getRhs());
    if (auto apply = value.getDefiningOp<affine::AffineApplyOp>()) {
      SmallVector<AffineExpr> operands;
      for (Value operand : apply.getMapOperands())
        operands.push_back(build(operand));
      unsigned dims = apply.getAffineMap().getNumDims();
      return apply.getAffineMap().getResult(0).replaceDimsAndSymbols(
          ArrayRef(operands).take_front(dims),
          ArrayRef(operands).drop_front(dims));
    }
    auto *it = llvm::find(terms, value);
    unsigned number = it - terms.begin();
    if (it == terms.end())
      terms.push_back(value);
    return getAffineDimExpr(number, context);
  }
};

/// Comparisons of which all hold where `condition` does.
void getConjuncts(Value condition, SmallVectorImpl<arith::CmpIOp> &conjuncts) {
  if (auto conjunction = condition.getDefiningOp<arith::AndIOp>()) {
    getConjuncts(conjunction.getLhs(), conjuncts);
    getConjuncts(conjunction.getRhs(), conjuncts);
  } else if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    conjuncts.push_back(compare);
  }
}

/// The condition without which an element of the result is 0; null if there is
/// none.
Value getMask(linalg::GenericOp op) {
  Value value = op.getBody()->getTerminator()->getOperand(0);
  while (auto round = value.getDefiningOp<arith::TruncFOp>())
    value = round.getIn();
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return {};
  return select.getCondition();
}

/// The operation that computes a masked operand of the one contraction that
/// the loop sums; null if the loop does anything else.
linalg::GenericOp getMaskedSummand(scf::ForOp loop) {
  if (loop.getNumResults() != 1)
    return {};
  auto sum = loop.getYieldedValues().front().getDefiningOp<linalg::LinalgOp>();
  if (!sum || sum->getParentOp() != loop || sum.getNumDpsInits() != 1 ||
      sum.getDpsInits().front() != loop.getRegionIterArgs().front() ||
      !linalg::isaContractionOpInterface(sum))
    return {};
  for (Value input : sum.getDpsInputs()) {
    auto masked = input.getDefiningOp<linalg::GenericOp>();
    if (masked && masked->getParentOp() == loop &&
        masked->getNumResults() == 1 && getMask(masked))
      return masked;
  }
  return {};
}

/// The extent of loop `dim` of `op` as a value known before `loop`; null if
/// there is none.
Value getExtent(OpBuilder &b, scf::ForOp loop, linalg::LinalgOp op,
                unsigned dim) {
  auto known = [&](OpFoldResult size) -> Value {
    auto value = dyn_cast<Value>(size);
    if (value && !loop.isDefinedOutsideOfLoop(value))
      return {};
    return getValueOrCreateConstantIndexOp(b, loop.getLoc(), size);
  };
  SmallVector<std::pair<Value, unsigned>> operands;
  op.mapIterationSpaceDimToAllOperandDims(dim, operands);
  for (auto [operand, operandDim] : operands) {
    if (loop.isDefinedOutsideOfLoop(operand) ||
        !cast<ShapedType>(operand.getType()).isDynamicDim(operandDim))
      return known(tensor::getMixedSize(b, loop.getLoc(), operand, operandDim));
    Value size;
    if (auto empty = operand.getDefiningOp<tensor::EmptyOp>())
      size = known(empty.getMixedSizes()[operandDim]);
    else if (auto slice = operand.getDefiningOp<tensor::ExtractSliceOp>();
             slice && slice.getDroppedDims().none())
      size = known(slice.getMixedSizes()[operandDim]);
    if (size)
      return size;
  }
  return {};
}

bool isNeverNegative(const LinearForm &form) {
  if (form.constant < 0)
    return false;
  for (auto [term, factor] : llvm::zip_equal(form.terms, form.factors)) {
    if (factor < 0)
      return false;
    if (term.getDefiningOp<linalg::IndexOp>())
      continue;
    FailureOr<int64_t> least = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::LB, term);
    if (failed(least) || *least < 0)
      return false;
  }
  return true;
}

/// Whether a column is what `loop` counts, plus some loop of `masked`; gives
/// the constant that is added too.
std::optional<int64_t> getColumnOffset(const LinearForm &column,
                                       scf::ForOp loop) {
  bool hasVariable = false;
  for (auto [term, factor] : llvm::zip_equal(column.terms, column.factors)) {
    bool isVariable = term == loop.getInductionVar();
    if (isVariable ? factor != 1
                   : factor < 0 || !term.getDefiningOp<linalg::IndexOp>())
      return std::nullopt;
    hasVariable |= isVariable;
  }
  return hasVariable ? std::optional(column.constant) : std::nullopt;
}

/// Whether the columns of an iteration end where those of the next one begin,
/// or before.
bool isWithinStep(const LinearForm &column, scf::ForOp loop,
                  linalg::LinalgOp op) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  int64_t last = 0;
  for (auto [term, factor] : llvm::zip_equal(column.terms, column.factors)) {
    auto index = term.getDefiningOp<linalg::IndexOp>();
    if (!index)
      continue;
    Value operand;
    unsigned dim;
    if (failed(
            op.mapIterationSpaceDimToOperandDim(index.getDim(), operand, dim)))
      return false;
    FailureOr<int64_t> extent = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {operand, static_cast<int64_t>(dim)},
        /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (failed(extent))
      return false;
    last += factor * (*extent - 1);
  }
  return step && last < *step;
}

struct FoldCausalMask
    : mamba::impl::MambaFoldCausalMaskPassBase<FoldCausalMask> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](scf::ForOp loop) {
      linalg::GenericOp masked = getMaskedSummand(loop);
      if (!masked)
        return;
      SmallVector<arith::CmpIOp> conjuncts;
      getConjuncts(getMask(masked), conjuncts);
      for (arith::CmpIOp compare : conjuncts)
        if (fold(rewriter, loop, masked, compare)) {
          ++numFolded;
          return;
        }
    });
  }

  /// Ends the loop where `compare`, of a column with a row of `masked`, holds
  /// for no element of an iteration any more.
  bool fold(IRRewriter &rewriter, scf::ForOp loop, linalg::GenericOp masked,
            arith::CmpIOp compare) {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = compare.getPredicate();
    Value low = compare.getLhs(), high = compare.getRhs();
    if (predicate == Predicate::uge || predicate == Predicate::sge)
      std::swap(low, high);
    else if (predicate != Predicate::ule && predicate != Predicate::sle)
      return false;
    bool isUnsigned =
        predicate == Predicate::ule || predicate == Predicate::uge;
    if (!low.getType().isIndex())
      return false;
    FailureOr<LinearForm> column = LinearForm::get(low),
                          row = LinearForm::get(high);
    if (failed(column) || failed(row))
      return false;
    std::optional<int64_t> offset = getColumnOffset(*column, loop);
    // Unsigned, a negative row would be right of every column.
    if (!offset || (isUnsigned && !isNeverNegative(*row)))
      return false;

    // The last row is that of the last position in the tile.
    rewriter.setInsertionPoint(loop);
    AffineExpr end =
        rewriter.getAffineConstantExpr(row->constant + 1 - *offset);
    SmallVector<OpFoldResult> operands;
    for (auto [term, factor] : llvm::zip_equal(row->terms, row->factors)) {
      AffineExpr value = rewriter.getAffineDimExpr(operands.size());
      if (auto index = term.getDefiningOp<linalg::IndexOp>()) {
        Value extent = getExtent(rewriter, loop, masked, index.getDim());
        if (!extent || factor < 0)
          return false;
        operands.push_back(extent);
        end = end + (value - 1) * factor;
      } else if (loop.isDefinedOutsideOfLoop(term)) {
        operands.push_back(term);
        end = end + value * factor;
      } else {
        return false;
      }
    }
    AffineExpr whole = rewriter.getAffineDimExpr(operands.size());
    operands.push_back(loop.getUpperBound());
    AffineMap map =
        AffineMap::get(operands.size(), 0, {whole, end}, rewriter.getContext());
    Value bound = getValueOrCreateConstantIndexOp(
        rewriter, loop.getLoc(),
        affine::makeComposedFoldedAffineMin(rewriter, loop.getLoc(), map,
                                            operands));
    rewriter.modifyOpInPlace(
        loop, [&] { loop.getUpperBoundMutable().assign(bound); });
    if (peel && isWithinStep(*column, loop, masked) &&
        (!isUnsigned || isNeverNegative(*column)))
      peelUnmasked(rewriter, loop, compare, *row, *offset);
    return true;
  }

  /// Splits off the iterations whose columns all are left of the first row.
  static void peelUnmasked(IRRewriter &rewriter, scf::ForOp loop,
                           arith::CmpIOp compare, const LinearForm &row,
                           int64_t offset) {
    Location loc = loop.getLoc();
    int64_t step = *getConstantIntValue(loop.getStep());
    AffineExpr columns =
        rewriter.getAffineConstantExpr(row.constant + 1 - offset);
    SmallVector<OpFoldResult> operands;
    for (auto [term, factor] : llvm::zip_equal(row.terms, row.factors)) {
      if (term.getDefiningOp<linalg::IndexOp>())
        continue;
      columns = columns + rewriter.getAffineDimExpr(operands.size()) * factor;
      operands.push_back(term);
    }
    auto bind = [&](Value value) {
      operands.push_back(value);
      return rewriter.getAffineDimExpr(operands.size() - 1);
    };
    AffineExpr first = bind(loop.getLowerBound()),
               end = bind(loop.getUpperBound());
    AffineExpr split = first + (columns - first).floorDiv(step) * step;
    auto make = [&](auto build, ArrayRef<AffineExpr> exprs) {
      AffineMap map =
          AffineMap::get(operands.size(), 0, exprs, rewriter.getContext());
      return getValueOrCreateConstantIndexOp(
          rewriter, loc, build(rewriter, loc, map, operands));
    };
    // The first row may be left of the first column.
    Value least = make(
        [](auto &...args) {
          return affine::makeComposedFoldedAffineMax(args...);
        },
        {split, first});
    AffineExpr atLeast = bind(least);
    Value middle = make(
        [](auto &...args) {
          return affine::makeComposedFoldedAffineMin(args...);
        },
        {atLeast, end});

    IRMapping mapping;
    auto unmasked = cast<scf::ForOp>(rewriter.clone(*loop, mapping));
    unmasked.getUpperBoundMutable().assign(middle);
    Operation *copy = mapping.lookup(compare.getOperation());
    rewriter.setInsertionPoint(copy);
    rewriter.replaceOpWithNewOp<arith::ConstantIntOp>(copy, 1, 1);
    rewriter.modifyOpInPlace(loop, [&] {
      loop.getLowerBoundMutable().assign(middle);
      loop.getInitArgsMutable().assign(unmasked.getResults());
    });
  }
};
} // namespace
