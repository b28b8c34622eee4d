//===- FuseRecurrence.cpp - What a block's loop carries -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseRecurrence.h"
#include "FuseBlocks.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mamba;

void Recurrence::visit(
    ArrayRef<Value> roots, llvm::function_ref<void(Operation *)> visitOp,
    llvm::function_ref<void(BlockArgument)> visitArgument) const {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist(roots);
  scf::ForallOp parent = block;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second ||
        !parent->isAncestor(value.getParentRegion()->getParentOp()))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      visitArgument(cast<BlockArgument>(value));
      continue;
    }
    if (op == loop)
      continue;
    visitOp(op);
    llvm::append_range(worklist, op->getOperands());
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(worklist, captured);
  }
}

llvm::DenseSet<Operation *>
Recurrence::findNeeded(ArrayRef<Value> roots) const {
  llvm::DenseSet<Operation *> needed;
  visit(roots, [&](Operation *op) { needed.insert(op); }, [](BlockArgument) {});
  return needed;
}

SmallVector<unsigned> Recurrence::findCarried(ArrayRef<Value> roots) const {
  SmallVector<unsigned> carried;
  scf::ForOp parent = loop;
  visit(
      roots, [](Operation *) {},
      [&](BlockArgument argument) {
        if (argument.getOwner() == parent.getBody() &&
            argument != parent.getInductionVar())
          carried.push_back(argument.getArgNumber() - 1);
      });
  llvm::sort(carried);
  return carried;
}

namespace {
/// Whether a value is a * h + u, and what `a` is.
struct Factor {
  enum Kind { None, Independent, Affine } kind = None;
  Value value;
};
} // namespace

/// Finds the factor of `h` in `value`. `region` holds what is not the same for
/// all elements; null: nothing. With a builder, `Affine` has a value.
static Factor findFactor(Value value, Value h, Region *region, Block *body,
                         OpBuilder *b, const IRMapping *mapping) {
  auto isHere = [&](Value v) {
    return region ? region->isAncestor(v.getParentRegion())
                  : v.getParentBlock() == body;
  };
  Location loc = value.getLoc();
  if (value == h)
    return {Factor::Affine,
            b ? arith::ConstantOp::create(*b, loc, b->getF32FloatAttr(1.0))
                    .getResult()
              : Value()};
  Operation *op = value.getDefiningOp();
  if (!op || !isHere(value))
    return {Factor::Independent, {}};
  SmallVector<Factor> factors;
  bool isIndependent = true;
  for (Value operand : op->getOperands()) {
    factors.push_back(findFactor(operand, h, region, body, b, mapping));
    isIndependent &= factors.back().kind == Factor::Independent;
  }
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value operand : captured)
    isIndependent &=
        findFactor(operand, h, region, body, nullptr, mapping).kind ==
        Factor::Independent;
  if (isIndependent)
    return {Factor::Independent, {}};
  auto isUniform = [&](Value v) { return !region || !isHere(v); };
  auto get = [&](Value v) { return mapping->lookupOrDefault(v); };
  bool isLeft = !factors.empty() && factors[0].kind == Factor::Affine;
  if (isa<arith::AddFOp>(op)) {
    const Factor &own = factors[isLeft ? 0 : 1], &other = factors[isLeft];
    return own.kind == Factor::Affine && other.kind == Factor::Independent
               ? own
               : Factor();
  }
  if (isa<arith::MulFOp>(op)) {
    const Factor &own = factors[isLeft ? 0 : 1], &other = factors[isLeft];
    Value scale = op->getOperand(isLeft);
    if (own.kind != Factor::Affine || other.kind != Factor::Independent ||
        !isUniform(scale))
      return {};
    if (!b)
      return own;
    return {Factor::Affine,
            arith::MulFOp::create(*b, loc, get(scale), own.value)};
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (factors[0].kind != Factor::Independent ||
        !isUniform(select.getCondition()) || factors[1].kind == Factor::None ||
        factors[2].kind == Factor::None)
      return {};
    if (!b)
      return {Factor::Affine, {}};
    Value zero = arith::ConstantOp::create(*b, loc, b->getF32FloatAttr(0.0));
    auto orZero = [&](const Factor &factor) {
      return factor.kind == Factor::Affine ? factor.value : zero;
    };
    return {Factor::Affine,
            arith::SelectOp::create(*b, loc, get(select.getCondition()),
                                    orZero(factors[1]), orZero(factors[2]))};
  }
  return {};
}

/// The factor of carried value `number` in its next value.
static Factor findStateFactor(scf::ForOp loop, unsigned number, OpBuilder *b,
                              const IRMapping *mapping) {
  Value next = loop.getYieldedValues()[number];
  Value h = loop.getRegionIterArg(number);
  if (next.getType().isF32())
    return findFactor(next, h, nullptr, loop.getBody(), b, mapping);
  auto type = dyn_cast<RankedTensorType>(next.getType());
  auto op = next.getDefiningOp<linalg::GenericOp>();
  if (!type || !type.getElementType().isF32() || !type.hasStaticShape() ||
      !op || op->getBlock() != loop.getBody() || op->getNumResults() != 1 ||
      op.getNumReductionLoops() != 0)
    return {};
  OpOperand *own = nullptr;
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get() == h) {
      if (own)
        return {};
      own = &operand;
    }
  if (!own || !op.getMatchingIndexingMap(own).isIdentity() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return {};
  Block *body = op.getBlock();
  Factor factor = findFactor(body->getTerminator()->getOperand(0),
                             op.getMatchingBlockArgument(own), &op.getRegion(),
                             body, b, mapping);
  // The old value must not enter by another way.
  if (factor.kind == Factor::Independent)
    return {};
  return factor;
}

bool Recurrence::isState(unsigned number) const {
  if (findStateFactor(loop, number, nullptr, nullptr).kind != Factor::Affine)
    return false;
  scf::ForOp parent = loop;
  // Only the operation that multiplies it reads it, of those that matter.
  Value h = parent.getRegionIterArg(number);
  unsigned readers = 0;
  visit(
      parent.getYieldedValues()[number],
      [&](Operation *op) { readers += llvm::count(op->getOperands(), h); },
      [](BlockArgument) {});
  return readers == 1;
}

Value Recurrence::createFactor(OpBuilder &builder, unsigned state,
                               const IRMapping &mapping) const {
  return findStateFactor(loop, state, &builder, &mapping).value;
}

/// How far the place of tiles along a dimension moves in each iteration, if
/// tiles do not overlap; 0 if it is always 0.
static std::optional<int64_t> getWidth(scf::ForOp loop, OpFoldResult offset,
                                       OpFoldResult size) {
  if (isZeroInteger(offset))
    return 0;
  auto value = dyn_cast<Value>(offset);
  int64_t width = 1;
  if (auto apply = value ? value.getDefiningOp<affine::AffineApplyOp>()
                         : affine::AffineApplyOp()) {
    AffineMap map = apply.getAffineMap();
    auto product = dyn_cast<AffineBinaryOpExpr>(map.getResult(0));
    auto factor = product && product.getKind() == AffineExprKind::Mul
                      ? dyn_cast<AffineConstantExpr>(product.getRHS())
                      : AffineConstantExpr();
    if (map.getNumInputs() != 1 || !factor || factor.getValue() <= 0 ||
        !isa<AffineDimExpr, AffineSymbolExpr>(product.getLHS()))
      return std::nullopt;
    width = factor.getValue();
    value = apply.getMapOperands()[0];
  }
  if (value != loop.getInductionVar())
    return std::nullopt;
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant <= width ? std::optional(width) : std::nullopt;
  auto min = cast<Value>(size).getDefiningOp<affine::AffineMinOp>();
  if (min && llvm::any_of(min.getMap().getResults(), [&](AffineExpr expr) {
        auto constant = dyn_cast<AffineConstantExpr>(expr);
        return constant && constant.getValue() <= width;
      }))
    return width;
  return std::nullopt;
}

std::string Recurrence::checkOutput(unsigned number, bool &isOutput) {
  BlockArgument argument = loop.getRegionIterArg(number);
  OpResult result = loop->getResult(number);
  auto insert =
      loop.getYieldedValues()[number].getDefiningOp<tensor::InsertSliceOp>();
  isOutput = insert && insert.getDest() == argument;
  if (!isOutput)
    return "";
  auto parallel =
      result.hasOneUse()
          ? dyn_cast<tensor::ParallelInsertSliceOp>(*result.user_begin())
          : tensor::ParallelInsertSliceOp();
  if (!argument.hasOneUse() || !insert->hasOneUse() || !parallel ||
      parallel.getSource() != result || !parallel.hasUnitStride() ||
      !insert.hasUnitStride() || parallel.getDroppedDims().any())
    return "results that the loop only inserts tiles into";
  Value init = loop.getInits()[number];
  auto slice = init.getDefiningOp<tensor::ExtractSliceOp>();
  bool isOwn = slice ? slice.getSource() == parallel.getDest()
                     : init.getDefiningOp<tensor::EmptyOp>() != nullptr;
  if (!isOwn ||
      llvm::range_size(parallel.getDest().getUses()) != (slice ? 2 : 1))
    return "results that blocks only write";
  CarriedOutput output{number, nullptr, parallel, {}};
  output.out = block.getTiedOpOperand(cast<BlockArgument>(parallel.getDest()));
  for (auto [offset, size, outer] :
       llvm::zip_equal(insert.getMixedOffsets(), insert.getMixedSizes(),
                       parallel.getMixedOffsets())) {
    std::optional<int64_t> width = getWidth(loop, offset, size);
    if (!width || (*width != 0 && !isZeroInteger(outer)))
      return "tiles that iterations insert one after the other";
    output.widths.push_back(*width);
  }
  if (llvm::none_of(output.widths, [](int64_t width) { return width != 0; }))
    return "tiles that iterations insert one after the other";
  outputs.push_back(std::move(output));
  return "";
}

/// Every result is one that the loop writes, or follows from the last states.
std::string Recurrence::checkResults() {
  for (Operation &op : block.getTerminator().getYieldingOps()) {
    auto parallel = dyn_cast<tensor::ParallelInsertSliceOp>(op);
    if (parallel && llvm::any_of(outputs, [&](const CarriedOutput &output) {
          return output.parallel == parallel;
        }))
      continue;
    if (!parallel || !parallel.getDest().hasOneUse())
      return "results that blocks only write";
    bool usesOthers = false;
    auto visitValue = [&](Value value) {
      if (value.getDefiningOp() == loop)
        usesOthers |= !llvm::is_contained(
            states, cast<OpResult>(value).getResultNumber());
    };
    visitValue(parallel.getSource());
    visit(
        parallel.getSource(),
        [&](Operation *op) { llvm::for_each(op->getOperands(), visitValue); },
        [](BlockArgument) {});
    if (usesOthers)
      return "results that follow from the states or from one iteration";
    finals.push_back(parallel);
  }
  return "";
}

std::string Recurrence::check() {
  for (Operation &op : block.getBody()->without_terminator())
    if (auto own = dyn_cast<scf::ForOp>(op)) {
      if (loop)
        return "one loop in each block";
      loop = own;
    }
  if (!loop || !isZeroInteger(loop.getLowerBound()) ||
      !isOneInteger(loop.getStep()) ||
      block->isAncestor(loop.getUpperBound().getParentRegion()->getParentOp()))
    return "a loop in each block from 0 to a number known outside";
  for (const Variable &variable : getVariables(block))
    if (!isZeroInteger(variable.first))
      return "loops over blocks from 0";
  for (unsigned number = 0; number < loop.getNumResults(); ++number) {
    bool isOutput = false;
    if (std::string reason = checkOutput(number, isOutput); !reason.empty())
      return reason;
    if (isOutput)
      continue;
    Value next = loop.getYieldedValues()[number];
    SmallVector<unsigned> carried = findCarried(next);
    if (isState(number)) {
      states.push_back(number);
    } else if (carried.empty() && !isa<TensorType>(next.getType()) &&
               loop->getResult(number).use_empty()) {
      passed.push_back(number);
    } else {
      return "what the loop carries to be multiplied by a scalar of the "
             "iteration and added to";
    }
  }
  if (states.empty())
    return "a state that the loop carries";
  for (unsigned number : states)
    for (unsigned other : findCarried(loop.getYieldedValues()[number]))
      if (other != number && !llvm::is_contained(passed, other))
        return "states that do not depend on each other";
  return checkResults();
}
