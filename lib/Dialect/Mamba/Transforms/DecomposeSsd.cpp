//===- DecomposeSsd.cpp - Writes mamba.ssd as chunk operations ------------===//
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
/// Above it the products inside a chunk, whose share of a token grows with the
/// chunk, outweigh what fewer chunks save.
constexpr int64_t kLargestGpuChunk = 128;
/// The same where the output is computed in the loop over chunks.
constexpr int64_t kFusedChunk = 64;

struct DecomposeSsd : mamba::impl::MambaDecomposeSsdPassBase<DecomposeSsd> {
  using Base::Base;

  void runOnOperation() override {
    if (chunk < 0) {
      emitError(UnknownLoc::get(&getContext()))
          << "expected option 'chunk' to be at least 0, got "
          << chunk.getValue();
      return signalPassFailure();
    }
    SmallVector<SsdOp> ops;
    getOperation()->walk([&](SsdOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (SsdOp op : ops) {
      rewriter.setInsertionPoint(op);
      op.setChunkSize(chooseChunk(op));
      FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }

  int64_t chooseChunk(SsdOp op) {
    int64_t own = op.getChunkSize();
    // The caller sees the chunks in the states; and padding at a chunk's start
    // ends the run that was carried in.
    if (op.getChunkStates() || op.getSeqIdx())
      return own;
    if (chunk)
      return chunk;
    if (target == "cpu")
      return own;
    // One kernel holds what it computes of a chunk in registers.
    bool isOneKernel = schedule == stringifySchedule(Schedule::Fused) ||
                       schedule == stringifySchedule(Schedule::Segmented);
    return std::min(own, isOneKernel ? kFusedChunk : kLargestGpuChunk);
  }
};
} // namespace
