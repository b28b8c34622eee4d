//===- ThreadMemory.cpp - Reads and writes of global memory --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Divisors.h"
#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mamba;

/// Threads' accesses to global memory, in groups of contiguous elements.
struct ThreadProgram::Access {
  Access(const Held &held) : held(held) {}
  const Held &held;
  Value memref;
  /// First index of the vector in each dimension.
  SmallVector<Value> indices;
  /// The thread's part of the coordinates, as an index, and its possible bits.
  SmallVector<Value> parts;
  SmallVector<uint64_t> possible;
  /// Whether there is anything at all; null if there is.
  Value condition;
  /// Sizes to compare with; null where every element is in bounds.
  SmallVector<Value> sizes;
  /// Elements of a group.
  unsigned width = 1;
  unsigned alignment = 1;
};

ThreadProgram::Access ThreadProgram::planAccess(const Held &held,
                                                VectorType type, Value memref,
                                                Value original,
                                                ValueRange indices,
                                                ArrayRef<bool> inBounds) {
  Access access(held);
  access.memref = memref;
  unsigned rank = type.getRank(), last = rank - 1;
  for (unsigned dim = 0; dim < rank; ++dim) {
    access.indices.push_back(map.lookupOrDefault(indices[dim]));
    access.parts.push_back(getThreadPart(held.layout, dim));
    access.possible.push_back(getThreadBits(held.layout, dim));
    Value size;
    if (!inBounds[dim])
      size = memref::DimOp::create(b, loc(), memref, dim);
    access.sizes.push_back(size);
  }
  // Of a dimension of one element, all of it is there or nothing.
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (!access.sizes[dim] || held.extents[dim] != 1)
      continue;
    Value isThere =
        arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::slt,
                              access.indices[dim], access.sizes[dim]);
    access.condition = both(access.condition, isThere);
    access.sizes[dim] = Value();
  }
  // The widest access that the layout, the sizes and the addresses allow.
  int64_t bytes = getElementBytes(type.getElementType());
  KnownDivisors known = getKnownDivisors(original);
  int64_t aligned = known.offset;
  for (unsigned dim = 0; dim < rank; ++dim) {
    int64_t index = getKnownDivisor(indices[dim]);
    bool isLast = dim == last;
    aligned = std::min(aligned, isLast ? index : known.strides[dim]);
  }
  int64_t offset;
  SmallVector<int64_t> strides;
  bool isContiguous = succeeded(cast<MemRefType>(memref.getType())
                                    .getStridesAndOffset(strides, offset)) &&
                      strides[last] == 1 && inBounds[last];
  unsigned width = 1;
  while (isContiguous && width * 2 * bytes <= kVectorBytes &&
         aligned % (width * 2) == 0 && type.getDimSize(last) % (width * 2) == 0)
    width *= 2;
  // As many registers as hold neighbours.
  unsigned held_ = 1;
  for (unsigned bit = 0; bit < held.layout.getInBits(kRegister); ++bit) {
    Coordinates at = held.layout.getBasis(kRegister, bit);
    for (auto [dim, coordinate] : llvm::enumerate(at))
      if (coordinate != (dim == last ? held_ : 0))
        at.clear();
    if (at.empty() || (access.possible[last] & (held_ * 2 - 1)))
      break;
    held_ *= 2;
  }
  access.width = std::min(width, held_);
  access.alignment = access.width * bytes;
  return access;
}

std::pair<SmallVector<Value>, Value>
ThreadProgram::getPlace(const Access &access, unsigned group) {
  Coordinates at = access.held.at(group);
  bool isPartial = access.held.isPartial(group);
  SmallVector<Value> place;
  Value within;
  auto require = [&](Value condition) { within = both(within, condition); };
  for (auto [dim, coordinate] : llvm::enumerate(at)) {
    uint64_t possible = access.possible[dim];
    Value own = addConstant(access.parts[dim], possible, coordinate & possible);
    if (isPartial) {
      // Past the extent of the vector itself.
      Value inside = addConstant(access.parts[dim], possible, coordinate);
      require(arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ult, inside,
                                    constantI32(access.held.extents[dim])));
    }
    Value index = toIndex(own);
    index = arith::AddIOp::create(b, loc(), access.indices[dim], index);
    if (uint64_t rest = coordinate & ~possible)
      index = arith::AddIOp::create(b, loc(), index, constantIndex(rest));
    place.push_back(index);
    if (access.sizes[dim])
      require(arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::slt, index,
                                    access.sizes[dim]));
  }
  return {place, within};
}

LogicalResult ThreadProgram::rewriteRead(vector::TransferReadOp op) {
  if (!isa<MemRefType>(op.getBase().getType()))
    return op.emitOpError("expected to read a memref, got ")
           << op.getBase().getType();
  if (!op.getPermutationMap().isMinorIdentity() ||
      op.getVectorType().getRank() !=
          cast<MemRefType>(op.getBase().getType()).getRank())
    return op.emitOpError("expected a read of whole rank in order");
  if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
          cast<MemRefType>(op.getBase().getType())))
    return rewriteSharedRead(op);
  return rewriteGlobalRead(op);
}

LogicalResult ThreadProgram::rewriteGlobalRead(vector::TransferReadOp op) {
  Held held = getHeld(op.getResult());
  VectorType type = op.getVectorType();
  Value padding = map.lookupOrDefault(op.getPadding());
  Access access =
      planAccess(held, type, map.lookupOrDefault(op.getBase()), op.getBase(),
                 op.getIndices(), op.getInBoundsValues());
  auto groupType =
      VectorType::get({int64_t(access.width)}, type.getElementType());
  VectorType threadType = getThreadType(op.getResult());
  OpBuilder::InsertionGuard outer(b);
  if (access.condition) {
    auto branch = scf::IfOp::create(b, loc(), threadType, access.condition,
                                    /*withElseRegion=*/true);
    map.map(op.getResult(), branch.getResult(0));
    b.setInsertionPointToStart(branch.elseBlock());
    Value pads = vector::BroadcastOp::create(b, loc(), threadType, padding);
    scf::YieldOp::create(b, loc(), pads);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SmallVector<Value> elements;
  auto load = [&](ArrayRef<Value> place) -> SmallVector<Value> {
    if (access.width == 1)
      return {memref::LoadOp::create(b, loc(), access.memref, place)};
    auto loaded =
        vector::LoadOp::create(b, loc(), groupType, access.memref, place);
    loaded.setAlignment(access.alignment);
    return {loaded};
  };
  for (unsigned i = 0; i < held.size(); i += access.width) {
    auto [place, within] = getPlace(access, i);
    Value value;
    if (within) {
      Type resultType =
          access.width == 1 ? type.getElementType() : Type(groupType);
      auto branch = scf::IfOp::create(b, loc(), resultType, within,
                                      /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, loc(), load(place));
      b.setInsertionPointToStart(branch.elseBlock());
      Value pad = padding;
      if (access.width > 1)
        pad = vector::BroadcastOp::create(b, loc(), groupType, padding);
      scf::YieldOp::create(b, loc(), pad);
      value = branch.getResult(0);
    } else {
      value = load(place).front();
    }
    if (access.width == 1) {
      elements.push_back(value);
      continue;
    }
    for (unsigned j = 0; j < access.width; ++j)
      elements.push_back(vector::ExtractOp::create(b, loc(), value, j));
  }
  Value vector = vector::FromElementsOp::create(b, loc(), threadType, elements);
  if (access.condition)
    scf::YieldOp::create(b, loc(), vector);
  else
    map.map(op.getResult(), vector);
  return success();
}

LogicalResult ThreadProgram::rewriteWrite(vector::TransferWriteOp op) {
  auto memrefType = dyn_cast<MemRefType>(op.getBase().getType());
  VectorType type = op.getVectorType();
  if (!memrefType || !op.getPermutationMap().isMinorIdentity() ||
      type.getRank() != memrefType.getRank() ||
      gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(memrefType))
    return op.emitOpError("expected a write of whole rank in order to a memref "
                          "in global memory");
  Held held = getHeld(op.getValueToStore());
  Value vector = map.lookup(op.getValueToStore());
  Access access =
      planAccess(held, type, map.lookupOrDefault(op.getBase()), op.getBase(),
                 op.getIndices(), op.getInBoundsValues());
  OpBuilder::InsertionGuard guard(b);
  if (access.condition) {
    auto branch =
        scf::IfOp::create(b, loc(), access.condition, /*withElse=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  // Of threads that hold the same, one writes. Lanes of a warp may all write a
  // little at once, which takes no longer: without a branch nothing that was
  // read for the value has to wait for it.
  bool isLittle = held.size() == access.width;
  uint32_t lanes = isLittle ? 0 : held.layout.getFreeMask(kLane);
  if (Value first = haveClear(lanes, held.layout.getFreeMask(kWarp))) {
    auto branch = scf::IfOp::create(b, loc(), first, /*withElse=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (unsigned i = 0; i < held.size(); i += access.width) {
    auto [place, within] = getPlace(access, i);
    OpBuilder::InsertionGuard inner(b);
    if (within) {
      auto branch = scf::IfOp::create(b, loc(), within, /*withElse=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    if (access.width == 1) {
      Value element = vector::ExtractOp::create(b, loc(), vector, i);
      memref::StoreOp::create(b, loc(), element, access.memref, place);
      continue;
    }
    SmallVector<int64_t> positions;
    for (unsigned j = 0; j < access.width; ++j)
      positions.push_back(i + j);
    auto store = vector::StoreOp::create(b, loc(), pick(vector, positions),
                                         access.memref, place);
    store.setAlignment(access.alignment);
  }
  return success();
}
