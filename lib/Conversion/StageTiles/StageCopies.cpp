//===- StageCopies.cpp - Copy what vectors are read from ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile is copied in the outermost block in which its place in memory is
// known. There its copy starts as early as that is known, and is waited for
// before the first operation of that block that reads the tile, or contains an
// operation that does. Copies that start together form groups by the loops and
// branches they are needed before.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "../KernelsToThreads/Buffers.h"
#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"

#include <map>

namespace mamba {
#define GEN_PASS_DEF_STAGECOPIESPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// The widest asynchronous copy.
constexpr int64_t kCopyBytes = 16;

/// A tile to copy.
struct StagedTile {
  Value source;
  VectorType type;
  /// Where the copy goes: in `block` after `ready`, or at its start.
  Block *block = nullptr;
  Operation *ready = nullptr;
  SmallVector<vector::TransferReadOp> reads;
  /// The operation of `block` that reads the tile first, and how many
  /// operations with regions come before it.
  Operation *firstUse = nullptr;
  int64_t phase = 0;
};

/// Tiles that are copied together and waited for together.
struct CopyGroup {
  SmallVector<StagedTile *> tiles;
  Operation *firstUse = nullptr;
  nvgpu::DeviceAsyncCreateGroupOp op;
};

/// True if a contraction multiplies `value` or what is computed from it by
/// element.
bool feedsContraction(Value value) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (auto contraction = dyn_cast<vector::ContractionOp>(user)) {
        if (use.getOperandNumber() < 2)
          return true;
        continue;
      }
      bool isElementwise =
          OpTrait::hasElementwiseMappableTraits(user) ||
          isa<vector::BroadcastOp, vector::TransposeOp, vector::ShapeCastOp>(
              user);
      if (isElementwise && seen.insert(user).second)
        llvm::append_range(worklist, user->getResults());
    }
  }
  return false;
}

class Stager {
public:
  explicit Stager(gpu::GPUFuncOp kernel) : kernel(kernel) {}

  void run();

private:
  bool isStaged(vector::TransferReadOp read);
  void findHome(StagedTile &tile);
  void findFirstUse(StagedTile &tile);
  void collect();
  void createGroups(Block *block, ArrayRef<StagedTile *> tiles);
  void createCopy(OpBuilder &builder, StagedTile &tile);

  gpu::GPUFuncOp kernel;
  llvm::DenseSet<Value> written;
  SmallVector<std::unique_ptr<StagedTile>> tiles;
};

} // namespace

bool Stager::isStaged(vector::TransferReadOp read) {
  auto source = dyn_cast<MemRefType>(read.getBase().getType());
  VectorType type = read.getVectorType();
  if (!source || read.getMask() || type.isScalable() || type.getRank() == 0 ||
      type.getRank() > 2 || type.getRank() != source.getRank() ||
      !read.getPermutationMap().isIdentity() ||
      !llvm::all_of(read.getIndices(), isZeroInteger) ||
      !type.getElementType().isIntOrFloat())
    return false;
  if (read.hasOutOfBoundsDim() &&
      !matchPattern(read.getPadding(), m_AnyZeroFloat()) &&
      !matchPattern(read.getPadding(), m_Zero()))
    return false;
  Value root = findRoot(read.getBase());
  if (!root || !isa<BlockArgument>(root) || isShared(read.getBase()) ||
      written.contains(root))
    return false;
  SmallVector<int64_t> strides;
  int64_t offset, bits = type.getElementTypeBitWidth();
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 || (bits != 16 && bits != 32))
    return false;
  // A thread copies whole elements of 4 bytes at least.
  if (type.getRank() == 1 ? bits != 32
                          : type.getDimSize(1) * bits / 8 % kCopyBytes != 0)
    return false;
  // A tile whose place comes from another tile would wait for that one.
  bool dependsOnRead = false;
  forEachLeaf(
      read.getBase(), [](Value) { return false; },
      [&](Value leaf) {
        dependsOnRead |=
            leaf.getDefiningOp<vector::TransferReadOp>() != nullptr;
      });
  if (dependsOnRead || (!read->getParentOfType<scf::ForOp>() &&
                        !feedsContraction(read.getResult())))
    return false;
  // Copies of 4 bytes do not start between.
  if (type.getRank() == 2 && !ShapedType::isDynamic(strides.front()) &&
      strides.front() * bits % 32 != 0) {
    read.emitRemark("expected rows that start at multiples of 4 bytes to copy "
                    "them ahead");
    return false;
  }
  return true;
}

/// The outermost block in which the source is known, leaving loops only: what
/// stands in a branch may not be there in the other one.
void Stager::findHome(StagedTile &tile) {
  tile.block = tile.reads.front()->getBlock();
  while (auto loop = dyn_cast<scf::ForOp>(tile.block->getParentOp())) {
    bool isInvariant = true;
    forEachLeaf(
        tile.source, [](Value) { return false; },
        [&](Value leaf) {
          if (loop.getBodyRegion().isAncestor(leaf.getParentRegion()))
            isInvariant = false;
        });
    if (!isInvariant)
      break;
    tile.block = loop->getBlock();
  }
  forEachLeaf(
      tile.source, [](Value) { return false; },
      [&](Value leaf) {
        Operation *op = leaf.getDefiningOp();
        if (op && op->getBlock() == tile.block &&
            (!tile.ready || tile.ready->isBeforeInBlock(op)))
          tile.ready = op;
      });
}

void Stager::findFirstUse(StagedTile &tile) {
  for (vector::TransferReadOp read : tile.reads) {
    Operation *use = tile.block->findAncestorOpInBlock(*read);
    if (!tile.firstUse || use->isBeforeInBlock(tile.firstUse))
      tile.firstUse = use;
  }
  for (Operation &op : *tile.block) {
    if (&op == tile.firstUse)
      break;
    tile.phase += op.getNumRegions() != 0;
  }
}

void Stager::collect() {
  written = findWrittenRoots(kernel);
  kernel.walk([&](vector::TransferReadOp read) {
    if (!isStaged(read))
      return;
    auto tile = std::make_unique<StagedTile>();
    tile->source = read.getBase();
    tile->type = read.getVectorType();
    tile->reads = {read};
    findHome(*tile);
    for (auto &other : tiles)
      if (other->source == tile->source && other->type == tile->type &&
          other->block == tile->block) {
        other->reads.push_back(read);
        return;
      }
    tiles.push_back(std::move(tile));
  });
  for (auto &tile : tiles)
    findFirstUse(*tile);
}

/// `source` as far as the vector reaches.
static Value createClippedSource(OpBuilder &builder, Location loc, Value source,
                                 VectorType type, vector::TransferReadOp read) {
  auto memref = cast<MemRefType>(source.getType());
  auto isLarger = [&](int64_t dim) {
    return memref.isDynamicDim(dim)
               ? read.isDimInBounds(dim)
               : memref.getDimSize(dim) > type.getDimSize(dim);
  };
  if (llvm::none_of(llvm::seq(type.getRank()), isLarger))
    return source;
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : llvm::seq(type.getRank())) {
    if (isLarger(dim))
      sizes.push_back(builder.getIndexAttr(type.getDimSize(dim)));
    else if (memref.isDynamicDim(dim))
      sizes.push_back(
          memref::DimOp::create(builder, loc, source, dim).getResult());
    else
      sizes.push_back(builder.getIndexAttr(memref.getDimSize(dim)));
  }
  SmallVector<OpFoldResult> zeros(type.getRank(), builder.getIndexAttr(0)),
      ones(type.getRank(), builder.getIndexAttr(1));
  return memref::SubViewOp::create(builder, loc, source, zeros, sizes, ones);
}

void Stager::createCopy(OpBuilder &builder, StagedTile &tile) {
  Location loc = tile.reads.front().getLoc();
  ArrayRef<int64_t> shape = tile.type.getShape();
  Type element = tile.type.getElementType();
  SmallVector<int64_t> stagedShape = {1};
  llvm::append_range(stagedShape, shape);
  auto space = gpu::AddressSpaceAttr::get(
      builder.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto type =
      MemRefType::get(stagedShape, element, MemRefLayoutAttrInterface(), space);
  // All buffers are allocated at the start: how long one is needed is seen from
  // its uses, loops included.
  OpBuilder start = OpBuilder::atBlockBegin(&kernel.getBody().front());
  while (start.getInsertionPoint() != start.getBlock()->end() &&
         isStagedBuffer(&*start.getInsertionPoint()))
    start.setInsertionPointAfter(&*start.getInsertionPoint());
  auto buffer = memref::AllocOp::create(start, loc, type);
  buffer->setAttr(kSwizzleAttrName,
                  builder.getI64IntegerAttr(chooseSwizzle(
                      shape, tile.type.getElementTypeBitWidth() / 8)));

  SmallVector<OpFoldResult> offsets(stagedShape.size(),
                                    builder.getIndexAttr(0)),
      strides(stagedShape.size(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), stagedShape);
  auto view =
      memref::SubViewOp::create(builder, loc,
                                memref::SubViewOp::inferRankReducedResultType(
                                    shape, type, offsets, sizes, strides),
                                buffer, offsets, sizes, strides);

  DominanceInfo dominance;
  IRMapping mapping;
  auto isKnown = [&](Value value) {
    return dominance.properlyDominates(value, view);
  };
  Value source = cloneSlice(builder, tile.source, isKnown, mapping);
  source =
      createClippedSource(builder, loc, source, tile.type, tile.reads.front());
  AsyncCopyOp::create(builder, loc, source, view);

  for (vector::TransferReadOp read : tile.reads) {
    OpBuilder at(read);
    Value zero = arith::ConstantIndexOp::create(at, loc, 0);
    auto fromTile = vector::TransferReadOp::create(
        at, read.getLoc(), tile.type, view,
        SmallVector<Value>(shape.size(), zero), read.getPadding(),
        SmallVector<bool>(shape.size(), true));
    read.replaceAllUsesWith(fromTile.getResult());
    read.erase();
    if (tile.firstUse == read)
      tile.firstUse = fromTile;
  }
}

/// Waits for `group` before its first use.
static void createWait(CopyGroup &group, ArrayRef<CopyGroup> groups) {
  // Groups that were started later may still be on their way.
  int32_t pending = 0;
  for (const CopyGroup &other : groups)
    if (group.op->isBeforeInBlock(other.op) &&
        other.op->isBeforeInBlock(group.firstUse))
      ++pending;
  for (Operation *op = group.op; op != group.firstUse; op = op->getNextNode())
    if (op->getNumRegions() != 0)
      pending = 0; // it may have started any number of groups
  OpBuilder builder(group.firstUse);
  Location loc = group.op.getLoc();
  nvgpu::DeviceAsyncWaitOp::create(builder, loc, group.op.getAsyncToken(),
                                   builder.getI32IntegerAttr(pending));
  gpu::BarrierOp::create(builder, loc);
}

void Stager::createGroups(Block *block, ArrayRef<StagedTile *> tiles) {
  // By phase; then in program order of the tiles' first reads.
  std::map<std::pair<int64_t, unsigned>, CopyGroup> sorted;
  llvm::MapVector<Operation *, unsigned> places;
  for (StagedTile *tile : tiles) {
    unsigned place = places.insert({tile->ready, places.size()}).first->second;
    sorted[{tile->phase, place}].tiles.push_back(tile);
  }

  // Groups that start at the same place start in the order of their use.
  llvm::DenseMap<Operation *, Operation *> last;
  bool isInLoop = isa<scf::ForOp>(block->getParentOp()) ||
                  block->getParentOp()->getParentOfType<scf::ForOp>();
  SmallVector<CopyGroup> groups;
  for (auto &[key, group] : sorted) {
    Operation *ready = group.tiles.front()->ready;
    OpBuilder builder(kernel.getContext());
    if (Operation *previous = last.lookup(ready)) {
      builder.setInsertionPointAfter(previous);
    } else if (ready) {
      builder.setInsertionPointAfter(ready);
    } else {
      builder.setInsertionPointToStart(block);
      while (builder.getInsertionPoint() != block->end() &&
             isa<memref::AllocOp>(*builder.getInsertionPoint()))
        builder.setInsertionPointAfter(&*builder.getInsertionPoint());
    }
    Location loc = group.tiles.front()->reads.front().getLoc();
    for (StagedTile *tile : group.tiles)
      createCopy(builder, *tile);
    group.op = createCopyGroup(builder, loc);
    last[ready] = group.op;
    for (StagedTile *tile : group.tiles)
      if (!group.firstUse || tile->firstUse->isBeforeInBlock(group.firstUse))
        group.firstUse = tile->firstUse;
    groups.push_back(group);
  }
  for (CopyGroup &group : groups)
    createWait(group, groups);
  // Threads that are behind may still read what the last iteration copied.
  if (isInLoop) {
    OpBuilder builder = OpBuilder::atBlockBegin(block);
    gpu::BarrierOp::create(builder, groups.front().op.getLoc());
  }
}

void Stager::run() {
  collect();
  llvm::MapVector<Block *, SmallVector<StagedTile *>> byBlock;
  for (auto &tile : tiles)
    byBlock[tile->block].push_back(tile.get());
  for (auto &[block, tiles] : byBlock)
    createGroups(block, tiles);
}

namespace {

struct StageCopies final : mamba::impl::StageCopiesPassBase<StageCopies> {
  using StageCopiesPassBase::StageCopiesPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kVectorizedAttrName))
        Stager(kernel).run();
  }
};

} // namespace
