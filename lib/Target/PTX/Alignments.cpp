//===- Alignments.cpp - What kernels demand of addresses ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignments.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mamba {
namespace {

/// An access without an alignment has its type's.
int64_t getAlignment(Operation *op, Type type, std::optional<uint64_t> given) {
  if (given)
    return static_cast<int64_t>(*given);
  return static_cast<int64_t>(
      DataLayout::closest(op).getTypeABIAlignment(type));
}

/// The pointers that follow a use of a pointer go to `pointers`. The bytes that
/// the use is aligned to, 1 if it is no access; 0 if unknown.
int64_t follow(OpOperand &use, llvm::SetVector<Value> &pointers) {
  Operation *op = use.getOwner();
  if (auto branch = dyn_cast<BranchOpInterface>(op)) {
    auto argument = branch.getSuccessorBlockArgument(use.getOperandNumber());
    if (!argument)
      return 0;
    pointers.insert(*argument);
    return 1;
  }
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<LLVM::GEPOp, LLVM::AddrSpaceCastOp, LLVM::SelectOp>(
          [&](Operation *next) {
            pointers.insert(next->getResult(0));
            return 1;
          })
      .Case([&](LLVM::LoadOp load) {
        return getAlignment(load, load.getType(), load.getAlignment());
      })
      .Case([&](LLVM::StoreOp store) {
        if (store.getValue() == use.get())
          return int64_t(0);
        return getAlignment(store, store.getValue().getType(),
                            store.getAlignment());
      })
      .Case([&](NVVM::CpAsyncOp copy) {
        return copy.getSrc() == use.get() ? int64_t(copy.getSize()) : 0;
      })
      .Default([](Operation *) { return 0; });
}

} // namespace

SmallVector<int64_t> getAlignments(LLVM::LLVMFuncOp kernel) {
  SmallVector<int64_t> result;
  for (BlockArgument argument : kernel.getArguments()) {
    bool isValue =
        kernel.getArgAttr(argument.getArgNumber(),
                          LLVM::LLVMDialect::getByValAttrName()) != nullptr;
    if (!isa<LLVM::LLVMPointerType>(argument.getType()) || isValue) {
      result.push_back(0);
      continue;
    }
    int64_t widest = 1;
    llvm::SetVector<Value> pointers;
    pointers.insert(argument);
    for (unsigned i = 0; i < pointers.size() && widest; ++i)
      for (OpOperand &use : pointers[i].getUses()) {
        int64_t alignment = follow(use, pointers);
        widest = alignment ? std::max(widest, alignment) : 0;
        if (!widest)
          break;
      }
    result.push_back(widest);
  }
  return result;
}

} // namespace mamba
