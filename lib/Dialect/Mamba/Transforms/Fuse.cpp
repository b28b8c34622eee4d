//===- Fuse.cpp - Fuses loops over blocks ---------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseBlocks.h"

#include "mamba/Dialect/Mamba/IR/BlockLoops.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/SizeNames.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAFUSEPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// Iterations of a segment where the plan does not say.
constexpr int64_t kSegment = 32;

/// Whether the loop's plan asks for fusion.
bool isToFuse(scf::ForallOp loop) {
  auto plan = loop->getAttrOfType<PlanAttr>(kPlanAttrName);
  return plan && isMappedToBlocks(loop) &&
         (plan.getSchedule() == Schedule::Fused ||
          plan.getSchedule() == Schedule::Segmented);
}

/// Reads sizes of the same name from one argument, so that they are one value.
void unifySizes(Operation *root) {
  root->walk([](tensor::DimOp dim) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> axis = dim.getConstantIndex();
    if (!argument || !axis)
      return;
    auto [first, firstAxis] = getFirstOfSize(argument, *axis);
    if (first == argument && firstAxis == *axis)
      return;
    OpBuilder b(dim);
    dim.getSourceMutable().assign(first);
    dim.getIndexMutable().assign(
        arith::ConstantIndexOp::create(b, dim.getLoc(), firstAxis));
  });
}

/// An element of a slice of a loop's result is one of the result.
void readFromResults(RewriterBase &rewriter, Operation *root) {
  SmallVector<tensor::ExtractOp> reads;
  root->walk([&](tensor::ExtractOp read) { reads.push_back(read); });
  for (tensor::ExtractOp read : reads) {
    auto slice = read.getTensor().getDefiningOp<tensor::ExtractSliceOp>();
    if (!slice || !slice.getSource().getDefiningOp<scf::ForallOp>() ||
        !slice.hasUnitStride())
      continue;
    rewriter.setInsertionPoint(read);
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<Value> indices;
    unsigned next = 0;
    AffineExpr d0 = rewriter.getAffineDimExpr(0),
               d1 = rewriter.getAffineDimExpr(1);
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      OpFoldResult index = offset;
      if (!dropped.test(dim)) {
        OpFoldResult own = getAsOpFoldResult(read.getIndices()[next++]);
        index = isZeroInteger(offset) ? own
                : isZeroInteger(own)
                    ? offset
                    : affine::makeComposedFoldedAffineApply(
                          rewriter, read.getLoc(), d0 + d1, {offset, own});
      }
      indices.push_back(
          getValueOrCreateConstantIndexOp(rewriter, read.getLoc(), index));
    }
    rewriter.replaceOpWithNewOp<tensor::ExtractOp>(read, slice.getSource(),
                                                   indices);
    if (slice->use_empty())
      rewriter.eraseOp(slice);
  }
}

struct Fuse : mamba::impl::MambaFusePassBase<Fuse> {
  using Base::Base;

  void runOnOperation() override {
    bool any = false;
    getOperation()->walk([&](scf::ForallOp loop) { any |= isToFuse(loop); });
    if (!any)
      return;
    IRRewriter rewriter(&getContext());
    unifySizes(getOperation());
    readFromResults(rewriter, getOperation());
    // Consumers first: they then read what a loop reads, and share it.
    for (scf::ForallOp loop : getLoops())
      fuseWithProducer(rewriter, loop);
    SmallVector<scf::ForallOp> loops = getLoops();
    for (scf::ForallOp loop : llvm::reverse(loops))
      fuseWithReaders(rewriter, loop);
    for (scf::ForallOp loop : getLoops()) {
      auto plan = loop->getAttrOfType<PlanAttr>(kPlanAttrName);
      bool hasLoop = !loop.getBody()->getOps<scf::ForOp>().empty();
      if (plan.getSchedule() != Schedule::Segmented || !hasLoop)
        continue;
      std::string refused = segmentLoop(
          rewriter, loop, plan.getSegment() ? plan.getSegment() : kSegment);
      if (!refused.empty())
        loop.emitRemark("expected ") << refused << " to cut it into segments";
      numSegmented += refused.empty();
      numRefused += !refused.empty();
    }
  }

  SmallVector<scf::ForallOp> getLoops() {
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) {
      if (isToFuse(loop))
        loops.push_back(loop);
    });
    return loops;
  }

  void refuse(scf::ForallOp loop, StringRef reason) {
    loop.emitRemark("expected ") << reason << " to fuse the blocks";
    ++numRefused;
  }

  void fuseWithProducer(RewriterBase &rewriter, scf::ForallOp consumer) {
    std::string refused;
    std::vector<std::pair<SliceRead, Insertion>> candidates;
    consumer->walk([&](tensor::ExtractSliceOp slice) {
      auto result = dyn_cast<OpResult>(slice.getSource());
      auto producer =
          result ? dyn_cast<scf::ForallOp>(result.getOwner()) : scf::ForallOp();
      if (!producer || !isToFuse(producer))
        return;
      FailureOr<Insertion> insertion = getInsertion(result);
      FailureOr<SliceRead> read = getRead(slice.getSourceMutable());
      if (succeeded(insertion) && insertion->loop && succeeded(read))
        candidates.push_back({*read, *insertion});
    });
    for (auto &[read, insertion] : candidates) {
      refused = fuseConsumer(rewriter, consumer, read, insertion);
      if (refused.empty()) {
        ++numConsumers;
        return;
      }
    }
    if (!refused.empty())
      refuse(consumer, refused);
  }

  void fuseWithReaders(RewriterBase &rewriter, scf::ForallOp producer) {
    bool isRead = llvm::any_of(producer->getUsers(), [&](Operation *user) {
      auto reader = user->getParentOfType<scf::ForallOp>();
      return reader && isToFuse(reader);
    });
    // Of loops in blocks, consumers say what they miss.
    bool isLoop = llvm::any_of(producer.getResults(), [](OpResult result) {
      FailureOr<Insertion> insertion = getInsertion(result);
      return succeeded(insertion) && insertion->loop;
    });
    if (!isRead || isLoop)
      return;
    std::string refused = fuseProducer(rewriter, producer, isToFuse);
    if (refused.empty())
      ++numProducers;
    else
      refuse(producer, refused);
  }
};
} // namespace
