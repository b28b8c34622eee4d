//===- VectorizeAnalysis.cpp - Which blocks can work on vectors -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mamba;

LogicalResult mamba::refuseVectors(Operation *op, const Twine &expected) {
  op->emitRemark("expected ")
      << expected << " to keep the block's tiles in vectors";
  return failure();
}

static LogicalResult refuse(Operation *op, const Twine &expected) {
  return refuseVectors(op, expected);
}

bool VectorizeAnalysis::isExpansion(tensor::InsertSliceOp insert) {
  auto type = insert.getType();
  return insert.getDest().getDefiningOp<tensor::EmptyOp>() &&
         type.hasStaticShape() &&
         insert.getSourceType().getNumElements() == type.getNumElements() &&
         insert->hasOneUse() &&
         isa<tensor::ExtractSliceOp, tensor::ParallelInsertSliceOp>(
             *insert->user_begin()) &&
         isVector(insert.getSource());
}

TensorKind VectorizeAnalysis::getKind(Value tensor) {
  if (getSplat(tensor))
    return TensorKind::Vector;
  Operation *parent = tensor.getParentRegion()->getParentOp();
  if (!loop->isAncestor(parent))
    return TensorKind::Input;
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    if (parent == loop)
      return TensorKind::Output;
    auto carrier = dyn_cast<scf::ForOp>(parent);
    if (!carrier)
      return TensorKind::Fresh;
    // What is inserted into a carried tensor goes where it started.
    auto [it, isNew] = carriedKinds.try_emplace(tensor, TensorKind::Vector);
    if (!isNew)
      return it->second;
    TensorKind start = getKind(carrier.getTiedLoopInit(argument)->get());
    carriedKinds[tensor] = start;
    TensorKind kind = getKind(carrier.getTiedLoopYieldedValue(argument)->get());
    return carriedKinds[tensor] = kind;
  }
  Operation *op = tensor.getDefiningOp();
  if (auto carrier = dyn_cast<scf::ForOp>(op))
    return getKind(carrier.getTiedLoopRegionIterArg(cast<OpResult>(tensor)));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return getKind(slice.getSource());
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return isExpansion(insert) ? TensorKind::Vector : getKind(insert.getDest());
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return getKind(op->getOperand(0));
  return isa<linalg::LinalgOp, tensor::FromElementsOp>(op) ? TensorKind::Vector
                                                           : TensorKind::Fresh;
}

/// Adds what upstream's interface does not know: minima of `arith`.
static bool addMinimum(Value value, std::optional<int64_t> dim,
                       ValueBoundsConstraintSet &constraints) {
  Operation *op = dim ? nullptr : value.getDefiningOp();
  if (!isa_and_nonnull<arith::MinSIOp, arith::MinUIOp>(op))
    return false;
  for (Value operand : op->getOperands()) {
    // A negative number is a large one without sign.
    std::optional<int64_t> constant = getConstantIntValue(operand);
    if (isa<arith::MinSIOp>(op) || (constant && *constant >= 0))
      constraints.bound(value) <= constraints.getExpr(operand);
  }
  return false;
}

int64_t VectorizeAnalysis::getBound(Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  // The default is to stop at the first bound.
  for (const ValueBoundsConstraintSet::StopConditionFn &stop :
       {ValueBoundsConstraintSet::StopConditionFn(),
        ValueBoundsConstraintSet::StopConditionFn(addMinimum)}) {
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, {tensor, dim}, stop, /*closedUB=*/true);
    if (succeeded(bound) && *bound > 0)
      return *bound;
  }
  return ShapedType::kDynamic;
}

SmallVector<int64_t> VectorizeAnalysis::getShape(Value tensor) {
  auto it = shapes.find(tensor);
  if (it != shapes.end())
    return it->second;
  SmallVector<int64_t> shape;
  for (int64_t dim :
       llvm::seq(cast<RankedTensorType>(tensor.getType()).getRank()))
    shape.push_back(getBound(tensor, dim));
  return shape;
}

LogicalResult VectorizeAnalysis::checkElementType(Operation *op, Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<Float32Type, Float16Type, BFloat16Type, IndexType>(type) ||
      (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64))
    return success();
  op->emitRemark("expected elements of type f32, f16, bf16, index or integer "
                 "to keep the block's tiles in vectors, got ")
      << type;
  return failure();
}

LogicalResult VectorizeAnalysis::checkShape(Operation *op,
                                            ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (ShapedType::isDynamic(size))
      return refuse(op, "sizes with a constant upper bound");
    elements *= size;
  }
  if (elements <= maxElements)
    return success();
  op->emitRemark("expected vectors of at most ")
      << maxElements << " elements, got " << elements;
  return failure();
}

/// Checks that `tensor` is known to `op` without a buffer of the block.
LogicalResult VectorizeAnalysis::checkRead(Operation *op, Value tensor) {
  if (getKind(tensor) == TensorKind::Fresh)
    return refuse(op, "no reads from a tensor.empty");
  DenseElementsAttr constant;
  if (!getSplat(tensor) && matchPattern(tensor, m_Constant(&constant)))
    return refuse(op, "no constant tensors but splats");
  return success();
}

LogicalResult VectorizeAnalysis::findLoopShape(linalg::LinalgOp op) {
  // The extent of a vector, or else the smallest bound.
  SmallVector<int64_t> shape(op.getNumLoops(), ShapedType::kDynamic);
  SmallVector<bool> isFixed(op.getNumLoops(), false);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    bool isComputed = isVector(operand.get());
    // Sizes of results that are only shapes are those of the operands.
    SmallVector<int64_t> sizes = getShape(operand.get());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      unsigned position = map.getDimPosition(dim);
      int64_t &extent = shape[position];
      if (ShapedType::isDynamic(size))
        continue;
      if (isFixed[position]) {
        if (isComputed && extent != size)
          return refuse(op, "vectors of equal extent along loop " +
                                Twine(position) + ", got " + Twine(extent) +
                                " and " + Twine(size));
        continue;
      }
      if (isComputed || ShapedType::isDynamic(extent) || size < extent)
        extent = size;
      isFixed[position] = isComputed;
    }
  }
  loopShapes[op] = shape;
  return success();
}

LogicalResult VectorizeAnalysis::checkIndexedRead(linalg::LinalgOp op,
                                                  tensor::ExtractOp extract) {
  auto loops = matchIndexedRead(op, extract);
  if (failed(loops))
    return refuse(extract, "indices that are positions of loops in order");
  // Of a loop with a dynamic end, the vector would be read past it.
  for (std::optional<unsigned> loop : *loops)
    if (loop && ShapedType::isDynamic(op.getStaticLoopRanges()[*loop]))
      return refuse(extract, "reads by loops of static extent");
  if (isVector(extract.getTensor()))
    return refuse(extract, "no elements of computed tiles");
  return failure(failed(checkRead(extract, extract.getTensor())) ||
                 failed(checkElementType(extract, extract.getType())));
}

LogicalResult VectorizeAnalysis::checkLinalgBody(linalg::LinalgOp op,
                                                 Block &body) {
  bool isReduction = op.getNumReductionLoops() != 0 && !matchScan(op);
  bool isNested = body.getParentOp() != op;
  for (Operation &nested : body.without_terminator()) {
    if (isa<linalg::IndexOp>(nested) ||
        (isa<affine::AffineApplyOp>(nested) && !isNested)) {
      if (isReduction)
        return refuse(op, "reductions that do not depend on their indices");
      continue;
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(nested)) {
      if (failed(checkIndexedRead(op, extract)))
        return failure();
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(nested)) {
      // All elements take the same way.
      if (branch.getNumResults() == 0 ||
          op->isAncestor(
              branch.getCondition().getParentRegion()->getParentOp()))
        return refuse(branch, "conditions from outside of linalg bodies");
      if (failed(checkLinalgBody(op, *branch.thenBlock())) ||
          failed(checkLinalgBody(op, *branch.elseBlock())))
        return failure();
      continue;
    }
    if (!isa<arith::ConstantOp>(nested) &&
        !OpTrait::hasElementwiseMappableTraits(&nested))
      return refuse(&nested, "element-wise operations in linalg bodies");
    for (Type type : nested.getResultTypes())
      if (failed(checkElementType(&nested, type)))
        return failure();
  }
  return success();
}

LogicalResult VectorizeAnalysis::checkFragments(linalg::LinalgOp op) {
  ArrayRef<int64_t> shape = loopShapes[op];
  unsigned bits =
      cast<ShapedType>(op->getOperand(0).getType()).getElementTypeBitWidth();
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isColumn = kind == utils::IteratorType::parallel &&
                    result.getDimPosition(result.getNumResults() - 1) == loop;
    int64_t fragment = bits == 16 && !isColumn ? 16 : 8;
    if (shape[loop] % fragment != 0)
      return refuse(op, "sizes that are multiples of " + Twine(fragment) +
                            " along loop " + Twine(loop) + ", got " +
                            Twine(shape[loop]));
  }
  // Rows that are copied 16 bytes at a time.
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto type = cast<RankedTensorType>(operand->get().getType());
    int64_t rowBytes =
        applyPermutationMap(op.getMatchingIndexingMap(operand), shape).back() *
        type.getElementTypeBitWidth() / 8;
    if (rowBytes % 16 != 0)
      return refuse(op,
                    "rows of a multiple of 16 bytes, got " + Twine(rowBytes));
  }
  return success();
}

LogicalResult VectorizeAnalysis::checkLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return refuse(op, "linalg on tensors");
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation())
      return refuse(op, "indexing maps that are projected permutations");
  bool isContraction = matchContraction(op).has_value();
  std::optional<Scan> scan = matchScan(op);
  unsigned loops = op.getNumLoops();
  if (!isContraction && !scan && (loops == 0 || loops > 2))
    return refuse(op, "at most 2 loops, a prefix sum in at most 2 dimensions, "
                      "or a contraction of two matrices with an f32 sum");
  if (op.getNumReductionLoops() != 0 && !isContraction && !matchReduction(op))
    return refuse(op, "reductions by a known combination");
  for (OpOperand &operand : op->getOpOperands()) {
    if (failed(checkElementType(op, operand.get().getType())))
      return failure();
    if (isa<RankedTensorType>(operand.get().getType()) &&
        op.payloadUsesValueFromOperand(&operand) &&
        failed(checkRead(op, operand.get())))
      return failure();
  }
  for (OpOperand &out : op.getDpsInitsMutable())
    if (op.getRank(&out) == 0)
      return refuse(op, "results with dimensions");
  if (failed(checkLinalgBody(op, *op.getBlock())) || failed(findLoopShape(op)))
    return failure();
  if (isContraction && fragments && failed(checkFragments(op)))
    return failure();
  ArrayRef<int64_t> shape = loopShapes[op];
  for (AffineMap map : op.getIndexingMapsArray())
    if (failed(checkShape(op, applyPermutationMap(map, shape))))
      return failure();
  if (!isContraction && !scan && failed(checkShape(op, shape)))
    return failure();
  if (scan && shape[scan->position] != shape[scan->summed])
    return refuse(op, "a prefix sum of as many elements as there are sums");
  for (OpOperand &out : op.getDpsInitsMutable())
    shapes[op.getTiedOpResult(&out)] =
        applyPermutationMap(op.getMatchingIndexingMap(&out), shape);
  return success();
}

LogicalResult VectorizeAnalysis::checkFor(scf::ForOp op) {
  auto isTensor = [](Value value) {
    return isa<RankedTensorType>(value.getType());
  };
  for (auto [argument, result] :
       llvm::zip_equal(op.getRegionIterArgs(), op.getResults())) {
    if (!isTensor(argument))
      continue;
    Value init = op.getTiedLoopInit(argument)->get();
    if (!isVector(argument)) {
      if (isVector(init))
        return refuse(op, "carried tensors to stay vectors");
      continue;
    }
    SmallVector<int64_t> shape = getShape(init);
    if (failed(checkRead(op, init)) ||
        failed(checkElementType(op, init.getType())) ||
        failed(checkShape(op, shape)))
      return failure();
    shapes[argument] = shape;
    shapes[result] = shape;
  }
  if (failed(checkBlock(*op.getBody())))
    return failure();
  for (BlockArgument argument : op.getRegionIterArgs()) {
    if (!isTensor(argument) || !isVector(argument))
      continue;
    Value init = op.getTiedLoopInit(argument)->get();
    Value yielded = op.getTiedLoopYieldedValue(argument)->get();
    if (getShape(yielded) != shapes[argument])
      return refuse(op, "carried vectors of one shape");
    auto type = cast<RankedTensorType>(argument.getType());
    for (int64_t dim : llvm::seq(type.getRank())) {
      if (!type.isDynamicDim(dim))
        continue;
      FailureOr<bool> isEqual =
          ValueBoundsConstraintSet::areEqual({yielded, dim}, {init, dim});
      if (failed(isEqual) || !*isEqual)
        return refuse(op, "carried tensors that keep their size");
    }
  }
  return success();
}

/// Checks code that stays as it is: it must not use vectors.
LogicalResult VectorizeAnalysis::checkScalar(Operation *op) {
  if (!isMemoryEffectFree(op))
    return refuse(op, "no side effects");
  WalkResult result = op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    bool isKnown = isa<tensor::ExtractOp, tensor::DimOp>(nested) ||
                   (llvm::none_of(nested->getOperandTypes(), isTensor) &&
                    llvm::none_of(nested->getResultTypes(), isTensor));
    if (!isKnown) {
      (void)refuse(nested, "linalg, slices, loops and scalar operations");
      return WalkResult::interrupt();
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(nested)) {
      if (failed(isVector(extract.getTensor())
                     ? checkElement(op, extract)
                     : checkRead(nested, extract.getTensor())))
        return WalkResult::interrupt();
    }
    if (auto dim = dyn_cast<tensor::DimOp>(nested))
      if (isVector(dim.getSource()) &&
          (nested != op || !dim.getConstantIndex())) {
        (void)refuse(nested, "sizes of computed tiles outside of conditions");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult VectorizeAnalysis::check(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return checkLinalg(linalgOp);
  if (auto forOp = dyn_cast<scf::ForOp>(op))
    return checkFor(forOp);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return checkExtractSlice(slice);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    if (isExpansion(insert)) {
      shapes[insert] = SmallVector<int64_t>(insert.getType().getShape());
      return success();
    }
    return isVector(insert.getDest())
               ? checkPadding(insert)
               : checkInsertion(op, insert.getSource(), insert.getDest());
  }
  if (auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op))
    return checkInsertion(op, insert.getSource(), insert.getDest());
  if (auto scalar = dyn_cast<tensor::FromElementsOp>(op)) {
    if (scalar.getElements().size() != 1 || scalar.getType().getRank() == 0)
      return refuse(op, "tensors of one element, with dimensions,");
    return checkElementType(op, scalar.getType());
  }
  if (isa<tensor::EmptyOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      (op->getNumResults() == 1 && getSplat(op->getResult(0))))
    return success();
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    if (isVector(op->getOperand(0)))
      return refuse(op, "no reshapes of computed tiles");
    return success();
  }
  return checkScalar(op);
}

LogicalResult VectorizeAnalysis::checkBlock(Block &block) {
  for (Operation &op : block)
    if (failed(check(&op)))
      return failure();
  return success();
}

LogicalResult VectorizeAnalysis::run() {
  Block &body = *loop.getBody();
  if (failed(checkBlock(body)))
    return failure();
  for (Operation &op : loop.getTerminator().getYieldingOps())
    if (failed(check(&op)))
      return failure();
  return success();
}
