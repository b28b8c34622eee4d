//===- Mbarriers.cpp - Wait for copies by tensor map ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group that is copied time and again reports to the same mbarrier, whose
// phases take turns: every thread carries the parity of the next one. An
// mbarrier is never more than one phase ahead of a thread, because between two
// copies to the same memory there is a barrier of all threads.
//
// Source: PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier".
//
//===----------------------------------------------------------------------===//

#include "Mbarriers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

/// How long a thread may sleep at a time; no more than a hint.
static constexpr int64_t kTicks = 10000000;

void Mbarriers::createStart() {
  Block &entry = kernel.getBody().front();
  rewriter.setInsertionPointToStart(&entry);
  while (isa<memref::AllocOp>(*rewriter.getInsertionPoint()))
    rewriter.setInsertionPointAfter(&*rewriter.getInsertionPoint());
  Location loc = kernel.getLoc();
  Value thread = gpu::ThreadIdOp::create(rewriter, loc, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                  thread, zero);
  start = createIfFirst(rewriter, loc);
  gpu::BarrierOp::create(rewriter, loc);
  rewriter.setInsertionPointToStart(start.thenBlock());
  for (BlockArgument argument : kernel.getArguments())
    if (isa<nvgpu::TensorMapDescriptorType>(argument.getType()))
      nvgpu::TmaPrefetchOp::create(rewriter, loc, argument, Value());
  NVVM::FenceMbarrierInitOp::create(rewriter, loc);
}

scf::IfOp Mbarriers::createIfFirst(OpBuilder &builder, Location loc) {
  return scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
}

Value Mbarriers::create(int64_t count) {
  if (!start)
    createStart();
  Location loc = kernel.getLoc();
  rewriter.setInsertionPoint(start);
  auto space = gpu::AddressSpaceAttr::get(
      kernel.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value barriers = nvgpu::MBarrierCreateOp::create(
      rewriter, loc,
      nvgpu::MBarrierGroupType::get(kernel.getContext(), space, count));
  rewriter.setInsertionPoint(start.thenYield()->getPrevNode());
  Value arrivals = arith::ConstantIndexOp::create(rewriter, loc, 1);
  for (int64_t number = 0; number < count; ++number)
    nvgpu::MBarrierInitOp::create(
        rewriter, loc, barriers, arrivals,
        arith::ConstantIndexOp::create(rewriter, loc, number), Value());
  return barriers;
}

void mamba::createExpect(OpBuilder &builder, Location loc, Value barriers,
                         Value number, int64_t bytes) {
  Value count = arith::ConstantIndexOp::create(builder, loc, bytes);
  nvgpu::MBarrierArriveExpectTxOp::create(builder, loc, barriers, count, number,
                                          Value());
}

void mamba::createPhaseWait(OpBuilder &builder, Location loc, Value barriers,
                            Value number, Value phase) {
  Value ticks = arith::ConstantIndexOp::create(builder, loc, kTicks);
  nvgpu::MBarrierTryWaitParityOp::create(builder, loc, barriers, phase, ticks,
                                         number);
}

SmallVector<Value> mamba::carryInto(RewriterBase &rewriter, Block *block,
                                    ArrayRef<Value> inits) {
  SmallVector<scf::ForOp> loops;
  for (auto loop = dyn_cast<scf::ForOp>(block->getParentOp()); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp()))
    loops.push_back(loop);
  SmallVector<Value> values(inits);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    rewriter.setInsertionPoint(loop);
    auto yieldSame = [&](OpBuilder &, Location,
                         ArrayRef<BlockArgument> args) -> SmallVector<Value> {
      return {args.begin(), args.end()};
    };
    FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
        rewriter, values, /*replaceInitOperandUsesInLoop=*/false, yieldSame);
    assert(succeeded(replaced) && "expected a loop that can yield more");
    auto created = cast<scf::ForOp>(replaced->getOperation());
    values.assign(created.getRegionIterArgs().take_back(inits.size()).begin(),
                  created.getRegionIterArgs().end());
  }
  return values;
}

void mamba::carryOut(Block *block, ArrayRef<Value> values) {
  SmallVector<Value> next(values);
  for (auto loop = dyn_cast<scf::ForOp>(block->getParentOp()); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp())) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    unsigned first = yield.getNumOperands() - next.size();
    for (auto [number, value] : llvm::enumerate(next))
      yield.setOperand(first + number, value);
    auto results = loop.getResults().take_back(next.size());
    next.assign(results.begin(), results.end());
  }
}

namespace {

/// Copies that one operation closes as a group.
struct CopyGroup {
  nvgpu::DeviceAsyncCreateGroupOp op;
  SmallVector<TensorCopyOp> tensorCopies;
  bool hasOthers = false;
};

} // namespace

/// Waits for the phase of parity `phase` of a new mbarrier.
static LogicalResult lowerGroup(CopyGroup &group, Mbarriers &mbarriers,
                                Value phase) {
  auto wait = group.op->hasOneUse()
                  ? dyn_cast<nvgpu::DeviceAsyncWaitOp>(*group.op->user_begin())
                  : nvgpu::DeviceAsyncWaitOp();
  if (!wait || wait->getBlock() != group.op->getBlock())
    return group.op.emitOpError("expected one wait for a group with copies by "
                                "tensor map, in the same block");
  IRRewriter rewriter(group.op.getContext());
  Location loc = group.op.getLoc();
  Value barriers = mbarriers.create(1);
  rewriter.setInsertionPointAfterValue(barriers);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);

  rewriter.setInsertionPoint(group.op);
  scf::IfOp branch = mbarriers.createIfFirst(rewriter, loc);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  int64_t bytes = 0;
  for (TensorCopyOp copy : group.tensorCopies)
    bytes += copy.getNumBytes();
  createExpect(rewriter, loc, barriers, zero, bytes);
  for (TensorCopyOp copy : group.tensorCopies) {
    rewriter.moveOpBefore(copy, branch.thenYield());
    copy.getBarriersMutable().assign(barriers);
    copy.getBarrierMutable().assign(zero);
  }

  rewriter.setInsertionPoint(wait);
  createPhaseWait(rewriter, loc, barriers, zero, phase);
  if (!group.hasOthers) {
    // Every thread has seen that the copies are complete.
    if (auto barrier = dyn_cast_or_null<gpu::BarrierOp>(wait->getNextNode()))
      rewriter.eraseOp(barrier);
    rewriter.eraseOp(wait);
  }
  return success();
}

/// True in every other iteration of a loop that is run once, from the second
/// one on; null if that takes more than a bit of the induction variable.
static Value createParity(OpBuilder &builder, scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!isZeroInteger(loop.getLowerBound()) || !step || *step < 1 ||
      !llvm::isPowerOf2_64(*step))
    return {};
  Location loc = loop.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value bit = arith::AndIOp::create(
      builder, loc, loop.getInductionVar(),
      arith::ConstantIndexOp::create(builder, loc, *step));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bit,
                               arith::ConstantIndexOp::create(builder, loc, 0));
}

/// Lowers groups of one block, which is run from its start to its end: all have
/// phases of the same parity.
static LogicalResult lowerGroups(MutableArrayRef<CopyGroup> groups,
                                 Block &entry, Mbarriers &mbarriers) {
  Operation *first = groups.front().op;
  Location loc = first->getLoc();
  IRRewriter rewriter(first->getContext());
  Operation *outermost = entry.findAncestorOpInBlock(*first);
  auto loop = dyn_cast<scf::ForOp>(first->getParentOp());
  Value phase;
  if (loop && loop == outermost)
    phase = createParity(rewriter, loop);
  bool isCarried = loop && !phase;
  if (!phase) {
    rewriter.setInsertionPoint(outermost);
    phase = arith::ConstantIntOp::create(rewriter, loc, 0, /*width=*/1);
  }
  if (isCarried)
    phase = carryInto(rewriter, first->getBlock(), phase).front();
  for (CopyGroup &group : groups)
    if (failed(lowerGroup(group, mbarriers, phase)))
      return failure();
  if (!isCarried)
    return success();
  Block *block = first->getBlock();
  rewriter.setInsertionPoint(block->getTerminator());
  Value odd = arith::ConstantIntOp::create(rewriter, loc, 1, /*width=*/1);
  Value next = arith::XOrIOp::create(rewriter, loc, phase, odd);
  carryOut(block, next);
  return success();
}

LogicalResult mamba::lowerTensorCopyGroups(gpu::GPUFuncOp kernel,
                                           Mbarriers &mbarriers) {
  SmallVector<CopyGroup> groups;
  WalkResult result = kernel.walk([&](Block *block) {
    CopyGroup group;
    for (Operation &op : *block) {
      if (auto copy = dyn_cast<TensorCopyOp>(op); copy && !copy.getBarriers())
        group.tensorCopies.push_back(copy);
      group.hasOthers |= isa<AsyncCopyOp>(op);
      if (auto create = dyn_cast<nvgpu::DeviceAsyncCreateGroupOp>(op)) {
        group.op = create;
        if (!group.tensorCopies.empty())
          groups.push_back(group);
        group = {};
      }
    }
    if (group.tensorCopies.empty())
      return WalkResult::advance();
    group.tensorCopies.front().emitOpError("expected to be part of a group");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  MutableArrayRef<CopyGroup> rest(groups);
  while (!rest.empty()) {
    Block *block = rest.front().op->getBlock();
    MutableArrayRef<CopyGroup> ofBlock = rest.take_while(
        [&](CopyGroup &group) { return group.op->getBlock() == block; });
    rest = rest.drop_front(ofBlock.size());
    if (failed(lowerGroups(ofBlock, kernel.getBody().front(), mbarriers)))
      return failure();
  }

  bool hasAsyncCopies =
      kernel.walk([](AsyncCopyOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (hasAsyncCopies)
    return success();
  kernel.walk([](nvgpu::DeviceAsyncWaitOp wait) { wait.erase(); });
  kernel.walk([](nvgpu::DeviceAsyncCreateGroupOp group) {
    if (group->use_empty())
      group.erase();
  });
  return success();
}
