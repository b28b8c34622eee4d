//===- ThreadMapping.cpp - Which thread computes which point --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadMapping.h"

using namespace mlir;
using namespace mamba;

/// The parallel dimension that should be fastest, so that neighbouring threads
/// touch neighbouring elements in global memory in as many operands as
/// possible; -1 if all are alike.
static int findFastest(linalg::LinalgOp op, ArrayRef<unsigned> parallel) {
  SmallVector<unsigned> votes(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    Value view = operand.get();
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!isa<MemRefType>(view.getType()) || map.getNumResults() == 0 ||
        isShared(view))
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(cast<MemRefType>(view.getType())
                   .getStridesAndOffset(strides, offset)))
      continue;
    for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && stride == 1)
        ++votes[dim.getPosition()];
  }
  int fastest = -1;
  for (unsigned dim : parallel)
    if (votes[dim] > 0 && (fastest < 0 || votes[dim] >= votes[fastest]))
      fastest = dim;
  return fastest;
}

ThreadMapping ThreadMapping::get(linalg::LinalgOp op) {
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
    if (kind == utils::IteratorType::reduction) {
      mapping.reduction.push_back(dim);
      continue;
    }
    if (!mapping.extents[dim].isOne())
      mapping.parallel.push_back(dim);
  }
  int fastest = findFastest(op, mapping.parallel);
  if (fastest >= 0) {
    llvm::erase(mapping.parallel, static_cast<unsigned>(fastest));
    mapping.parallel.push_back(fastest);
  }
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
    bool isReduction = llvm::is_contained(mapping.reduction, dim.getPosition());
    if (isReduction && !mapping.extents[dim.getPosition()].isOne())
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
