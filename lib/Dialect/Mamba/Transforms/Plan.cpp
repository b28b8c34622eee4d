//===- Plan.cpp - Decides how operations are lowered ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

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

/// Head-dim rows of a state in a block, in f32 and with a rounded copy.
int64_t chooseStateRows(const Problem &problem) {
  return chooseTile(problem.headDim, 16, problem.sharedBytes,
                    [&](int64_t p) { return p * problem.stateDim * 8; });
}

struct Plan : mamba::impl::MambaPlanPassBase<Plan> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](MambaTileOpInterface op) {
      if (op->hasAttr(kPlanAttrName) ||
          op->getParentOfType<LoopLikeOpInterface>())
        return;
      op->setAttr(kPlanAttrName, choose(op));
    });
  }

  PlanAttr choose(MambaTileOpInterface op) {
    Problem problem = getProblem(op);
    SmallVector<int64_t> tile = op.getUnitTile(), inner;
    int64_t warps = 8;
    llvm::TypeSwitch<Operation *>(op)
        .Case<ChunkCumsumOp>([&](auto) { warps = 4; })
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
                         warps);
  }

  Problem getProblem(Operation *op) {
    Problem problem{1, 1, 1, 4, sharedBytes};
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
};
} // namespace
