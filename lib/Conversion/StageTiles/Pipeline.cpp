//===- Pipeline.cpp - Copy tiles some iterations ahead --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every iteration starts exactly one group, and so does every step of the
// prologue, with or without a copy in it. The groups of the last S - 2
// iterations may be on their way while the tiles of this one are used, whatever
// the trip count.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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

namespace {

/// A tile that every iteration copies.
struct StagedCopy {
  AsyncCopyOp op;
  memref::SubViewOp view;
  memref::AllocOp buffer;
};

struct StagedLoop {
  scf::ForOp loop;
  SmallVector<StagedCopy> copies;
  SmallVector<nvgpu::DeviceAsyncCreateGroupOp> groups;
  SmallVector<nvgpu::DeviceAsyncWaitOp> waits;
};

struct LoopBounds {
  Value lower, upper, step;
};

class Pipeliner {
public:
  Pipeliner(StagedLoop &staged, int64_t stages)
      : staged(staged), loop(staged.loop), stages(stages),
        rewriter(loop.getContext()) {}

  void run();

private:
  Value createIndex(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loop.getLoc(), value);
  }
  /// `iv` + `ahead` iterations.
  Value createAhead(Value iv, Value step, int64_t ahead);
  Value createView(StagedCopy &copy, OpFoldResult stage);
  void createCopies(Value iv, Value end, OpFoldResult stage);
  void setPrologueInsertionPoint();
  void createPrologue();
  void addStageNumber();
  void rewriteBody();

  StagedLoop &staged;
  scf::ForOp loop;
  int64_t stages;
  IRRewriter rewriter;
  SmallVector<Value> buffers;
  Value token;
};

} // namespace

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

/// Why the loop cannot be pipelined, or null.
static const char *analyze(StagedLoop &staged) {
  scf::ForOp loop = staged.loop;
  for (Operation &op : *loop.getBody()) {
    if (auto copy = dyn_cast<AsyncCopyOp>(op)) {
      auto view = copy.getDestination().getDefiningOp<memref::SubViewOp>();
      auto buffer = view ? view.getSource().getDefiningOp<memref::AllocOp>()
                         : memref::AllocOp();
      if (!buffer || !isStagedBuffer(buffer) || !isUsedOnlyIn(buffer, loop) ||
          buffer.getType().getDimSize(0) != 1 || !buffer->hasOneUse() ||
          !llvm::all_of(view.getMixedOffsets(), isZeroInteger))
        return "expected copies to whole buffers of one stage";
      if (!dependsOnlyOnInductionVar(copy.getSource(), loop))
        return "the place of a tile is only known in the iteration itself";
      staged.copies.push_back({copy, view, buffer});
    } else if (auto group = dyn_cast<nvgpu::DeviceAsyncCreateGroupOp>(op)) {
      staged.groups.push_back(group);
    } else if (auto wait = dyn_cast<nvgpu::DeviceAsyncWaitOp>(op)) {
      staged.waits.push_back(wait);
    } else {
      bool hasCopies = op.walk([](AsyncCopyOp) {
                           return WalkResult::interrupt();
                         }).wasInterrupted();
      if (hasCopies)
        return "copies in branches or nested loops";
    }
  }
  return nullptr;
}

Value Pipeliner::createAhead(Value iv, Value step, int64_t ahead) {
  if (ahead == 0)
    return iv;
  Location loc = loop.getLoc();
  Value distance = step;
  if (ahead > 1)
    distance =
        arith::MulIOp::create(rewriter, loc, distance, createIndex(ahead));
  return arith::AddIOp::create(rewriter, loc, iv, distance);
}

Value Pipeliner::createView(StagedCopy &copy, OpFoldResult stage) {
  unsigned number = &copy - staged.copies.data();
  auto type = cast<MemRefType>(buffers[number].getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0)),
      strides(type.getRank(), rewriter.getIndexAttr(1)),
      sizes = copy.view.getMixedSizes();
  offsets[0] = stage;
  return memref::SubViewOp::create(
      rewriter, copy.view.getLoc(),
      memref::SubViewOp::inferRankReducedResultType(
          copy.view.getType().getShape(), type, offsets, sizes, strides),
      buffers[number], offsets, sizes, strides);
}

/// Copies the tiles of iteration `iv`, if there is one, and closes the group.
void Pipeliner::createCopies(Value iv, Value end, OpFoldResult stage) {
  Location loc = loop.getLoc();
  Value exists =
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, iv, end);
  auto branch = scf::IfOp::create(rewriter, loc, exists, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), iv);
    auto isKnown = [&](Value value) {
      return !loop.getBodyRegion().isAncestor(value.getParentRegion()) &&
             DominanceInfo().properlyDominates(value, branch);
    };
    for (StagedCopy &copy : staged.copies) {
      Value source =
          cloneSlice(rewriter, copy.op.getSource(), isKnown, mapping);
      AsyncCopyOp::create(rewriter, copy.op.getLoc(), source,
                          createView(copy, stage));
    }
  }
  token = nvgpu::DeviceAsyncCreateGroupOp::create(rewriter, loc, ValueRange());
}

/// The prologue goes before a wait for other tiles, if it can: then both are
/// waited for at the same time.
void Pipeliner::setPrologueInsertionPoint() {
  SmallVector<nvgpu::DeviceAsyncWaitOp> passed;
  for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
    if (op->getNumRegions() != 0 || isa<nvgpu::DeviceAsyncCreateGroupOp>(op))
      break;
    if (auto wait = dyn_cast<nvgpu::DeviceAsyncWaitOp>(op))
      passed.push_back(wait);
  }
  DominanceInfo dominance;
  while (!passed.empty()) {
    nvgpu::DeviceAsyncWaitOp first = passed.back();
    auto isKnown = [&](Value value) {
      return value == loop.getInductionVar() ||
             dominance.properlyDominates(value, first);
    };
    SmallVector<Value> needed = {loop.getLowerBound(), loop.getUpperBound(),
                                 loop.getStep()};
    for (StagedCopy &copy : staged.copies)
      needed.push_back(copy.op.getSource());
    bool canMove = true;
    for (Value value : needed)
      forEachLeaf(value, isKnown, [&](Value) { canMove = false; });
    if (canMove)
      break;
    passed.pop_back();
  }
  if (passed.empty()) {
    rewriter.setInsertionPoint(loop);
    return;
  }
  for (nvgpu::DeviceAsyncWaitOp wait : passed)
    wait.setNumGroups(wait.getNumGroups().value_or(0) + stages - 1);
  rewriter.setInsertionPoint(passed.back());
}

void Pipeliner::createPrologue() {
  setPrologueInsertionPoint();
  // Threads that are behind may still use the tiles of the last time. Any
  // barrier of the surrounding iteration is between the two.
  if (loop->getParentOfType<scf::ForOp>() &&
      loop->getBlock()->getOps<gpu::BarrierOp>().empty())
    gpu::BarrierOp::create(rewriter, loop.getLoc());
  Operation *next = &*rewriter.getInsertionPoint();
  DominanceInfo dominance;
  auto isKnown = [&](Value value) {
    return dominance.properlyDominates(value, next);
  };
  auto get = [&](Value value) {
    IRMapping mapping;
    return cloneSlice(rewriter, value, isKnown, mapping);
  };
  LoopBounds bounds = {get(loop.getLowerBound()), get(loop.getUpperBound()),
                       get(loop.getStep())};
  for (int64_t stage = 0; stage < stages - 1; ++stage)
    createCopies(createAhead(bounds.lower, bounds.step, stage), bounds.upper,
                 rewriter.getIndexAttr(stage));
}

/// Adds a loop-carried value: the stage of the iteration's tiles.
void Pipeliner::addStageNumber() {
  rewriter.setInsertionPoint(loop);
  Value zero = createIndex(0);
  auto yieldNext = [&](OpBuilder &builder, Location loc,
                       ArrayRef<BlockArgument> args) -> SmallVector<Value> {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::ConstantIndexOp::create(builder, loc, stages - 1);
    Value start = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         args.front(), last);
    Value next = arith::AddIOp::create(builder, loc, args.front(), one);
    return {arith::SelectOp::create(builder, loc, isLast, start, next)};
  };
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, yieldNext);
  assert(succeeded(replaced) && "expected a loop that can yield more");
  loop = cast<scf::ForOp>(replaced->getOperation());
}

void Pipeliner::rewriteBody() {
  Value stage = loop.getRegionIterArgs().back();
  // What the single-stage form waited for.
  for (nvgpu::DeviceAsyncWaitOp wait : staged.waits) {
    if (auto barrier = dyn_cast_or_null<gpu::BarrierOp>(wait->getNextNode()))
      rewriter.eraseOp(barrier);
    rewriter.eraseOp(wait);
  }
  if (auto barrier = dyn_cast<gpu::BarrierOp>(loop.getBody()->front()))
    rewriter.eraseOp(barrier);

  Location loc = loop.getLoc();
  rewriter.setInsertionPointToStart(loop.getBody());
  nvgpu::DeviceAsyncWaitOp::create(rewriter, loc, token,
                                   rewriter.getI32IntegerAttr(stages - 2));
  gpu::BarrierOp::create(rewriter, loc);
  // The tiles of the previous iteration are free now.
  Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                        stage, createIndex(0));
  Value before = arith::SubIOp::create(rewriter, loc, stage, createIndex(1));
  Value free = arith::SelectOp::create(rewriter, loc, isFirst,
                                       createIndex(stages - 1), before);
  createCopies(createAhead(loop.getInductionVar(), loop.getStep(), stages - 1),
               loop.getUpperBound(), free);

  for (StagedCopy &copy : staged.copies) {
    Value view = createView(copy, stage);
    rewriter.eraseOp(copy.op);
    rewriter.replaceAllUsesWith(copy.view, view);
    rewriter.eraseOp(copy.view);
    rewriter.eraseOp(copy.buffer);
  }
  for (nvgpu::DeviceAsyncCreateGroupOp group : staged.groups)
    rewriter.eraseOp(group);
}

void Pipeliner::run() {
  for (StagedCopy &copy : staged.copies) {
    rewriter.setInsertionPoint(copy.buffer);
    auto shape = llvm::to_vector(copy.buffer.getType().getShape());
    shape[0] = stages;
    MemRefType type =
        MemRefType::Builder(copy.buffer.getType()).setShape(shape);
    auto buffer = memref::AllocOp::create(rewriter, copy.buffer.getLoc(), type);
    buffer->setAttrs(copy.buffer->getAttrs());
    buffers.push_back(buffer);
  }
  createPrologue();
  addStageNumber();
  rewriteBody();
}

/// The bytes of a staged buffer with what aligning the next one costs.
static int64_t getPaddedBytes(memref::AllocOp alloc) {
  int64_t bytes = getStagedBytes(alloc.getType(), getSwizzle(alloc));
  return llvm::alignTo(bytes, kStagedAlignment);
}

/// The bytes of all buffers of a block.
static int64_t getBufferBytes(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (isStagedBuffer(alloc))
      bytes += getPaddedBytes(alloc);
    else if (type.hasStaticShape() && type.getElementType().isIntOrFloat())
      bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  });
  return bytes;
}

static void pipeline(gpu::GPUFuncOp kernel, int64_t maxStages,
                     int64_t maxBytes) {
  SmallVector<StagedLoop> loops;
  int64_t moreBytes = 0; // of each further stage
  kernel.walk([&](scf::ForOp loop) {
    StagedLoop staged = {loop, {}, {}, {}};
    if (loop.getBody()->getOps<AsyncCopyOp>().empty())
      return;
    bool isInnermost =
        !loop.getBody()
             ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
    if (!isInnermost)
      return;
    if (const char *reason = analyze(staged)) {
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
  while (stages > 1 && bytes + (stages - 1) * moreBytes > maxBytes)
    --stages;
  if (stages < 2) {
    if (maxStages >= 2)
      loops.front().loop.emitRemark("not pipelined: two stages take ")
          << bytes + moreBytes << " bytes of shared memory, of which "
          << maxBytes << " may be used; lower the plan's inner sizes";
    return;
  }
  for (StagedLoop &staged : loops)
    Pipeliner(staged, stages).run();
}

namespace {

struct Pipeline final : mamba::impl::PipelinePassBase<Pipeline> {
  using PipelinePassBase::PipelinePassBase;

  int64_t getStages(gpu::GPUFuncOp kernel) {
    auto plan = kernel->getAttrOfType<PlanAttr>(kPlanAttrName);
    return plan && plan.getStages() ? plan.getStages() : stages;
  }

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kVectorizedAttrName))
        pipeline(kernel, getStages(kernel), maxSharedBytes);
  }
};

} // namespace
