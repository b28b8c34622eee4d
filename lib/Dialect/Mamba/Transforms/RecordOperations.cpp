//===- RecordOperations.cpp - Records operations for the manifest ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBARECORDOPERATIONSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct RecordOperations
    : mamba::impl::MambaRecordOperationsPassBase<RecordOperations> {
  using Base::Base;

  void runOnOperation() override {
    Builder b(&getContext());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Attribute> operations;
      func.walk([&](Operation *op) {
        if (isa_and_nonnull<MambaDialect>(op->getDialect()))
          operations.push_back(record(b, op, tf32));
      });
      if (func.isPublic() && !operations.empty())
        func->setAttr(kOperationsAttrName, b.getArrayAttr(operations));
    }
  }

  /// The operation's name and options, without how its operands are counted.
  static Attribute record(Builder &b, Operation *op, bool tf32) {
    NamedAttrList options;
    for (NamedAttribute attr : op->getAttrDictionary())
      if (!attr.getName().getValue().ends_with("SegmentSizes"))
        options.append(attr);
    options.set("op", b.getStringAttr(op->getName().getStringRef()));
    // What is less exact than its types must be known where it is chosen.
    if (tf32 && isa<SsdOp>(op) &&
        getElementTypeOrSelf(op->getOperand(0)).isF32())
      options.set("tf32", b.getUnitAttr());
    return options.getDictionary(b.getContext());
  }
};
} // namespace
