//===- JoinBlocks.cpp - Several copies of a program in one ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinBlocks.h"

using namespace mlir;
using namespace mamba;

bool mamba::readsAny(Operation *op, const llvm::DenseSet<Value> &dependent) {
  return op
      ->walk([&](Operation *nested) {
        return llvm::any_of(
                   nested->getOperands(),
                   [&](Value operand) { return dependent.contains(operand); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
/// Whether the loop runs through the same iterations for all copies.
bool hasSharedBounds(scf::ForOp loop, const llvm::DenseSet<Value> &dependent) {
  return llvm::none_of(
      ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()},
      [&](Value bound) { return dependent.contains(bound); });
}

/// Adds to `dependent` what depends on it in `block`.
void spread(Block &block, llvm::DenseSet<Value> &dependent,
            const llvm::DenseSet<Value> &cuts) {
  for (Operation &op : block.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !hasSharedBounds(loop, dependent)) {
      if (!readsAny(&op, dependent))
        continue;
      // Copies of what is in its regions are made for all of them.
      op.walk([&](Operation *nested) {
        for (Value result : nested->getResults())
          if (!cuts.contains(result))
            dependent.insert(result);
        for (Region &region : nested->getRegions())
          for (BlockArgument arg : region.getArguments())
            dependent.insert(arg);
      });
      continue;
    }
    for (auto [init, arg] :
         llvm::zip_equal(loop.getInits(), loop.getRegionIterArgs()))
      if (dependent.contains(init))
        dependent.insert(arg);
    // A carried value depends on what the iteration before yields.
    size_t before;
    do {
      before = dependent.size();
      spread(*loop.getBody(), dependent, cuts);
      for (auto [yielded, arg] :
           llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
        if (dependent.contains(yielded))
          dependent.insert(arg);
    } while (dependent.size() != before);
    for (auto [arg, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
      if (dependent.contains(arg))
        dependent.insert(result);
  }
}

/// One loop for all copies: a carried value that the copies do not share is
/// carried for each.
void joinLoop(OpBuilder &builder, scf::ForOp loop,
              MutableArrayRef<IRMapping> copies,
              const llvm::DenseSet<Value> &dependent) {
  IRMapping &first = copies.front();
  auto forEachCarried = [&](llvm::function_ref<void(unsigned, IRMapping &)> f) {
    for (unsigned i = 0, e = loop.getNumRegionIterArgs(); i < e; ++i)
      for (IRMapping &copy : dependent.contains(loop.getRegionIterArg(i))
                                 ? copies
                                 : copies.take_front())
        f(i, copy);
  };
  SmallVector<Value> inits;
  forEachCarried([&](unsigned i, IRMapping &copy) {
    inits.push_back(copy.lookupOrDefault(loop.getInits()[i]));
  });
  auto joined = scf::ForOp::create(
      builder, loop.getLoc(), first.lookupOrDefault(loop.getLowerBound()),
      first.lookupOrDefault(loop.getUpperBound()),
      first.lookupOrDefault(loop.getStep()), inits);
  joined->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // Without carried values the builder adds a terminator.
  if (!joined.getBody()->empty())
    joined.getBody()->back().erase();
  unsigned next = 0;
  for (IRMapping &copy : copies)
    copy.map(loop.getInductionVar(), joined.getInductionVar());
  forEachCarried([&](unsigned i, IRMapping &copy) {
    Value arg = joined.getRegionIterArg(next);
    Value result = joined.getResult(next++);
    bool isShared = !dependent.contains(loop.getRegionIterArg(i));
    for (IRMapping &other : isShared ? copies : MutableArrayRef(copy)) {
      other.map(loop.getRegionIterArg(i), arg);
      other.map(loop.getResult(i), result);
    }
  });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(joined.getBody());
  joinCopies(builder, *loop.getBody(), copies, dependent);
  SmallVector<Value> yielded;
  forEachCarried([&](unsigned i, IRMapping &copy) {
    yielded.push_back(copy.lookupOrDefault(loop.getYieldedValues()[i]));
  });
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
}
} // namespace

llvm::DenseSet<Value> mamba::findDependent(scf::ForallOp loop,
                                           ArrayRef<Value> sources,
                                           const llvm::DenseSet<Value> &cuts) {
  llvm::DenseSet<Value> dependent(sources.begin(), sources.end());
  spread(*loop.getBody(), dependent, cuts);
  return dependent;
}

void mamba::joinCopies(OpBuilder &builder, Block &source,
                       MutableArrayRef<IRMapping> copies,
                       const llvm::DenseSet<Value> &dependent) {
  // Operations that differ and wait for the next one that does not.
  SmallVector<Operation *> pending;
  auto flush = [&] {
    for (IRMapping &copy : copies)
      for (Operation *op : pending)
        builder.clone(*op, copy);
    pending.clear();
  };
  for (Operation &op : source.without_terminator()) {
    bool differs = readsAny(&op, dependent);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (differs && loop && hasSharedBounds(loop, dependent)) {
      flush();
      joinLoop(builder, loop, copies, dependent);
    } else if (differs) {
      pending.push_back(&op);
    } else {
      // Shared operations may come first: they read nothing that differs.
      Operation *shared = builder.clone(op, copies.front());
      for (IRMapping &copy : copies.drop_front())
        copy.map(op.getResults(), shared->getResults());
    }
  }
  flush();
}
