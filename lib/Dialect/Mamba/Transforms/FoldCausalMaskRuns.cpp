//===- FoldCausalMaskRuns.cpp - Masks of packed sequences -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ids say which sequence a token belongs to, and an element counts where the
// ids of its row and its column are equal. Each id that is not negative stands
// in one run, so if the first token of a tile and the last one have one such
// id, all between them have it, and the comparison holds throughout.
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mamba;

/// Whether `ids`, of one dimension, is a part of the last dimension of an
/// argument whose ids stand in runs.
static bool hasRuns(Value ids) {
  while (auto slice = ids.getDefiningOp<tensor::ExtractSliceOp>()) {
    int64_t last = slice.getSourceType().getRank() - 1;
    if (slice.getDroppedDims().test(last) ||
        !isOneInteger(slice.getMixedStrides()[last]) ||
        !llvm::all_of(ArrayRef(slice.getStaticSizes()).drop_back(),
                      [](int64_t size) { return size == 1; }))
      return false;
    ids = slice.getSource();
  }
  auto argument = dyn_cast<BlockArgument>(ids);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  return function &&
         function.getArgAttr(argument.getArgNumber(), kRunsAttrName);
}

/// The slice that a value of the body of `factor` is read from.
static tensor::ExtractSliceOp getSlice(linalg::GenericOp factor, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != factor.getBody())
    return {};
  auto slice = factor->getOperand(argument.getArgNumber())
                   .getDefiningOp<tensor::ExtractSliceOp>();
  bool isPart = slice && slice.getType().getRank() == 1 &&
                slice.getSourceType().getRank() == 1;
  return isPart ? slice : tensor::ExtractSliceOp();
}

/// Whether the conjunct says that `id` is not negative.
static bool isNotNegative(Conjunct conjunct, Value id) {
  Value lhs = conjunct.compare.getLhs(), rhs = conjunct.compare.getRhs();
  arith::CmpIPredicate predicate = conjunct.getPredicate();
  if (lhs != id) {
    std::swap(lhs, rhs);
    if (predicate == arith::CmpIPredicate::sle)
      predicate = arith::CmpIPredicate::sge;
    else if (predicate == arith::CmpIPredicate::slt)
      predicate = arith::CmpIPredicate::sgt;
    else
      return false;
  }
  APInt bound;
  return lhs == id && matchPattern(rhs, m_ConstantInt(&bound)) &&
         ((predicate == arith::CmpIPredicate::sge && bound.isZero()) ||
          (predicate == arith::CmpIPredicate::sgt && bound.isAllOnes()));
}

std::optional<RunMask> mamba::matchRunMask(linalg::GenericOp factor,
                                           const BoundProver &prover) {
  SmallVector<Conjunct> conjuncts = getConjuncts(factor);
  for (Conjunct conjunct : conjuncts) {
    if (conjunct.getPredicate() != arith::CmpIPredicate::eq)
      continue;
    Value lhs = conjunct.compare.getLhs(), rhs = conjunct.compare.getRhs();
    auto rows = getSlice(factor, lhs), columns = getSlice(factor, rhs);
    if (!rows || !columns || rows.getSource() != columns.getSource() ||
        !hasRuns(rows))
      continue;
    // Without elements there would be no first one to read.
    auto hasElements = [&](tensor::ExtractSliceOp slice) {
      OpFoldResult size = slice.getMixedSizes().front();
      if (std::optional<int64_t> number = getConstantIntValue(size))
        return *number > 0;
      FailureOr<LinearForm> form = LinearForm::get(cast<Value>(size));
      return succeeded(form) && prover.isNeverNegative(*form - 1);
    };
    if (!hasElements(rows) && !hasElements(columns))
      continue;
    RunMask mask{rows.getSource(), {conjunct}};
    for (Conjunct other : conjuncts)
      if (isNotNegative(other, lhs) || isNotNegative(other, rhs))
        mask.conjuncts.push_back(other);
    return mask;
  }
  return std::nullopt;
}

scf::ForOp mamba::splitRuns(RewriterBase &b, scf::ForOp loop, RunMask mask,
                            BoundProver &prover) {
  b.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  Value size = getValueOrCreateConstantIndexOp(
      b, loc, tensor::getMixedSize(b, loc, mask.ids, 0));
  Value position = arith::SubIOp::create(b, loc, size, one);
  Value first = tensor::ExtractOp::create(b, loc, mask.ids, zero);
  Value last = tensor::ExtractOp::create(b, loc, mask.ids, position);
  Value none = arith::ConstantOp::create(
      b, loc, cast<TypedAttr>(b.getZeroAttr(first.getType())));
  using Predicate = arith::CmpIPredicate;
  Value isOne = arith::CmpIOp::create(b, loc, Predicate::eq, first, last);
  Value isRun = arith::CmpIOp::create(b, loc, Predicate::sge, first, none);
  Value isFree = arith::AndIOp::create(b, loc, isOne, isRun);
  Value middle = arith::SelectOp::create(b, loc, isFree, loop.getUpperBound(),
                                         loop.getLowerBound());
  // No matter which of the two it is.
  FailureOr<LinearForm> begin = LinearForm::get(loop.getLowerBound()),
                        end = LinearForm::get(loop.getUpperBound());
  if (succeeded(begin) && succeeded(end) &&
      prover.isNeverNegative(*end - *begin))
    prover.assume(middle, 1, *end);

  IRMapping mapping;
  auto free = cast<scf::ForOp>(b.clone(*loop, mapping));
  free.getUpperBoundMutable().assign(middle);
  b.modifyOpInPlace(loop, [&] {
    loop.getLowerBoundMutable().assign(middle);
    loop.getInitArgsMutable().assign(free.getResults());
  });
  OpBuilder::InsertionGuard guard(b);
  for (Conjunct conjunct : mask.conjuncts) {
    Operation *copy = mapping.lookup(conjunct.compare.getOperation());
    b.setInsertionPoint(copy);
    b.replaceOpWithNewOp<arith::ConstantIntOp>(copy, !conjunct.isNegated, 1);
  }
  return free;
}
