//===- Plan.cpp - Decides how operations are lowered ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Target/Targets.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAPLANPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// What a plan is chosen from: static sizes and the widths of elements.
struct Problem {
  int64_t headDim, stateDim, chunk, elementBytes, sharedBytes;
};

/// The largest power of two up to `limit` that divides `size` and for which
/// `bytes` of it fits; 1 if none does.
int64_t chooseTile(int64_t size, int64_t limit, int64_t sharedBytes,
                   llvm::function_ref<int64_t(int64_t)> bytes) {
  for (int64_t tile = limit; tile > 1; tile /= 2)
    if (size % tile == 0 && bytes(tile) <= sharedBytes)
      return tile;
  return 1;
}

/// The largest divisor of `size` up to `limit`, if possible one that fragments
/// of a matrix product divide.
int64_t chooseDivisor(int64_t size, int64_t limit) {
  if (size <= limit)
    return size;
  int64_t largest = 1;
  for (int64_t tile = limit; tile > 1; --tile) {
    if (size % tile)
      continue;
    if (tile % 16 == 0)
      return tile;
    largest = std::max(largest, tile);
  }
  return largest;
}

/// Head-dim rows of a state in a block, in f32 and with a rounded copy.
int64_t chooseStateRows(const Problem &problem) {
  return chooseTile(problem.headDim, 16, problem.sharedBytes,
                    [&](int64_t p) { return p * problem.stateDim * 8; });
}

/// Heads whose time steps a block sums.
constexpr int64_t kHeadsOfSums = 8;

/// The number of heads if any operand or result knows it, else kDynamic.
int64_t getStaticHeads(Operation *op) {
  for (const ShapedValue &value : getShapedValues(op))
    for (auto [dim, role] : llvm::enumerate(value.roles))
      if (role == Role::Heads && !value.type.isDynamicDim(dim))
        return value.type.getDimSize(dim);
  return ShapedType::kDynamic;
}

struct Plan : mamba::impl::MambaPlanPassBase<Plan> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<const Target &> gpu = lookupGpuTarget(target);
    if (!gpu) {
      emitError(UnknownLoc::get(&getContext()))
          << llvm::toString(gpu.takeError());
      return signalPassFailure();
    }
    limit = sharedBytes ? sharedBytes : gpu->limits.sharedBytesPerBlock;
    if (schedule != "auto" && !symbolizeSchedule(schedule)) {
      emitError(UnknownLoc::get(&getContext()))
          << "expected option 'schedule' to be auto, three_kernel or "
             "chunk_parallel, got '"
          << schedule << "'";
      return signalPassFailure();
    }
    isFused = schedule != stringifySchedule(Schedule::ChunkParallel);
    // Producers come first: a state_pass reads whether they have a plan.
    getOperation()->walk([&](MambaTileOpInterface op) {
      if (op->hasAttr(kPlanAttrName) ||
          op->getParentOfType<LoopLikeOpInterface>())
        return;
      if (PlanAttr plan = choose(op))
        op->setAttr(kPlanAttrName, plan);
    });
  }

  PlanAttr choose(MambaTileOpInterface op) {
    if (auto state = dyn_cast<ChunkStateOp>(op.getOperation()))
      return becomesPartOfPass(state) ? PlanAttr() : chooseChunkParallel(op);
    if (!isFused)
      return chooseChunkParallel(op);
    if (auto pass = dyn_cast<StatePassOp>(op.getOperation())) {
      auto state = pass.getStates().getDefiningOp<ChunkStateOp>();
      bool fuses =
          state && getOnlyStatePass(state) && !state->hasAttr(kPlanAttrName);
      return fuses ? chooseFusedPass(state) : chooseChunkParallel(op);
    }
    if (auto out = dyn_cast<ChunkOutOp>(op.getOperation()))
      return chooseTiledOut(out);
    return chooseChunkParallel(op);
  }

  /// Whether the blocks of the state_pass that reads `op` will compute it.
  bool becomesPartOfPass(ChunkStateOp op) {
    StatePassOp pass = getOnlyStatePass(op);
    if (!pass)
      return false;
    auto byHand = pass->getAttrOfType<PlanAttr>(kPlanAttrName);
    return byHand ? byHand.getSchedule() == Schedule::ThreeKernel : isFused;
  }

  PlanAttr chooseFusedPass(ChunkStateOp state) {
    Problem problem = getProblem(state);
    int64_t rows = chooseDivisor(problem.headDim, 64);
    // The state, what a chunk adds, and the state rounded; the chunk's weights
    // and B weighted by them.
    auto bytes = [&](int64_t columns) {
      return rows * columns * 12 +
             problem.chunk * (4 + columns * problem.elementBytes);
    };
    int64_t columns = chooseDivisor(problem.stateDim, 32);
    while (columns > 1 && bytes(columns) > problem.sharedBytes)
      columns = chooseDivisor(problem.stateDim, columns / 2);
    return PlanAttr::get(&getContext(), Schedule::ThreeKernel,
                         {1, 1, rows, columns}, {}, /*reduction=*/0,
                         /*warps=*/4);
  }

  PlanAttr chooseTiledOut(ChunkOutOp out) {
    Problem problem = getProblem(out);
    int64_t reduction = std::min<int64_t>(64, problem.chunk);
    int64_t rows = reduction;
    // Rows of C * B^T in f32 and rounded, of both products with P and of the
    // result; the state may need a rounded copy.
    int64_t copied = std::min(problem.stateDim, reduction);
    auto bytes = [&](int64_t r) {
      return problem.headDim * copied * 2 +
             r * (reduction * (4 + problem.elementBytes) +
                  problem.headDim * (8 + problem.elementBytes));
    };
    while (rows > 1 && bytes(rows) > problem.sharedBytes)
      rows /= 2;
    return PlanAttr::get(&getContext(), Schedule::ThreeKernel,
                         out.getUnitTile(), {rows, 0}, reduction, /*warps=*/4);
  }

  PlanAttr chooseChunkParallel(MambaTileOpInterface op) {
    Problem problem = getProblem(op);
    SmallVector<int64_t> tile = op.getUnitTile(), inner;
    int64_t warps = 8;
    llvm::TypeSwitch<Operation *>(op)
        .Case<ChunkCumsumOp>([&](ChunkCumsumOp cumsum) {
          // Time steps of neighbouring heads are neighbours. Heads that are
          // not known, or not there, are past the end of a short tile.
          int64_t heads = getStaticHeads(cumsum);
          tile[1] = ShapedType::isDynamic(heads)
                        ? kHeadsOfSums
                        : chooseDivisor(heads, kHeadsOfSums);
          warps = 4;
        })
        .Case<ChunkStateOp>([&](auto) {
          // B weighted by the decay: every token of the chunk, a few columns.
          int64_t columns = chooseTile(
              problem.stateDim, 64, problem.sharedBytes, [&](int64_t n) {
                return problem.chunk * (4 + n * problem.elementBytes);
              });
          inner = {0, columns, 0};
        })
        .Case<StatePassOp>([&](auto) { tile[2] = chooseStateRows(problem); })
        .Case<ChunkOutOp>([&](ChunkOutOp) {
          // Rows of C * B^T in f32 and rounded, and of both products with P;
          // the state may need a rounded copy.
          int64_t state = problem.stateDim * problem.headDim * 2;
          int64_t rows = 32;
          auto bytes = [&](int64_t r) {
            return state + r * (problem.chunk * (4 + problem.elementBytes) +
                                problem.headDim * (8 + problem.elementBytes));
          };
          while (rows > 1 && bytes(rows) > problem.sharedBytes)
            rows /= 2;
          inner = {rows, 0};
        })
        .Case<SsuOp>([&](auto) {
          warps = 4;
          tile[2] = chooseStateRows(problem);
        });
    return PlanAttr::get(&getContext(), Schedule::ChunkParallel, tile, inner,
                         /*reduction=*/0, warps);
  }

  Problem getProblem(Operation *op) {
    Problem problem{1, 1, 1, 4, limit};
    for (const ShapedValue &value : getShapedValues(op)) {
      if (value.name == "x")
        problem.elementBytes = value.type.getElementTypeBitWidth() / 8;
      for (auto [dim, role] : llvm::enumerate(value.roles)) {
        int64_t size = value.type.getDimSize(dim);
        if (role == Role::HeadDim)
          problem.headDim = size;
        else if (role == Role::StateDim)
          problem.stateDim = size;
        else if (role == Role::Chunk)
          problem.chunk = size;
      }
    }
    return problem;
  }

  int64_t limit = 0;
  bool isFused = false;
};
} // namespace
