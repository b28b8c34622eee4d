//===- FuseBlocks.cpp - What blocks write and others read -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseBlocks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mamba;

SmallVector<Variable, 4> mamba::getVariables(Operation *op) {
  SmallVector<Variable, 4> variables;
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  std::optional<SmallVector<Value>> values;
  if (isa<scf::ForallOp, scf::ForOp>(op))
    values = loop.getLoopInductionVars();
  if (!values)
    return variables;
  for (auto [value, first, end, step] :
       llvm::zip_equal(*values, *loop.getLoopLowerBounds(),
                       *loop.getLoopUpperBounds(), *loop.getLoopSteps()))
    variables.push_back({value, first, end, step});
  return variables;
}

bool Variable::isSingle() const {
  std::optional<int64_t> low = getConstantIntValue(first),
                         high = getConstantIntValue(end),
                         width = getConstantIntValue(step);
  return low && high && width && *high > *low && *high - *low <= *width;
}

/// `read` is what `produced` is for some values of variables, which `bind`
/// learns; it says whether it knows a variable, and whether that may be.
static bool
isSame(OpFoldResult produced, OpFoldResult read,
       llvm::function_ref<std::optional<bool>(Value, OpFoldResult)> bind) {
  auto value = dyn_cast<Value>(produced);
  if (value)
    if (std::optional<bool> bound = bind(value, read))
      return *bound;
  if (std::optional<int64_t> number = getConstantIntValue(produced))
    return getConstantIntValue(read) == number;
  auto other = dyn_cast<Value>(read);
  if (!value || !other)
    return false;
  if (value == other)
    return true;
  Operation *lhs = value.getDefiningOp(), *rhs = other.getDefiningOp();
  if (!lhs || !rhs || lhs->getName() != rhs->getName() ||
      lhs->getAttrDictionary() != rhs->getAttrDictionary() ||
      lhs->getPropertiesAsAttribute() != rhs->getPropertiesAsAttribute() ||
      lhs->getNumOperands() != rhs->getNumOperands() ||
      lhs->getNumRegions() != 0 || !isPure(lhs) ||
      cast<OpResult>(value).getResultNumber() !=
          cast<OpResult>(other).getResultNumber())
    return false;
  return llvm::all_of(
      llvm::zip_equal(lhs->getOperands(), rhs->getOperands()), [&](auto pair) {
        return isSame(std::get<0>(pair), OpFoldResult(std::get<1>(pair)), bind);
      });
}

bool mamba::isSameNumber(OpFoldResult lhs, OpFoldResult rhs) {
  return isSame(lhs, rhs, [](Value, OpFoldResult) -> std::optional<bool> {
    return std::nullopt;
  });
}

bool mamba::haveSameRange(const Variable &lhs, const Variable &rhs) {
  return isSameNumber(lhs.first, rhs.first) && isSameNumber(lhs.end, rhs.end) &&
         isSameNumber(lhs.step, rhs.step);
}

SmallVector<Variable, 4> Insertion::getVariables() const {
  SmallVector<Variable, 4> variables = mamba::getVariables(block);
  if (loop)
    llvm::append_range(variables, mamba::getVariables(loop));
  return variables;
}

/// The tile that an iteration of a loop in the block inserts into what becomes
/// the block's tile.
static LogicalResult findLoop(Insertion &insertion) {
  auto result = dyn_cast<OpResult>(insertion.tile);
  auto loop = result ? dyn_cast<scf::ForOp>(result.getOwner()) : scf::ForOp();
  if (!loop || loop->getParentOp() != insertion.block)
    return success();
  unsigned number = result.getResultNumber();
  BlockArgument argument = loop.getRegionIterArg(number);
  auto insert =
      loop.getYieldedValues()[number].getDefiningOp<tensor::InsertSliceOp>();
  // Another loop sums, say: its result is the tile.
  if (!insert || insert.getDest() != argument)
    return success();
  if (!argument.hasOneUse() || !insert->hasOneUse() || !result.hasOneUse() ||
      insert->getBlock() != loop.getBody() || !insert.hasUnitStride())
    return failure();
  insertion.loop = loop;
  insertion.insert = insert;
  insertion.carried = number;
  insertion.tile = insert.getSource();
  llvm::SmallBitVector droppedHere = insert.getDroppedDims();
  unsigned inner = 0;
  for (unsigned dim = 0; dim < insertion.offsets.size(); ++dim) {
    if (insertion.dropped.test(dim))
      continue;
    OpFoldResult offset = insert.getMixedOffsets()[inner];
    if (isZeroInteger(insertion.offsets[dim]))
      insertion.offsets[dim] = offset;
    else if (!isZeroInteger(offset))
      return failure();
    insertion.sizes[dim] = insert.getMixedSizes()[inner];
    if (droppedHere.test(inner))
      insertion.dropped.set(dim);
    ++inner;
  }
  return success();
}

FailureOr<Insertion> mamba::getInsertion(OpResult result) {
  auto block = dyn_cast<scf::ForallOp>(result.getOwner());
  if (!block)
    return failure();
  BlockArgument argument =
      block.getTiedBlockArgument(block.getTiedOpOperand(result));
  if (!argument.hasOneUse())
    return failure();
  auto parallel =
      dyn_cast<tensor::ParallelInsertSliceOp>(*argument.user_begin());
  if (!parallel || parallel.getDest() != argument || !parallel.hasUnitStride())
    return failure();
  Insertion insertion;
  insertion.block = block;
  insertion.parallel = parallel;
  insertion.result = result.getResultNumber();
  insertion.tile = parallel.getSource();
  insertion.offsets = parallel.getMixedOffsets();
  insertion.sizes = parallel.getMixedSizes();
  insertion.dropped = parallel.getDroppedDims();
  if (failed(findLoop(insertion)))
    return failure();
  return insertion;
}

FailureOr<SliceRead> mamba::getRead(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && slice.hasUnitStride())
    return SliceRead{op, slice.getMixedOffsets(), slice.getMixedSizes()};
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SliceRead read{op, getAsOpFoldResult(extract.getIndices()), {}};
    read.sizes.assign(read.offsets.size(),
                      IntegerAttr::get(IndexType::get(op->getContext()), 1));
    return read;
  }
  return failure();
}

TileMatch::TileMatch(const Insertion &insertion)
    : insertion(insertion), variables(insertion.getVariables()) {}

bool TileMatch::unify(OpFoldResult produced, OpFoldResult read) {
  auto bind = [&](Value value, OpFoldResult number) -> std::optional<bool> {
    if (llvm::none_of(variables, [&](const Variable &variable) {
          return variable.value == value;
        }))
      return std::nullopt;
    auto [it, isNew] = values.try_emplace(value, number);
    return isNew || isSameNumber(it->second, number);
  };
  return isSame(produced, read, bind);
}

/// The size of dimension `dim` of what the blocks write; null if nothing says.
static OpFoldResult getExtent(const Insertion &insertion, unsigned dim) {
  scf::ForallOp block = insertion.block;
  Value out = block.getOutputs()[insertion.result];
  auto type = cast<RankedTensorType>(out.getType());
  if (!type.isDynamicDim(dim))
    return IntegerAttr::get(IndexType::get(out.getContext()),
                            type.getDimSize(dim));
  if (auto empty = out.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes()[dim];
  return {};
}

bool TileMatch::isInRange(const Variable &variable) {
  OpFoldResult number = values.lookup(variable.value);
  // What a loop over the same numbers counts.
  if (auto argument =
          dyn_cast_if_present<BlockArgument>(dyn_cast<Value>(number)))
    for (const Variable &other :
         mamba::getVariables(argument.getOwner()->getParentOp()))
      if (other.value == argument && haveSameRange(variable, other))
        return true;
  // A place in the result, if each is that of a tile.
  if (!isZeroInteger(variable.first) || !isOneInteger(variable.step))
    return false;
  for (auto [dim, offset] : llvm::enumerate(insertion.offsets)) {
    OpFoldResult extent = getExtent(insertion, dim);
    if (dyn_cast<Value>(offset) == variable.value &&
        isOneInteger(insertion.sizes[dim]) && extent &&
        isSameNumber(extent, variable.end))
      return true;
  }
  return false;
}

LogicalResult TileMatch::match(const SliceRead &read) {
  auto zero = IntegerAttr::get(IndexType::get(read.op->getContext()), 0);
  for (auto [dim, produced] : llvm::enumerate(insertion.offsets)) {
    OpFoldResult offset = read.offsets[dim];
    bool isSize = unify(insertion.sizes[dim], read.sizes[dim]);
    bool isHere = unify(produced, offset);
    whole &= isSize && isHere;
    if (isHere && isSize) {
      offsets.push_back(zero);
      continue;
    }
    // Some of what every tile has all of.
    OpFoldResult extent = getExtent(insertion, dim);
    if (!isZeroInteger(produced) || !extent ||
        !isSameNumber(extent, insertion.sizes[dim]))
      return failure();
    offsets.push_back(offset);
  }
  for (const Variable &variable : variables)
    if (!variable.isSingle() &&
        (!values.contains(variable.value) || !isInRange(variable)))
      return failure();
  return success();
}
