//===- Access.cpp - Checked accesses to memory ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

static StringRef getVerb(AccessKind kind) {
  return kind == AccessKind::Load    ? "read"
         : kind == AccessKind::Store ? "write"
                                     : "atomic operation";
}

uint8_t *Warp::access(const Inst &inst, unsigned lane, Space space,
                      uint64_t address, unsigned bytes, AccessKind kind,
                      const uint8_t *value) {
  if (space == Space::Generic) {
    uint64_t window = address & ~(kWindowBytes - 1);
    uint64_t offset = address & (kWindowBytes - 1);
    if (window == kSharedWindow)
      return accessShared(inst, lane, Space::Generic, address, bytes, kind,
                          value);
    if (window == kLocalWindow)
      return accessLocal(inst, lane, offset, bytes, kind);
    if (window == kParamWindow)
      return accessParam(inst, lane, offset, bytes, kind);
    return accessGlobal(inst, lane, address, bytes, kind, bytes, value);
  }
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    return accessShared(inst, lane, space, address, bytes, kind, value);
  case Space::Local:
    return accessLocal(inst, lane, address, bytes, kind);
  case Space::Param:
    return accessParam(inst, lane, address, bytes, kind);
  default:
    return accessGlobal(inst, lane, address, bytes, kind, bytes, value);
  }
}

/// Whether [offset, offset + bytes) leaves [0, size).
static bool isOutside(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset > size || size - offset < bytes;
}

static bool isMisaligned(uint64_t address, unsigned bytes) {
  return address & (bytes - 1);
}

void Warp::checkGlobalRace(const Inst &inst, unsigned lane, uint64_t address,
                           uint64_t bytes, AccessKind kind,
                           const uint8_t *value, const uint8_t *place) {
  GlobalShadow &shadow = *block.launch.globalShadow;
  Cluster &cluster = block.cluster;
  GlobalAccess access{cluster.linearIndex,
                      getClusterThread(lane),
                      uint32_t(&inst - kernel.code.data()),
                      cluster.clock.time,
                      knowledge,
                      inst.strength,
                      inst.scope == MemoryScope::Device,
                      inst.isNonCoherent};
  std::optional<GlobalConflict> conflict;
  if (kind != AccessKind::Store)
    conflict = shadow.read(access, address, bytes);
  if (kind != AccessKind::Load) {
    auto second = shadow.write(access, address, bytes, value, place);
    if (!conflict)
      conflict = second;
  }
  if (!conflict)
    return;
  std::string message = getVerb(kind).str();
  if (inst.isNonCoherent)
    message = "non-coherent read of global memory after a ";
  else
    message += " of global memory without order after a ";
  message += conflict->earlierIsWrite ? "write by " : "read by ";
  if (conflict->cluster == cluster.linearIndex) {
    message += block.describeThread(conflict->thread);
  } else {
    unsigned warp = conflict->thread / kLanes, rank = warp / block.numWarps;
    message += "thread " +
               formatPlace(block.getThread(warp % block.numWarps * kLanes +
                                           conflict->thread % kLanes)) +
               " of block " +
               formatPlace(block.getIndex(conflict->cluster, rank));
  }
  report(FindingKind::Race, inst, lane, address + conflict->byte,
         message + " in line " + Twine(kernel.code[conflict->pc].line));
}

uint8_t *Warp::accessGlobal(const Inst &inst, unsigned lane, uint64_t address,
                            uint64_t bytes, AccessKind kind, unsigned alignment,
                            const uint8_t *value) {
  Buffer *buffer = block.launch.device.lookup(address);
  if (!buffer) {
    report(FindingKind::OutOfBounds, inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) +
               " bytes outside of every buffer");
    return nullptr;
  }
  uint64_t offset = address - buffer->address;
  if (isOutside(offset, bytes, buffer->size)) {
    int64_t place = int64_t(offset);
    report(FindingKind::OutOfBounds, inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) + " bytes at byte " +
               Twine(place) + " of '" + buffer->name + "', which has " +
               Twine(buffer->size));
    return nullptr;
  }
  if (isMisaligned(address, alignment)) {
    report(FindingKind::Misaligned, inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) + " bytes at byte " +
               Twine(offset) + " of '" + buffer->name + "'");
    return nullptr;
  }
  if (!block.launch.options.sanitize)
    return buffer->data + offset;
  if (kind != AccessKind::Load && buffer->role == BufferRole::Input) {
    report(FindingKind::ReadOnly, inst, lane, address,
           getVerb(kind) + " at byte " + Twine(offset) + " of '" +
               buffer->name + "', which is an input");
    return nullptr;
  }
  if (buffer->role != BufferRole::Input && block.launch.globalShadow)
    checkGlobalRace(inst, lane, address, bytes, kind, value,
                    buffer->data + offset);
  if (!buffer->written)
    return buffer->data + offset;
  uint8_t *flags = &buffer->written[offset];
  if (kind != AccessKind::Store)
    for (uint64_t i = 0; i != bytes; ++i)
      if (!flags[i]) {
        report(FindingKind::UninitializedRead, inst, lane, address,
               "byte " + Twine(offset + i) + " of '" + buffer->name +
                   "' was not written");
        break;
      }
  if (kind != AccessKind::Load)
    std::memset(flags, 1, bytes);
  return buffer->data + offset;
}

std::optional<SharedPlace> Warp::resolveShared(const Inst &inst, unsigned lane,
                                               Space space, uint64_t address,
                                               uint64_t bytes,
                                               unsigned alignment,
                                               StringRef what) {
  uint64_t local = address;
  bool isShared = true;
  if (space == Space::Generic) {
    isShared = (address & ~(kWindowBytes - 1)) == kSharedWindow;
    local &= kWindowBytes - 1;
  }
  uint64_t rank = local >> kSharedBits;
  uint64_t offset =
      (local & maskTrailingOnes<uint64_t>(kSharedBits)) - kSharedStart;
  Cluster &cluster = block.cluster;
  if (!isShared || rank >= cluster.blocks.size() ||
      (rank != block.rank && space == Space::Shared)) {
    report(FindingKind::OutOfBounds, inst, lane, address,
           what + " of " + Twine(bytes) + " bytes " +
               (isShared ? "of shared memory that is not the block's"
                         : "outside of shared memory"));
    return std::nullopt;
  }
  Block &owner = *cluster.blocks[rank];
  if (rank != block.rank && !owner.isLive()) {
    report(FindingKind::OutOfBounds, inst, lane, address,
           what + " of shared memory of block " + Twine(rank) +
               " of the cluster, which has exited");
    return std::nullopt;
  }
  if (isOutside(offset, bytes, owner.shared.size())) {
    report(FindingKind::OutOfBounds, inst, lane, address,
           what + " of " + Twine(bytes) +
               " bytes of shared memory, which ends at 0x" +
               Twine::utohexstr(kSharedStart + owner.shared.size()));
    return std::nullopt;
  }
  if (isMisaligned(address, alignment)) {
    report(FindingKind::Misaligned, inst, lane, address,
           what + " of " + Twine(bytes) + " bytes of shared memory" +
               (alignment == bytes
                    ? ""
                    : ", expected a multiple of " + std::to_string(alignment)));
    return std::nullopt;
  }
  return SharedPlace{&owner, offset};
}

uint8_t *Warp::accessShared(const Inst &inst, unsigned lane, Space space,
                            uint64_t address, unsigned bytes, AccessKind kind,
                            const uint8_t *value) {
  std::optional<SharedPlace> place =
      resolveShared(inst, lane, space, address, bytes, bytes, getVerb(kind));
  if (!place)
    return nullptr;
  Block &owner = *place->block;
  if (block.launch.options.sanitize) {
    if (owner.mbarriers.overlaps(place->offset, bytes))
      report(FindingKind::BarrierMisuse, inst, lane, address,
             getVerb(kind) + " of an mbarrier object");
    noteShared(inst, lane, *place, address, bytes, kind, value);
  }
  return owner.shared.data() + place->offset;
}

void Warp::noteShared(const Inst &inst, unsigned lane, const SharedPlace &place,
                      uint64_t address, unsigned bytes, AccessKind kind,
                      const uint8_t *value) {
  Shadow &shadow = place.block->shadow;
  Access access{getClusterThread(lane), pc, knowledge,
                kind == AccessKind::Atomic || inst.strength != Strength::Weak};
  std::optional<Conflict> conflict, second;
  if (kind != AccessKind::Store)
    conflict = shadow.read(access, place.offset, bytes);
  if (kind != AccessKind::Load && place.block->isBeingRead(place.offset, bytes))
    report(FindingKind::InFlight, inst, lane, address,
           getVerb(kind) +
               " of bytes that an asynchronous copy may still read");
  if (kind != AccessKind::Load)
    second = shadow.write(access, place.offset, bytes, value,
                          place.block->shared.data() + place.offset);
  if (!conflict)
    conflict = second;
  if (!conflict)
    return;
  if (conflict->kind == Conflict::Unwritten) {
    report(FindingKind::UninitializedRead, inst, lane, address + conflict->byte,
           "byte of shared memory was not written");
    return;
  }
  std::string earlier = (Twine(conflict->earlierIsWrite ? "write" : "read") +
                         " by " + block.describeThread(conflict->thread) +
                         " in line " + Twine(kernel.code[conflict->pc].line))
                            .str();
  if (conflict->kind == Conflict::InFlight)
    report(FindingKind::InFlight, inst, lane, address + conflict->byte,
           getVerb(kind) +
               (conflict->earlierIsWrite
                    ? " of bytes that an asynchronous copy still writes: "
                    : " of bytes that an asynchronous instruction still "
                      "reads: ") +
               earlier);
  else
    report(FindingKind::Race, inst, lane, address + conflict->byte,
           getVerb(kind) + " without order after a " + earlier);
}

uint8_t *Warp::accessLocal(const Inst &inst, unsigned lane, uint64_t address,
                           unsigned bytes, AccessKind kind) {
  if (isOutside(address, bytes, kernel.localBytes)) {
    report(FindingKind::OutOfBounds, inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) +
               " bytes of local memory, which has " + Twine(kernel.localBytes));
    return nullptr;
  }
  if (isMisaligned(address, bytes)) {
    report(FindingKind::Misaligned, inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) + " bytes of local memory");
    return nullptr;
  }
  uint64_t place = lane * kernel.localBytes + address;
  if (block.launch.options.sanitize) {
    for (unsigned i = 0; i != bytes; ++i) {
      if (kind == AccessKind::Load && !localWritten[place + i]) {
        report(FindingKind::UninitializedRead, inst, lane, address + i,
               "byte of local memory was not written");
        break;
      }
      localWritten[place + i] |= kind != AccessKind::Load;
    }
  }
  return local.data() + place;
}

uint8_t *Warp::accessParam(const Inst &inst, unsigned lane, uint64_t address,
                           unsigned bytes, AccessKind kind) {
  const std::vector<uint8_t> &parameters = block.launch.parameters;
  if (isOutside(address, bytes, parameters.size()) ||
      isMisaligned(address, bytes)) {
    report(isMisaligned(address, bytes) ? FindingKind::Misaligned
                                        : FindingKind::OutOfBounds,
           inst, lane, address,
           getVerb(kind) + " of " + Twine(bytes) +
               " bytes of the parameters, which have " +
               Twine(parameters.size()));
    return nullptr;
  }
  if (kind != AccessKind::Load) {
    report(FindingKind::ReadOnly, inst, lane, address,
           "write to a kernel parameter");
    return nullptr;
  }
  return const_cast<uint8_t *>(parameters.data()) + address;
}

} // namespace mamba::sim
