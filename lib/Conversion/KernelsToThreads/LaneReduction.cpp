//===- LaneReduction.cpp - Reductions shared by the lanes of a warp -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every lane reduces its part of the steps from the neutral element, shuffles
// combine the parts, and the group's first lane adds the output's old value.
// Shuffles need all lanes of a warp. So all threads go round equally often, and
// a group that is past the last point takes part with no steps.
//
//===----------------------------------------------------------------------===//

#include "ThreadLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mamba;

constexpr int32_t kWarpSize = 32;

/// `lhs` and `rhs` combined as in `combiner`.
static Value combine(OpBuilder &builder, Operation *combiner, Value lhs,
                     Value rhs) {
  IRMapping operands;
  operands.map(combiner->getOperand(0), lhs);
  operands.map(combiner->getOperand(1), rhs);
  return builder.clone(*combiner, operands)->getResult(0);
}

void ThreadLoops::reduceWithLanes(OpBuilder &builder, linalg::LinalgOp op,
                                  const ThreadMapping &mapping,
                                  MutableArrayRef<Value> indices,
                                  Value isActive, Value lane) {
  Location loc = op.getLoc();
  SmallVector<Operation *> combiners = findCombiners(op);
  SmallVector<Value> parts;
  for (Operation *combiner : combiners)
    parts.push_back(arith::ConstantOp::create(
        builder, loc, *arith::getNeutralElement(combiner)));

  Value steps = countPoints(builder, loc, mapping.reduction, mapping);
  if (isActive)
    steps =
        arith::SelectOp::create(builder, loc, isActive, steps, getConstant(0));
  auto loop = scf::ForOp::create(builder, loc, lane, steps,
                                 getConstant(mapping.lanes), parts);
  {
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    splitPoint(inner, loc, loop.getInductionVar(), mapping.reduction, mapping,
               indices);
    SmallVector<Value> results =
        evaluate(inner, op, indices,
                 llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
    scf::YieldOp::create(inner, loc, results);
  }
  parts = llvm::to_vector_of<Value>(loop.getResults());
  for (int32_t offset = mapping.lanes / 2; offset > 0; offset /= 2)
    for (auto [combiner, part] : llvm::zip_equal(combiners, parts)) {
      Value other = gpu::ShuffleOp::create(builder, loc, part, offset,
                                           kWarpSize, gpu::ShuffleMode::XOR)
                        .getShuffleResult();
      part = combine(builder, combiner, part, other);
    }

  Value isWriter = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         lane, getConstant(0));
  if (isActive)
    isWriter = arith::AndIOp::create(builder, loc, isWriter, isActive);
  auto guard =
      scf::IfOp::create(builder, loc, isWriter, /*withElseRegion=*/false);
  OpBuilder writer(guard.thenYield());
  SmallVector<SmallVector<Value>> places = getOutputPlaces(writer, op, indices);
  for (auto [output, place, combiner, part] :
       llvm::zip_equal(op.getDpsInits(), places, combiners, parts)) {
    Value old = memref::LoadOp::create(writer, loc, output, place);
    Value result = combine(writer, combiner, old, part);
    memref::StoreOp::create(writer, loc, result, output, place);
  }
}

void ThreadLoops::lowerWithLanes(linalg::LinalgOp op,
                                 const ThreadMapping &mapping) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  int64_t groups = threads / mapping.lanes;
  Value lanes = getConstant(mapping.lanes);
  Value lane = arith::RemUIOp::create(builder, loc, getThreadId(), lanes);
  Value group = arith::DivUIOp::create(builder, loc, getThreadId(), lanes);
  Value points = countPoints(builder, loc, mapping.parallel, mapping);
  auto rounds = scf::ForOp::create(builder, loc, getConstant(0), points,
                                   getConstant(groups));
  builder.setInsertionPointToStart(rounds.getBody());
  Value point =
      arith::AddIOp::create(builder, loc, rounds.getInductionVar(), group);
  std::optional<int64_t> staticPoints = getConstantIntValue(points);
  Value isActive;
  if (!staticPoints || *staticPoints % groups != 0)
    isActive = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                     point, points);
  SmallVector<Value> indices = startIndices(mapping);
  splitPoint(builder, loc, point, mapping.parallel, mapping, indices);
  reduceWithLanes(builder, op, mapping, indices, isActive, lane);
}
