//===- SeparateDestinations.cpp - One empty tensor a use ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBASEPARATEDESTINATIONSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;

namespace {
struct SeparateDestinations
    : mamba::impl::MambaSeparateDestinationsPassBase<SeparateDestinations> {
  void runOnOperation() override {
    // Fills first: each clone then is one more use of its empty tensor.
    separate<linalg::FillOp>();
    separate<tensor::EmptyOp>();
  }

  template <typename OpTy> void separate() {
    SmallVector<OpTy> ops;
    getOperation()->walk([&](OpTy op) { ops.push_back(op); });
    for (OpTy op : ops) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : op->getUses())
        uses.push_back(&use);
      bool isTaken = false; // by the first use in its block
      for (OpOperand *use : llvm::reverse(uses)) {
        Operation *user = use->getOwner();
        // What a loop overwrites in each iteration must be made in each.
        bool isInside =
            user->getBlock() != op->getBlock() && isa<linalg::LinalgOp>(user);
        if (!isInside && !std::exchange(isTaken, true))
          continue;
        OpBuilder b(isInside ? user : op);
        use->set(b.clone(*op)->getResult(0));
      }
    }
  }
};
} // namespace
