//===- FoldCausalMaskTails.cpp - Loops over whole tiles and the rest ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the last tile of a loop may be short. Where the size of a tile is the
// minimum of a constant and what is left, the iterations in which the constant
// is the minimum get a loop of their own: its tiles have static sizes, and no
// element of them needs a condition.
//
//===----------------------------------------------------------------------===//

#include "FoldCausalMask.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mamba;

namespace {

/// The size of a tile in some iteration: `whole`, unless
/// `multiple * variable > most`.
struct TileSize {
  affine::AffineMinOp op;
  int64_t whole, multiple;
  LinearForm most;
};

std::optional<TileSize> matchTileSize(affine::AffineMinOp op, scf::ForOp loop) {
  AffineMap map = op.getAffineMap();
  bool isSize = llvm::any_of(op->getUsers(), [](Operation *user) {
    return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::EmptyOp>(
        user);
  });
  if (!isSize || map.getNumResults() != 2)
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    FailureOr<LinearForm> whole = LinearForm::get(map, i, op->getOperands()),
                          rest = LinearForm::get(map, 1 - i, op->getOperands());
    if (failed(whole) || failed(rest) || !whole->terms.empty())
      continue;
    int64_t multiple = -rest->getFactor(loop.getInductionVar());
    LinearForm most = *rest + LinearForm::of(loop.getInductionVar(), multiple) -
                      whole->constant;
    bool isKnown = llvm::all_of(most.terms, [&](Value term) {
      return loop.isDefinedOutsideOfLoop(term);
    });
    if (multiple > 0 && isKnown)
      return TileSize{op, whole->constant, multiple, most};
  }
  return std::nullopt;
}

/// Whether iterations may run in any order: all that they carry are tensors
/// that each of them reads and writes in a place of its own.
bool isIndependent(scf::ForOp loop, const BoundProver &prover) {
  int64_t step = *getConstantIntValue(loop.getStep());
  auto isOwn = [&](OffsetSizeAndStrideOpInterface slice) {
    for (auto [offset, size, stride] :
         llvm::zip_equal(slice.getMixedOffsets(), slice.getMixedSizes(),
                         slice.getMixedStrides())) {
      auto position = dyn_cast<Value>(offset);
      if (!position || !isOneInteger(stride))
        continue;
      FailureOr<LinearForm> form = LinearForm::get(position);
      if (failed(form) || form->getFactor(loop.getInductionVar()) != 1 ||
          !llvm::all_of(form->terms, [&](Value term) {
            return term == loop.getInductionVar() ||
                   loop.isDefinedOutsideOfLoop(term);
          }))
        continue;
      FailureOr<LinearForm> extent =
          isa<Attribute>(size)
              ? FailureOr<LinearForm>(LinearForm(*getConstantIntValue(size)))
              : LinearForm::get(cast<Value>(size));
      if (succeeded(extent) &&
          prover.isNeverNegative(LinearForm(step) - *extent))
        return true;
    }
    return false;
  };
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto insert = yielded.getDefiningOp<tensor::InsertSliceOp>();
    if (!insert || insert.getDest() != argument || !isOwn(insert))
      return false;
    for (Operation *user : argument.getUsers()) {
      if (user == insert)
        continue;
      auto read = dyn_cast<tensor::ExtractSliceOp>(user);
      if (!read || read.getMixedOffsets() != insert.getMixedOffsets() ||
          read.getMixedSizes() != insert.getMixedSizes())
        return false;
    }
  }
  return loop.getNumResults() != 0;
}

} // namespace

scf::ForOp mamba::splitTail(RewriterBase &b, scf::ForOp loop, int64_t atLeast,
                            BoundProver &prover) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  FailureOr<LinearForm> first = LinearForm::get(loop.getLowerBound()),
                        end = LinearForm::get(loop.getUpperBound());
  if (!step || *step <= 0 || loop.getUnsignedCmp() || failed(first) ||
      failed(end))
    return {};
  if (prover.isNeverNegative(LinearForm((atLeast - 1) * *step) -
                             (*end - *first)))
    return {};
  SmallVector<TileSize> sizes;
  loop.getBody()->walk([&](affine::AffineMinOp op) {
    if (std::optional<TileSize> size = matchTileSize(op, loop))
      sizes.push_back(*size);
  });
  if (sizes.empty())
    return {};
  // Others end elsewhere, and keep their minimum.
  const TileSize &size = sizes.front();
  auto isSame = [&](const TileSize &other) {
    return other.multiple == size.multiple && other.most == size.most;
  };

  b.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  // Iterations before this one are whole.
  LinearForm span = size.most - *first * size.multiple;
  int64_t stride = size.multiple * *step;
  SmallVector<OpFoldResult> operands;
  AffineExpr count =
      (span + stride).getExpr(b.getContext(), operands).floorDiv(stride);
  AffineExpr begin = first->getExpr(b.getContext(), operands),
             last = end->getExpr(b.getContext(), operands),
             middle = begin + count * *step;
  auto getMap = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(operands.size(), 0, exprs, b.getContext());
  };
  OpFoldResult split = prover.isNeverNegative(span + stride)
                           ? affine::makeComposedFoldedAffineApply(
                                 b, loc, getMap(middle), operands)
                           : affine::makeComposedFoldedAffineMax(
                                 b, loc, getMap({middle, begin}), operands);
  // Tiles as large as the step that reach the end of the loop do not leave it.
  bool isWithin =
      size.whole >= stride &&
      prover.isNeverNegative(*end * size.multiple - size.most - size.whole);
  if (!isWithin) {
    AffineExpr unbounded = b.getAffineDimExpr(operands.size());
    operands.push_back(split);
    split = affine::makeComposedFoldedAffineMin(
        b, loc, getMap({unbounded, last}), operands);
  }
  Value bound = getValueOrCreateConstantIndexOp(b, loc, split);

  // The rest first, if that is the same: what it alone needs does not take
  // registers while the whole tiles run then.
  bool restIsFirst = isIndependent(loop, prover);
  if (restIsFirst)
    b.setInsertionPointAfter(loop);
  IRMapping mapping;
  auto whole = cast<scf::ForOp>(b.clone(*loop, mapping));
  whole.getUpperBoundMutable().assign(bound);
  b.modifyOpInPlace(loop, [&] { loop.getLowerBoundMutable().assign(bound); });
  if (restIsFirst) {
    b.replaceAllUsesWith(loop.getResults(), whole.getResults());
    whole.getInitArgsMutable().assign(loop.getResults());
  } else {
    b.modifyOpInPlace(
        loop, [&] { loop.getInitArgsMutable().assign(whole.getResults()); });
  }
  prover.assume(whole.getInductionVar(), size.multiple, LinearForm(size.most));
  OpBuilder::InsertionGuard guard(b);
  for (TileSize &other : sizes) {
    if (!isSame(other))
      continue;
    Operation *copy = mapping.lookup(other.op.getOperation());
    b.setInsertionPoint(copy);
    b.replaceOpWithNewOp<arith::ConstantIndexOp>(copy, other.whole);
  }
  return whole;
}

void mamba::simplifyMinima(RewriterBase &b, scf::ForOp loop,
                           const BoundProver &prover) {
  SmallVector<affine::AffineMinOp> minima;
  loop.getBody()->walk([&](affine::AffineMinOp op) { minima.push_back(op); });
  for (affine::AffineMinOp op : minima) {
    AffineMap map = op.getAffineMap();
    SmallVector<FailureOr<LinearForm>> forms;
    SmallVector<bool> isNeeded(map.getNumResults(), true);
    for (unsigned i : llvm::seq(map.getNumResults()))
      forms.push_back(LinearForm::get(map, i, op->getOperands()));
    for (unsigned i : llvm::seq(forms.size()))
      isNeeded[i] = !llvm::any_of(llvm::seq(forms.size()), [&](size_t j) {
        return i != j && isNeeded[j] && succeeded(forms[i]) &&
               succeeded(forms[j]) &&
               prover.isNeverNegative(*forms[i] - *forms[j]);
      });
    SmallVector<AffineExpr> kept;
    for (auto [expr, needed] : llvm::zip_equal(map.getResults(), isNeeded))
      if (needed)
        kept.push_back(expr);
    if (kept.size() == map.getNumResults())
      continue;
    b.setInsertionPoint(op);
    AffineMap fewer = AffineMap::get(map.getNumDims(), map.getNumSymbols(),
                                     kept, b.getContext());
    SmallVector<OpFoldResult> operands = getAsOpFoldResult(op->getOperands());
    OpFoldResult least =
        kept.size() == 1 ? affine::makeComposedFoldedAffineApply(
                               b, op.getLoc(), fewer, operands)
                         : affine::makeComposedFoldedAffineMin(b, op.getLoc(),
                                                               fewer, operands);
    b.replaceOp(op, getValueOrCreateConstantIndexOp(b, op.getLoc(), least));
  }
}
