//===- BulkCopy.cpp - cp.async.bulk ---------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch",
// the bulk groups and "cp.async.mbarrier.arrive".
//
//===----------------------------------------------------------------------===//

#include "AtomicOperations.h"
#include "Cluster.h"
#include "LoadStore.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

/// Addresses and sizes are multiples of it.
static constexpr uint64_t kBulkBytes = 16;

unsigned pushAddress(Decoder &d, const ptx::Operand &operand) {
  unsigned place = d.countSources();
  d.pushAddress(operand);
  d.constantSource(Type::B64, d.inst.displacement);
  return place;
}

unsigned takeAddress(Decoder &d) {
  const ptx::Operand *operand = d.takeOperand();
  return operand ? pushAddress(d, *operand) : 0;
}

uint64_t getAddress(const Warp &warp, const Inst &inst, unsigned source,
                    unsigned lane) {
  const Opnd *operand = inst.ops + inst.numDsts + source;
  uint64_t address = warp.get(operand[0], lane) + warp.get(operand[1], lane);
  return operand[0].bytes == 4 ? uint32_t(address) : address;
}

std::optional<BulkDirection> takeDirection(Decoder &d, Space &destination) {
  size_t global = d.opcode.find(".global");
  size_t shared = d.opcode.find(".shared");
  bool hasGlobal = d.take("global");
  bool hasCluster = d.take("shared::cluster");
  bool hasBlock = d.take("shared::cta");
  destination = hasCluster ? Space::SharedCluster : Space::Shared;
  if (hasGlobal && hasCluster != hasBlock && shared < global)
    return BulkDirection::Load;
  if (hasGlobal && hasBlock && !hasCluster)
    return BulkDirection::Store;
  if (hasCluster && hasBlock && !hasGlobal)
    return BulkDirection::SharedToCluster;
  return std::nullopt;
}

namespace {

/// What `runBulk` needs: sources are destination, source, size, then what
/// `mode` says.
enum BulkFlags : uint8_t { HasMask = 1 };

bool checkGlobalPlace(Warp &warp, const Inst &inst, unsigned lane,
                      uint64_t address) {
  if (address % kBulkBytes == 0)
    return true;
  warp.report(FindingKind::Misaligned, inst, lane, address,
              "a bulk copy, expected a multiple of 16");
  return false;
}

std::optional<SharedPlace> getPlace(Warp &warp, const Inst &inst, unsigned lane,
                                    Space space, uint64_t address,
                                    uint64_t bytes) {
  return warp.resolveShared(inst, lane, space, address, bytes, kBulkBytes,
                            "bulk copy");
}

/// The places of a copy, or false after a finding.
bool setPlaces(Warp &warp, const Inst &inst, unsigned lane, uint64_t bytes,
               BulkCopy &copy) {
  uint64_t to = getAddress(warp, inst, 0, lane);
  uint64_t from = getAddress(warp, inst, 2, lane);
  if (bytes % kBulkBytes || !bytes) {
    warp.report(FindingKind::Misaligned, inst, lane, std::nullopt,
                "a bulk copy of " + Twine(bytes) +
                    " bytes, expected a multiple of 16");
    return false;
  }
  BulkCopy::Piece piece = {};
  piece.bytes = bytes;
  BulkDirection direction = BulkDirection(inst.mode2);
  if (direction != BulkDirection::Load) {
    std::optional<SharedPlace> place =
        getPlace(warp, inst, lane, Space::Shared, from, bytes);
    if (!place)
      return false;
    copy.fromBlock = place->block;
    piece.fromOffset = place->offset;
    piece.from = place->block->shared.data() + place->offset;
  } else if (!checkGlobalPlace(warp, inst, lane, from) ||
             !(piece.from = warp.accessBulk(inst, lane, from, bytes,
                                            AccessKind::Load))) {
    return false;
  }
  if (direction != BulkDirection::Store) {
    std::optional<SharedPlace> place =
        getPlace(warp, inst, lane, inst.space, to, bytes);
    if (!place)
      return false;
    copy.toBlock = place->block;
    piece.toOffset = place->offset;
    piece.to = place->block->shared.data() + place->offset;
  } else if (!checkGlobalPlace(warp, inst, lane, to) ||
             !(piece.to = warp.accessBulk(inst, lane, to, bytes,
                                          inst.flag ? AccessKind::Atomic
                                                    : AccessKind::Store))) {
    return false;
  }
  copy.add(piece);
  return true;
}

/// `space` of the instruction is the destination's; `mode2` the direction,
/// `flag` says that there is a reduction, by `imm` on elements of type `count`.
void runBulkLane(Warp &warp, const Inst &inst, unsigned lane) {
  uint64_t bytes = uint32_t(warp.get(inst.ops[4], lane));
  BulkCopy copy;
  copy.warp = &warp;
  copy.lane = lane;
  copy.pc = warp.pc;
  if (inst.flag)
    copy.reduction = getReduction(uint8_t(inst.imm), Type(inst.count));
  BulkDirection direction = BulkDirection(inst.mode2);
  bool hasBarrier = direction != BulkDirection::Store;
  uint64_t barrier = hasBarrier ? getAddress(warp, inst, 5, lane) : 0;
  if (!setPlaces(warp, inst, lane, bytes, copy)) {
    if (hasBarrier)
      dropCopy(warp, inst, lane, inst.space, barrier, bytes);
    return;
  }
  if (hasBarrier &&
      !setBarrier(warp, inst, lane, inst.space, barrier, bytes, copy))
    return;
  if (direction != BulkDirection::SharedToCluster)
    countBulk(warp, copy, direction == BulkDirection::Store);
  const BulkCopy::Piece &piece = copy.pieces.front();
  if (copy.fromBlock)
    checkBulkRead(warp, inst, lane, {copy.fromBlock, piece.fromOffset}, bytes);
  if (inst.mode & HasMask)
    return startMulticast(warp, inst, lane, copy, warp.get(inst.ops[7], lane));
  if (copy.toBlock)
    checkBulkWrite(warp, inst, lane, {copy.toBlock, piece.toOffset}, bytes);
  warp.block.cluster.copies.start(std::move(copy));
}

void runBulk(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { runBulkLane(warp, inst, lane); });
}

void runBulkPrefetch(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    uint64_t bytes = uint32_t(warp.get(inst.ops[2], lane));
    uint64_t address = getAddress(warp, inst, 0, lane);
    if (bytes % kBulkBytes)
      warp.report(FindingKind::Misaligned, inst, lane, address,
                  "a prefetch of " + Twine(bytes) +
                      " bytes, expected a multiple of 16");
    else
      checkGlobalPlace(warp, inst, lane, address);
  });
}

void runBulkCommit(Warp &warp, const Inst &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    warp.block.cluster.copies.commit(warp.getClusterThread(lane));
  });
}

void runBulkWait(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    warp.block.cluster.copies.wait(warp.getClusterThread(lane),
                                   uint32_t(inst.imm), inst.flag);
  });
}

/// `flag` says that the phase waits for one more arrival.
void runCopyArrive(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    BulkCopy copy;
    copy.isArrival = true;
    copy.isAsyncProxy = false;
    if (!setBarrier(warp, inst, lane, inst.space, addresses[lane], 0, copy))
      return;
    Mbarrier *barrier = copy.barrierBlock->mbarriers.lookup(copy.barrierOffset);
    if (inst.flag && ++barrier->pending > Mbarrier::kMaxCount)
      warp.report(FindingKind::BarrierMisuse, inst, lane, addresses[lane],
                  "the phase waits for more arrivals than can be");
    copy.warp = &warp;
    copy.lane = lane;
    copy.pc = warp.pc;
    copy.action = [&warp, lane, serial = warp.numCopies] {
      warp.finishCopiesUpTo(lane, serial);
    };
    warp.block.cluster.copies.start(std::move(copy));
  });
}

} // namespace

void decodeCopyArrive(Decoder &d) {
  d.take("arrive");
  d.inst.flag = !d.take("noinc");
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b64");
  d.address();
  d.inst.run = runCopyArrive;
}

static void decodePrefetch(Decoder &d) {
  d.take("L2");
  d.take("global");
  if (d.take("tensor"))
    return decodeTensorPrefetch(d);
  bool hasPolicy = d.take("L2::cache_hint");
  takeAddress(d);
  d.src(Type::B32);
  if (hasPolicy)
    d.src(Type::B64);
  d.inst.run = runBulkPrefetch;
}

void decodeBulk(Decoder &d, bool reduces) {
  if (d.take("commit_group")) {
    d.inst.run = runBulkCommit;
    return;
  }
  if (d.take("wait_group")) {
    d.inst.flag = d.take("read");
    d.inst.imm = d.constant();
    d.inst.run = runBulkWait;
    return;
  }
  if (d.take("prefetch"))
    return decodePrefetch(d);
  Space destination;
  std::optional<BulkDirection> direction = takeDirection(d, destination);
  if (!direction || (reduces && *direction == BulkDirection::Load))
    return;
  if (d.take("tensor"))
    return decodeTensor(d, *direction, destination, reduces);
  bool isStore = *direction == BulkDirection::Store;
  if (!d.take(isStore ? "bulk_group" : "mbarrier::complete_tx::bytes"))
    return;
  bool hasPolicy = d.take("L2::cache_hint");
  bool hasMask =
      *direction == BulkDirection::Load && d.take("multicast::cluster");
  if (reduces) {
    if (!takeReduction(d))
      return;
    d.take("noftz");
    Type type = d.takeType();
    if (!getReduction(uint8_t(d.inst.imm), type))
      return;
    d.inst.count = uint8_t(type);
  }
  d.inst.space = destination;
  d.inst.mode2 = uint8_t(*direction);
  d.inst.mode = hasMask ? HasMask : 0;
  takeAddress(d);
  takeAddress(d);
  d.src(Type::B32);
  if (!isStore)
    takeAddress(d);
  if (hasMask)
    d.src(Type::B16);
  if (hasPolicy)
    d.src(Type::B64);
  d.inst.run = runBulk;
}

} // namespace mamba::sim
