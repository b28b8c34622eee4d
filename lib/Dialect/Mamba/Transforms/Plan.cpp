//===- Plan.cpp - Decides how operations are lowered ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFused.h"
#include "Tiling.h"
#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Layout/SharedMemory.h"
#include "mamba/Target/Targets.h"

#include "mlir/AsmParser/AsmParser.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAPLANPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

int64_t mamba::chooseDivisor(int64_t size, int64_t limit) {
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

namespace {

/// Tokens that a block of the scan over chunks takes at a time.
constexpr int64_t kPassTokens = 128;
/// Elements of a state that a block of the scan has at most.
constexpr int64_t kPassElements = 2048;
/// Registers of a thread of chunk_out besides those of the products.
constexpr int64_t kOtherRegisters = 68;
/// Bytes of the state that a thread of ssu holds: several loads at once, few
/// enough registers that many threads have theirs in flight.
constexpr int64_t kStateBytesPerThread = 64;
/// Further ones where sequences are packed: ids of rows and columns, in loops
/// with comparisons of them and without.
constexpr int64_t kPackedRegisters = 24;
/// Shared memory that the system takes for each block.
constexpr int64_t kReservedBytes = 1024;

using Problem = PlanProblem;

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

/// Heads whose time steps a block sums.
constexpr int64_t kHeadsOfSums = 8;

/// The number of heads or groups if any operand or result knows it, else
/// kDynamic.
int64_t getStaticSize(Operation *op, Role role) {
  for (const ShapedValue &value : getShapedValues(op))
    for (auto [dim, itsRole] : llvm::enumerate(value.roles))
      if (itsRole == role && !value.type.isDynamicDim(dim))
        return value.type.getDimSize(dim);
  return ShapedType::kDynamic;
}

/// Whether groups may have several heads, and not so few that one more than
/// there are, which an odd number costs, would matter.
bool mayShareGroup(Operation *op) {
  int64_t heads = getStaticSize(op, Role::Heads),
          groups = getStaticSize(op, Role::Groups);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(groups) ||
      groups == 0)
    return true;
  int64_t size = heads / groups;
  return size % 2 == 0 || size > 4;
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
    limits = gpu->limits;
    limit = sharedBytes ? sharedBytes : limits.sharedBytesPerBlock;
    std::optional<Schedule> named = symbolizeSchedule(schedule);
    if (schedule != "auto" && (!named || *named == Schedule::Simple)) {
      emitError(UnknownLoc::get(&getContext()))
          << "expected option 'schedule' to be auto, three_kernel, "
             "chunk_parallel, fused or segmented, got '"
          << schedule << "'";
      return signalPassFailure();
    }
    isFused = named != Schedule::ChunkParallel;
    if (named == Schedule::Fused || named == Schedule::Segmented)
      oneKernel = *named;
    if (failed(obeyOption()))
      return signalPassFailure();
    // Producers come first: a state_pass reads whether they have a plan.
    getOperation()->walk([&](MambaTileOpInterface op) {
      if (op->hasAttr(kPlanAttrName) ||
          op->getParentOfType<LoopLikeOpInterface>())
        return;
      if (PlanAttr plan = choose(op))
        op->setAttr(kPlanAttrName, plan);
    });
  }

  /// Plans given as options come before the chosen ones.
  LogicalResult obeyOption() {
    for (StringRef text : plans) {
      auto [name, plan] = text.split('=');
      // The parser's first message, without its place in no file.
      std::string reason;
      Attribute attribute;
      {
        ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &error) {
          if (reason.empty())
            reason = ": " + error.str();
          return success();
        });
        attribute = parseAttribute(plan, &getContext());
      }
      auto parsed = dyn_cast_or_null<PlanAttr>(attribute);
      if (!parsed) {
        emitError(UnknownLoc::get(&getContext()))
            << "expected a plan like chunk_out=#mamba.plan<...>, got '" << text
            << "'" << reason;
        return failure();
      }
      bool isUsed = false;
      getOperation()->walk([&, name = name](MambaTileOpInterface op) {
        if (op->getName().stripDialect() != name ||
            op->hasAttr(kPlanAttrName) ||
            op->getParentOfType<LoopLikeOpInterface>())
          return;
        op->setAttr(kPlanAttrName, parsed);
        isUsed = true;
      });
      if (!isUsed) {
        emitError(UnknownLoc::get(&getContext()))
            << "expected an operation 'mamba." << name
            << "' without a plan for '" << text << "'";
        return failure();
      }
    }
    return success();
  }

  PlanAttr choose(MambaTileOpInterface op) {
    if (auto state = dyn_cast<ChunkStateOp>(op.getOperation()))
      return becomesPartOfPass(state) ? PlanAttr() : chooseChunkParallel(op);
    if (auto ssu = dyn_cast<SsuOp>(op.getOperation()))
      return chooseSimple(ssu);
    if (oneKernel && canJoin(op))
      return chooseFusedPlan(op, getProblem(op), *oneKernel,
                             usesTf32(getProblem(op)));
    if (auto out = dyn_cast<ChunkOutOp>(op.getOperation()))
      return chooseTiledOut(out);
    if (!isFused)
      return chooseChunkParallel(op);
    if (auto pass = dyn_cast<StatePassOp>(op.getOperation())) {
      auto state = pass.getStates().getDefiningOp<ChunkStateOp>();
      bool fuses =
          state && getOnlyStatePass(state) && !state->hasAttr(kPlanAttrName);
      return fuses ? chooseFusedPass(state) : chooseChunkParallel(op);
    }
    return chooseChunkParallel(op);
  }

  /// Whether the loop over chunks of a state_pass can compute `op` too.
  static bool canJoin(Operation *op) {
    if (auto pass = dyn_cast<StatePassOp>(op)) {
      auto state = pass.getStates().getDefiningOp<ChunkStateOp>();
      return state && getOnlyStatePass(state) && !state->hasAttr(kPlanAttrName);
    }
    if (auto out = dyn_cast<ChunkOutOp>(op)) {
      auto pass = out.getChunkStates().getDefiningOp<StatePassOp>();
      return pass && canJoin(pass);
    }
    // What both read they compute, unless they take parts of it.
    auto cumsum = dyn_cast<ChunkCumsumOp>(op);
    return cumsum && !op->use_empty() &&
           static_cast<int64_t>(cumsum.getChunkSize()) <= kFusedTokens &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<ChunkStateOp>(user) ||
                    (!isa<ChunkCumsumOp>(user) && canJoin(user));
           });
  }

  /// Whether the blocks of the state_pass that reads `op` will compute it.
  bool becomesPartOfPass(ChunkStateOp op) {
    StatePassOp pass = getOnlyStatePass(op);
    if (!pass)
      return false;
    auto byHand = pass->getAttrOfType<PlanAttr>(kPlanAttrName);
    return byHand ? computesChunkStates(byHand.getSchedule()) : isFused;
  }

  /// Bytes of a staged tile: sizes are rounded up to powers of two.
  static int64_t getStagedBytes(int64_t rows, int64_t columns, int64_t bytes) {
    return int64_t(llvm::PowerOf2Ceil(rows)) *
           int64_t(llvm::PowerOf2Ceil(columns)) * bytes;
  }

  /// A block runs through the chunks of a part of one head's state. Parts are
  /// small, so that few heads fill the machine: a quarter of a state of up to
  /// 64 x 128.
  PlanAttr chooseFusedPass(ChunkStateOp state) {
    Problem problem = getProblem(state);
    int64_t tokens = std::min(problem.chunk, kPassTokens);
    int64_t rows = chooseDivisor(problem.headDim, 32);
    int64_t elements = std::clamp<int64_t>(
        problem.headDim * problem.stateDim / 4, 512, kPassElements);
    int64_t columns =
        chooseDivisor(problem.stateDim, std::max<int64_t>(16, elements / rows));
    auto fits = [&] {
      // In shared memory: x and B of some tokens, their steps and sums. Without
      // vectors: the state, what a chunk adds, and the state rounded; the
      // chunk's weights and B weighted by them.
      int64_t staged = getStagedBytes(tokens, rows, problem.elementBytes) +
                       getStagedBytes(tokens, columns, problem.elementBytes) +
                       8 * tokens;
      int64_t buffers = rows * columns * 12 +
                        problem.chunk * (4 + columns * problem.elementBytes);
      return std::max(staged, buffers) <= problem.sharedBytes;
    };
    while (!fits() && columns > 1)
      columns = chooseDivisor(problem.stateDim, columns / 2);
    int64_t reduction = tokens < problem.chunk ? tokens : 0;
    return PlanAttr::get(&getContext(), Schedule::ThreeKernel,
                         {1, 1, rows, columns}, {}, reduction, /*warps=*/4,
                         /*stages=*/3, /*blocks=*/1,
                         /*heads=*/1, /*segment=*/0, usesTf32(problem));
  }

  /// A block runs through the rows of a chunk of one head, some at a time, and
  /// for these through the columns that the mask leaves.
  PlanAttr chooseTiledOut(ChunkOutOp out) {
    Problem problem = getProblem(out);
    int64_t bytes = problem.elementBytes, warps = 4;
    // Multiply-adds of products without tensor cores are all written out.
    int64_t rows = std::min<int64_t>(bytes == 2 ? 64 : 32, problem.chunk);
    int64_t steps = rows;
    int64_t columns = problem.headDim;
    Type inputs = getElementTypeOrSelf(out.getC().getType()),
         states = getElementTypeOrSelf(out.getChunkStates().getType());
    int64_t stateBytes = states.getIntOrFloatBitWidth() / 8;
    bool isMixed = bytes == 2 && !states.isF32() && states != inputs;
    // In shared memory: rows of C, B, x and what the result's rows are scaled
    // and gated with, and the state; steps and sums of the tokens.
    int64_t heads = 1;
    auto getStaged = [&] {
      int64_t tiles = out.getZ() ? 3 : 2;
      // The positions of both in packed sequences, and sums of products without
      // tensor cores, which go through it to those with them.
      int64_t others = out.getSeqIdx() ? 2 * kSwizzledAlignment : 0;
      if (isMixed)
        others += getStagedBytes(rows, columns, 4);
      return others + getStagedBytes(rows, problem.stateDim, bytes) +
             getStagedBytes(steps, problem.stateDim, bytes) +
             heads * (getStagedBytes(columns, problem.stateDim, stateBytes) +
                      tiles * getStagedBytes(rows, columns, bytes) +
                      16 * (rows + steps)) +
             kSwizzledAlignment;
    };
    // Without vectors: rows of C * B^T in f32 and rounded, of both products
    // with P and of the result; the state may need a rounded copy.
    auto getBuffers = [&] {
      return columns * std::min<int64_t>(problem.stateDim, 64) * 2 +
             rows * (steps * (4 + bytes) + columns * (8 + bytes));
    };
    while (std::max(getStaged(), getBuffers()) > problem.sharedBytes) {
      int64_t fewer = chooseDivisor(problem.headDim, columns / 2);
      if (fewer % 16 == 0 && columns > rows / 2)
        columns = fewer;
      else if (rows > 1)
        rows = steps = rows / 2;
      else
        break;
    }
    // Registers of a thread: the products, and as many for everything else as
    // was measured. Gating needs those of some tiles of the result, and D of
    // its columns stays in registers.
    int64_t threads = 32 * warps;
    auto skip = out.getD() ? dyn_cast<RankedTensorType>(out.getD().getType())
                           : RankedTensorType();
    bool hasColumnsOfD = skip && skip.getRank() == 2;
    auto getRegisters = [&]() -> int64_t {
      int64_t products = rows * (steps + (1 + heads) * columns);
      int64_t gate = out.getZ() ? rows * columns * 11 / 4 : 0;
      return int64_t(llvm::divideCeil(products + gate, threads)) +
             (hasColumnsOfD ? columns / 4 : 0) +
             (out.getSeqIdx() ? kPackedRegisters : 0) + kOtherRegisters;
    };
    while (bytes == 2 && rows > 16 &&
           getRegisters() > limits.registersPerThread)
      rows = steps = rows / 2;
    auto countBlocks = [&] {
      return limits.sharedBytesPerSM / (getStaged() + kReservedBytes);
    };
    // Two blocks on a multiprocessor wait for each other's memory.
    if (steps > 16 && countBlocks() < 2) {
      steps /= 2;
      if (countBlocks() < 2)
        steps *= 2;
    }
    // Two heads in a block, if two of these fit on a multiprocessor: their
    // product C * B^T is the same.
    if (isFused && bytes == 2 && !isMixed && mayShareGroup(out) &&
        rows % 16 == 0 && steps % 16 == 0 && columns % 8 == 0 &&
        problem.stateDim % 16 == 0) {
      heads = 2;
      if (getStaged() > problem.sharedBytes || countBlocks() < 2 ||
          getRegisters() > limits.registersPerThread)
        heads = 1;
    }
    int64_t blocks = std::min<int64_t>(
        countBlocks(),
        limits.registersPerSM / (threads * llvm::alignTo(getRegisters(), 8)));
    blocks = bytes == 2 ? std::clamp<int64_t>(blocks, 1, 4) : 1;
    SmallVector<int64_t> tile = out.getUnitTile();
    tile[3] = columns == problem.headDim ? 0 : columns;
    return PlanAttr::get(
        &getContext(),
        isFused ? Schedule::ThreeKernel : Schedule::ChunkParallel, tile,
        {rows, 0}, steps, warps, /*stages=*/1, blocks, heads,
        /*segment=*/0, usesTf32(problem));
  }

  /// A block holds rows of one head's state in the registers of its threads.
  PlanAttr chooseSimple(SsuOp op) {
    Problem problem = getProblem(op);
    auto type = cast<RankedTensorType>(op.getState().getType());
    int64_t rowBytes = problem.stateDim * type.getElementTypeBitWidth() / 8;
    int64_t warps = 4;
    auto getRows = [&] {
      return std::max<int64_t>(1, kStateBytesPerThread * 32 * warps / rowBytes);
    };
    // Without vectors: the state in f32 and with a rounded copy.
    int64_t fitting = problem.sharedBytes / (problem.stateDim * 8);
    int64_t rows = chooseDivisor(
        problem.headDim,
        std::clamp<int64_t>(getRows(), 1, std::max<int64_t>(1, fitting)));
    while (warps > 1 && getRows() >= 2 * rows)
      warps /= 2;
    SmallVector<int64_t> tile = op.getUnitTile();
    tile[2] = rows;
    return PlanAttr::get(&getContext(), Schedule::Simple, tile, {},
                         /*reduction=*/0, warps, /*stages=*/0, /*blocks=*/1,
                         /*heads=*/1, /*segment=*/0, /*tf32=*/false);
  }

  PlanAttr chooseChunkParallel(MambaTileOpInterface op) {
    Problem problem = getProblem(op);
    SmallVector<int64_t> tile = op.getUnitTile(), inner;
    int64_t warps = 8, reduction = 0;
    llvm::TypeSwitch<Operation *>(op)
        .Case<ChunkCumsumOp>([&](ChunkCumsumOp cumsum) {
          // Time steps of neighbouring heads are neighbours. Heads that are
          // not known, or not there, are past the end of a short tile.
          int64_t heads = getStaticSize(cumsum, Role::Heads);
          tile[1] = ShapedType::isDynamic(heads)
                        ? kHeadsOfSums
                        : chooseDivisor(heads, kHeadsOfSums);
          warps = 4;
        })
        .Case<ChunkStateOp>([&](auto) {
          // x and B of some tokens, or without vectors B of all of them
          // weighted by the decay; a few columns.
          int64_t tokens = std::min(problem.chunk, kPassTokens);
          int64_t rows = problem.headDim;
          int64_t columns = chooseDivisor(problem.stateDim, 64);
          auto fits = [&] {
            int64_t staged =
                getStagedBytes(tokens, rows, problem.elementBytes) +
                getStagedBytes(tokens, columns, problem.elementBytes) +
                8 * tokens + kSwizzledAlignment;
            int64_t buffers =
                problem.chunk * (4 + columns * problem.elementBytes);
            return std::max(staged, buffers) <= problem.sharedBytes;
          };
          while (!fits() && rows * columns > 1) {
            if (rows > columns)
              rows = chooseDivisor(problem.headDim, rows / 2);
            else
              columns = chooseDivisor(problem.stateDim, columns / 2);
          }
          if (rows != problem.headDim)
            tile[3] = rows;
          inner = {0, columns, 0};
          reduction = tokens < problem.chunk ? tokens : 0;
        })
        .Case<StatePassOp>([&](auto) { tile[2] = chooseStateRows(problem); });
    return PlanAttr::get(&getContext(), Schedule::ChunkParallel, tile, inner,
                         reduction, warps, /*stages=*/0, /*blocks=*/1,
                         /*heads=*/1, /*segment=*/0, usesTf32(problem));
  }

  bool usesTf32(const Problem &problem) {
    return tf32 && problem.elementBytes == 4;
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

  GpuLimits limits;
  int64_t limit = 0;
  bool isFused = false;
  /// The schedule that computes outputs in the loop over chunks, if named.
  std::optional<Schedule> oneKernel;
};
} // namespace
