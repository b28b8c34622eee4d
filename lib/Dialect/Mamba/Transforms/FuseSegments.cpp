//===- FuseSegments.cpp - Cuts the loop of a block into segments ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value h that a loop carries by h' = a * h + u, with a scalar a and any u
// that do not depend on it, is after some iterations A * h + E: E is what they
// make of 0, and A the product of their factors. So three loops over blocks do
// what one did: the first computes E and A of each segment, the second what
// each segment starts from, the third the rest.
//
//===----------------------------------------------------------------------===//

#include "FuseBlocks.h"
#include "FuseRecurrence.h"
#include "FuseStates.h"
#include "Tiling.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mamba;

namespace {

class Segmentation {
public:
  Segmentation(RewriterBase &b, scf::ForallOp block, int64_t segment)
      : b(b), loc(block.getLoc()), block(block), segment(segment),
        recurrence(block) {}

  std::string check() { return recurrence.check(); }
  void run();

private:
  /// A loop over blocks like the old one, and over segments.
  scf::ForallOp createBlocks(ArrayRef<Value> outs, bool overSegments,
                             StringRef suffix);
  /// Places of a tile of the workspaces: the block's, and a segment's.
  SmallVector<OpFoldResult> getPlace(scf::ForallOp blocks,
                                     OpFoldResult segmentNumber);
  Value createWorkspace(Type type, bool isFactor);
  void clonePrologue(scf::ForallOp blocks, IRMapping &mapping,
                     ArrayRef<Value> needed);
  void clone(ArrayRef<Value> needed, Block *home, IRMapping &mapping);
  /// First and last iteration of the segment of a block.
  std::pair<Value, Value> getRange(scf::ForallOp blocks);
  Value startPassed(unsigned number, Value first, Value number0,
                    IRMapping &mapping);
  void insert(scf::ForallOp blocks, Value tile, Value out,
              ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes);
  void insertState(scf::ForallOp blocks, Value state, Value out,
                   OpFoldResult number);

  void computeSegments();
  void joinSegments();
  void computeOutputs();

  RewriterBase &b;
  Location loc;
  scf::ForallOp block;
  int64_t segment;
  Recurrence recurrence;
  Value segments; // their number
  /// For each carried state.
  SmallVector<Value> ends, factors, starts;
};

} // namespace

Value Segmentation::createWorkspace(Type type, bool isFactor) {
  SmallVector<OpFoldResult> sizes;
  for (const Variable &variable : getVariables(block)) {
    AffineExpr end = b.getAffineDimExpr(0), step = b.getAffineSymbolExpr(0);
    sizes.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(1, 1, end.ceilDiv(step)),
        {variable.end, variable.step}));
  }
  sizes.push_back(segments);
  if (!isFactor)
    for (int64_t size : getStateShape(type))
      sizes.push_back(b.getIndexAttr(size));
  for (OpFoldResult &size : sizes)
    size = getAsOpFoldResult(getValueOrCreateConstantIndexOp(b, loc, size));
  return tensor::EmptyOp::create(b, loc, sizes, b.getF32Type());
}

scf::ForallOp Segmentation::createBlocks(ArrayRef<Value> outs,
                                         bool overSegments, StringRef suffix) {
  SmallVector<OpFoldResult> first = block.getMixedLowerBound(),
                            end = block.getMixedUpperBound(),
                            step = block.getMixedStep();
  if (overSegments) {
    first.push_back(b.getIndexAttr(0));
    end.push_back(segments);
    step.push_back(b.getIndexAttr(1));
  }
  auto blocks = scf::ForallOp::create(
      b, loc, first, end, step, outs,
      b.getArrayAttr(getBlockMapping(b.getContext(), first.size())));
  for (NamedAttribute attribute : block->getDiscardableAttrs())
    blocks->setAttr(attribute.getName(), attribute.getValue());
  if (auto name = block->getAttrOfType<StringAttr>(kKernelAttrName))
    blocks->setAttr(kKernelAttrName, b.getStringAttr(name.getValue() + suffix));
  b.setInsertionPoint(blocks.getTerminator());
  return blocks;
}

SmallVector<OpFoldResult> Segmentation::getPlace(scf::ForallOp blocks,
                                                 OpFoldResult segmentNumber) {
  SmallVector<OpFoldResult> place;
  SmallVector<Variable, 4> variables = getVariables(block);
  for (auto [variable, value] :
       llvm::zip(variables, blocks.getInductionVars())) {
    AffineExpr at = b.getAffineDimExpr(0), step = b.getAffineSymbolExpr(0);
    place.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(1, 1, at.floorDiv(step)),
        {OpFoldResult(value), variable.step}));
  }
  place.push_back(segmentNumber);
  return place;
}

void Segmentation::clone(ArrayRef<Value> needed, Block *home,
                         IRMapping &mapping) {
  llvm::DenseSet<Operation *> ops = recurrence.findNeeded(needed);
  for (Operation &op : home->without_terminator())
    if (ops.contains(&op) && &op != recurrence.getLoop())
      b.clone(op, mapping);
}

void Segmentation::clonePrologue(scf::ForallOp blocks, IRMapping &mapping,
                                 ArrayRef<Value> needed) {
  for (auto [from, to] :
       llvm::zip(block.getInductionVars(), blocks.getInductionVars()))
    mapping.map(from, to);
  clone(needed, block.getBody(), mapping);
}

std::pair<Value, Value> Segmentation::getRange(scf::ForallOp blocks) {
  Value number = blocks.getInductionVars().back();
  AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
  Value first = affine::AffineApplyOp::create(
      b, loc, AffineMap::get(1, 0, d0 * segment), ValueRange{number});
  Value end = affine::AffineMinOp::create(
      b, loc, b.getIndexType(),
      AffineMap::get(1, 1, {d0 * segment + segment, s0}, b.getContext()),
      ValueRange{number, recurrence.getLoop().getUpperBound()});
  return {first, end};
}

/// What a value that follows from its iteration alone is before iteration
/// `first`: that of the one before, or the first one.
Value Segmentation::startPassed(unsigned number, Value first, Value segmentOf,
                                IRMapping &mapping) {
  scf::ForOp loop = recurrence.getLoop();
  IRMapping before(mapping);
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value last = affine::AffineMaxOp::create(
      b, loc, b.getIndexType(),
      AffineMap::get(1, 0, {d0 - 1, b.getAffineConstantExpr(0)},
                     b.getContext()),
      ValueRange{first});
  before.map(loop.getInductionVar(), last);
  Value yielded = loop.getYieldedValues()[number];
  clone({yielded}, loop.getBody(), before);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, segmentOf, zero);
  return arith::SelectOp::create(
      b, loc, isFirst, mapping.lookupOrDefault(loop.getInits()[number]),
      before.lookupOrDefault(yielded));
}

void Segmentation::insert(scf::ForallOp blocks, Value tile, Value out,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(blocks.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(
      b, loc, tile, out, offsets, sizes,
      SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(1)));
}

void Segmentation::insertState(scf::ForallOp blocks, Value state, Value out,
                               OpFoldResult number) {
  auto [offsets, sizes] =
      getStateSlice(b, getPlace(blocks, number), state.getType());
  if (!isa<RankedTensorType>(state.getType()))
    state = tensor::FromElementsOp::create(b, loc, ValueRange{state});
  insert(blocks, state, out, offsets, sizes);
}

void Segmentation::computeSegments() {
  scf::ForOp old = recurrence.getLoop();
  SmallVector<Value> outs;
  for (unsigned state : recurrence.getStates()) {
    Type type = old.getRegionIterArg(state).getType();
    outs.push_back(createWorkspace(type, false));
    outs.push_back(createWorkspace(type, true));
  }
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp blocks = createBlocks(outs, true, "_segments");
  // Besides the states' next values, those of their factors and what both need
  // to know of other iterations.
  SmallVector<Value> needed;
  for (unsigned state : recurrence.getStates())
    needed.push_back(old.getYieldedValues()[state]);
  SmallVector<unsigned> passed;
  for (unsigned number : recurrence.findCarried(needed))
    if (llvm::is_contained(recurrence.getPassed(), number))
      passed.push_back(number);
  for (unsigned number : passed)
    needed.push_back(old.getYieldedValues()[number]);
  SmallVector<Value> before(needed);
  for (unsigned number : passed)
    before.push_back(old.getInits()[number]);
  IRMapping mapping;
  clonePrologue(blocks, mapping, before);
  auto [first, end] = getRange(blocks);
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0));
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0));
  SmallVector<Value> inits;
  for (unsigned state : recurrence.getStates()) {
    auto type =
        dyn_cast<RankedTensorType>(old.getRegionIterArg(state).getType());
    Value start = zero;
    if (type) {
      Value empty = tensor::EmptyOp::create(b, loc, type.getShape(),
                                            type.getElementType());
      start = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
    }
    inits.append({start, one});
  }
  for (unsigned number : passed)
    inits.push_back(
        startPassed(number, first, blocks.getInductionVars().back(), mapping));
  auto loop = scf::ForOp::create(b, loc, first, end, old.getStep(), inits);
  size_t count = recurrence.getStates().size();
  {
    OpBuilder::InsertionGuard inLoop(b);
    b.setInsertionPointToEnd(loop.getBody());
    mapping.map(old.getInductionVar(), loop.getInductionVar());
    for (auto [i, state] : llvm::enumerate(recurrence.getStates()))
      mapping.map(old.getRegionIterArg(state), loop.getRegionIterArg(2 * i));
    for (auto [i, number] : llvm::enumerate(passed))
      mapping.map(old.getRegionIterArg(number),
                  loop.getRegionIterArg(2 * count + i));
    clone(needed, old.getBody(), mapping);
    SmallVector<Value> yielded;
    for (auto [i, state] : llvm::enumerate(recurrence.getStates())) {
      yielded.push_back(mapping.lookupOrDefault(old.getYieldedValues()[state]));
      Value factor = recurrence.createFactor(b, state, mapping);
      yielded.push_back(arith::MulFOp::create(
          b, loc, loop.getRegionIterArg(2 * i + 1), factor));
    }
    for (unsigned number : passed)
      yielded.push_back(
          mapping.lookupOrDefault(old.getYieldedValues()[number]));
    scf::YieldOp::create(b, loc, yielded);
  }
  OpFoldResult number = blocks.getInductionVars().back();
  for (size_t i = 0; i < 2 * count; ++i)
    insertState(blocks, loop.getResult(i), blocks.getRegionIterArgs()[i],
                number);
  for (size_t i = 0; i < count; ++i) {
    ends.push_back(blocks.getResult(2 * i));
    factors.push_back(blocks.getResult(2 * i + 1));
  }
}

void Segmentation::joinSegments() {
  scf::ForOp old = recurrence.getLoop();
  ArrayRef<unsigned> states = recurrence.getStates();
  size_t count = states.size();
  SmallVector<Value> outs, needed;
  for (unsigned state : states) {
    Type type = old.getRegionIterArg(state).getType();
    outs.push_back(createWorkspace(type, false));
    needed.push_back(old.getInits()[state]);
  }
  for (tensor::ParallelInsertSliceOp final : recurrence.getFinals())
    outs.push_back(
        block.getTiedOpOperand(cast<BlockArgument>(final.getDest()))->get());
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp blocks = createBlocks(outs, false, "_scan");
  IRMapping mapping;
  for (tensor::ParallelInsertSliceOp final : recurrence.getFinals())
    llvm::append_range(needed, final->getOperands().drop_front(2));
  clonePrologue(blocks, mapping, needed);

  SmallVector<Value> inits;
  SmallVector<std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>>
      slices;
  for (unsigned state : states)
    inits.push_back(mapping.lookupOrDefault(old.getInits()[state]));
  for (auto [i, state] : llvm::enumerate(states)) {
    auto [offsets, sizes] = getStateSlice(
        b, getPlace(blocks, b.getIndexAttr(0)), inits[i].getType());
    sizes[getVariables(block).size()] = segments;
    inits.push_back(tensor::ExtractSliceOp::create(
        b, loc, blocks.getRegionIterArgs()[i], offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(1))));
    slices.push_back({offsets, sizes});
  }
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(
      b, loc, zero, segments, one, inits,
      [&](OpBuilder &nested, Location, Value number, ValueRange args) {
        SmallVector<Value> next, written;
        for (size_t i = 0; i < count; ++i) {
          Value state = args[i];
          SmallVector<OpFoldResult> place = getPlace(blocks, number);
          auto [offsets, sizes] = getStateSlice(
              nested, SmallVector<OpFoldResult>(place), state.getType());
          std::fill(offsets.begin(), offsets.end(), nested.getIndexAttr(0));
          offsets[place.size() - 1] = number;
          Value tile = state;
          if (!isa<RankedTensorType>(state.getType()))
            tile =
                tensor::FromElementsOp::create(nested, loc, ValueRange{state});
          written.push_back(tensor::InsertSliceOp::create(
              nested, loc, tile, args[count + i], offsets, sizes,
              SmallVector<OpFoldResult>(sizes.size(), nested.getIndexAttr(1))));
          Value factor =
              readState(nested, loc, factors[i], nested.getF32Type(), place);
          Value end = readState(nested, loc, ends[i], state.getType(), place);
          next.push_back(createNext(nested, loc, factor, state, end));
        }
        llvm::append_range(next, written);
        scf::YieldOp::create(nested, loc, next);
      });
  for (auto [i, state] : llvm::enumerate(states))
    mapping.map(old.getResult(state), loop.getResult(i));
  for (size_t i = 0; i < count; ++i) {
    insert(blocks, loop.getResult(count + i), blocks.getRegionIterArgs()[i],
           slices[i].first, slices[i].second);
    starts.push_back(blocks.getResult(i));
  }
  // What the block makes of the last states.
  SmallVector<Value> lasts;
  for (tensor::ParallelInsertSliceOp final : recurrence.getFinals())
    lasts.push_back(final.getSource());
  llvm::DenseSet<Operation *> ops = recurrence.findNeeded(lasts);
  for (Operation &op : block.getBody()->without_terminator())
    if (ops.contains(&op) && &op != old &&
        !llvm::all_of(op.getResults(),
                      [&](Value result) { return mapping.contains(result); }))
      b.clone(op, mapping);
  for (auto [i, inserted] : llvm::enumerate(recurrence.getFinals())) {
    tensor::ParallelInsertSliceOp final = inserted;
    mapping.map(final.getDest(), blocks.getRegionIterArgs()[count + i]);
    OpBuilder::InsertionGuard inParallel(b);
    b.setInsertionPointToEnd(blocks.getTerminator().getBody());
    b.clone(*final.getOperation(), mapping);
    OpResult result = block.getTiedOpResult(
        block.getTiedOpOperand(cast<BlockArgument>(final.getDest())));
    b.replaceAllUsesWith(result, blocks.getResult(count + i));
  }
}

void Segmentation::computeOutputs() {
  scf::ForOp old = recurrence.getLoop();
  SmallVector<Value> outs;
  for (const CarriedOutput &output : recurrence.getOutputs())
    outs.push_back(output.out->get());
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp blocks = createBlocks(outs, true, "");
  SmallVector<Value> inBody, needed;
  llvm::append_range(inBody, old.getYieldedValues());
  llvm::append_range(needed, inBody);
  for (const CarriedOutput &output : recurrence.getOutputs())
    llvm::append_range(needed, output.parallel->getOperands().drop_front(2));
  for (unsigned number : recurrence.getPassed())
    needed.push_back(old.getInits()[number]);
  IRMapping mapping;
  clonePrologue(blocks, mapping, needed);
  auto [first, end] = getRange(blocks);
  SmallVector<Value> inits(old.getNumResults());
  Value number = blocks.getInductionVars().back();
  for (auto [i, state] : llvm::enumerate(recurrence.getStates()))
    inits[state] =
        readState(b, loc, starts[i], old.getRegionIterArg(state).getType(),
                  getPlace(blocks, number));
  for (unsigned passed : recurrence.getPassed())
    inits[passed] = startPassed(passed, first, number, mapping);
  // Of the outputs, the segment's part.
  SmallVector<SmallVector<OpFoldResult>> allOffsets, allSizes;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  for (auto [i, output] : llvm::enumerate(recurrence.getOutputs())) {
    SmallVector<OpFoldResult> offsets, sizes;
    tensor::ParallelInsertSliceOp whole = output.parallel;
    for (auto [dim, width] : llvm::enumerate(output.widths)) {
      auto map = [&](OpFoldResult value) -> OpFoldResult {
        if (auto known = dyn_cast<Value>(value))
          return mapping.lookupOrDefault(known);
        return value;
      };
      offsets.push_back(map(whole.getMixedOffsets()[dim]));
      sizes.push_back(map(whole.getMixedSizes()[dim]));
      if (width == 0)
        continue;
      int64_t length = width * segment;
      offsets.back() = affine::makeComposedFoldedAffineApply(
          b, loc, d0 * length, {OpFoldResult(number)});
      sizes.back() = affine::makeComposedFoldedAffineMin(
          b, loc,
          AffineMap::get(2, 0,
                         {d1 - d0 * length, b.getAffineConstantExpr(length)},
                         b.getContext()),
          {OpFoldResult(number), sizes.back()});
    }
    inits[output.number] = tensor::ExtractSliceOp::create(
        b, loc, blocks.getRegionIterArgs()[i], offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(1)));
    allOffsets.push_back(offsets);
    allSizes.push_back(sizes);
  }
  auto loop = scf::ForOp::create(b, loc, first, end, old.getStep(), inits);
  loop->setDiscardableAttrs(old->getDiscardableAttrDictionary());
  {
    OpBuilder::InsertionGuard inLoop(b);
    b.setInsertionPointToEnd(loop.getBody());
    mapping.map(old.getInductionVar(), loop.getInductionVar());
    for (auto [from, to] :
         llvm::zip_equal(old.getRegionIterArgs(), loop.getRegionIterArgs()))
      mapping.map(from, to);
    clone(inBody, old.getBody(), mapping);
    SmallVector<Value> yielded;
    for (Value value : old.getYieldedValues())
      yielded.push_back(mapping.lookupOrDefault(value));
    // Tiles are inserted from the segment's start on.
    for (auto [output, starts] :
         llvm::zip_equal(recurrence.getOutputs(), allOffsets)) {
      auto insert =
          yielded[output.number].getDefiningOp<tensor::InsertSliceOp>();
      SmallVector<OpFoldResult> offsets = insert.getMixedOffsets();
      b.setInsertionPoint(insert);
      for (auto [dim, width] : llvm::enumerate(output.widths))
        if (width != 0)
          offsets[dim] = affine::makeComposedFoldedAffineApply(
              b, loc, d0 - d1, {offsets[dim], starts[dim]});
      auto moved = tensor::InsertSliceOp::create(
          b, insert.getLoc(), insert.getSource(), insert.getDest(), offsets,
          insert.getMixedSizes(), insert.getMixedStrides());
      b.replaceOp(insert, moved);
      yielded[output.number] = moved;
    }
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, loc, yielded);
  }
  for (auto [i, output] : llvm::enumerate(recurrence.getOutputs())) {
    insert(blocks, loop.getResult(output.number), blocks.getRegionIterArgs()[i],
           allOffsets[i], allSizes[i]);
    b.replaceAllUsesWith(block.getTiedOpResult(output.out),
                         blocks.getResult(i));
  }
}

void Segmentation::run() {
  b.setInsertionPoint(block);
  AffineExpr s0 = b.getAffineSymbolExpr(0);
  segments = getValueOrCreateConstantIndexOp(
      b, loc,
      affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(0, 1, s0.ceilDiv(segment)),
          {getAsOpFoldResult(recurrence.getLoop().getUpperBound())}));
  computeSegments();
  joinSegments();
  computeOutputs();
  b.eraseOp(block);
}

std::string mamba::segmentLoop(RewriterBase &rewriter, scf::ForallOp block,
                               int64_t segment) {
  Segmentation segmentation(rewriter, block, segment);
  std::string reason = segmentation.check();
  if (reason.empty())
    segmentation.run();
  return reason;
}
