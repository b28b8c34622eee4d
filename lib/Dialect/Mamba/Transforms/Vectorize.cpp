//===- Vectorize.cpp - Keeps the tiles of blocks in vectors ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `VectorizeAnalysis` decides first; then the block is written anew beside the
// old one, which keeps the tensors whose shapes and sizes the analysis knows.
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mamba/Dialect/Mamba/IR/BlockLoops.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAVECTORIZEPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// A tensor that is in a vector: the first elements of it, by `sizes`.
struct Tile {
  Value vector;
  SmallVector<OpFoldResult> sizes;
};

/// Writes the program of one block anew.
class BlockRewriter {
public:
  BlockRewriter(scf::ForallOp loop, VectorizeAnalysis &analysis)
      : loop(loop), analysis(analysis), b(loop) {}

  scf::ForallOp run();

private:
  void rewrite(Operation *op);
  void rewriteLinalg(linalg::LinalgOp op);
  void rewriteFor(scf::ForOp op);
  Value writeSource(OffsetSizeAndStrideOpInterface op, Value source,
                    Value dest);
  void rewriteDim(tensor::DimOp op);
  void rewriteSlice(tensor::ExtractSliceOp op);
  void rewritePadding(tensor::InsertSliceOp op);
  Value getVector(Value tensor, ArrayRef<int64_t> shape);
  Value read(Value tensor, ArrayRef<int64_t> shape);
  SmallVector<OpFoldResult> getSizes(Location loc, Value tensor);
  bool isWritten(Value source) {
    TensorKind kind = analysis.getKind(source);
    return kind == TensorKind::Vector || kind == TensorKind::Input;
  }
  OpFoldResult map(OpFoldResult value) {
    if (auto known = dyn_cast<Value>(value))
      return mapping.lookupOrDefault(known);
    return value;
  }

  scf::ForallOp loop;
  VectorizeAnalysis &analysis;
  OpBuilder b;
  Block *body = nullptr;
  /// From the old block to the new one: scalars, and tensors in memory.
  IRMapping mapping;
  /// Tensors of the old block that are in vectors of the new one.
  DenseMap<Value, Tile> tiles;
  DenseMap<std::pair<Value, Type>, Value> reads;
};

SmallVector<OpFoldResult> BlockRewriter::getSizes(Location loc, Value tensor) {
  auto it = tiles.find(tensor);
  if (it != tiles.end())
    return it->second.sizes;
  Value known = mapping.lookupOrDefault(tensor);
  if (auto empty = known.getDefiningOp<tensor::EmptyOp>())
    return empty.getMixedSizes();
  auto slice = known.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice)
    return tensor::getMixedSizes(b, loc, known);
  llvm::SmallBitVector isDropped = slice.getDroppedDims();
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes()))
    if (!isDropped.test(dim))
      sizes.push_back(size);
  return sizes;
}

/// Reads a tensor in memory where it is defined: what does not change in a
/// loop is not read in it.
Value BlockRewriter::read(Value tensor, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto vectorType = VectorType::get(shape, type.getElementType());
  Value &result = reads[{tensor, vectorType}];
  if (result)
    return result;
  OpBuilder::InsertionGuard guard(b);
  Block *home = tensor.getParentBlock();
  if (!body->getParent()->isAncestor(home->getParent()))
    home = body;
  if (home != b.getInsertionBlock()) {
    b.setInsertionPoint(
        home->findAncestorOpInBlock(*b.getInsertionBlock()->getParentOp()));
  } else if (home == body && shape.size() == 1) {
    // Outside of loops nothing hides how long a read takes. A short vector can
    // be read early.
    Operation *definition = tensor.getDefiningOp();
    if (definition && definition->getBlock() == body)
      b.setInsertionPointAfter(definition);
    else
      b.setInsertionPointToStart(body);
  }
  Location loc = tensor.getLoc();
  SmallVector<bool> inBounds;
  for (auto [size, known] : llvm::zip_equal(shape, type.getShape()))
    inBounds.push_back(size == known);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value pad = arith::ConstantOp::create(
      b, loc, cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
  result = vector::TransferReadOp::create(
      b, loc, vectorType, tensor, SmallVector<Value>(shape.size(), zero), pad,
      ArrayRef<bool>(inBounds));
  return result;
}

Value BlockRewriter::getVector(Value tensor, ArrayRef<int64_t> shape) {
  auto it = tiles.find(tensor);
  if (it != tiles.end())
    return it->second.vector;
  if (TypedAttr splat = getSplat(tensor)) {
    auto type = VectorType::get(shape, splat.getType());
    return arith::ConstantOp::create(
        b, tensor.getLoc(),
        cast<TypedAttr>(DenseElementsAttr::get(type, splat)));
  }
  return read(mapping.lookupOrDefault(tensor), shape);
}

void BlockRewriter::rewriteLinalg(linalg::LinalgOp op) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> loopShape = analysis.getLoopShape(op);
  SmallVector<VectorOperand> operands;
  SmallVector<Value> bounds(op.getNumLoops());
  SmallVector<bool> isExact(op.getNumLoops(), false);
  SmallVector<OpFoldResult> loopSizes(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    Value old = operand.get();
    auto type = dyn_cast<RankedTensorType>(old.getType());
    if (!type) {
      operands.push_back({mapping.lookupOrDefault(old)});
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(&operand);
    SmallVector<OpFoldResult> sizes = getSizes(loc, old);
    for (auto [dim, size] : llvm::enumerate(sizes)) {
      unsigned position = map.getDimPosition(dim);
      if (isConstantIntValue(size, loopShape[position]))
        isExact[position] = true;
      loopSizes[position] = size;
    }
    if (!op.payloadUsesValueFromOperand(&operand)) {
      operands.push_back({});
      continue;
    }
    if (type.getRank() == 0) {
      Value element =
          getSplat(old)
              ? Value(arith::ConstantOp::create(b, loc, getSplat(old)))
              : tensor::ExtractOp::create(b, loc, mapping.lookupOrDefault(old),
                                          ValueRange());
      operands.push_back({element});
      continue;
    }
    Value vector = getVector(old, applyPermutationMap(map, loopShape));
    operands.push_back({vector, !analysis.isVector(old)});
  }
  for (auto [position, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction && !isExact[position])
      bounds[position] =
          getValueOrCreateConstantIndexOp(b, loc, loopSizes[position]);

  SmallVector<Value> vectors =
      createVectors(b, op, operands, loopShape, bounds, mapping);
  for (auto [result, vector, out] :
       llvm::zip_equal(op->getResults(), vectors, op.getDpsInits()))
    tiles[result] = {vector, getSizes(loc, out)};
}

void BlockRewriter::rewriteFor(scf::ForOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> inits;
  for (auto [init, argument] :
       llvm::zip_equal(op.getInits(), op.getRegionIterArgs()))
    inits.push_back(isa<RankedTensorType>(argument.getType()) &&
                            analysis.isVector(argument)
                        ? getVector(init, analysis.getShape(argument))
                        : mapping.lookupOrDefault(init));
  auto created =
      scf::ForOp::create(b, loc, mapping.lookupOrDefault(op.getLowerBound()),
                         mapping.lookupOrDefault(op.getUpperBound()),
                         mapping.lookupOrDefault(op.getStep()), inits,
                         /*odsArg4=*/nullptr, op.getUnsignedCmp());
  created->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  mapping.map(op.getInductionVar(), created.getInductionVar());
  for (auto [init, old, argument, oldResult, result] : llvm::zip_equal(
           op.getInits(), op.getRegionIterArgs(), created.getRegionIterArgs(),
           op.getResults(), created.getResults())) {
    if (isa<VectorType>(argument.getType()) &&
        isa<RankedTensorType>(old.getType())) {
      SmallVector<OpFoldResult> sizes = getSizes(loc, init);
      tiles[old] = {argument, sizes};
      tiles[oldResult] = {result, sizes};
    } else {
      mapping.map(old, argument);
      mapping.map(oldResult, result);
    }
  }

  OpBuilder::InsertionGuard guard(b);
  if (!created.getBody()->empty())
    created.getBody()->getTerminator()->erase();
  b.setInsertionPointToEnd(created.getBody());
  for (Operation &nested : op.getBody()->without_terminator())
    rewrite(&nested);
  SmallVector<Value> yielded;
  for (auto [value, argument] :
       llvm::zip_equal(op.getYieldedValues(), op.getRegionIterArgs()))
    yielded.push_back(tiles.contains(argument)
                          ? getVector(value, analysis.getShape(argument))
                          : mapping.lookupOrDefault(value));
  scf::YieldOp::create(b, op.getBody()->getTerminator()->getLoc(), yielded);
}

/// Writes `source` to where `op` inserts it, so that bufferization finds the
/// inserted elements in place.
Value BlockRewriter::writeSource(OffsetSizeAndStrideOpInterface op,
                                 Value source, Value dest) {
  Location loc = op.getLoc();
  auto mapAll = [&](SmallVector<OpFoldResult> values) {
    return llvm::map_to_vector(values,
                               [&](OpFoldResult value) { return map(value); });
  };
  SmallVector<OpFoldResult> offsets = mapAll(op.getMixedOffsets()),
                            sizes = mapAll(op.getMixedSizes()),
                            strides = mapAll(op.getMixedStrides());
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape = analysis.getShape(source);
  Value vector = getVector(source, shape);
  if (type.getRank() > 2) {
    SmallVector<int64_t> kept, keptShape;
    for (auto [size, known] : llvm::zip_equal(shape, type.getShape()))
      if (known != 1) {
        kept.push_back(known);
        keptShape.push_back(size);
      }
    if (!kept.empty() && kept.size() < shape.size()) {
      type = RankedTensorType::get(kept, type.getElementType());
      shape = keptShape;
      vector = vector::ShapeCastOp::create(
          b, loc, VectorType::get(shape, type.getElementType()), vector);
    }
  }
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, type, mapping.lookupOrDefault(dest), offsets, sizes, strides);
  SmallVector<bool> inBounds;
  for (auto [size, known] : llvm::zip_equal(shape, type.getShape()))
    inBounds.push_back(size == known);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  return vector::TransferWriteOp::create(b, loc, vector, slice,
                                         SmallVector<Value>(shape.size(), zero),
                                         ArrayRef<bool>(inBounds))
      .getResult();
}

void BlockRewriter::rewriteDim(tensor::DimOp op) {
  SmallVector<OpFoldResult> sizes = getSizes(op.getLoc(), op.getSource());
  mapping.map(op.getResult(),
              getValueOrCreateConstantIndexOp(b, op.getLoc(),
                                              sizes[*op.getConstantIndex()]));
}

void BlockRewriter::rewriteSlice(tensor::ExtractSliceOp op) {
  Value source = op.getSource();
  SmallVector<OpFoldResult> sizes = llvm::map_to_vector(
      op.getMixedSizes(), [&](OpFoldResult size) { return map(size); });
  if (analysis.isVector(source)) {
    Value vector = getVector(source, analysis.getShape(source));
    if (op.getType().getRank() != op.getSourceType().getRank()) {
      vector = vector::ShapeCastOp::create(
          b, op.getLoc(),
          VectorType::get(analysis.getShape(op), op.getType().getElementType()),
          vector);
      llvm::SmallBitVector dropped = op.getDroppedDims();
      SmallVector<OpFoldResult> kept;
      for (auto [dim, size] : llvm::enumerate(sizes))
        if (!dropped.test(dim))
          kept.push_back(size);
      sizes = kept;
    }
    tiles[op] = {vector, sizes};
    return;
  }
  // Without slices that are all of another one, equal reads are seen as such.
  if (op.getType().getRank() == op.getSourceType().getRank() &&
      llvm::all_of(op.getMixedOffsets(), isZeroInteger) &&
      llvm::all_of(op.getMixedStrides(), isOneInteger) &&
      op.getType() == op.getSourceType() &&
      isEqualConstantIntOrValueArray(sizes, getSizes(op.getLoc(), source))) {
    mapping.map(op.getResult(), mapping.lookupOrDefault(source));
    return;
  }
  b.clone(*op, mapping);
}

/// The first elements are those of the source, the others those of the
/// destination.
void BlockRewriter::rewritePadding(tensor::InsertSliceOp op) {
  Location loc = op.getLoc();
  SmallVector<int64_t> shape = analysis.getShape(op.getDest());
  Value inner = getVector(op.getSource(), shape),
        outer = getVector(op.getDest(), shape);
  SmallVector<OpFoldResult> sizes = getSizes(loc, op.getDest());
  SmallVector<OpFoldResult> innerSizes = llvm::map_to_vector(
      op.getMixedSizes(), [&](OpFoldResult size) { return map(size); });
  Value isInner;
  for (auto [axis, size] : llvm::enumerate(innerSizes)) {
    // What is past the end of both does not count.
    if (isEqualConstantIntOrValue(size, sizes[axis]))
      continue;
    Value within = createMask(
        b, loc, axis, getValueOrCreateConstantIndexOp(b, loc, size), shape);
    isInner = isInner
                  ? arith::AndIOp::create(b, loc, isInner, within).getResult()
                  : within;
  }
  if (isInner)
    inner = arith::SelectOp::create(b, loc, isInner, inner, outer);
  tiles[op] = {inner, sizes};
}

void BlockRewriter::rewrite(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return rewriteLinalg(linalgOp);
  if (auto forOp = dyn_cast<scf::ForOp>(op))
    return rewriteFor(forOp);
  if (auto scalar = dyn_cast<tensor::FromElementsOp>(op)) {
    RankedTensorType type = scalar.getType();
    Value vector = vector::BroadcastOp::create(
        b, op->getLoc(),
        VectorType::get(type.getShape(), type.getElementType()),
        mapping.lookupOrDefault(scalar.getElements().front()));
    SmallVector<OpFoldResult> sizes(type.getRank(), b.getIndexAttr(1));
    tiles[scalar] = {vector, sizes};
    return;
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op); dim && dim.getConstantIndex())
    return rewriteDim(dim);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return rewriteSlice(slice);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op);
      extract && analysis.isVector(extract.getTensor())) {
    Value tensor = extract.getTensor();
    Value vector = getVector(tensor, analysis.getShape(tensor));
    mapping.map(extract.getResult(), readElement(b, extract, vector));
    return;
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      insert && analysis.isExpansion(insert)) {
    RankedTensorType type = insert.getType();
    Value source = insert.getSource();
    Value vector = getVector(source, analysis.getShape(source));
    vector = vector::ShapeCastOp::create(
        b, op->getLoc(),
        VectorType::get(type.getShape(), type.getElementType()), vector);
    tiles[insert] = {vector,
                     getAsIndexOpFoldResult(b.getContext(), type.getShape())};
    return;
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      insert && analysis.isVector(insert.getDest())) {
    return rewritePadding(insert);
  } else if (insert && isWritten(insert.getSource())) {
    Value written = writeSource(insert, insert.getSource(), insert.getDest());
    auto created = cast<tensor::InsertSliceOp>(b.clone(*op, mapping));
    created.getSourceMutable().assign(written);
    return;
  }
  b.clone(*op, mapping);
}

scf::ForallOp BlockRewriter::run() {
  auto created = cast<scf::ForallOp>(loop->cloneWithoutRegions());
  b.insert(created);
  body = &created.getRegion().emplaceBlock();
  for (BlockArgument argument : loop.getBody()->getArguments())
    mapping.map(argument,
                body->addArgument(argument.getType(), argument.getLoc()));
  b.setInsertionPointToEnd(body);
  for (Operation &op : loop.getBody()->without_terminator())
    rewrite(&op);

  scf::InParallelOp parallel = loop.getTerminator();
  SmallVector<Value> written;
  for (auto insert :
       parallel.getBody()->getOps<tensor::ParallelInsertSliceOp>())
    written.push_back(
        isWritten(insert.getSource())
            ? writeSource(insert, insert.getSource(), insert.getDest())
            : mapping.lookupOrDefault(insert.getSource()));
  auto terminator = scf::InParallelOp::create(b, parallel.getLoc());
  b.setInsertionPointToStart(terminator.getBody());
  for (auto [insert, source] : llvm::zip_equal(
           parallel.getBody()->getOps<tensor::ParallelInsertSliceOp>(),
           written)) {
    auto inserted =
        cast<tensor::ParallelInsertSliceOp>(b.clone(*insert, mapping));
    inserted.getSourceMutable().assign(source);
  }
  created->setAttr(kVectorizedAttrName, b.getUnitAttr());
  return created;
}

/// A matrix whose rows or columns are multiplied by something and summed.
bool isSumOfProducts(linalg::LinalgOp op) {
  if (op.getNumLoops() != 2 || op.getNumReductionLoops() != 1)
    return false;
  std::optional<Reduction> reduction = matchReduction(op);
  return reduction && reduction->kind == vector::CombiningKind::ADD &&
         reduction->value.getDefiningOp<arith::MulFOp>();
}

/// Whether more than a copy of the block's tiles is to be gained in vectors.
bool isWorthVectors(scf::ForallOp loop) {
  return loop.getBody()
      ->walk([](linalg::LinalgOp op) {
        return matchContraction(op) || matchScan(op) || isSumOfProducts(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Erases what only the tensors of the old block needed.
void eraseDeadCode(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isOpTriviallyDead(&op)) {
        op.erase();
        continue;
      }
      for (Region &nested : op.getRegions())
        eraseDeadCode(nested);
    }
}

struct Vectorize final : mamba::impl::MambaVectorizePassBase<Vectorize> {
  using MambaVectorizePassBase::MambaVectorizePassBase;

  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) {
      if (isMappedToBlocks(loop) && (all || isWorthVectors(loop)))
        loops.push_back(loop);
    });
    for (scf::ForallOp loop : loops) {
      VectorizeAnalysis analysis(loop, maxElements, fragments);
      if (failed(analysis.run()))
        continue;
      scf::ForallOp created = BlockRewriter(loop, analysis).run();
      loop->replaceAllUsesWith(created->getResults());
      loop.erase();
      eraseDeadCode(created.getRegion());
      created.walk([](LoopLikeOpInterface nested) {
        if (isa<scf::ForOp>(nested))
          moveLoopInvariantCode(nested);
      });
    }
  }
};

} // namespace
