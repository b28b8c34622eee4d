//===- LoopPipeliner.cpp - Run copies ahead of a loop
//-----------------------===//
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
// Copies by tensor map report to an mbarrier of their stage instead. If the
// loop runs several times, it goes on with the stage after the last one that it
// has used, so that the phases of all mbarriers take turns.
//
// A single element that is loaded from global memory would make every iteration
// wait for as long as a tile does. It is loaded one iteration ahead, into a
// loop-carried value.
//
//===----------------------------------------------------------------------===//

#include "LoopPipeliner.h"

#include "Slices.h"

#include "mamba/Conversion/StagedBuffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace mamba;

namespace {

struct LoopBounds {
  Value lower, upper, step;
};

class Pipeliner {
public:
  Pipeliner(StagedLoop &staged, int64_t stages, Mbarriers &mbarriers)
      : staged(staged), loop(staged.loop), stages(stages), mbarriers(mbarriers),
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
  bool hasCopiesByThreads() const;
  void createBarriers();
  /// The stage `ahead` of `stage`, which wraps.
  OpFoldResult createStage(OpFoldResult stage, int64_t ahead);
  void createCopies(Value iv, Value end, OpFoldResult stage);
  void createTensorCopies(function_ref<Value(Value)> get, OpFoldResult stage);
  /// What `load` gives in iteration `iv`, or `otherwise` if there is none.
  Value createLoad(memref::LoadOp load, Value iv, Value end, Value otherwise);
  void setPrologueInsertionPoint();
  void createPrologue();
  void addLoopCarriedValues();
  void rewriteBody();

  StagedLoop &staged;
  scf::ForOp loop;
  int64_t stages;
  Mbarriers &mbarriers;
  IRRewriter rewriter;
  SmallVector<Value> buffers, firstElements;
  /// Of the last group, if there are copies by threads.
  Value token;
  /// One for each stage, if there are copies by tensor map; then also the first
  /// iteration's stage and the parity of its phase.
  Value barriers, firstStage, firstPhase;
};

} // namespace

OperandRange StagedCopy::getPlace() const {
  if (auto copy = dyn_cast<TensorCopyOp>(op))
    return copy.getCoordinates();
  return cast<AsyncCopyOp>(op)->getOperands().take_front(1);
}

Value mamba::getCopyDestination(Operation *op) {
  if (auto copy = dyn_cast<AsyncCopyOp>(op))
    return copy.getDestination();
  if (auto copy = dyn_cast<TensorCopyOp>(op))
    return copy.getDestination();
  return {};
}

bool Pipeliner::hasCopiesByThreads() const {
  return llvm::any_of(staged.copies, [](const StagedCopy &copy) {
    return isa<AsyncCopyOp>(copy.op);
  });
}

void Pipeliner::createBarriers() {
  if (llvm::none_of(staged.copies, [](const StagedCopy &copy) {
        return isa<TensorCopyOp>(copy.op);
      }))
    return;
  barriers = mbarriers.create(stages);
  rewriter.setInsertionPointAfterValue(barriers);
  Value even = arith::ConstantIntOp::create(rewriter, loop.getLoc(), 0, 1);
  SmallVector<Value> first =
      carryInto(rewriter, loop->getBlock(), {createIndex(0), even});
  firstStage = first[0];
  firstPhase = first[1];
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

OpFoldResult Pipeliner::createStage(OpFoldResult stage, int64_t ahead) {
  if (ahead == 0)
    return stage;
  if (std::optional<int64_t> constant = getConstantIntValue(stage))
    return rewriter.getIndexAttr((*constant + ahead) % stages);
  Location loc = loop.getLoc();
  Value sum = arith::AddIOp::create(rewriter, loc, cast<Value>(stage),
                                    createIndex(ahead));
  Value count = createIndex(stages);
  Value wraps = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge,
                                      sum, count);
  Value wrapped = arith::SubIOp::create(rewriter, loc, sum, count);
  return arith::SelectOp::create(rewriter, loc, wraps, wrapped, sum)
      .getResult();
}

/// The first thread announces the bytes of all tiles, then starts the copies.
void Pipeliner::createTensorCopies(function_ref<Value(Value)> get,
                                   OpFoldResult stage) {
  Location loc = loop.getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  scf::IfOp branch = mbarriers.createIfFirst(rewriter, loc);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  Value number = getValueOrCreateConstantIndexOp(rewriter, loc, stage);
  int64_t bytes = 0;
  for (StagedCopy &copy : staged.copies)
    if (auto tensorCopy = dyn_cast<TensorCopyOp>(copy.op))
      bytes += tensorCopy.getNumBytes();
  createExpect(rewriter, loc, barriers, number, bytes);
  for (StagedCopy &copy : staged.copies) {
    auto tensorCopy = dyn_cast<TensorCopyOp>(copy.op);
    if (!tensorCopy)
      continue;
    SmallVector<Value> coordinates =
        llvm::map_to_vector(tensorCopy.getCoordinates(), get);
    TensorCopyOp::create(rewriter, tensorCopy.getLoc(), tensorCopy.getMap(),
                         coordinates, createView(copy, stage), barriers,
                         number);
  }
}

/// Copies the tiles of iteration `iv`, if there is one, and closes the group.
void Pipeliner::createCopies(Value iv, Value end, OpFoldResult stage) {
  createIfExists(iv, end, {}, [&](function_ref<Value(Value)> get) {
    for (StagedCopy &copy : staged.copies)
      if (auto asyncCopy = dyn_cast<AsyncCopyOp>(copy.op))
        AsyncCopyOp::create(rewriter, asyncCopy.getLoc(),
                            get(asyncCopy.getSource()),
                            createView(copy, stage));
    if (barriers)
      createTensorCopies(get, stage);
  });
  if (hasCopiesByThreads())
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
      llvm::append_range(needed, copy.getPlace());
    if (firstStage)
      needed.append({firstStage, firstPhase});
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
  if (hasCopiesByThreads())
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
  OpFoldResult first = rewriter.getIndexAttr(0);
  if (firstStage)
    first = getAsOpFoldResult(firstStage);
  for (int64_t ahead = 0; ahead < stages - 1; ++ahead)
    createCopies(createAhead(bounds.lower, bounds.step, ahead), bounds.upper,
                 createStage(first, ahead));
  for (memref::LoadOp load : staged.loads) {
    Value zero = arith::ConstantOp::create(
        rewriter, load.getLoc(), rewriter.getZeroAttr(load.getType()));
    firstElements.push_back(createLoad(load, bounds.lower, bounds.upper, zero));
  }
}

/// Adds the elements that are loaded ahead, the stage of the iteration's tiles
/// and the parity of its mbarrier's phase.
void Pipeliner::addLoopCarriedValues() {
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits = firstElements;
  inits.push_back(firstStage ? firstStage : createIndex(0));
  if (barriers)
    inits.push_back(firstPhase);
  auto yieldNext = [&](OpBuilder &builder, Location loc,
                       ArrayRef<BlockArgument> args) -> SmallVector<Value> {
    ArrayRef<BlockArgument> elements = args.take_front(firstElements.size());
    Value stage = args[elements.size()];
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::ConstantIndexOp::create(builder, loc, stages - 1);
    Value start = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         stage, last);
    Value next = arith::AddIOp::create(builder, loc, stage, one);
    // The next elements are filled in when they are loaded.
    SmallVector<Value> yielded(elements.begin(), elements.end());
    yielded.push_back(
        arith::SelectOp::create(builder, loc, isLast, start, next));
    if (barriers)
      yielded.push_back(
          arith::XOrIOp::create(builder, loc, args.back(), isLast));
    return yielded;
  };
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yieldNext);
  assert(succeeded(replaced) && "expected a loop that can yield more");
  loop = cast<scf::ForOp>(replaced->getOperation());
}

void Pipeliner::rewriteBody() {
  unsigned numStates = barriers ? 2 : 1;
  unsigned firstState = loop.getNumRegionIterArgs() - numStates;
  Value stage = loop.getRegionIterArg(firstState);
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
  if (token)
    nvgpu::DeviceAsyncWaitOp::create(rewriter, loc, token,
                                     rewriter.getI32IntegerAttr(stages - 2));
  if (barriers)
    createPhaseWait(rewriter, loc, barriers, stage,
                    loop.getRegionIterArgs().back());
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
  unsigned firstLoad = firstState - staged.loads.size();
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
  createBarriers();
  createPrologue();
  addLoopCarriedValues();
  rewriteBody();
  if (barriers)
    carryOut(loop->getBlock(), {loop.getResults().take_back(2)[0],
                                loop.getResults().take_back(2)[1]});
}

void mamba::pipelineLoop(StagedLoop &staged, int64_t stages,
                         Mbarriers &mbarriers) {
  Pipeliner(staged, stages, mbarriers).run();
}
