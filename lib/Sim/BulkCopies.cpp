//===- BulkCopies.cpp - Bulk copies that are on their way -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy",
// "Completion Mechanisms for Asynchronous Copy Operations".
//
//===----------------------------------------------------------------------===//

#include "AtomicOperations.h"
#include "Cluster.h"

using namespace llvm;

namespace mamba::sim {

void BulkCopy::add(const Piece &piece) {
  if (!pieces.empty()) {
    Piece &last = pieces.back();
    if (last.from && piece.from && last.to + last.bytes == piece.to &&
        last.from + last.bytes == piece.from) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces.push_back(piece);
}

void BulkCopies::start(BulkCopy copy) {
  copy.group = getGroup(copy.warp->getClusterThread(copy.lane));
  if (copy.fromBlock)
    for (const BulkCopy::Piece &piece : copy.pieces)
      copy.fromBlock->beginRead(piece.fromOffset, piece.bytes);
  copies.push_back(std::move(copy));
  cluster.notify();
}

/// Takes the bytes of the source.
void BulkCopies::read(BulkCopy &copy) {
  copy.wasRead = true;
  for (const BulkCopy::Piece &piece : copy.pieces) {
    if (piece.from)
      copy.data.insert(copy.data.end(), piece.from, piece.from + piece.bytes);
    else
      for (uint32_t i = 0; i != piece.bytes; ++i)
        copy.data.push_back(copy.fill >> (8 * (i % copy.fillBytes)));
    if (copy.fromBlock)
      copy.fromBlock->endRead(piece.fromOffset, piece.bytes);
  }
  cluster.notify();
}

/// The bytes are in shared memory from now on, for those that know it.
void BulkCopies::land(BulkCopy &copy) {
  if (!cluster.launch.options.sanitize)
    return;
  Knowledge nothing;
  Access access{cluster.getCopyWarp() * kLanes, copy.pc, nothing, false};
  for (const BulkCopy::Piece &piece : copy.pieces)
    copy.toBlock->shadow.land(access, piece.toOffset, piece.bytes);
}

void BulkCopies::signal(BulkCopy &copy) {
  Mbarrier *barrier = copy.barrierBlock->mbarriers.lookup(copy.barrierOffset);
  const Inst &inst = cluster.launch.kernel.code[copy.pc];
  uint64_t address = kSharedStart + copy.barrierOffset;
  if (!barrier) {
    copy.warp->report(FindingKind::BarrierMisuse, inst, copy.lane, address,
                      "the mbarrier object is gone before the copy has taken "
                      "place");
    return;
  }
  uint32_t time = cluster.clock.advance();
  if (copy.isArrival) {
    barrier->arriving.setThread(copy.warp->getClusterThread(copy.lane), time);
    if (!arriveAt(cluster, *barrier, 1))
      copy.warp->report(FindingKind::BarrierMisuse, inst, copy.lane, address,
                        "1 arrivals, but the phase waits for 0");
    return;
  }
  barrier->arriving.set(cluster.getCopyWarp(), time);
  if (!addBytes(cluster, *barrier, -int64_t(copy.barrierBytes)))
    copy.warp->report(FindingKind::BarrierMisuse, inst, copy.lane, address,
                      "the transaction count leaves its range");
}

void BulkCopies::complete(BulkCopy &copy) {
  if (copy.action)
    copy.action();
  if (!copy.wasRead)
    read(copy);
  const uint8_t *data = copy.data.data();
  for (const BulkCopy::Piece &piece : copy.pieces) {
    if (copy.reduction)
      copy.reduction(piece.to, data, piece.bytes);
    else
      std::memcpy(piece.to, data, piece.bytes);
    data += piece.bytes;
  }
  if (copy.toBlock)
    land(copy);
  if (copy.barrierBlock)
    signal(copy);
  cluster.notify();
}

void BulkCopies::deliverTo(Block &block, uint64_t barrierOffset) {
  auto isWanted = [&](const BulkCopy &copy) {
    return copy.barrierBlock == &block && copy.barrierOffset == barrierOffset;
  };
  bool takesOne = cluster.launch.options.seed;
  if (takesOne) {
    size_t count = count_if(copies, isWanted);
    if (!count)
      return;
    size_t skipped = cluster.random() % count;
    for (auto it = copies.begin(); it != copies.end(); ++it) {
      if (!isWanted(*it) || skipped--)
        continue;
      complete(*it);
      copies.erase(it);
      return;
    }
  }
  for (BulkCopy &copy : copies)
    if (isWanted(copy))
      complete(copy);
  erase_if(copies, isWanted);
}

void BulkCopies::wait(uint32_t thread, uint32_t keep, bool onlyReads) {
  uint32_t current = getGroup(thread);
  auto isWanted = [&](const BulkCopy &copy) {
    return !copy.barrierBlock &&
           copy.warp->getClusterThread(copy.lane) == thread &&
           copy.group + uint64_t(keep) < current;
  };
  for (BulkCopy &copy : copies) {
    if (!isWanted(copy))
      continue;
    if (!copy.wasRead)
      read(copy);
    // Who is behind this thread is behind the read.
    if (copy.fromBlock && cluster.launch.options.sanitize) {
      Access access{thread, copy.pc, copy.warp->knowledge, false};
      for (const BulkCopy::Piece &piece : copy.pieces)
        copy.fromBlock->shadow.read(access, piece.fromOffset, piece.bytes);
    }
    if (!onlyReads)
      complete(copy);
  }
  if (!onlyReads)
    erase_if(copies, isWanted);
}

void BulkCopies::deliverRandom() {
  if (copies.empty() || cluster.random() % 4)
    return;
  auto it = copies.begin() + cluster.random() % copies.size();
  if (it->fromBlock && !it->wasRead && cluster.random() % 2)
    return read(*it);
  complete(*it);
  copies.erase(it);
}

void BulkCopies::finish(bool reports) {
  for (BulkCopy &copy : copies) {
    const Inst &inst = cluster.launch.kernel.code[copy.pc];
    if (reports && (copy.toBlock || (copy.fromBlock && !copy.wasRead)))
      copy.warp->report(FindingKind::InFlight, inst, copy.lane, std::nullopt,
                        Twine("the block ended while the copy may still ") +
                            (copy.toBlock ? "write" : "read") +
                            " its shared memory");
    // Nobody looks at shared memory any more.
    if (!copy.toBlock && !copy.isArrival)
      complete(copy);
  }
  copies.clear();
  committed.clear();
}

void checkBulkWrite(Warp &warp, const Inst &inst, unsigned lane,
                    const SharedPlace &place, uint64_t bytes) {
  if (!warp.block.launch.options.sanitize)
    return;
  Block &owner = *place.block;
  uint64_t start = kSharedStart + place.offset;
  if (owner.mbarriers.overlaps(place.offset, bytes))
    warp.report(FindingKind::BarrierMisuse, inst, lane, start,
                "a copy over an mbarrier object");
  if (owner.isBeingRead(place.offset, bytes))
    warp.report(FindingKind::InFlight, inst, lane, start,
                "a copy to bytes that an asynchronous copy may still read");
  Access access{warp.getClusterThread(lane), warp.pc, warp.knowledge, false};
  std::optional<Conflict> conflict =
      owner.shadow.startCopy(access, place.offset, bytes);
  if (!conflict)
    return;
  bool inFlight = conflict->kind == Conflict::InFlight;
  warp.report(inFlight ? FindingKind::InFlight : FindingKind::Race, inst, lane,
              start + conflict->byte,
              (inFlight ? "a copy to bytes that another copy still writes: "
                        : "a copy without order after a ") +
                  Twine(conflict->earlierIsWrite ? "write" : "read") + " by " +
                  warp.block.describeThread(conflict->thread) + " in line " +
                  Twine(warp.kernel.code[conflict->pc].line));
}

void checkBulkRead(Warp &warp, const Inst &inst, unsigned lane,
                   const SharedPlace &place, uint64_t bytes) {
  if (!warp.block.launch.options.sanitize)
    return;
  Access access{warp.getClusterThread(lane), warp.pc, warp.knowledge, false};
  std::optional<Conflict> conflict =
      place.block->shadow.read(access, place.offset, bytes);
  uint64_t start = kSharedStart + place.offset;
  if (!conflict)
    return checkProxy(warp, inst, lane, place, bytes);
  uint64_t address = start + conflict->byte;
  if (conflict->kind == Conflict::Unwritten)
    return warp.report(FindingKind::UninitializedRead, inst, lane, address,
                       "byte of shared memory was not written");
  bool inFlight = conflict->kind == Conflict::InFlight;
  warp.report(
      inFlight ? FindingKind::InFlight : FindingKind::Race, inst, lane, address,
      (inFlight ? "a copy of bytes that another copy still writes: "
                : "a copy without order after a ") +
          Twine("write by ") + warp.block.describeThread(conflict->thread) +
          " in line " + Twine(warp.kernel.code[conflict->pc].line));
}

/// Whoever initialized the object has to make it known to copies.
static void checkBarrierProxy(Warp &warp, const Inst &inst, unsigned lane,
                              const SharedPlace &place) {
  const Mbarrier *barrier = place.block->mbarriers.lookup(place.offset);
  if (!warp.block.launch.options.sanitize || !barrier ||
      warp.block.cluster.fences.isBetween(
          barrier->initThread, barrier->initTime, warp, lane,
          {FenceKind::AsyncProxy, FenceKind::MbarrierInit}))
    return;
  warp.report(FindingKind::Proxy, inst, lane, kSharedStart + place.offset,
              "a copy for an mbarrier object that " +
                  warp.block.describeThread(barrier->initThread) +
                  " initialized in line " +
                  Twine(warp.kernel.code[barrier->initPc].line) +
                  ", without fence.mbarrier_init or fence.proxy.async between");
}

bool setBarrier(Warp &warp, const Inst &inst, unsigned lane, Space space,
                uint64_t address, uint32_t bytes, BulkCopy &copy) {
  if (!getMbarrier(warp, inst, lane, space, address))
    return false;
  std::optional<SharedPlace> place =
      warp.resolveShared(inst, lane, space, address, Mbarrier::kBytes,
                         Mbarrier::kBytes, "mbarrier");
  if (copy.isAsyncProxy)
    checkBarrierProxy(warp, inst, lane, *place);
  copy.barrierBlock = place->block;
  copy.barrierOffset = place->offset;
  copy.barrierBytes = bytes;
  return true;
}

void dropCopy(Warp &warp, const Inst &inst, unsigned lane, Space space,
              uint64_t barrierAddress, uint64_t bytes) {
  if (Mbarrier *barrier = getMbarrier(warp, inst, lane, space, barrierAddress))
    addBytes(warp.block.cluster, *barrier, -int64_t(bytes));
}

void startMulticast(Warp &warp, const Inst &inst, unsigned lane,
                    const BulkCopy &copy, uint16_t mask) {
  Cluster &cluster = warp.block.cluster;
  for (unsigned rank = 0; rank != 16; ++rank) {
    if (!(mask >> rank & 1))
      continue;
    if (rank >= cluster.blocks.size()) {
      warp.report(FindingKind::OutOfBounds, inst, lane, std::nullopt,
                  "a copy to block " + Twine(rank) + " of a cluster of " +
                      Twine(cluster.blocks.size()));
      continue;
    }
    BulkCopy part = copy;
    part.toBlock = part.barrierBlock = cluster.blocks[rank].get();
    uint8_t *memory = part.toBlock->shared.data();
    for (BulkCopy::Piece &piece : part.pieces) {
      piece.to = memory + piece.toOffset;
      checkBulkWrite(warp, inst, lane, {part.toBlock, piece.toOffset},
                     piece.bytes);
    }
    checkBarrierProxy(warp, inst, lane,
                      {part.barrierBlock, part.barrierOffset});
    if (part.barrierBlock->mbarriers.lookup(part.barrierOffset))
      cluster.copies.start(std::move(part));
    else
      warp.report(FindingKind::BarrierMisuse, inst, lane,
                  kSharedStart + part.barrierOffset,
                  "block " + Twine(rank) +
                      " of the cluster has no mbarrier object there");
  }
}

void countBulk(Warp &warp, const BulkCopy &copy, bool isStore) {
  if (!warp.block.launch.options.countMemory)
    return;
  static constexpr unsigned kSectorBytes = 32;
  uint64_t sectors = 0, bytes = 0;
  uintptr_t last = 0;
  for (const BulkCopy::Piece &piece : copy.pieces) {
    const uint8_t *place = isStore ? piece.to : piece.from;
    if (!place)
      continue;
    uintptr_t first = reinterpret_cast<uintptr_t>(place) / kSectorBytes;
    uintptr_t end =
        (reinterpret_cast<uintptr_t>(place) + piece.bytes - 1) / kSectorBytes;
    sectors += end - first + 1 - (first == last);
    last = end;
    bytes += piece.bytes;
  }
  Counters &counters = warp.block.counters;
  uint64_t ideal = (bytes + kSectorBytes - 1) / kSectorBytes;
  if (isStore) {
    ++counters.globalStoreRequests;
    counters.globalStoreBytes += bytes;
    counters.globalStoreSectors += sectors;
    counters.globalStoreIdealSectors += ideal;
    return;
  }
  ++counters.globalLoadRequests;
  counters.globalLoadBytes += bytes;
  counters.globalLoadSectors += sectors;
  counters.globalLoadIdealSectors += ideal;
}

} // namespace mamba::sim
