//===- ThreadLoops.cpp - Operations on buffers as one thread's loops ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mamba;

bool ThreadLoops::isDistributed(Operation *op) {
  return isa<linalg::LinalgOp, memref::CopyOp, memref::StoreOp>(op);
}

void ThreadLoops::lower(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    lower(linalgOp);
  else if (auto copy = dyn_cast<memref::CopyOp>(op))
    lower(copy);
  else
    lower(cast<memref::StoreOp>(op));
}

Value ThreadLoops::getConstant(int64_t value) {
  Value &constant = constants[value];
  if (!constant) {
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    if (lastAtTop)
      builder.setInsertionPointAfter(lastAtTop);
    constant = arith::ConstantIndexOp::create(builder, kernel.getLoc(), value);
    lastAtTop = constant.getDefiningOp();
  }
  return constant;
}

Value ThreadLoops::getThreadId() {
  if (!threadId) {
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    threadId =
        gpu::ThreadIdOp::create(builder, kernel.getLoc(), gpu::Dimension::x);
  }
  return threadId;
}

Value ThreadLoops::isFirstThread(OpBuilder &builder, Location loc) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                               getThreadId(), getConstant(0));
}

Value ThreadLoops::materialize(OpBuilder &builder, Location loc,
                               const Extent &extent) {
  if (extent.isStatic())
    return getConstant(extent.constant);
  if (extent.dim < 0)
    return extent.value;
  return memref::DimOp::create(builder, loc, extent.value, extent.dim);
}

SmallVector<Value> ThreadLoops::startIndices(const ThreadMapping &mapping) {
  SmallVector<Value> indices(mapping.extents.size());
  for (auto [extent, index] : llvm::zip_equal(mapping.extents, indices))
    if (extent.isOne())
      index = getConstant(0);
  return indices;
}

Value ThreadLoops::countPoints(OpBuilder &builder, Location loc,
                               ArrayRef<unsigned> dims,
                               const ThreadMapping &mapping) {
  Value points;
  int64_t staticPoints = 1;
  for (unsigned dim : dims) {
    const Extent &extent = mapping.extents[dim];
    if (extent.isStatic()) {
      staticPoints *= extent.constant;
      continue;
    }
    Value size = materialize(builder, loc, extent);
    points = points ? arith::MulIOp::create(builder, loc, points, size) : size;
  }
  if (!points)
    return getConstant(staticPoints);
  if (staticPoints == 1)
    return points;
  return arith::MulIOp::create(builder, loc, points, getConstant(staticPoints));
}

void ThreadLoops::splitPoint(OpBuilder &builder, Location loc, Value point,
                             ArrayRef<unsigned> dims,
                             const ThreadMapping &mapping,
                             MutableArrayRef<Value> indices) {
  for (unsigned dim : llvm::reverse(dims)) {
    if (dim == dims.front()) {
      indices[dim] = point;
      return;
    }
    Value size = materialize(builder, loc, mapping.extents[dim]);
    indices[dim] = arith::RemUIOp::create(builder, loc, point, size);
    point = arith::DivUIOp::create(builder, loc, point, size);
  }
}

void ThreadLoops::forEachPoint(Operation *op, const ThreadMapping &mapping,
                               PointBody body) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  SmallVector<Value> indices = startIndices(mapping);
  if (mapping.isSingle()) {
    auto guard = scf::IfOp::create(builder, loc, isFirstThread(builder, loc),
                                   /*withElseRegion=*/false);
    builder.setInsertionPoint(guard.thenYield());
    return body(builder, indices);
  }
  Value points = countPoints(builder, loc, mapping.parallel, mapping);
  auto loop = scf::ForOp::create(builder, loc, getThreadId(), points,
                                 getConstant(threads));
  builder.setInsertionPointToStart(loop.getBody());
  splitPoint(builder, loc, loop.getInductionVar(), mapping.parallel, mapping,
             indices);
  body(builder, indices);
}

/// The indices at which `map` accesses a buffer.
static SmallVector<Value> getAccessIndices(OpBuilder &builder, Location loc,
                                           AffineMap map,
                                           ArrayRef<Value> indices) {
  SmallVector<Value> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(
        affine::expandAffineExpr(builder, loc, expr, indices, ValueRange()));
  return results;
}

/// Lets the addition that continues a reduction fuse with the multiplication
/// that feeds it. Everything else keeps the roundings that it was written with.
static void allowContraction(Value result, Value accumulator) {
  auto add = result.getDefiningOp<arith::AddFOp>();
  if (!add || !llvm::is_contained(add->getOperands(), accumulator))
    return;
  auto mark = [](auto op) {
    op.setFastmath(op.getFastmath() | arith::FastMathFlags::contract);
  };
  bool feeds = false;
  for (Value operand : add->getOperands())
    if (auto mul = operand.getDefiningOp<arith::MulFOp>();
        mul && mul->getBlock() == add->getBlock()) {
      mark(mul);
      feeds = true;
    }
  if (feeds)
    mark(add);
}

SmallVector<Value> ThreadLoops::evaluate(OpBuilder &builder,
                                         linalg::LinalgOp op,
                                         ArrayRef<Value> indices,
                                         ArrayRef<Value> outputs) {
  Location loc = op.getLoc();
  IRMapping values;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (isa<MemRefType>(value.getType())) {
      if (!op.payloadUsesValueFromOperand(input))
        continue;
      value = memref::LoadOp::create(
          builder, loc, value,
          getAccessIndices(builder, loc, op.getMatchingIndexingMap(input),
                           indices));
    }
    values.map(op.getMatchingBlockArgument(input), value);
  }
  for (auto [arg, output] : llvm::zip_equal(op.getRegionOutputArgs(), outputs))
    if (output)
      values.map(arg, output);

  for (Operation &original : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(original)) {
      values.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    builder.clone(original, values);
  }
  SmallVector<Value> results = llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value result) { return values.lookupOrDefault(result); });
  if (op.getNumReductionLoops() != 0)
    for (auto [result, accumulator] : llvm::zip_equal(results, outputs))
      allowContraction(result, accumulator);
  return results;
}

SmallVector<SmallVector<Value>>
ThreadLoops::getOutputPlaces(OpBuilder &builder, linalg::LinalgOp op,
                             ArrayRef<Value> indices) {
  SmallVector<SmallVector<Value>> places;
  for (OpOperand &output : op.getDpsInitsMutable())
    places.push_back(getAccessIndices(
        builder, op.getLoc(), op.getMatchingIndexingMap(&output), indices));
  return places;
}

void ThreadLoops::reducePoint(OpBuilder &builder, linalg::LinalgOp op,
                              const ThreadMapping &mapping,
                              MutableArrayRef<Value> indices) {
  Location loc = op.getLoc();
  // Each output element is read once and written once.
  SmallVector<SmallVector<Value>> places =
      getOutputPlaces(builder, op, indices);
  SmallVector<Value> outputs(places.size());
  for (auto [operand, place, output] :
       llvm::zip_equal(op.getDpsInitsMutable(), places, outputs))
    if (!mapping.reduction.empty() || op.payloadUsesValueFromOperand(&operand))
      output = memref::LoadOp::create(builder, loc, operand.get(), place);

  OpBuilder inner = builder;
  scf::ForOp outermost;
  for (unsigned dim : mapping.reduction) {
    auto loop = scf::ForOp::create(
        inner, loc, getConstant(0),
        materialize(inner, loc, mapping.extents[dim]), getConstant(1), outputs);
    indices[dim] = loop.getInductionVar();
    outputs = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    if (outermost)
      scf::YieldOp::create(inner, loc, loop.getResults());
    else
      outermost = loop;
    inner.setInsertionPointToStart(loop.getBody());
  }
  SmallVector<Value> results = evaluate(inner, op, indices, outputs);
  if (outermost) {
    scf::YieldOp::create(inner, loc, results);
    results = llvm::to_vector_of<Value>(outermost.getResults());
  }

  for (auto [value, output, place] :
       llvm::zip_equal(results, op.getDpsInits(), places))
    memref::StoreOp::create(builder, loc, value, output, place);
}

void ThreadLoops::lower(linalg::LinalgOp op) {
  ThreadMapping mapping = ThreadMapping::get(op, threads);
  if (mapping.lanes > 1)
    lowerWithLanes(op, mapping);
  else
    forEachPoint(op, mapping,
                 [&](OpBuilder &builder, MutableArrayRef<Value> indices) {
                   reducePoint(builder, op, mapping, indices);
                 });
  op->erase();
}

void ThreadLoops::lower(memref::CopyOp op) {
  forEachPoint(op, ThreadMapping::get(op),
               [&](OpBuilder &builder, MutableArrayRef<Value> indices) {
                 Value value = memref::LoadOp::create(builder, op.getLoc(),
                                                      op.getSource(), indices);
                 memref::StoreOp::create(builder, op.getLoc(), value,
                                         op.getTarget(), indices);
               });
  op.erase();
}

void ThreadLoops::lower(memref::StoreOp op) {
  OpBuilder builder(op);
  auto guard = scf::IfOp::create(builder, op.getLoc(),
                                 isFirstThread(builder, op.getLoc()),
                                 /*withElseRegion=*/false);
  op->moveBefore(guard.thenYield());
}
