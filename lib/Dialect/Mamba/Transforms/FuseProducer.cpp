//===- FuseProducer.cpp - Computes tiles of blocks where they are read ----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseBlocks.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mamba;

namespace {

/// Reads of the tiles of one block, in one block of code.
struct Place {
  Block *block;
  llvm::MapVector<Value, OpFoldResult> values;
  SmallVector<std::pair<SliceRead, const Insertion *>> reads;
  SmallVector<SmallVector<OpFoldResult>> offsets;
};

} // namespace

/// The outermost block of code around `op` in `loop` that knows `values`.
static Block *findPlace(Operation *op, scf::ForallOp loop,
                        const llvm::MapVector<Value, OpFoldResult> &values) {
  Block *block = op->getBlock();
  while (block->getParentOp() != loop) {
    Operation *parent = block->getParentOp();
    bool isKnown = llvm::all_of(values, [&](auto pair) {
      auto value = dyn_cast<Value>(pair.second);
      return !value ||
             !parent->isAncestor(value.getParentRegion()->getParentOp());
    });
    if (!isKnown)
      break;
    block = parent->getBlock();
  }
  return block;
}

static std::string findPlaces(scf::ForallOp producer,
                              ArrayRef<Insertion> insertions,
                              llvm::function_ref<bool(scf::ForallOp)> mayFuse,
                              std::vector<Place> &places) {
  for (const Insertion &insertion : insertions) {
    // Uses are listed from the last one on.
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : producer.getResult(insertion.result).getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::reverse(uses)) {
      FailureOr<SliceRead> read = getRead(*use);
      auto reader = use->getOwner()->getParentOfType<scf::ForallOp>();
      if (failed(read) || !reader || !mayFuse(reader))
        return "only slices and elements of its results to be read, in loops "
               "over blocks that are fused";
      TileMatch match(insertion);
      if (failed(match.match(*read)))
        return "each read of its results to lie in the tile of one block";
      Block *block = findPlace(read->op, reader, match.getValues());
      auto place = llvm::find_if(places, [&](const Place &other) {
        return other.block == block &&
               llvm::all_of(match.getValues(), [&](auto pair) {
                 return other.values.lookup(pair.first) == pair.second;
               });
      });
      if (place == places.end()) {
        places.push_back(Place{block, match.getValues(), {}, {}});
        place = std::prev(places.end());
      }
      place->reads.push_back({*read, &insertion});
      place->offsets.emplace_back(match.getOffsets());
    }
  }
  return "";
}

/// Reads from `tile` what `read` reads of the result that it would be
/// inserted into.
static Value readTile(RewriterBase &rewriter, const SliceRead &read,
                      const Insertion &insertion, Value tile,
                      ArrayRef<OpFoldResult> where) {
  Location loc = read.op->getLoc();
  SmallVector<OpFoldResult> offsets, sizes;
  for (unsigned dim = 0; dim < where.size(); ++dim) {
    if (insertion.dropped.test(dim))
      continue;
    offsets.push_back(where[dim]);
    sizes.push_back(read.sizes[dim]);
  }
  if (isa<tensor::ExtractOp>(read.op)) {
    SmallVector<Value> indices;
    for (OpFoldResult offset : offsets)
      indices.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, offset));
    return tensor::ExtractOp::create(rewriter, loc, tile, indices);
  }
  auto type = cast<RankedTensorType>(read.op->getResult(0).getType());
  if (type.getRank() <= int64_t(sizes.size()))
    return tensor::ExtractSliceOp::create(
        rewriter, loc, type, tile, offsets, sizes,
        SmallVector<OpFoldResult>(sizes.size(), rewriter.getIndexAttr(1)));
  return {};
}

static void computeHere(RewriterBase &rewriter, scf::ForallOp producer,
                        const Place &place) {
  Operation *first = nullptr;
  for (const auto &[read, insertion] : place.reads) {
    Operation *op = place.block->findAncestorOpInBlock(*read.op);
    if (!first || op->isBeforeInBlock(first))
      first = op;
  }
  rewriter.setInsertionPoint(first);
  IRMapping mapping;
  for (const Variable &variable : getVariables(producer)) {
    OpFoldResult value = place.values.lookup(variable.value);
    mapping.map(variable.value, getValueOrCreateConstantIndexOp(
                                    rewriter, producer.getLoc(),
                                    value ? value : variable.first));
  }
  for (Operation &op : producer.getBody()->without_terminator())
    rewriter.clone(op, mapping);
  for (auto [entry, offsets] : llvm::zip_equal(place.reads, place.offsets)) {
    const auto &[read, insertion] = entry;
    rewriter.setInsertionPoint(read.op);
    rewriter.replaceOp(
        read.op, readTile(rewriter, read, *insertion,
                          mapping.lookupOrDefault(insertion->tile), offsets));
  }
}

std::string
mamba::fuseProducer(RewriterBase &rewriter, scf::ForallOp producer,
                    llvm::function_ref<bool(scf::ForallOp)> mayFuse) {
  SmallVector<Insertion> insertions;
  for (OpResult result : producer.getResults()) {
    FailureOr<Insertion> insertion = getInsertion(result);
    if (failed(insertion) || insertion->loop)
      return "each block to insert one tile of each result";
    // What no block writes may be anything.
    if (!producer.getOutputs()[result.getResultNumber()]
             .getDefiningOp<tensor::EmptyOp>())
      return "results that start from a tensor.empty";
    insertions.push_back(*insertion);
  }
  std::vector<Place> places;
  std::string reason = findPlaces(producer, insertions, mayFuse, places);
  if (!reason.empty())
    return reason;
  for (const Place &place : places)
    for (const auto &[read, insertion] : place.reads)
      if (auto type =
              dyn_cast<RankedTensorType>(read.op->getResult(0).getType());
          type && type.getRank() > int64_t(insertion->offsets.size() -
                                           insertion->dropped.count()))
        return "reads with no more dimensions than a block's tile";
  for (const Place &place : places)
    computeHere(rewriter, producer, place);
  rewriter.eraseOp(producer);
  return "";
}
