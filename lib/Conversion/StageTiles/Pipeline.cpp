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
// A single element that is loaded from global memory would make every iteration
// wait for as long as a tile does. It is loaded one iteration ahead, into a
// loop-carried value.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "../KernelsToThreads/Buffers.h"
#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/MaskFacts.h"

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
  SmallVector<memref::LoadOp> loads;
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
  scf::IfOp
  createIfExists(Value iv, Value end, TypeRange results,
                 function_ref<void(function_ref<Value(Value)>)> createBody);
  void createCopies(Value iv, Value end, OpFoldResult stage);
  /// What `load` gives in iteration `iv`, or `otherwise` if there is none.
  Value createLoad(memref::LoadOp load, Value iv, Value end, Value otherwise);
  void setPrologueInsertionPoint();
  void createPrologue();
  void addLoopCarriedValues();
  void rewriteBody();

  StagedLoop &staged;
  scf::ForOp loop;
  int64_t stages;
  IRRewriter rewriter;
  SmallVector<Value> buffers, firstElements;
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
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (canLoadAhead(load, loop, written))
        staged.loads.push_back(load);
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

/// Creates `if (iv < end)` with what `createBody` makes in it.
scf::IfOp Pipeliner::createIfExists(
    Value iv, Value end, TypeRange results,
    function_ref<void(function_ref<Value(Value)>)> createBody) {
  Location loc = loop.getLoc();
  Value exists =
      arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, iv, end);
  auto branch = scf::IfOp::create(rewriter, loc, results, exists,
                                  /*withElse=*/!results.empty());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  DominanceInfo dominance;
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), iv);
  auto isKnown = [&](Value value) {
    return !loop.getBodyRegion().isAncestor(value.getParentRegion()) &&
           dominance.properlyDominates(value, branch);
  };
  createBody([&](Value value) {
    return cloneSlice(rewriter, value, isKnown, mapping);
  });
  return branch;
}

/// Copies the tiles of iteration `iv`, if there is one, and closes the group.
void Pipeliner::createCopies(Value iv, Value end, OpFoldResult stage) {
  createIfExists(iv, end, {}, [&](function_ref<Value(Value)> get) {
    for (StagedCopy &copy : staged.copies)
      AsyncCopyOp::create(rewriter, copy.op.getLoc(), get(copy.op.getSource()),
                          createView(copy, stage));
  });
  token = createCopyGroup(rewriter, loop.getLoc());
}

Value Pipeliner::createLoad(memref::LoadOp load, Value iv, Value end,
                            Value otherwise) {
  Location loc = load.getLoc();
  scf::IfOp branch = createIfExists(
      iv, end, load.getType(), [&](function_ref<Value(Value)> get) {
        Value memref = get(load.getMemRef());
        SmallVector<Value> indices =
            llvm::map_to_vector(load.getIndices(), get);
        Value element = memref::LoadOp::create(rewriter, loc, memref, indices);
        scf::YieldOp::create(rewriter, loc, element);
      });
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, otherwise);
  return branch.getResult(0);
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
  for (memref::LoadOp load : staged.loads) {
    Value zero = arith::ConstantOp::create(
        rewriter, load.getLoc(), rewriter.getZeroAttr(load.getType()));
    firstElements.push_back(createLoad(load, bounds.lower, bounds.upper, zero));
  }
}

/// Adds the elements that are loaded ahead and the stage of the iteration's
/// tiles.
void Pipeliner::addLoopCarriedValues() {
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits = firstElements;
  inits.push_back(createIndex(0));
  auto yieldNext = [&](OpBuilder &builder, Location loc,
                       ArrayRef<BlockArgument> args) -> SmallVector<Value> {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::ConstantIndexOp::create(builder, loc, stages - 1);
    Value start = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         args.back(), last);
    Value next = arith::AddIOp::create(builder, loc, args.back(), one);
    // The next elements are filled in when they are loaded.
    SmallVector<Value> yielded(args.drop_back().begin(),
                               args.drop_back().end());
    yielded.push_back(
        arith::SelectOp::create(builder, loc, isLast, start, next));
    return yielded;
  };
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yieldNext);
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

  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  unsigned firstLoad = loop.getNumRegionIterArgs() - 1 - staged.loads.size();
  for (auto [number, load] : llvm::enumerate(staged.loads)) {
    Value element = loop.getRegionIterArg(firstLoad + number);
    Value next =
        createLoad(load, createAhead(loop.getInductionVar(), loop.getStep(), 1),
                   loop.getUpperBound(), element);
    yield.setOperand(firstLoad + number, next);
    rewriter.replaceOp(load, element);
  }

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
  addLoopCarriedValues();
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
                     int64_t preferredBytes, int64_t maxBytes) {
  SmallVector<StagedLoop, 2> loops;
  llvm::DenseSet<Value> written = findWrittenRoots(kernel);
  int64_t moreBytes = 0; // of each further stage
  kernel.walk([&](scf::ForOp loop) {
    StagedLoop staged = {loop, {}, {}, {}, {}};
    // What runs once has nothing to copy ahead.
    if (loop.getBody()->getOps<AsyncCopyOp>().empty() || isInRest(loop))
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
    Pipeliner(staged, stages).run();
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
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kVectorizedAttrName))
        pipeline(kernel, getStages(kernel), getPreferredBytes(kernel),
                 maxSharedBytes);
  }
};

} // namespace
