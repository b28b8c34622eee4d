//===- DecomposeSsd.cpp - mamba.ssd as chunk operations -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBADECOMPOSESSDPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct DecomposeSsd : mamba::impl::MambaDecomposeSsdPassBase<DecomposeSsd> {
  void runOnOperation() override {
    SmallVector<SsdOp> ops;
    getOperation()->walk([&](SsdOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (SsdOp op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }
};
} // namespace
