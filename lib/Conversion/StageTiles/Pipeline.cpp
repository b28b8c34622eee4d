//===- Pipeline.cpp - Copy tiles some iterations ahead --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the loops whose copies run ahead, and by how much; see
// LoopPipeliner.cpp and Mbarriers.cpp for what becomes of them.
//
//===----------------------------------------------------------------------===//

#include "LoopPipeliner.h"
#include "Slices.h"

#include "../KernelsToThreads/Buffers.h"
#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/MaskFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/Support/MathExtras.h"

namespace mamba {
#define GEN_PASS_DEF_PIPELINEPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

/// True if `value`'s computation needs nothing of the loop's body but the
/// induction variable.
static bool dependsOnlyOnInductionVar(Value value, scf::ForOp loop) {
  bool result = true;
  forEachLeaf(
      value, [](Value) { return false; },
      [&](Value leaf) {
        if (leaf != loop.getInductionVar() &&
            loop.getBodyRegion().isAncestor(leaf.getParentRegion()))
          result = false;
      });
  return result;
}

/// True if all uses of `memref` are inside of `loop`.
static bool isUsedOnlyIn(Value memref, scf::ForOp loop) {
  return llvm::all_of(memref.getUsers(), [&](Operation *user) {
    return loop->isProperAncestor(user);
  });
}

/// True if `load` gives another element in every iteration, whose place is
/// known before.
static bool canLoadAhead(memref::LoadOp load, scf::ForOp loop,
                         const llvm::DenseSet<Value> &written) {
  Value root = findRoot(load.getMemRef());
  if (!root || !isa<BlockArgument>(root) || written.contains(root) ||
      !load.getType().isIntOrIndexOrFloat())
    return false;
  bool isInvariant = true;
  for (Value operand : load->getOperands()) {
    if (!dependsOnlyOnInductionVar(operand, loop))
      return false;
    forEachLeaf(
        operand, [](Value) { return false; },
        [&](Value leaf) { isInvariant &= leaf != loop.getInductionVar(); });
  }
  return !isInvariant;
}

/// Why the loop cannot be pipelined, or null.
static const char *analyze(StagedLoop &staged,
                           const llvm::DenseSet<Value> &written) {
  scf::ForOp loop = staged.loop;
  for (Operation &op : *loop.getBody()) {
    if (Value destination = getCopyDestination(&op)) {
      auto view = destination.getDefiningOp<memref::SubViewOp>();
      auto buffer = view ? view.getSource().getDefiningOp<memref::AllocOp>()
                         : memref::AllocOp();
      if (!buffer || !isStagedBuffer(buffer) || !isUsedOnlyIn(buffer, loop) ||
          buffer.getType().getDimSize(0) != 1 || !buffer->hasOneUse() ||
          !llvm::all_of(view.getMixedOffsets(), isZeroInteger))
        return "expected copies to whole buffers of one stage";
      StagedCopy copy = {&op, view, buffer};
      for (Value place : copy.getPlace())
        if (!dependsOnlyOnInductionVar(place, loop))
          return "the place of a tile is only known in the iteration itself";
      staged.copies.push_back(copy);
    } else if (auto group = dyn_cast<nvgpu::DeviceAsyncCreateGroupOp>(op)) {
      staged.groups.push_back(group);
    } else if (auto wait = dyn_cast<nvgpu::DeviceAsyncWaitOp>(op)) {
      staged.waits.push_back(wait);
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (canLoadAhead(load, loop, written))
        staged.loads.push_back(load);
    } else {
      bool hasCopies = op.walk([](Operation *nested) {
                           return getCopyDestination(nested)
                                      ? WalkResult::interrupt()
                                      : WalkResult::advance();
                         }).wasInterrupted();
      if (hasCopies)
        return "copies in branches or nested loops";
    }
  }
  return nullptr;
}

static void pipeline(gpu::GPUFuncOp kernel, int64_t maxStages,
                     int64_t preferredBytes, int64_t maxBytes,
                     Mbarriers &mbarriers) {
  SmallVector<StagedLoop, 2> loops;
  llvm::DenseSet<Value> written = findWrittenRoots(kernel);
  int64_t moreBytes = 0; // of each further stage
  kernel.walk([&](scf::ForOp loop) {
    StagedLoop staged = {loop, {}, {}, {}, {}};
    // What runs once has nothing to copy ahead.
    if (isInRest(loop) || llvm::none_of(*loop.getBody(), [](Operation &op) {
          return bool(getCopyDestination(&op));
        }))
      return;
    bool isInnermost =
        !loop.getBody()
             ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
    if (!isInnermost)
      return;
    if (const char *reason = analyze(staged, written)) {
      loop.emitRemark("not pipelined: ") << reason;
      return;
    }
    for (StagedCopy &copy : staged.copies)
      moreBytes += getPaddedBytes(copy.buffer);
    loops.push_back(std::move(staged));
  });
  if (loops.empty())
    return;
  int64_t bytes = getBufferBytes(kernel), stages = maxStages;
  // The second buffer is worth more than another block at a time, that more
  // than the third.
  auto isTooLarge = [&](int64_t limit) {
    return bytes + (stages - 1) * moreBytes > limit;
  };
  while (stages > 2 && preferredBytes > 0 && isTooLarge(preferredBytes))
    --stages;
  if (stages == 2 && preferredBytes > 0 && isTooLarge(preferredBytes))
    stages = maxStages;
  // Tiles start at multiples of this many bytes; what is before the first one
  // may end in between.
  while (stages > 1 && isTooLarge(maxBytes - kSwizzledAlignment))
    --stages;
  if (stages < 2) {
    if (maxStages >= 2)
      loops.front().loop.emitRemark("not pipelined: two stages take ")
          << bytes + moreBytes << " bytes of shared memory, of which "
          << maxBytes << " may be used; lower the plan's inner sizes";
    return;
  }
  for (StagedLoop &staged : loops)
    pipelineLoop(staged, stages, mbarriers);
}

namespace {

struct Pipeline final : mamba::impl::PipelinePassBase<Pipeline> {
  using PipelinePassBase::PipelinePassBase;

  int64_t getStages(gpu::GPUFuncOp kernel) {
    auto plan = kernel->getAttrOfType<PlanAttr>(kPlanAttrName);
    return plan && plan.getStages() ? plan.getStages() : stages;
  }

  /// A plan that says how many stages there are has weighed them.
  int64_t getPreferredBytes(gpu::GPUFuncOp kernel) {
    auto plan = kernel->getAttrOfType<PlanAttr>(kPlanAttrName);
    return plan && plan.getStages() ? 0 : preferredSharedBytes;
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kVectorizedAttrName))
        continue;
      Mbarriers mbarriers(kernel);
      pipeline(kernel, getStages(kernel), getPreferredBytes(kernel),
               maxSharedBytes, mbarriers);
      if (failed(lowerTensorCopyGroups(kernel, mbarriers)))
        return signalPassFailure();
    }
  }
};

} // namespace
