//===- Slices.cpp - Recompute values elsewhere ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "../KernelsToThreads/Buffers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

static bool canClone(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isMemoryEffectFree(op);
}

void mamba::forEachLeaf(Value value, function_ref<bool(Value)> isKnown,
                        function_ref<void(Value)> visit) {
  llvm::DenseSet<Value> seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second || isKnown(next))
      continue;
    if (canClone(next))
      llvm::append_range(worklist, next.getDefiningOp()->getOperands());
    else
      visit(next);
  }
}

Value mamba::cloneSlice(OpBuilder &builder, Value value,
                        function_ref<bool(Value)> isKnown, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (isKnown(value))
    return value;
  Operation *op = value.getDefiningOp();
  assert(canClone(value) && "expected a value whose leaves are known");
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneSlice(builder, operand, isKnown, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

llvm::DenseSet<Value> mamba::findWrittenRoots(Operation *parent) {
  llvm::DenseSet<Value> written;
  parent->walk([&](Operation *op) {
    if (isMemoryEffectFree(op))
      return;
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    for (Value operand : op->getOperands()) {
      bool isWritten =
          isa<BaseMemRefType>(operand.getType()) &&
          (!effects || effects.getEffectOnValue<MemoryEffects::Write>(operand));
      if (Value root = isWritten ? findRoot(operand) : Value())
        written.insert(root);
    }
  });
  return written;
}
