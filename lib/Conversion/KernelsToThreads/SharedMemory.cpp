//===- SharedMemory.cpp - Place a block's buffers -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer is live from the first to the last operation that uses it, in
// program order. If a loop uses a buffer from outside, it is live in the whole
// loop; a buffer of one iteration is not. Branches count as consecutive.
// Threads that run ahead may reach the next owner of some bytes early; keeping
// them apart is left to the barriers, which are placed by byte ranges. If they
// have been placed before, two buffers have bytes in common only if a barrier
// is between their uses, whichever comes first.
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Buffers.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

namespace {

constexpr int64_t kAlignment = 16; // of the widest access
constexpr int64_t kMbarrierBytes = 8;

struct SharedBuffer {
  Operation *alloc;
  MemRefType type;
  int64_t bytes = 0, alignment = kAlignment;
  int64_t firstUse = -1, lastUse = -1; // in program order
  Operation *first = nullptr;          // whose number `firstUse` is
  bool isFetched = false;              // written by the copy engine
  ByteRange range = {};

  bool isUsed() const { return firstUse >= 0; }
  bool isLiveWith(const SharedBuffer &other) const {
    return firstUse <= other.lastUse && other.firstUse <= lastUse;
  }
};

class Placer {
public:
  Placer(gpu::GPUFuncOp kernel, int64_t maxBytes, bool hasBarriers)
      : kernel(kernel), maxBytes(maxBytes), hasBarriers(hasBarriers) {}

  FailureOr<SharedLayout> run();

private:
  LogicalResult measure(SharedBuffer &buffer);
  void findLifetime(SharedBuffer &buffer, Value memref);
  void addUse(SharedBuffer &buffer, Operation *user);
  bool mayOverlap(const SharedBuffer &lhs, const SharedBuffer &rhs) const;
  LogicalResult assignRanges();
  SharedLayout rewrite();

  gpu::GPUFuncOp kernel;
  int64_t maxBytes;
  bool hasBarriers;
  SmallVector<SharedBuffer> buffers;
  SmallVector<gpu::BarrierOp> barriers;
  /// First and last number of each operation with its regions.
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> order;
};

} // namespace

LogicalResult Placer::measure(SharedBuffer &buffer) {
  Operation *op = buffer.alloc;
  MemRefType type = buffer.type;
  if (Attribute space = type.getMemorySpace();
      space && !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
    return op->emitOpError("expected a buffer in workgroup memory or without a "
                           "memory space, got ")
           << space;
  if (!type.getLayout().isIdentity())
    return op->emitOpError("expected a buffer in the identity layout, got ")
           << type;
  int64_t elements = 1;
  ValueRange dynamicSizes = op->getOperands();
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    std::optional<int64_t> bound = size;
    if (type.isDynamicDim(dim)) {
      Value value = dynamicSizes[type.getDynamicDimIndex(dim)];
      bound = findUpperBound(value);
      if (!bound) {
        InFlightDiagnostic diag =
            op->emitOpError("expected a buffer of a block to have static sizes "
                            "or a constant upper bound for them, got ")
            << type;
        diag.attachNote(value.getLoc()) << "size " << dim << " has no bound";
        return diag;
      }
    }
    elements *= std::max<int64_t>(*bound, 0);
  }
  if (isStagedBuffer(op)) {
    if (!type.hasStaticShape() || type.getRank() < 2)
      return op->emitOpError("expected a staged buffer of static shape with "
                             "the stages as the first dimension, got ")
             << type;
    int64_t swizzle = getSwizzle(op);
    buffer.bytes = getStagedBytes(type, swizzle);
    buffer.alignment = swizzle ? kSwizzledAlignment : kStagedAlignment;
    return success();
  }
  // Of a thread's program: what it assumes. Before, bufferization asks for more
  // than is of use.
  if (auto alloc = dyn_cast<memref::AllocOp>(op); alloc && hasBarriers)
    buffer.alignment =
        std::max<int64_t>(kAlignment, alloc.getAlignment().value_or(0));
  DataLayout layout = DataLayout::closest(kernel);
  buffer.bytes = elements * layout.getTypeSize(type.getElementType());
  return success();
}

void Placer::addUse(SharedBuffer &buffer, Operation *user) {
  // A loop that the buffer comes into uses it from its first to its last
  // operation, and the body of a linalg operation runs all over it.
  Operation *extent = user;
  for (Operation *parent = user->getParentOp();
       !parent->isProperAncestor(buffer.alloc); parent = parent->getParentOp())
    if (isa<LoopLikeOpInterface, linalg::LinalgOp>(parent))
      extent = parent;
  auto [first, last] = order.lookup(extent);
  if (!buffer.isUsed() || first < buffer.firstUse) {
    buffer.firstUse = first;
    buffer.first = extent;
  }
  buffer.lastUse = std::max(buffer.lastUse, last);
}

void Placer::findLifetime(SharedBuffer &buffer, Value memref) {
  for (OpOperand &use : memref.getUses()) {
    Operation *user = use.getOwner();
    if (isa<memref::DimOp>(user))
      continue;
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value view : user->getResults())
        findLifetime(buffer, view);
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(user)) {
      addUse(buffer, loop);
      findLifetime(buffer, loop.getTiedLoopRegionIterArg(&use));
      findLifetime(buffer, loop.getTiedLoopResult(&use));
      continue;
    }
    buffer.isFetched |= isa<nvgpu::TmaAsyncLoadOp>(user);
    addUse(buffer, user);
  }
}

/// The innermost loop around both operations, or null.
static Operation *findCommonLoop(Operation *lhs, Operation *rhs) {
  Operation *loop = lhs->getParentOfType<LoopLikeOpInterface>();
  while (loop && !loop->isAncestor(rhs))
    loop = loop->getParentOfType<LoopLikeOpInterface>();
  return loop;
}

bool Placer::mayOverlap(const SharedBuffer &lhs,
                        const SharedBuffer &rhs) const {
  if (lhs.isLiveWith(rhs))
    return false;
  if (!hasBarriers)
    return true;
  // A barrier does not order a thread's writes before those of the copy engine.
  if (lhs.isFetched != rhs.isFetched)
    return false;
  bool inOrder = lhs.lastUse < rhs.firstUse;
  const SharedBuffer &before = inOrder ? lhs : rhs;
  const SharedBuffer &after = inOrder ? rhs : lhs;
  // One that is always met between `begin` and the first use of `buffer`.
  auto hasBarrier = [&](int64_t begin, const SharedBuffer &buffer) {
    return llvm::any_of(barriers, [&](gpu::BarrierOp barrier) {
      int64_t number = order.lookup(barrier).first;
      return begin < number && number < buffer.firstUse &&
             barrier->getBlock()->findAncestorOpInBlock(*buffer.first);
    });
  };
  if (!hasBarrier(before.lastUse, after))
    return false;
  Operation *loop = findCommonLoop(before.first, after.first);
  return !loop || hasBarrier(order.lookup(loop).first, before);
}

/// The first place for `bytes` between the ranges.
static int64_t findGap(SmallVector<ByteRange> &taken, int64_t bytes,
                       int64_t alignment) {
  llvm::sort(taken, [](const ByteRange &lhs, const ByteRange &rhs) {
    return lhs.begin < rhs.begin;
  });
  int64_t begin = 0;
  for (const ByteRange &range : taken) {
    if (begin + bytes <= range.begin)
      break;
    begin = std::max<int64_t>(begin, llvm::alignTo(range.end, alignment));
  }
  return begin;
}

LogicalResult Placer::assignRanges() {
  int64_t total = 0;
  // Less alignment fits behind more without a gap.
  SmallVector<SharedBuffer *> sorted, placed;
  for (SharedBuffer &buffer : buffers)
    if (buffer.isUsed())
      sorted.push_back(&buffer);
  llvm::sort(sorted, [&](SharedBuffer *lhs, SharedBuffer *rhs) {
    return std::make_pair(-lhs->alignment, lhs) <
           std::make_pair(-rhs->alignment, rhs); // elements of one array
  });
  for (SharedBuffer *next : sorted) {
    SharedBuffer &buffer = *next;
    SmallVector<ByteRange> taken;
    for (SharedBuffer *other : placed)
      if (!mayOverlap(buffer, *other))
        taken.push_back(other->range);
    int64_t begin = findGap(taken, buffer.bytes, buffer.alignment);
    buffer.range = {begin, begin + buffer.bytes};
    total = std::max(total, buffer.range.end);
    placed.push_back(&buffer);
  }
  // mbarriers are in use as long as the kernel runs.
  SmallVector<ByteRange> taken = llvm::map_to_vector(
      placed, [](SharedBuffer *buffer) { return buffer->range; });
  kernel.walk([&](nvgpu::MBarrierCreateOp create) {
    int64_t bytes =
        create.getBarriers().getType().getNumBarriers() * kMbarrierBytes;
    int64_t begin = findGap(taken, bytes, kMbarrierBytes);
    create->setAttr(kSharedOffsetAttrName,
                    Builder(kernel).getI64IntegerAttr(begin));
    taken.push_back({begin, begin + bytes});
    total = std::max(total, begin + bytes);
  });
  total = llvm::alignTo(total, kAlignment);
  if (total <= maxBytes) {
    kernel->setAttr(kSharedBytesAttrName,
                    Builder(kernel).getI64IntegerAttr(total));
    return success();
  }
  InFlightDiagnostic diag = kernel.emitOpError("expected at most ")
                            << maxBytes << " bytes of shared memory, got "
                            << total << " in '" << kernel.getName()
                            << "'; lower the 'inner' sizes of its plan";
  if (llvm::any_of(placed, [](SharedBuffer *buffer) {
        return isStagedBuffer(buffer->alloc) && buffer->type.getDimSize(0) > 1;
      }))
    diag << " or the stages of its pipelined copies";
  llvm::sort(placed, [](SharedBuffer *lhs, SharedBuffer *rhs) {
    return std::make_pair(-lhs->bytes, lhs->firstUse) <
           std::make_pair(-rhs->bytes, rhs->firstUse);
  });
  for (SharedBuffer *buffer : ArrayRef(placed).take_front(3))
    diag.attachNote(buffer->alloc->getLoc())
        << buffer->type << " takes " << buffer->bytes << " bytes";
  return diag;
}

/// `type` in workgroup memory.
static MemRefType inWorkgroup(MemRefType type) {
  auto space = gpu::AddressSpaceAttr::get(
      type.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::Builder(type).setMemorySpace(space);
}

/// Gives all views of `memref` its memory space.
static void propagateMemorySpace(Value memref) {
  for (OpOperand &use : memref.getUses()) {
    SmallVector<Value> views;
    if (isa<ViewLikeOpInterface>(use.getOwner()))
      views.append(use.getOwner()->result_begin(),
                   use.getOwner()->result_end());
    else if (auto loop = dyn_cast<scf::ForOp>(use.getOwner()))
      views = {loop.getTiedLoopRegionIterArg(&use),
               loop.getTiedLoopResult(&use)};
    for (Value view : views)
      if (auto type = dyn_cast<MemRefType>(view.getType());
          type && type != inWorkgroup(type)) {
        view.setType(inWorkgroup(type));
        propagateMemorySpace(view);
      }
  }
}

SharedLayout Placer::rewrite() {
  SharedLayout layout;
  if (buffers.empty())
    return layout;
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Value shared = gpu::DynamicSharedMemoryOp::create(
      builder, kernel.getLoc(),
      inWorkgroup(MemRefType::get(ShapedType::kDynamic, builder.getI8Type())));
  Operation *last = shared.getDefiningOp();
  for (SharedBuffer &buffer : buffers) {
    // A view with static sizes is best computed once, outside all loops.
    if (buffer.type.hasStaticShape())
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPoint(buffer.alloc);
    Location loc = buffer.alloc->getLoc();
    Value begin =
        arith::ConstantIndexOp::create(builder, loc, buffer.range.begin);
    auto view =
        memref::ViewOp::create(builder, loc, inWorkgroup(buffer.type), shared,
                               begin, buffer.alloc->getOperands());
    if (buffer.type.hasStaticShape())
      last = view;
    if (Attribute swizzle = buffer.alloc->getAttr(kSwizzleAttrName))
      view->setAttr(kSwizzleAttrName, swizzle);
    buffer.alloc->getResult(0).replaceAllUsesWith(view);
    buffer.alloc->erase();
    propagateMemorySpace(view);
    layout[view] = buffer.range;
  }
  return layout;
}

FailureOr<SharedLayout> Placer::run() {
  kernel.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  int64_t number = 0;
  std::function<void(Operation *)> visit = [&](Operation *op) {
    int64_t first = number++;
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps())
        visit(&nested);
    order[op] = {first, number - 1};
    if (auto barrier = dyn_cast<gpu::BarrierOp>(op))
      barriers.push_back(barrier);
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      buffers.push_back({op, cast<MemRefType>(op->getResult(0).getType())});
  };
  visit(kernel);
  for (SharedBuffer &buffer : buffers) {
    if (failed(measure(buffer)))
      return failure();
    findLifetime(buffer, buffer.alloc->getResult(0));
  }
  if (failed(assignRanges()))
    return failure();
  return rewrite();
}

FailureOr<SharedLayout> mamba::placeSharedBuffers(gpu::GPUFuncOp kernel,
                                                  int64_t maxBytes,
                                                  bool hasBarriers) {
  return Placer(kernel, maxBytes, hasBarriers).run();
}
