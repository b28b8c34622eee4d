//===- MambaVerify.cpp - Verifiers of the mamba dialect -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mamba;

namespace {

/// The largest head dim, state dim, chunk and number of tokens. A block's
/// buffers hold products of two of them, whose bytes must fit in 63 bits.
constexpr int64_t kMaxBlockSize = 1 << 20;

/// Checks that every dimension of the same role has the same static size, and
/// that the sizes that must be static are.
class DimensionChecker {
public:
  explicit DimensionChecker(Operation *op) : op(op) {}

  LogicalResult check(ArrayRef<ShapedValue> values) {
    for (const ShapedValue &value : values) {
      ArrayRef<int64_t> shape = value.type.getShape();
      for (auto [dim, role] : llvm::enumerate(value.roles))
        if (failed(checkDim(value.name, dim, role, shape[dim])))
          return failure();
    }
    return checkDerived();
  }

  int64_t size(Role role) const {
    auto it = seen.find(static_cast<unsigned>(role));
    return it == seen.end() ? ShapedType::kDynamic : it->second.size;
  }

private:
  struct Seen {
    int64_t size;
    StringRef name;
  };

  LogicalResult checkDim(StringRef name, unsigned dim, Role role,
                         int64_t size) {
    if (ShapedType::isDynamic(size)) {
      if (role != Role::HeadDim && role != Role::StateDim &&
          role != Role::Chunk)
        return success();
      return op->emitOpError("expected dimension ")
             << dim << " (" << stringify(role) << ") of '" << name
             << "' to be static";
    }
    auto [it, inserted] =
        seen.try_emplace(static_cast<unsigned>(role), Seen{size, name});
    if (inserted || it->second.size == size)
      return success();
    return op->emitOpError("expected dimension ")
           << dim << " (" << stringify(role) << ") of '" << name << "' to be "
           << it->second.size << " as in '" << it->second.name << "', got "
           << size;
  }

  LogicalResult checkDerived() {
    int64_t heads = size(Role::Heads), groups = size(Role::Groups);
    if (groups == 0)
      return op->emitOpError("expected at least 1 group, got 0");
    if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(groups) &&
        heads % groups != 0)
      return op->emitOpError("expected heads (")
             << heads << ") to be a multiple of groups (" << groups << ")";
    for (Role role : {Role::HeadDim, Role::StateDim, Role::Chunk, Role::Tokens})
      if (size(role) == 0)
        return op->emitOpError("expected ")
               << stringify(role) << " to be at least 1, got 0";
    for (Role role : {Role::HeadDim, Role::StateDim, Role::Chunk, Role::Tokens})
      if (size(role) > kMaxBlockSize)
        return op->emitOpError("expected ")
               << stringify(role) << " to be at most " << kMaxBlockSize
               << ", got " << size(role);
    if (failed(checkElements()))
      return failure();
    int64_t length = size(Role::Length), chunk = size(Role::Chunk),
            chunks = size(Role::Chunks);
    if (ShapedType::isDynamic(length) || ShapedType::isDynamic(chunk) ||
        ShapedType::isDynamic(chunks))
      return success();
    int64_t expected = llvm::divideCeilSigned(length, chunk);
    if (chunks != expected)
      return op->emitOpError("expected ")
             << expected << " chunks of " << chunk << " for length " << length
             << ", got " << chunks;
    return success();
  }

  /// The bytes of every array of the operation and of its decomposition must
  /// fit in 63 bits. None has more elements than the product of all sizes.
  LogicalResult checkElements() {
    // Dynamic sizes are negative.
    int64_t length = std::max(size(Role::Length), size(Role::Chunks));
    int64_t extents[] = {size(Role::Batch),
                         size(Role::Slots),
                         length,
                         size(Role::Tokens),
                         size(Role::Chunk),
                         std::max(size(Role::Heads), size(Role::Groups)),
                         size(Role::HeadDim),
                         size(Role::StateDim)};
    int64_t bytes = 8;
    for (int64_t extent : extents)
      if (extent > 1 && llvm::MulOverflow(bytes, extent, bytes))
        return op->emitOpError(
            "expected the product of all static sizes to be less than 2^60");
    return success();
  }

  Operation *op;
  llvm::DenseMap<unsigned, Seen> seen;
};

/// `chunk_size` stands for a dimension of that role.
LogicalResult verifyDims(Operation *op,
                         std::optional<int64_t> chunkSize = std::nullopt) {
  SmallVector<ShapedValue> values = getShapedValues(op);
  if (!chunkSize)
    return DimensionChecker(op).check(values);
  auto chunkAttr = RankedTensorType::get(
      {*chunkSize}, IntegerType::get(op->getContext(), 64));
  values.insert(values.begin(),
                {"chunk_size", chunkAttr, Value(), {Role::Chunk}});
  return DimensionChecker(op).check(values);
}

LogicalResult verifySameElementType(Operation *op, StringRef name, Value value,
                                    StringRef otherName, Value other) {
  if (!value)
    return success();
  Type elem = getElementTypeOrSelf(value),
       expected = getElementTypeOrSelf(other);
  if (elem == expected)
    return success();
  return op->emitOpError("expected '")
         << name << "' to have the element type " << expected << " of '"
         << otherName << "', got " << elem;
}

LogicalResult verifyDtLimit(Operation *op,
                            std::optional<ArrayRef<double>> limits) {
  if (!limits)
    return success();
  if (limits->size() != 2)
    return op->emitOpError("expected 'dt_limit' to hold 2 bounds, got ")
           << limits->size();
  double lo = (*limits)[0], hi = (*limits)[1];
  if (std::isnan(lo) || std::isnan(hi) || lo > hi)
    return op->emitOpError("expected 'dt_limit' to be ordered, got (")
           << lo << ", " << hi << ")";
  return success();
}

/// Operands or results named in pairs of (present, rank) of `ssu`.
LogicalResult verifyStepRank(SsuOp op, StringRef name, Value value,
                             int64_t expected) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  if (rank == expected)
    return success();
  return op.emitOpError("expected '")
         << name << "' to have rank " << expected
         << (cast<RankedTensorType>(op.getX().getType()).getRank() == 4
                 ? " (several tokens, as 'x'), got "
                 : " (one token, as 'x'), got ")
         << rank;
}

} // namespace

LogicalResult ChunkCumsumOp::verify() {
  if (failed(verifyDtLimit(*this, getDtLimit())))
    return failure();
  return verifyDims(*this, getChunkSize());
}

LogicalResult ChunkStateOp::verify() {
  if (failed(verifySameElementType(*this, "B", getB(), "x", getX())))
    return failure();
  return verifyDims(*this);
}

LogicalResult StatePassOp::verify() { return verifyDims(*this); }

LogicalResult ChunkOutOp::verify() {
  if (failed(verifySameElementType(*this, "B", getB(), "x", getX())) ||
      failed(verifySameElementType(*this, "C", getC(), "x", getX())) ||
      failed(verifySameElementType(*this, "z", getZ(), "x", getX())) ||
      failed(verifySameElementType(*this, "y", getY(), "x", getX())))
    return failure();
  if (getPrevSeqIdx() && !getSeqIdx())
    return emitOpError("expected 'seq_idx' beside 'prev_seq_idx'");
  return verifyDims(*this);
}

LogicalResult SsdOp::verify() {
  if (failed(verifySameElementType(*this, "B", getB(), "x", getX())) ||
      failed(verifySameElementType(*this, "C", getC(), "x", getX())) ||
      failed(verifySameElementType(*this, "z", getZ(), "x", getX())) ||
      failed(verifySameElementType(*this, "y", getY(), "x", getX())) ||
      failed(verifyDtLimit(*this, getDtLimit())))
    return failure();
  return verifyDims(*this, getChunkSize());
}

LogicalResult SsuOp::verify() {
  int64_t rank = cast<RankedTensorType>(getX().getType()).getRank();
  if (failed(verifyStepRank(*this, "dt", getDt(), rank - 1)) ||
      failed(verifyStepRank(*this, "B", getB(), rank)) ||
      failed(verifyStepRank(*this, "C", getC(), rank)) ||
      (getZ() && failed(verifyStepRank(*this, "z", getZ(), rank))) ||
      failed(verifyStepRank(*this, "y", getY(), rank)))
    return failure();
  if (failed(verifySameElementType(*this, "B", getB(), "x", getX())) ||
      failed(verifySameElementType(*this, "C", getC(), "x", getX())) ||
      failed(verifySameElementType(*this, "z", getZ(), "x", getX())) ||
      failed(verifySameElementType(*this, "y", getY(), "x", getX())) ||
      failed(verifySameElementType(*this, "new_state", getNewState(), "state",
                                   getState())))
    return failure();
  if (!getDisableStateUpdate() && !getNewState())
    return emitOpError("expected 'new_state' without 'disable_state_update'");
  if (getDisableStateUpdate() && getNewState())
    return emitOpError("expected no 'new_state' with 'disable_state_update'");
  if (getDisableStateUpdate() && getDstStateBatchIndices())
    return emitOpError("expected no 'dst_state_batch_indices' with "
                       "'disable_state_update'");
  if (getRow() && (getStateBatchIndices() || getDstStateBatchIndices()))
    return emitOpError("expected no slot indices with 'row'");
  if (getRow() && cast<RankedTensorType>(getX().getType()).getDimSize(0) != 1)
    return emitOpError("expected a batch of 1 with 'row'");
  int64_t slots = cast<RankedTensorType>(getState().getType()).getDimSize(0);
  if (getRow() && slots > 1)
    return emitOpError("expected at most 1 slot with 'row', got ") << slots;
  return verifyDims(*this);
}
