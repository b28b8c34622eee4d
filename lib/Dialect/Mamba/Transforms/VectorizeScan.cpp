//===- VectorizeScan.cpp - Prefix sums among linalg operations ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

/// Whether `value` is the position in loop `loop`.
static bool isIndexOf(Value value, unsigned loop) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index.getDim() == loop;
}

/// Whether `condition` says that the position in loop `j` is at most that in
/// loop `i`.
static bool isNotGreater(arith::CmpIOp condition, unsigned j, unsigned i) {
  using arith::CmpIPredicate;
  Value lhs = condition.getLhs(), rhs = condition.getRhs();
  switch (condition.getPredicate()) {
  case CmpIPredicate::ule:
  case CmpIPredicate::sle:
    return isIndexOf(lhs, j) && isIndexOf(rhs, i);
  case CmpIPredicate::uge:
  case CmpIPredicate::sge:
    return isIndexOf(lhs, i) && isIndexOf(rhs, j);
  default:
    return false;
  }
}

std::optional<Scan> mamba::matchScan(linalg::LinalgOp op) {
  std::optional<Reduction> sum = matchReduction(op);
  if (!sum || sum->kind != vector::CombiningKind::ADD ||
      !sum->value.getType().isF32() || op.getNumReductionLoops() != 1 ||
      op.getNumLoops() > 3)
    return std::nullopt;
  auto select = sum->value.getDefiningOp<arith::SelectOp>();
  if (!select || !select->hasOneUse() ||
      !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return std::nullopt;
  auto condition = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!condition || !condition->hasOneUse())
    return std::nullopt;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  Scan scan;
  scan.term = select.getTrueValue();
  scan.summed = reduced.front();
  AffineMap out = op.getIndexingMapsArray().back();
  std::optional<unsigned> position;
  for (unsigned i : llvm::seq(out.getNumResults()))
    if (isNotGreater(condition, scan.summed, out.getDimPosition(i)))
      position = out.getDimPosition(i);
  if (!position)
    return std::nullopt;
  scan.position = *position;
  scan.structure = {
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp(), select,
      condition};
  // Nothing else may know where the sum is taken.
  for (OpOperand *operand : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(operand).isFunctionOfDim(scan.position))
      return std::nullopt;
  for (auto index : op.getBlock()->getOps<linalg::IndexOp>()) {
    if (!llvm::all_of(index->getUsers(),
                      [&](Operation *user) { return user == condition; }))
      return std::nullopt;
    scan.structure.push_back(index);
  }
  return scan;
}
