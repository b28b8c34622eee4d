//===- RewriteExp2Separate.cpp - Factors of rows leave a sum --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum over j of s_ij * exp2(g_i - g_j) * x_j, with every j before every i, is
// exp2(g_i - r) times the sum of s_ij * exp2(r - g_j) * x_j, with r = g at the
// first row. A monotone g makes both exponents at most 0.
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

namespace {
/// A weight s * exp2(min(row - column, 0)) * .. of a sum of contractions.
struct Separable {
  linalg::GenericOp weights;
  math::Exp2Op exp;
  OpOperand *row, *column;
  bool isClamped;
  /// The product's factors of a column, and all others.
  SmallVector<Value> ofColumn, others;
  /// The dimension of the sum that is the row.
  unsigned sumDim;
};
} // namespace

/// The factors of a product; of a power, the whole.
static void getFactors(Value value, SmallVectorImpl<Value> &factors) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (product && product.getLhs() != product.getRhs()) {
    getFactors(product.getLhs(), factors);
    getFactors(product.getRhs(), factors);
  } else {
    factors.push_back(value);
  }
}

/// Whether the slice that holds the rows has at least one.
static bool isNeverEmpty(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(0))
    return type.getDimSize(0) > 0;
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getDroppedDims().any() || slice.getType().getRank() != 1)
    return false;
  auto size = dyn_cast<Value>(slice.getMixedSizes().front());
  FailureOr<LinearForm> form =
      size ? LinearForm::get(size) : FailureOr<LinearForm>(failure());
  return succeeded(form) &&
         BoundProver().isNeverNegative(*form - LinearForm(1));
}

/// Matches the weights' rows and columns; fills all but `sumDim`.
static bool matchWeights(Separable &s) {
  linalg::GenericOp op = s.weights;
  if (op.getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !op.getIndexingMapsArray().back().isIdentity() || op.hasIndexSemantics())
    return false;
  Value value = op.getBody()->getTerminator()->getOperand(0);
  // What f16 could not hold before is only multiplied afterwards.
  while (auto round = value.getDefiningOp<arith::TruncFOp>()) {
    if (!round.getType().isBF16())
      return false;
    value = round.getIn();
  }
  SmallVector<Value> factors;
  getFactors(value, factors);
  for (Value factor : factors) {
    auto exp = factor.getDefiningOp<math::Exp2Op>();
    if (!exp || !exp.getType().isF32() || !isApproximate(exp))
      continue;
    Value exponent = exp.getOperand();
    auto clamp = exponent.getDefiningOp<arith::MinimumFOp>();
    s.isClamped = clamp && matchPattern(clamp.getRhs(), m_AnyZeroFloat());
    if (s.isClamped)
      exponent = clamp.getLhs();
    auto difference = exponent.getDefiningOp<arith::SubFOp>();
    if (!difference)
      continue;
    auto row = dyn_cast<BlockArgument>(difference.getLhs()),
         column = dyn_cast<BlockArgument>(difference.getRhs());
    if (!row || !column)
      continue;
    std::optional<Element> after = getElement(row), before = getElement(column);
    if (!after || !before || after->root != before->root ||
        !after->position.back().second || !before->position.back().second ||
        !isAlwaysBefore(exp, *before, *after))
      continue;
    s.exp = exp;
    s.row = op.getMatchingOpOperand(row);
    s.column = op.getMatchingOpOperand(column);
    if (cast<RankedTensorType>(s.row->get().getType()).getRank() != 1 ||
        cast<RankedTensorType>(s.column->get().getType()).getRank() != 1 ||
        *after->position.back().second == *before->position.back().second ||
        !isNeverEmpty(s.row->get()))
      continue;
    // Without a minimum, terms must be known not to be positive.
    linalg::GenericOp sum = getPrefixSum(after->root);
    if (!sum || (!s.isClamped && !hasClampedTerms(sum)))
      continue;
    AffineMap map = op.getMatchingIndexingMap(s.column);
    bool isSeen = false;
    for (Value other : factors) {
      if (other == factor && !isSeen) {
        isSeen = true;
        continue;
      }
      auto argument = dyn_cast<BlockArgument>(other);
      OpOperand *operand = argument && argument.getOwner() == op.getBody()
                               ? op.getMatchingOpOperand(argument)
                               : nullptr;
      bool isOfColumn = operand && op.isDpsInput(operand) &&
                        op.getMatchingIndexingMap(operand) == map &&
                        other.getType().isF32();
      (isOfColumn ? s.ofColumn : s.others).push_back(other);
    }
    return true;
  }
  return false;
}

/// Matches result `number` of a loop that sums contractions from 0.
static std::optional<Separable> matchSum(scf::ForOp loop, unsigned number) {
  auto fill = loop.getInitArgs()[number].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.value(), m_AnyZeroFloat()))
    return std::nullopt;
  BlockArgument sum = loop.getRegionIterArgs()[number];
  auto add = loop.getYieldedValues()[number].getDefiningOp<linalg::LinalgOp>();
  if (!add || add->getParentOp() != loop || add.getNumDpsInits() != 1 ||
      add.getDpsInits().front() != sum || !sum.hasOneUse() ||
      !add->hasOneUse() || !linalg::isaContractionOpInterface(add))
    return std::nullopt;
  AffineMap result = add.getIndexingMapsArray().back();
  for (OpOperand *operand : add.getDpsInputOperands()) {
    Separable s;
    s.weights = operand->get().getDefiningOp<linalg::GenericOp>();
    if (!s.weights || s.weights->getParentOp() != loop ||
        !operand->get().hasOneUse() || !matchWeights(s) ||
        !loop.isDefinedOutsideOfLoop(s.row->get()))
      continue;
    unsigned row = s.weights.getMatchingIndexingMap(s.row).getDimPosition(0);
    unsigned addLoop = add.getMatchingIndexingMap(operand).getDimPosition(row);
    for (unsigned i : llvm::seq(result.getNumResults()))
      if (result.getDimPosition(i) == addLoop) {
        s.sumDim = i;
        return s;
      }
  }
  return std::nullopt;
}

/// exp2(value), or exp2(min(value, 0)).
static Value createPower(OpBuilder &b, Location loc, Value value,
                         const Separable &s) {
  if (s.isClamped)
    value = arith::MinimumFOp::create(
        b, loc, value,
        arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0)));
  return math::Exp2Op::create(b, loc, value, arith::FastMathFlags::afn);
}

/// Replaces the weights by ones with a factor of a column in place of the
/// exponential.
static void replaceWeights(RewriterBase &rewriter, Separable &s, Value first) {
  linalg::GenericOp op = s.weights;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> columns{s.column->get()};
  for (Value factor : s.ofColumn)
    columns.push_back(
        op.getMatchingOpOperand(cast<BlockArgument>(factor))->get());
  Value ofColumn = createElementwise(
      rewriter, loc, columns, rewriter.getF32Type(),
      [&](OpBuilder &b, Location at, ValueRange values) {
        Value product = createPower(
            b, at, arith::SubFOp::create(b, at, first, values.front()), s);
        for (Value factor : values.drop_front())
          product = arith::MulFOp::create(b, at, product, factor);
        return product;
      });
  SmallVector<Value> inputs = op.getInputs();
  inputs.push_back(ofColumn);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(maps.end() - 1, op.getMatchingIndexingMap(s.column));
  Value old = op.getBody()->getTerminator()->getOperand(0);
  while (auto round = old.getDefiningOp<arith::TruncFOp>())
    old = round.getIn();
  auto weights = linalg::GenericOp::create(
      rewriter, loc, op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &b, Location at, ValueRange arguments) {
        IRMapping mapping;
        unsigned count = op.getInputs().size();
        mapping.map(op.getBody()->getArguments().take_front(count),
                    arguments.take_front(count));
        mapping.map(op.getBody()->getArguments().drop_front(count),
                    arguments.drop_front(count + 1));
        for (Operation &nested : op.getBody()->without_terminator()) {
          b.clone(nested, mapping);
          if (old.getDefiningOp() != &nested)
            continue;
          Value product = arguments[count];
          for (Value factor : llvm::reverse(s.others))
            product = arith::MulFOp::create(
                b, at, mapping.lookupOrDefault(factor), product);
          mapping.map(old, product);
        }
        linalg::YieldOp::create(
            b, at,
            mapping.lookupOrDefault(
                op.getBody()->getTerminator()->getOperand(0)));
      });
  rewriter.replaceOp(op, weights);
}

static void separate(RewriterBase &rewriter, scf::ForOp loop, unsigned number,
                     Separable &s) {
  Location loc = loop.getLoc();
  Value rows = s.row->get();
  rewriter.setInsertionPoint(loop);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value first = tensor::ExtractOp::create(rewriter, loc, rows, zero);
  replaceWeights(rewriter, s, first);

  rewriter.setInsertionPointAfter(loop);
  Value ofRow = createElementwise(
      rewriter, loc, rows, rewriter.getF32Type(),
      [&](OpBuilder &b, Location at, ValueRange values) {
        return createPower(
            b, at, arith::SubFOp::create(b, at, values.front(), first), s);
      });
  Value sum = loop.getResult(number);
  auto type = cast<RankedTensorType>(sum.getType());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc,
      tensor::getMixedSizes(rewriter, loc, loop.getInitArgs()[number]),
      type.getElementType());
  AffineMap all = rewriter.getMultiDimIdentityMap(type.getRank());
  AffineMap ofDim =
      AffineMap::get(type.getRank(), 0, rewriter.getAffineDimExpr(s.sumDim));
  auto scaled = linalg::GenericOp::create(
      rewriter, loc, TypeRange{empty.getType()}, ValueRange{sum, ofRow},
      ValueRange{empty}, {all, ofDim, all},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [](OpBuilder &b, Location at, ValueRange arguments) {
        linalg::YieldOp::create(
            b, at,
            arith::MulFOp::create(b, at, arguments[0], arguments[1])
                .getResult());
      });
  rewriter.replaceAllUsesExcept(sum, scaled.getResult(0), scaled);
}

unsigned mamba::separateFactors(RewriterBase &rewriter, Operation *function) {
  SmallVector<scf::ForOp> loops;
  function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  unsigned count = 0;
  for (scf::ForOp loop : loops)
    for (unsigned number : llvm::seq(loop.getNumResults()))
      if (std::optional<Separable> s = matchSum(loop, number)) {
        separate(rewriter, loop, number, *s);
        ++count;
      }
  return count;
}
