//===- SliceContractions.cpp - Contractions a few steps at a time ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/StagedBuffers.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

namespace mamba {
#define GEN_PASS_DEF_SLICECONTRACTIONSPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// `size` elements from `offset` on of dimension `dim` of a vector.
struct Slice {
  int64_t dim, offset, size;

  Slice along(int64_t newDim) const { return {newDim, offset, size}; }
};

/// Makes slices of vectors, from slices of what they are computed from where
/// that costs nothing twice.
class Slicer {
public:
  Slicer(OpBuilder &builder, const llvm::DenseSet<Operation *> &cut)
      : builder(builder), cut(cut) {}

  Value get(Value value, Slice slice);

private:
  Value create(Value value, Slice slice);
  Value createBroadcast(vector::BroadcastOp op, VectorType type, Slice slice);
  Value createRead(vector::TransferReadOp op, VectorType type, Slice slice);
  Value createStep(vector::StepOp op, VectorType type, Slice slice);

  OpBuilder &builder;
  const llvm::DenseSet<Operation *> &cut;
  std::map<std::pair<void *, int64_t>, Value> known;
};

} // namespace

/// True if nothing but asynchronous copies writes what `read` reads, so that it
/// can move to any place before the next barrier.
static bool readsStagedTile(vector::TransferReadOp read) {
  Value memref = read.getBase();
  while (auto view = memref.getDefiningOp<memref::SubViewOp>())
    memref = view.getSource();
  Operation *alloc = memref.getDefiningOp();
  return alloc && isStagedBuffer(alloc) && !read.getMask() &&
         !read.hasOutOfBoundsDim() && read.getPermutationMap().isIdentity();
}

/// True if a slice of the result is as good as the whole, however often one is
/// made.
static bool isCheap(Operation *op) {
  // To cast again takes less than to keep a whole tile in registers.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    Operation *source = op->getOperand(0).getDefiningOp();
    return source &&
           isa<vector::TransferReadOp, arith::ExtFOp, arith::TruncFOp>(
               source) &&
           isCheap(source);
  }
  if (auto read = dyn_cast<vector::TransferReadOp>(op))
    return readsStagedTile(read);
  return op->hasTrait<OpTrait::ConstantLike>() || isa<vector::StepOp>(op);
}

static bool canCut(Operation *op) {
  if (op->getNumResults() != 1 || !isa<VectorType>(op->getResult(0).getType()))
    return false;
  // What a loop carries changes threads as a whole, and once it is narrow.
  if (isa<arith::TruncFOp>(op) && isa<BlockArgument>(op->getOperand(0)))
    return false;
  if (isa<vector::BroadcastOp, vector::TransposeOp>(op))
    return true;
  return OpTrait::hasElementwiseMappableTraits(op) && isMemoryEffectFree(op);
}

Value Slicer::get(Value value, Slice slice) {
  // Dimensions are below 2 here.
  auto key =
      std::make_pair(value.getAsOpaquePointer(), 2 * slice.offset + slice.dim);
  if (auto it = known.find(key); it != known.end())
    return it->second;
  Value result = create(value, slice);
  known[key] = result;
  return result;
}

Value Slicer::createBroadcast(vector::BroadcastOp op, VectorType type,
                              Slice slice) {
  Value source = op.getSource();
  auto from = dyn_cast<VectorType>(source.getType());
  if (!from || from.getRank() == 0)
    return vector::BroadcastOp::create(builder, op.getLoc(), type, source);
  int64_t dim = slice.dim - (type.getRank() - from.getRank());
  if (dim >= 0 && from.getDimSize(dim) != 1)
    source = get(source, slice.along(dim));
  return vector::BroadcastOp::create(builder, op.getLoc(), type, source);
}

Value Slicer::createRead(vector::TransferReadOp op, VectorType type,
                         Slice slice) {
  Location loc = op.getLoc();
  auto indices = llvm::to_vector(op.getIndices());
  if (slice.offset != 0) {
    Value offset = arith::ConstantIndexOp::create(builder, loc, slice.offset);
    Value &index = indices[slice.dim];
    index = isZeroInteger(index)
                ? offset
                : arith::AddIOp::create(builder, loc, index, offset);
  }
  return vector::TransferReadOp::create(
      builder, loc, type, op.getBase(), indices, op.getPadding(),
      SmallVector<bool>(type.getRank(), true));
}

Value Slicer::createStep(vector::StepOp op, VectorType type, Slice slice) {
  Location loc = op.getLoc();
  Value step = vector::StepOp::create(builder, loc, type);
  if (slice.offset == 0)
    return step;
  Value offset = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getIndexAttr(slice.offset)));
  return arith::AddIOp::create(builder, loc, step, offset);
}

Value Slicer::create(Value value, Slice slice) {
  auto whole = cast<VectorType>(value.getType());
  SmallVector<int64_t> shape = llvm::to_vector(whole.getShape());
  shape[slice.dim] = slice.size;
  auto type = VectorType::get(shape, whole.getElementType());
  Operation *op = value.getDefiningOp();
  if (op && (isCheap(op) || cut.contains(op))) {
    if (auto read = dyn_cast<vector::TransferReadOp>(op))
      return createRead(read, type, slice);
    if (auto step = dyn_cast<vector::StepOp>(op))
      return createStep(step, type, slice);
    if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
      return createBroadcast(broadcast, type, slice);
    if (auto transpose = dyn_cast<vector::TransposeOp>(op)) {
      int64_t dim = transpose.getPermutation()[slice.dim];
      Value source = get(transpose.getVector(), slice.along(dim));
      return vector::TransposeOp::create(builder, op->getLoc(), source,
                                         transpose.getPermutation());
    }
    DenseElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant))) {
      if (constant.isSplat())
        return arith::ConstantOp::create(
            builder, op->getLoc(),
            DenseElementsAttr::get(type, constant.getSplatValue<Attribute>()));
    } else if (!isCheap(op) || isa<arith::ExtFOp, arith::TruncFOp>(op)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(
            isa<VectorType>(operand.getType()) ? get(operand, slice) : operand);
      Operation *sliced =
          builder.create(op->getLoc(), op->getName().getIdentifier(), operands,
                         type, op->getAttrs());
      return sliced->getResult(0);
    }
  }
  SmallVector<int64_t> offsets(whole.getRank(), 0), ones(whole.getRank(), 1);
  offsets[slice.dim] = slice.offset;
  return vector::ExtractStridedSliceOp::create(
      builder, op ? op->getLoc() : value.getLoc(), value, offsets, shape, ones);
}

/// The operations before `contraction` that only its operands need, and that
/// can therefore be computed slice by slice.
static llvm::DenseSet<Operation *>
findCutProducers(vector::ContractionOp contraction) {
  llvm::DenseSet<Operation *> cut;
  for (Operation *op = contraction->getPrevNode(); op; op = op->getPrevNode()) {
    if (!canCut(op) || op->use_empty())
      continue;
    bool isOwn = llvm::all_of(op->getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user == contraction ? use.getOperandNumber() < 2
                                 : cut.contains(user);
    });
    if (isOwn)
      cut.insert(op);
  }
  return cut;
}

/// The dimension of each operand that is summed over, if there is one of each.
static std::optional<std::pair<int64_t, int64_t>>
getReducedDims(vector::ContractionOp op) {
  int64_t reduction = -1;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != vector::IteratorType::reduction)
      continue;
    if (reduction >= 0)
      return std::nullopt;
    reduction = dim;
  }
  if (reduction < 0)
    return std::nullopt;
  AffineExpr expr = getAffineDimExpr(reduction, op.getContext());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<unsigned> lhs = maps[0].getResultPosition(expr),
                          rhs = maps[1].getResultPosition(expr);
  if (!lhs || !rhs)
    return std::nullopt;
  return std::make_pair(int64_t(*lhs), int64_t(*rhs));
}

static void sliceContraction(vector::ContractionOp op, int64_t size) {
  VectorType lhsType = op.getLhsType(), rhsType = op.getRhsType();
  auto accType = dyn_cast<VectorType>(op.getAccType());
  std::optional<std::pair<int64_t, int64_t>> dims = getReducedDims(op);
  if (!dims || op.isMasked() || op.getKind() != vector::CombiningKind::ADD ||
      lhsType.getRank() > 2 || rhsType.getRank() > 2 || !accType ||
      lhsType.isScalable() || rhsType.isScalable())
    return;
  auto [lhsDim, rhsDim] = *dims;
  int64_t steps = lhsType.getDimSize(lhsDim);
  if (size == 0)
    size = std::max(lhsType.getElementTypeBitWidth(),
                    rhsType.getElementTypeBitWidth()) <= 16
               ? 16
               : 8;
  if (steps <= size || steps % size != 0)
    return;

  llvm::DenseSet<Operation *> cut = findCutProducers(op);
  OpBuilder builder(op);
  Value acc = op.getAcc();
  for (int64_t offset = 0; offset < steps; offset += size) {
    Slicer slicer(builder, cut);
    Value lhs = slicer.get(op.getLhs(), {lhsDim, offset, size});
    Value rhs = slicer.get(op.getRhs(), {rhsDim, offset, size});
    auto sliced = vector::ContractionOp::create(
        builder, op.getLoc(), lhs, rhs, acc, op.getIndexingMapsAttr(),
        op.getIteratorTypesAttr(), op.getKind());
    sliced->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    acc = sliced;
  }
  op.replaceAllUsesWith(acc);
  SmallVector<Operation *> producers;
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (Operation *producer = operand.getDefiningOp())
      producers.push_back(producer);
  op.erase();
  // What has been cut, and reads that only the slices repeat.
  while (!producers.empty()) {
    Operation *producer = producers.pop_back_val();
    if (!isOpTriviallyDead(producer))
      continue;
    for (Value operand : producer->getOperands())
      if (Operation *next = operand.getDefiningOp();
          next && !llvm::is_contained(producers, next))
        producers.push_back(next);
    llvm::erase(producers, producer);
    producer->erase();
  }
}

namespace {

struct SliceContractions final
    : mamba::impl::SliceContractionsPassBase<SliceContractions> {
  using SliceContractionsPassBase::SliceContractionsPassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (!kernel->hasAttr(kVectorizedAttrName))
        continue;
      SmallVector<vector::ContractionOp> contractions;
      kernel.walk(
          [&](vector::ContractionOp op) { contractions.push_back(op); });
      for (vector::ContractionOp op : contractions)
        sliceContraction(op, slice);
    }
  }
};

} // namespace
