//===- DecomposeSsd.cpp - Writes mamba.ssd as chunk operations ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanFused.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/MaskFacts.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

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
      markRuns(op.getSeqIdx());
      op.setChunkSize(chooseChunk(op));
      FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }

  /// Each sequence is one run of tokens: an operation of chunks does not ask
  /// for that, so it is said where the ids come from.
  static void markRuns(Value ids) {
    auto argument = dyn_cast_or_null<BlockArgument>(ids);
    if (!argument)
      return;
    if (auto function =
            dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      function.setArgAttr(argument.getArgNumber(), kRunsAttrName,
                          UnitAttr::get(ids.getContext()));
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
    return std::min(own, isOneKernel ? kFusedTokens : kLargestGpuChunk);
  }
};
} // namespace
