//===- VectorizePatterns.cpp - What bodies of linalg compute --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mamba;

/// Returns the value that `value` extends to a wider float.
static Value skipExtension(Value value) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    return extension.getIn();
  return value;
}

std::optional<Contraction> mamba::matchContraction(linalg::LinalgOp op) {
  if (op.getNumLoops() != 3 || op.getNumReductionLoops() != 1 ||
      op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() != 2 || !map.isProjectedPermutation())
      return std::nullopt;
  }
  Block *body = op.getBlock();
  OpOperand *out = op.getDpsInitOperand(0);
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || !sum.getType().isF32())
    return std::nullopt;
  Value accumulator = op.getMatchingBlockArgument(out);
  Value other = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto product = other.getDefiningOp<arith::MulFOp>();
  if (!product || (sum.getLhs() != accumulator && sum.getRhs() != accumulator))
    return std::nullopt;

  Contraction result;
  result.lhs = op.getDpsInputOperand(0);
  result.rhs = op.getDpsInputOperand(1);
  Value factors[] = {skipExtension(product.getLhs()),
                     skipExtension(product.getRhs())};
  for (OpOperand *operand : {result.lhs, result.rhs})
    if (!llvm::is_contained(factors, op.getMatchingBlockArgument(operand)))
      return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(out);
  result.m = map.getDimPosition(0);
  result.n = map.getDimPosition(1);
  result.k = 3 - result.m - result.n;
  auto uses = [&](OpOperand *operand, unsigned loop) {
    return op.getMatchingIndexingMap(operand).isFunctionOfDim(loop);
  };
  if (uses(result.lhs, result.n))
    std::swap(result.lhs, result.rhs);
  if (!uses(result.lhs, result.m) || !uses(result.lhs, result.k) ||
      !uses(result.rhs, result.n) || !uses(result.rhs, result.k))
    return std::nullopt;
  return result;
}

std::optional<Reduction> mamba::matchReduction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1)
    return std::nullopt;
  Value out = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  Operation *combine =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!combine || combine->getNumOperands() != 2 || !out.hasOneUse() ||
      !isa<FloatType>(out.getType()) || !combine->hasOneUse())
    return std::nullopt;
  Value lhs = combine->getOperand(0), rhs = combine->getOperand(1);
  if (lhs != out && rhs != out)
    return std::nullopt;
  using vector::CombiningKind;
  std::optional<CombiningKind> kind =
      llvm::TypeSwitch<Operation *, std::optional<CombiningKind>>(combine)
          .Case([](arith::AddFOp) { return CombiningKind::ADD; })
          .Case([](arith::MulFOp) { return CombiningKind::MUL; })
          .Case([](arith::MaximumFOp) { return CombiningKind::MAXIMUMF; })
          .Case([](arith::MinimumFOp) { return CombiningKind::MINIMUMF; })
          .Case([](arith::MaxNumFOp) { return CombiningKind::MAXNUMF; })
          .Case([](arith::MinNumFOp) { return CombiningKind::MINNUMF; })
          .Default([](Operation *) { return std::nullopt; });
  if (!kind)
    return std::nullopt;
  return Reduction{*kind, lhs == out ? rhs : lhs};
}

FailureOr<SmallVector<std::optional<unsigned>>>
mamba::matchIndexedRead(linalg::LinalgOp op, tensor::ExtractOp extract) {
  SmallVector<std::optional<unsigned>> loops;
  std::optional<unsigned> last;
  for (Value index : extract.getIndices()) {
    std::optional<unsigned> loop;
    if (auto position = index.getDefiningOp<linalg::IndexOp>())
      loop = position.getDim();
    else if (op->isAncestor(index.getParentRegion()->getParentOp()) &&
             !getConstantIntValue(index))
      return failure();
    if (loop && last && *loop <= *last)
      return failure();
    if (loop)
      last = loop;
    loops.push_back(loop);
  }
  return loops;
}

TypedAttr mamba::getSplat(Value tensor) {
  SplatElementsAttr splat;
  if (!isa<RankedTensorType>(tensor.getType()) ||
      !matchPattern(tensor, m_Constant(&splat)))
    return {};
  return cast<TypedAttr>(splat.getSplatValue<Attribute>());
}
