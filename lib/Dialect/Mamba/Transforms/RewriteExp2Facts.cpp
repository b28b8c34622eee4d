//===- RewriteExp2Facts.cpp - Signs and origins of values -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"
#include "Vectorize.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mamba;

bool mamba::isNeutral(Value value) {
  if (matchPattern(value, m_AnyZeroFloat()) ||
      matchPattern(value, m_NegInfFloat()))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return isNeutral(fill.value());
  if (isa_and_nonnull<tensor::ExtractSliceOp, tensor::CastOp>(op))
    return isNeutral(op->getOperand(0));
  return isa_and_nonnull<tensor::EmptyOp>(op);
}

bool mamba::isHomogeneous(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, math::AbsFOp,
             arith::MinimumFOp, arith::MaximumFOp, arith::MinNumFOp,
             arith::MaxNumFOp>(op);
}

double mamba::getElements(ShapedType type, double unknownExtent) {
  double elements = 1;
  for (int64_t size : type.getShape())
    elements *= ShapedType::isDynamic(size) ? unknownExtent : size;
  return elements;
}

Value mamba::getCarrier(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return value;
  Operation *op = result.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getTiedLoopRegionIterArg(result);
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return loop.getTiedBlockArgument(loop.getTiedOpOperand(result));
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    Value argument = generic.getRegionOutputArgs()[result.getResultNumber()];
    return argument.use_empty() ? value : argument;
  }
  return value;
}

/// What goes into an argument of the body of a loop or linalg operation.
static bool getOriginsOfArgument(BlockArgument argument,
                                 SmallVectorImpl<Value> &origins) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    OpOperand *init = loop.getTiedLoopInit(argument);
    if (!init)
      return false;
    origins.push_back(init->get());
    origins.push_back(loop.getTiedLoopYieldedValue(argument)->get());
    return true;
  }
  if (auto loop = dyn_cast<scf::ForallOp>(parent)) {
    if (!llvm::is_contained(loop.getRegionIterArgs(), argument))
      return false;
    origins.push_back(loop.getTiedOpOperand(argument)->get());
    for (Operation &op : loop.getTerminator().getYieldingOps()) {
      auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
      if (!insert)
        return false;
      if (insert.getDest() == argument)
        origins.push_back(insert.getSource());
    }
    return true;
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(parent)) {
    OpOperand *operand = generic.getMatchingOpOperand(argument);
    origins.push_back(operand->get());
    if (generic.isDpsInit(operand))
      origins.push_back(generic.getMatchingYieldValue(operand)->get());
    return true;
  }
  return false;
}

bool mamba::getOrigins(Value value, SmallVectorImpl<Value> &origins) {
  value = getCarrier(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getOriginsOfArgument(argument, origins);
  Operation *op = value.getDefiningOp();
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    origins.push_back(generic.getBody()->getTerminator()->getOperand(number));
    return true;
  }
  if (auto fill = dyn_cast<linalg::FillOp>(op)) {
    origins.push_back(fill.value());
    return true;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    for (Block *block : {branch.thenBlock(), branch.elseBlock()})
      origins.push_back(block->getTerminator()->getOperand(number));
    return true;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    origins.append({select.getTrueValue(), select.getFalseValue()});
    return true;
  }
  if (isa<tensor::InsertSliceOp, tensor::InsertOp>(op)) {
    origins.append({op->getOperand(0), op->getOperand(1)});
    return true;
  }
  if (isa<tensor::ExtractSliceOp, tensor::ExtractOp, tensor::CastOp,
          tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    origins.push_back(op->getOperand(0));
    return true;
  }
  return false;
}

/// `known` holds values that are not negative if what they come from is not.
static bool isNeverNegative(Value value, DenseSet<Value> &known) {
  auto never = [&](Value operand) { return isNeverNegative(operand, known); };
  value = getCarrier(value);
  if (!known.insert(value).second)
    return true;
  FloatAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return !number.getValue().isNegative() || number.getValue().isZero();
  DenseFPElementsAttr numbers;
  if (matchPattern(value, m_Constant(&numbers)))
    return llvm::all_of(numbers.getValues<APFloat>(), [](const APFloat &n) {
      return !n.isNegative() || n.isZero();
    });
  SmallVector<Value> origins;
  if (getOrigins(value, origins))
    return llvm::all_of(origins, never);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<math::ExpOp, math::Exp2Op, math::AbsFOp, math::SqrtOp,
          tensor::EmptyOp>(op))
    return true;
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
    // A failed attempt leaves nothing that is known.
    DenseSet<Value> before = known;
    if (never(op->getOperand(0)))
      return true;
    known = std::move(before);
    return never(op->getOperand(1));
  }
  if (auto product = dyn_cast<arith::MulFOp>(op);
      product && product.getLhs() == product.getRhs())
    return true;
  if (isa<arith::AddFOp, arith::MulFOp, arith::DivFOp, arith::MinimumFOp,
          arith::MinNumFOp, arith::ExtFOp, arith::TruncFOp, math::Log1pOp>(op))
    return llvm::all_of(op->getOperands(), never);
  return false;
}

bool mamba::isNeverNegative(Value value) {
  DenseSet<Value> known;
  return ::isNeverNegative(value, known);
}

/// How far what a value is computed from is looked at.
static constexpr unsigned kMaxDepth = 8;

/// Whether a value of the body of `op` is the same at all positions of `loop`.
static bool isConstantAlong(linalg::GenericOp op, Value value, unsigned loop,
                            unsigned depth = 0) {
  if (!op->isAncestor(value.getParentRegion()->getParentOp()))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    return operand && op.isDpsInput(operand) &&
           !op.getMatchingIndexingMap(operand).isFunctionOfDim(loop);
  }
  Operation *producer = value.getDefiningOp();
  return depth < kMaxDepth && !isa<linalg::IndexOp>(producer) &&
         producer->getNumRegions() == 0 && isPure(producer) &&
         llvm::all_of(
             producer->getOperands(),
             [&](Value operand) {
               return isConstantAlong(op, operand, loop, depth + 1);
             });
}

/// Whether all values of `value` along `loop` have one sign.
static bool hasOneSign(linalg::GenericOp op, Value value, unsigned loop,
                       unsigned depth = 0) {
  if (isNeverNegative(value) || isConstantAlong(op, value, loop))
    return true;
  Operation *producer = value.getDefiningOp();
  if (isa_and_nonnull<arith::MinimumFOp>(producer) &&
      matchPattern(producer->getOperand(1), m_AnyZeroFloat()))
    return true;
  return depth < kMaxDepth &&
         isa_and_nonnull<arith::MulFOp, arith::NegFOp>(producer) &&
         llvm::all_of(
             producer->getOperands(),
             [&](Value operand) {
               return hasOneSign(op, operand, loop, depth + 1);
             });
}

linalg::GenericOp mamba::getPrefixSum(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  auto result = dyn_cast<OpResult>(tensor);
  if (!type || type.getRank() == 0 || !result)
    return {};
  if (auto loop = dyn_cast<scf::ForallOp>(result.getOwner())) {
    // Every block inserts whole rows.
    BlockArgument argument =
        loop.getTiedBlockArgument(loop.getTiedOpOperand(result));
    int64_t last = type.getRank() - 1;
    linalg::GenericOp sum;
    for (Operation &op : loop.getTerminator().getYieldingOps()) {
      auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
      if (!insert)
        return {};
      if (insert.getDest() != argument)
        continue;
      if (sum || insert.getDroppedDims()[last] || type.isDynamicDim(last) ||
          insert.getSourceType().getShape().back() != type.getDimSize(last))
        return {};
      sum = getPrefixSum(insert.getSource());
      if (!sum)
        return {};
    }
    return sum;
  }
  auto generic = dyn_cast<linalg::GenericOp>(result.getOwner());
  std::optional<Scan> scan =
      generic ? matchScan(generic) : std::optional<Scan>();
  if (!scan || !isNeutral(generic.getDpsInits().front()))
    return {};
  AffineMap out = generic.getIndexingMapsArray().back();
  bool isLast = out.getDimPosition(out.getNumResults() - 1) == scan->position;
  return isLast && hasOneSign(generic, scan->term, scan->summed)
             ? generic
             : linalg::GenericOp();
}

Value mamba::createElementwise(
    OpBuilder &builder, Location loc, ValueRange tensors, Type elementType,
    function_ref<Value(OpBuilder &, Location, ValueRange)> compute) {
  auto type = cast<RankedTensorType>(tensors.front().getType());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, tensors.front());
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, elementType);
  AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> maps(tensors.size() + 1, map);
  SmallVector<utils::IteratorType> kinds(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{empty.getType()}, tensors,
             ValueRange{empty}, maps, kinds,
             [&](OpBuilder &b, Location nested, ValueRange arguments) {
               linalg::YieldOp::create(
                   b, nested, compute(b, nested, arguments.drop_back()));
             })
      .getResult(0);
}
