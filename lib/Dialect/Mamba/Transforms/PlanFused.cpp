//===- PlanFused.cpp - Plans of scans in one kernel -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiles of the operations have to meet: an iteration of the loop over
// chunks computes the state's tile, and of the output what that tile is for.
//
//===----------------------------------------------------------------------===//

#include "PlanFused.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mamba;

namespace {
/// Rows of a larger chunk that a block takes at a time.
constexpr int64_t kFusedRows = 32;
/// Elements of a state that a block holds in its registers, and that four warps
/// hold beside what they compute of a chunk; more take eight.
constexpr int64_t kFusedState = 8192;
constexpr int64_t kStateOfFourWarps = 4096;
/// Chunks of a segment: 2,048 tokens.
constexpr int64_t kSegment = 32;
} // namespace

/// Whether the output is gated, which takes registers.
static bool isGated(Operation *op) {
  if (auto out = dyn_cast<ChunkOutOp>(op))
    return out.getZ() != nullptr;
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    auto out = dyn_cast<ChunkOutOp>(user);
    return out && out.getZ();
  });
}

PlanAttr mamba::chooseFusedPlan(MambaTileOpInterface op,
                                const PlanProblem &problem, Schedule schedule,
                                bool tf32) {
  int64_t reduction = problem.chunk > kFusedTokens ? kFusedTokens : 0;
  // Loops over the rows of a chunk hold more beside the state.
  int64_t share = reduction ? 2 : 1;
  int64_t rows =
      chooseDivisor(problem.headDim,
                    std::clamp<int64_t>(kFusedState / share / problem.stateDim,
                                        16, kFusedTokens));
  int64_t most = kStateOfFourWarps / (reduction || isGated(op) ? 2 : 1);
  int64_t warps = rows * problem.stateDim > most ? 8 : 4;
  // In shared memory: B, C, x and z of some tokens in each stage, and what
  // changes threads: the state, or sums of the output.
  int64_t bytes = problem.elementBytes;
  int64_t staged = std::min(problem.chunk, kFusedTokens) *
                   (2 * problem.stateDim + (isGated(op) ? 2 : 1) * rows) *
                   bytes;
  int64_t moved = std::max(rows * problem.stateDim * bytes,
                           kFusedTokens * rows * int64_t(sizeof(float)));
  int64_t stages = 2 * staged + moved <= problem.sharedBytes ? 2 : 1;
  SmallVector<int64_t> tile = op.getUnitTile(), inner;
  llvm::TypeSwitch<Operation *>(op)
      .Case<StatePassOp>([&](auto) {
        tile[2] = rows;
        tile[3] = problem.stateDim;
      })
      .Case<ChunkOutOp>([&](auto) {
        tile[3] = rows == problem.headDim ? 0 : rows;
        if (reduction)
          inner = {kFusedRows, 0};
      })
      .Case<ChunkCumsumOp>([&](auto) {
        tile.assign(tile.size(), 1);
        reduction = 0;
      });
  return PlanAttr::get(op->getContext(), schedule, tile, inner, reduction,
                       warps, stages, /*blocks=*/1, /*heads=*/1,
                       schedule == Schedule::Segmented ? kSegment : 0, tf32);
}
