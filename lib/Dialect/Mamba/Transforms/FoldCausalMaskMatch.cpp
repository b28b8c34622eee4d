//===- FoldCausalMaskMatch.cpp - Which elements a mask makes zero ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

std::optional<ZeroMask> mamba::matchZeroMask(Value value) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || !isa<FloatType>(select.getType()))
    return std::nullopt;
  if (matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return ZeroMask{select, /*isNegated=*/false};
  if (matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return ZeroMask{select, /*isNegated=*/true};
  return std::nullopt;
}

/// Adds comparisons that all hold where `condition` does, or does not.
static void addConjuncts(Value condition, bool isNegated,
                         SmallVectorImpl<Conjunct> &conjuncts) {
  Operation *op = condition.getDefiningOp();
  if (isNegated ? isa_and_nonnull<arith::OrIOp>(op)
                : isa_and_nonnull<arith::AndIOp>(op)) {
    addConjuncts(op->getOperand(0), isNegated, conjuncts);
    addConjuncts(op->getOperand(1), isNegated, conjuncts);
  } else if (auto flip = dyn_cast_or_null<arith::XOrIOp>(op)) {
    if (matchPattern(flip.getRhs(), m_One()))
      addConjuncts(flip.getLhs(), !isNegated, conjuncts);
  } else if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    conjuncts.push_back({compare, isNegated});
  }
}

/// Follows what is 0 where a factor is.
static void addConjunctsOfValue(Value value,
                                SmallVectorImpl<Conjunct> &conjuncts) {
  if (std::optional<ZeroMask> mask = matchZeroMask(value)) {
    addConjuncts(mask->select.getCondition(), mask->isNegated, conjuncts);
    return addConjunctsOfValue(mask->getKept(), conjuncts);
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp, arith::NegFOp,
                      arith::MulFOp>(op))
    for (Value operand : op->getOperands())
      addConjunctsOfValue(operand, conjuncts);
}

SmallVector<Conjunct> mamba::getConjuncts(linalg::GenericOp op) {
  SmallVector<Conjunct> conjuncts;
  addConjunctsOfValue(op.getBody()->getTerminator()->getOperand(0), conjuncts);
  return conjuncts;
}

SmallVector<linalg::GenericOp> mamba::getMaskedFactors(scf::ForOp loop) {
  SmallVector<linalg::GenericOp> factors;
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto sum = yielded.getDefiningOp<linalg::LinalgOp>();
    if (!sum || sum->getParentOp() != loop || sum.getNumDpsInits() != 1 ||
        sum.getDpsInits().front() != argument || !argument.hasOneUse() ||
        !linalg::isaContractionOpInterface(sum))
      return {};
    SmallVector<linalg::GenericOp> own;
    for (Value input : sum.getDpsInputs()) {
      auto factor = input.getDefiningOp<linalg::GenericOp>();
      bool isFirst = argument == loop.getRegionIterArgs().front();
      if (factor && factor->getParentOp() == loop &&
          factor->getNumResults() == 1 &&
          (isFirst || llvm::is_contained(factors, factor)))
        own.push_back(factor);
    }
    factors = own;
  }
  return factors;
}
