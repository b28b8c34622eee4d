//===- RewriteExp2.cpp - Exponentials as powers of two --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RewriteExp2.h"

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAREWRITEEXP2PASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct RewriteExp2 : mamba::impl::MambaRewriteExp2PassBase<RewriteExp2> {
  using Base::Base;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    bool hasUnused = false;
    getOperation()->walk([&](FunctionOpInterface function) {
      if (hoist) {
        HoistResult result = hoistFactors(rewriter, function);
        numRewritten += result.numRewritten;
        numFactors += result.numFactors;
      }
      if (clampTerms)
        numClamped += mamba::clampTerms(rewriter, function);
      if (separate) {
        unsigned count = separateFactors(rewriter, function);
        numSeparated += count;
        hasUnused |= count != 0;
      }
      if (foldWeights) {
        unsigned count = mamba::foldWeights(rewriter, function);
        numFolded += count;
        hasUnused |= count != 0;
      }
    });
    if (!hasUnused)
      return;
    // Nobody reads slices that nothing is computed from any more.
    RewritePatternSet patterns(&getContext());
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
