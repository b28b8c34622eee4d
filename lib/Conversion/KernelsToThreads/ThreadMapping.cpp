//===- ThreadMapping.cpp - Which thread computes which point --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadMapping.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mamba;

constexpr int64_t kWarpSize = 32;

/// For each dimension the number of operands in global memory that are
/// contiguous in it.
static SmallVector<unsigned> countContiguous(linalg::LinalgOp op) {
  SmallVector<unsigned> counts(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || type.getRank() == 0 || isShared(operand.get()))
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && stride == 1)
        ++counts[dim.getPosition()];
  }
  return counts;
}

/// Moves the dimension that neighbouring threads should step through to the end
/// of `dims`, so that they touch neighbouring elements; returns its count.
static unsigned moveFastestLast(SmallVector<unsigned> &dims,
                                ArrayRef<unsigned> counts) {
  if (dims.empty())
    return 0;
  unsigned fastest = dims.back();
  for (unsigned dim : dims)
    if (counts[dim] > counts[fastest])
      fastest = dim;
  llvm::erase(dims, fastest);
  dims.push_back(fastest);
  return counts[fastest];
}

/// The number of points in `dims`, or an upper bound of it.
static std::optional<int64_t> countPoints(ArrayRef<unsigned> dims,
                                          ArrayRef<Extent> extents) {
  int64_t points = 1;
  for (unsigned dim : dims) {
    std::optional<int64_t> bound = findUpperBound(extents[dim]);
    if (!bound)
      return std::nullopt;
    points *= std::max<int64_t>(*bound, 0);
  }
  return points;
}

/// How many threads share the reduction of a point.
static int64_t chooseLanes(linalg::LinalgOp op, const ThreadMapping &mapping,
                           int64_t threads, bool isContiguous) {
  if (threads % kWarpSize != 0 || findCombiners(op).empty())
    return 1;
  // A short reduction is not worth the shuffles.
  std::optional<int64_t> steps =
      countPoints(mapping.reduction, mapping.extents);
  if (steps && *steps < kWarpSize)
    return 1;
  if (isContiguous)
    return kWarpSize;
  std::optional<int64_t> points =
      countPoints(mapping.parallel, mapping.extents);
  if (!points || *points * 4 > threads)
    return 1;
  return std::min<int64_t>(
      llvm::bit_floor<uint64_t>(threads / std::max<int64_t>(*points, 1)),
      kWarpSize);
}

SmallVector<Operation *> mamba::findCombiners(linalg::LinalgOp op) {
  SmallVector<Operation *> combiners;
  Operation *yield = op.getBlock()->getTerminator();
  for (auto [arg, result] :
       llvm::zip_equal(op.getRegionOutputArgs(), yield->getOperands())) {
    Operation *combiner = result.getDefiningOp();
    // What `gpu.shuffle` lowers for.
    bool isShuffled = arg.getType().isF32() || arg.getType().isInteger(32);
    if (!isShuffled || !combiner || combiner->getBlock() != op.getBlock() ||
        combiner->getNumOperands() != 2 || !arg.hasOneUse() ||
        *arg.user_begin() != combiner || !result.hasOneUse() ||
        !combiner->hasTrait<OpTrait::IsCommutative>() ||
        !arith::getNeutralElement(combiner))
      return {};
    combiners.push_back(combiner);
  }
  return combiners;
}

ThreadMapping ThreadMapping::get(linalg::LinalgOp op, int64_t threads) {
  ThreadMapping mapping;
  mapping.extents.resize(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      // Any operand tells the size; a constant one tells more.
      Extent &extent = mapping.extents[dim.getPosition()];
      Extent candidate = getExtent(operand.get(), position);
      if (!extent.isStatic() && (!extent.value || candidate.isStatic() ||
                                 (extent.dim >= 0 && candidate.dim < 0)))
        extent = candidate;
    }
  }
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (mapping.extents[dim].isOne())
      continue;
    if (kind == utils::IteratorType::reduction)
      mapping.reduction.push_back(dim);
    else
      mapping.parallel.push_back(dim);
  }
  SmallVector<unsigned> counts = countContiguous(op);
  unsigned parallelCount = moveFastestLast(mapping.parallel, counts);
  if (mapping.reduction.empty())
    return mapping;
  SmallVector<unsigned> shared = mapping.reduction;
  unsigned reductionCount = moveFastestLast(shared, counts);
  mapping.lanes =
      chooseLanes(op, mapping, threads, reductionCount > parallelCount);
  if (mapping.lanes > 1)
    mapping.reduction = shared;
  return mapping;
}

ThreadMapping ThreadMapping::get(memref::CopyOp op) {
  ThreadMapping mapping;
  int64_t rank = cast<MemRefType>(op.getSource().getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    Extent source = getExtent(op.getSource(), dim);
    Extent target = getExtent(op.getTarget(), dim);
    mapping.extents.push_back(source.isStatic() ? source : target);
    if (!mapping.extents.back().isOne())
      mapping.parallel.push_back(dim);
  }
  return mapping;
}

std::optional<Owner> mamba::getOwner(const ThreadMapping &mapping, Value view,
                                     AffineMap map) {
  Owner owner;
  owner.view = view;
  owner.lanes = mapping.lanes;
  for (unsigned dim : mapping.parallel)
    owner.extents.push_back(mapping.extents[dim]);
  llvm::SmallDenseSet<unsigned> seen;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim) {
      if (!isa<AffineConstantExpr>(expr) ||
          cast<AffineConstantExpr>(expr).getValue() != 0)
        return std::nullopt;
      owner.positions.push_back(-1);
      continue;
    }
    const auto *it = llvm::find(mapping.parallel, dim.getPosition());
    if (llvm::is_contained(mapping.reduction, dim.getPosition()))
      return std::nullopt;
    if (it == mapping.parallel.end()) { // of size one
      owner.positions.push_back(-1);
      continue;
    }
    if (!seen.insert(dim.getPosition()).second)
      return std::nullopt;
    owner.positions.push_back(it - mapping.parallel.begin());
  }
  // A parallel dimension that does not choose the element spreads it over
  // several threads.
  if (seen.size() != mapping.parallel.size())
    return std::nullopt;
  return owner;
}
