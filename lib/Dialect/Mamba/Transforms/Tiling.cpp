//===- Tiling.cpp - Tiles mamba operations --------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

SmallVector<Attribute> mamba::getBlockMapping(MLIRContext *context,
                                              size_t count) {
  SmallVector<Attribute> mapping;
  for (size_t i = count; i > 0; --i)
    mapping.push_back(gpu::GPUBlockMappingAttr::get(
        context,
        static_cast<gpu::MappingId>(
            static_cast<uint64_t>(gpu::MappingId::LinearDim0) + i - 1)));
  return mapping;
}

/// Starts result `number` of the loops from `operand` and reads the operand
/// through the loops, so that bufferization updates it in place. The
/// operation's contract allows this: no tile reads what another writes.
static void updateInPlace(RewriterBase &rewriter, scf::SCFTilingResult &tiled,
                          unsigned number, Value operand) {
  LoopLikeOpInterface outer = tiled.loops.front(), inner = tiled.loops.back();
  rewriter.modifyOpInPlace(
      outer, [&] { outer.getInitsMutable()[number].set(operand); });
  Value carried = inner.getRegionIterArgs()[number];
  Region *body = carried.getParentRegion();
  rewriter.replaceUsesWithIf(operand, carried, [&](OpOperand &use) {
    return body->isAncestor(use.getOwner()->getParentRegion());
  });
}

FailureOr<scf::SCFTilingResult>
mamba::tileToLoops(RewriterBase &rewriter, MambaTileOpInterface op,
                   ArrayRef<int64_t> sizes,
                   scf::SCFTilingOptions::LoopType loopType) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto tileable = cast<TilingInterface>(op.getOperation());
  SmallVector<Range> domain = tileable.getIterationDomain(rewriter);
  if (sizes.size() != domain.size())
    return op->emitOpError("expected ")
           << domain.size() << " tile sizes, got " << sizes.size();
  SmallVector<OpFoldResult> tileSizes;
  size_t loops = 0;
  SmallVector<int64_t> unitTile = op.getUnitTile();
  for (auto [i, size] : llvm::enumerate(sizes)) {
    tileSizes.push_back(rewriter.getIndexAttr(size));
    loops += size != 0;
    if (size <= 1)
      continue;
    std::optional<int64_t> extent = getConstantIntValue(domain[i].size);
    // A loop that unit tiles leave whole takes any extent that may be dynamic:
    // the last tile is short.
    if (!extent && unitTile[i] == 0)
      continue;
    if (!extent || *extent % size != 0) {
      InFlightDiagnostic error = op->emitOpError("expected tile size ")
                                 << size << " of loop " << i
                                 << " to divide a static extent";
      if (extent)
        error << ", got " << *extent;
      return error;
    }
  }
  SmallVector<std::pair<unsigned, Value>> updated;
  for (unsigned number = 0; number < op->getNumResults(); ++number) {
    OpOperand *operand = op.getUpdatedOperand(number);
    if (!operand)
      continue;
    // One of them may know a size that the other does not.
    Type type = op->getResult(number).getType();
    if (operand->get().getType() != type) {
      Value cast =
          tensor::CastOp::create(rewriter, op->getLoc(), type, operand->get());
      rewriter.modifyOpInPlace(op, [&] { operand->set(cast); });
    }
    updated.push_back({number, operand->get()});
  }

  scf::SCFTilingOptions options;
  options.setLoopType(loopType).setTileSizes(tileSizes);
  bool isForall = loopType == scf::SCFTilingOptions::LoopType::ForallOp;
  if (isForall)
    options.setMapping(getBlockMapping(op->getContext(), loops));
  FailureOr<scf::SCFTilingResult> tiled =
      scf::tileUsingSCF(rewriter, tileable, options);
  if (failed(tiled))
    return failure();
  if (!tiled->loops.empty())
    for (auto [number, operand] : updated)
      updateInPlace(rewriter, *tiled, number, operand);
  rewriter.replaceOp(op, tiled->replacements);
  return tiled;
}

bool mamba::replaceIfEmpty(RewriterBase &rewriter, MambaTileOpInterface op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  FailureOr<SmallVector<Value>> results = op.getResultsIfEmpty(rewriter);
  if (failed(results))
    return false;
  rewriter.replaceOp(op, *results);
  return true;
}

bool mamba::isUnitTile(MambaTileOpInterface op) {
  // Slots are resolved by tiling.
  if (auto ssu = dyn_cast<SsuOp>(op.getOperation()))
    if (!ssu.getRow())
      return false;
  OpBuilder b(op);
  SmallVector<Range> domain =
      cast<TilingInterface>(op.getOperation()).getIterationDomain(b);
  return llvm::all_of(llvm::zip_equal(op.getUnitTile(), domain), [](auto pair) {
    auto [unit, range] = pair;
    return unit == 0 || isConstantIntValue(range.size, unit);
  });
}

StatePassOp mamba::getOnlyStatePass(ChunkStateOp op) {
  return op->hasOneUse() ? dyn_cast<StatePassOp>(*op->user_begin())
                         : StatePassOp();
}

bool mamba::computesChunkStates(Schedule schedule) {
  return schedule == Schedule::ThreeKernel || schedule == Schedule::Fused ||
         schedule == Schedule::Segmented;
}

FailureOr<MambaTileOpInterface>
mamba::fuseIntoSlice(RewriterBase &rewriter, tensor::ExtractSliceOp slice) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(slice);
  auto result = cast<OpResult>(slice.getSource());
  FailureOr<TilingResult> tiled =
      cast<TilingInterface>(result.getOwner())
          .generateResultTileValue(rewriter, result.getResultNumber(),
                                   slice.getMixedOffsets(),
                                   slice.getMixedSizes());
  if (failed(tiled))
    return failure();
  Value tile = tiled->tiledValues.front();
  // The slice may drop unit dimensions.
  if (tile.getType() != slice.getType())
    tile = tensor::createCanonicalRankReducingExtractSliceOp(
        rewriter, slice.getLoc(), tile, slice.getType());
  rewriter.replaceOp(slice, tile);
  return cast<MambaTileOpInterface>(tiled->tiledOps.front());
}

LogicalResult mamba::eraseAllButSizes(RewriterBase &rewriter,
                                      MambaTileOpInterface op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  ReifiedRankedShapedTypeDims shapes;
  if (failed(reifyResultShapes(rewriter, op, shapes)))
    return op->emitOpError("expected results of known shapes");
  for (auto [result, shape] : llvm::zip_equal(op->getResults(), shapes))
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      auto size = cast<tensor::DimOp>(user);
      rewriter.replaceOp(
          size, getValueOrCreateConstantIndexOp(
                    rewriter, op.getLoc(), shape[*size.getConstantIndex()]));
    }
  rewriter.eraseOp(op);
  return success();
}
