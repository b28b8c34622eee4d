//===- Barriers.cpp - Keep the threads of a block in step -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward walk carries the accesses since the last barrier. An operation that
// conflicts with one of them gets a barrier, as late as possible. Loops are
// walked until the accesses that come round the back edge change nothing; a
// barrier once placed stays, so that this ends.
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"

#include "ThreadMapping.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mamba;

namespace {

struct Access {
  Value root;
  std::optional<ByteRange> bytes; // of a placed buffer
  bool isWrite;
  /// Which thread touches what, if that is known.
  std::optional<Owner> owner;
  bool byFirstThread = false;

  bool operator==(const Access &other) const {
    return root == other.root && isWrite == other.isWrite &&
           owner == other.owner && byFirstThread == other.byFirstThread;
  }
  bool conflictsWith(const Access &other) const {
    if ((!isWrite && !other.isWrite) || (byFirstThread && other.byFirstThread))
      return false;
    if (bytes && other.bytes ? !bytes->overlaps(*other.bytes)
                             : root != other.root)
      return false;
    return !owner || !(owner == other.owner);
  }
};

using Accesses = SmallVector<Access>;

void join(Accesses &into, ArrayRef<Access> from) {
  for (const Access &access : from)
    if (!llvm::is_contained(into, access))
      into.push_back(access);
}

class BarrierPlacer {
public:
  BarrierPlacer(const SharedLayout &layout, int64_t threads)
      : layout(layout), threads(threads) {}

  void visit(Block &block, Accesses &pending);
  void insert();

private:
  void visit(Operation *op, Accesses &pending);
  void visitLoop(scf::ForOp loop, Accesses &pending);
  void visitLoop(scf::WhileOp loop, Accesses &pending);
  /// What `op` touches; the accesses of its first thread are marked.
  Accesses collect(Operation *op);
  Access makeAccess(Value memref, bool isWrite,
                    std::optional<Owner> owner = std::nullopt);
  /// Adds what the operations in `region` load and store one by one.
  void addNested(Region &region, Accesses &accesses);

  const SharedLayout &layout;
  int64_t threads;
  /// The operations that need a barrier before them.
  llvm::SetVector<Operation *> atBarrier;
};

Access BarrierPlacer::makeAccess(Value memref, bool isWrite,
                                 std::optional<Owner> owner) {
  Access access{findRoot(memref), std::nullopt, isWrite, std::move(owner),
                false};
  if (auto it = layout.find(access.root); it != layout.end())
    access.bytes = it->second;
  return access;
}

void addEffects(Operation *op, llvm::function_ref<void(Value, bool)> add) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (Value value = effect.getValue();
        value &&
        isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect()))
      add(value, isa<MemoryEffects::Write>(effect.getEffect()));
}

void BarrierPlacer::addNested(Region &region, Accesses &accesses) {
  region.walk([&](Operation *op) {
    addEffects(op, [&](Value memref, bool isWrite) {
      accesses.push_back(makeAccess(memref, isWrite));
    });
  });
}

Accesses BarrierPlacer::collect(Operation *op) {
  Accesses accesses;
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    ThreadMapping mapping = ThreadMapping::get(linalgOp, threads);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      // All lanes of a group read the inputs, only the first the outputs.
      std::optional<Owner> owner;
      if (mapping.lanes == 1 || linalgOp.isDpsInit(&operand))
        owner = getOwner(mapping, operand.get(),
                         linalgOp.getMatchingIndexingMap(&operand));
      if (linalgOp.payloadUsesValueFromOperand(&operand))
        accesses.push_back(makeAccess(operand.get(), false, owner));
      if (linalgOp.isDpsInit(&operand))
        accesses.push_back(makeAccess(operand.get(), true, owner));
    }
    // The first lane of the first group finishes a reduction to one element.
    for (Access &access : accesses)
      access.byFirstThread = mapping.parallel.empty();
    if (mapping.lanes > 1)
      for (Access &access : accesses)
        access.byFirstThread &= access.owner.has_value();
    addNested(op->getRegion(0), accesses);
    return accesses;
  }
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    ThreadMapping mapping = ThreadMapping::get(copy);
    auto add = [&](Value memref, bool isWrite) {
      auto map = AffineMap::getMultiDimIdentityMap(mapping.extents.size(),
                                                   op->getContext());
      accesses.push_back(
          makeAccess(memref, isWrite, getOwner(mapping, memref, map)));
    };
    add(copy.getSource(), false);
    add(copy.getTarget(), true);
    for (Access &access : accesses)
      access.byFirstThread = mapping.isSingle();
    return accesses;
  }
  addEffects(op, [&](Value memref, bool isWrite) {
    accesses.push_back(makeAccess(memref, isWrite));
    accesses.back().byFirstThread = isa<memref::StoreOp>(op);
  });
  return accesses;
}

void BarrierPlacer::visit(Operation *op, Accesses &pending) {
  if (isa<gpu::BarrierOp>(op))
    return pending.clear();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop, pending);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return visitLoop(loop, pending);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    // All threads take the same branch, so that each may have barriers.
    Accesses otherwise = pending;
    visit(*branch.thenBlock(), pending);
    if (branch.elseBlock())
      visit(*branch.elseBlock(), otherwise);
    return join(pending, otherwise);
  }
  Accesses accesses = collect(op);
  bool conflicts = llvm::any_of(accesses, [&](const Access &access) {
    return llvm::any_of(pending, [&](const Access &earlier) {
      return access.conflictsWith(earlier);
    });
  });
  if (conflicts)
    atBarrier.insert(op);
  if (atBarrier.contains(op))
    pending.clear();
  join(pending, accesses);
}

void BarrierPlacer::visit(Block &block, Accesses &pending) {
  for (Operation &op : block)
    visit(&op, pending);
}

/// An owner's view or size that is computed in the loop means something else in
/// the next iteration.
void dropOwnersFrom(Operation *loop, Accesses &accesses) {
  auto isInside = [&](Value value) {
    return value && loop->isAncestor(value.getParentBlock()->getParentOp());
  };
  for (Access &access : accesses)
    if (access.owner &&
        (isInside(access.owner->view) ||
         llvm::any_of(access.owner->extents, [&](const Extent &extent) {
           return isInside(extent.value);
         })))
      access.owner.reset();
}

void BarrierPlacer::visitLoop(scf::ForOp loop, Accesses &pending) {
  while (true) {
    size_t before = pending.size(), barriers = atBarrier.size();
    Accesses round = pending;
    visit(*loop.getBody(), round);
    dropOwnersFrom(loop, round);
    // The loop may run no time at all: what was pending stays.
    join(pending, round);
    if (pending.size() == before && atBarrier.size() == barriers)
      return;
  }
}

void BarrierPlacer::visitLoop(scf::WhileOp loop, Accesses &pending) {
  while (true) {
    size_t before = pending.size(), barriers = atBarrier.size();
    Accesses round = pending;
    visit(*loop.getBeforeBody(), round);
    Accesses atExit = round;
    visit(*loop.getAfterBody(), round);
    dropOwnersFrom(loop, round);
    join(pending, round);
    if (pending.size() == before && atBarrier.size() == barriers) {
      dropOwnersFrom(loop, atExit);
      pending = atExit;
      return;
    }
  }
}

void BarrierPlacer::insert() {
  for (Operation *op : atBarrier) {
    OpBuilder builder(op);
    gpu::BarrierOp::create(builder, op->getLoc());
  }
}

} // namespace

void mamba::insertBarriers(gpu::GPUFuncOp kernel, const SharedLayout &layout,
                           int64_t threads) {
  BarrierPlacer placer(layout, threads);
  Accesses pending;
  placer.visit(kernel.getBody().front(), pending);
  placer.insert();
}
