//===- Mbarrier.cpp - Barrier objects in shared memory --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier",
// all but the waits. An arrival with release semantics passes on what its
// thread knew to those that wait for the phase.
//
//===----------------------------------------------------------------------===//

#include "Mbarrier.h"

#include "Cluster.h"
#include "LoadStore.h"

using namespace llvm;

namespace mamba::sim {

void Mbarriers::clear() {
  objects.clear();
  begin = ~uint64_t(0);
  end = 0;
}

Mbarrier *Mbarriers::lookup(uint64_t offset) {
  auto it = objects.find(offset);
  return it == objects.end() ? nullptr : &it->second;
}

Mbarrier &Mbarriers::add(uint64_t offset) {
  begin = std::min(begin, offset);
  end = std::max(end, offset + Mbarrier::kBytes);
  return objects[offset] = Mbarrier();
}

bool Mbarriers::find(uint64_t offset, uint64_t bytes) const {
  auto it = objects.lower_bound(
      offset >= Mbarrier::kBytes ? offset - Mbarrier::kBytes + 1 : 0);
  return it != objects.end() && it->first < offset + bytes;
}

static void completeIfDone(Cluster &cluster, Mbarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.visible.join(barrier.arriving);
  cluster.notify();
}

bool arriveAt(Cluster &cluster, Mbarrier &barrier, uint32_t count) {
  bool isValid = count <= barrier.pending;
  barrier.pending -= isValid ? count : barrier.pending;
  cluster.notify();
  completeIfDone(cluster, barrier);
  return isValid;
}

bool addBytes(Cluster &cluster, Mbarrier &barrier, int64_t bytes) {
  int64_t sum = barrier.bytes + bytes;
  bool isValid = std::abs(sum) <= int64_t(Mbarrier::kMaxCount);
  if (isValid)
    barrier.bytes = sum;
  cluster.notify();
  completeIfDone(cluster, barrier);
  return isValid;
}

Mbarrier *getMbarrier(Warp &warp, const Inst &inst, unsigned lane, Space space,
                      uint64_t address) {
  std::optional<SharedPlace> place =
      warp.resolveShared(inst, lane, space, address, Mbarrier::kBytes,
                         Mbarrier::kBytes, "use of an mbarrier object");
  if (!place)
    return nullptr;
  Mbarrier *barrier = place->block->mbarriers.lookup(place->offset);
  if (!barrier) {
    warp.report(FindingKind::BarrierMisuse, inst, lane, address,
                "there is no mbarrier object, or it is not initialized");
    return nullptr;
  }
  // Whoever initialized it must come before, whoever invalidates it behind.
  if (warp.block.launch.options.sanitize)
    warp.noteShared(inst, lane, *place, address, Mbarrier::kBytes,
                    AccessKind::Load);
  return barrier;
}

namespace {

/// `Inst::mode` of an arrival.
enum ArrivalFlags : uint8_t {
  Drops = 1,      // one arrival less in each phase to come
  Expects = 2,    // the operand is a count of bytes
  NoComplete = 4, // must not be the last
  Relaxed = 8,
};

void runInit(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    std::optional<SharedPlace> place =
        warp.resolveShared(inst, lane, inst.space, addresses[lane],
                           Mbarrier::kBytes, Mbarrier::kBytes, "mbarrier.init");
    if (!place)
      return;
    Block &block = *place->block;
    if (block.mbarriers.overlaps(place->offset, Mbarrier::kBytes))
      warp.report(FindingKind::BarrierMisuse, inst, lane, addresses[lane],
                  "an mbarrier object is initialized where another one is");
    if (block.launch.options.sanitize)
      warp.noteShared(inst, lane, *place, addresses[lane], Mbarrier::kBytes,
                      AccessKind::Store);
    uint64_t count = warp.get(inst.ops[1], lane);
    if (!count || count > Mbarrier::kMaxCount) {
      warp.report(FindingKind::BarrierMisuse, inst, lane, addresses[lane],
                  "an mbarrier object for " + Twine(count) +
                      " arrivals, expected 1 to " + Twine(Mbarrier::kMaxCount));
      count = 1;
    }
    Mbarrier &barrier = block.mbarriers.add(place->offset);
    barrier.expected = barrier.pending = count;
    barrier.arriving.reset(warp.knowledge.seen.size(), 0);
    barrier.visible = barrier.arriving;
    barrier.initThread = warp.getClusterThread(lane);
    barrier.initTime = warp.block.cluster.clock.time;
    barrier.initPc = warp.pc;
    warp.block.cluster.notify();
  });
}

void runInvalidate(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t address = addresses[lane];
    if (!getMbarrier(warp, inst, lane, inst.space, address))
      return;
    std::optional<SharedPlace> place =
        warp.resolveShared(inst, lane, inst.space, address, Mbarrier::kBytes,
                           Mbarrier::kBytes, "");
    if (warp.block.launch.options.sanitize)
      warp.noteShared(inst, lane, *place, address, Mbarrier::kBytes,
                      AccessKind::Store);
    place->block->mbarriers.remove(place->offset);
  });
}

/// expect_tx and complete_tx: `imm` is the sign.
void runBytes(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    Mbarrier *barrier =
        getMbarrier(warp, inst, lane, inst.space, addresses[lane]);
    uint64_t bytes = warp.get(inst.ops[1], lane);
    if (barrier &&
        !addBytes(warp.block.cluster, *barrier, inst.imm * int64_t(bytes)))
      warp.report(FindingKind::BarrierMisuse, inst, lane, addresses[lane],
                  "the transaction count leaves its range");
  });
}

/// Passes on what each of `lanes` knows, and what it did.
void release(Warp &warp, Mbarrier &barrier, LaneMask lanes, uint32_t time) {
  if (lanes == warp.getLive())
    barrier.arriving.set(warp.clusterWarp, time);
  else
    forLanes(lanes, [&](unsigned lane) {
      barrier.arriving.setThread(warp.getClusterThread(lane), time);
    });
  barrier.arriving.join(warp.knowledge);
}

void arriveLane(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
                Mbarrier &barrier) {
  auto misuse = [&](const Twine &message) {
    warp.report(FindingKind::BarrierMisuse, inst, lane, address, message);
  };
  Cluster &cluster = warp.block.cluster;
  uint64_t operand = inst.flag ? warp.get(inst.ops[inst.address + 1], lane) : 1;
  if (inst.numDsts)
    warp.set(inst.ops[0], lane, makeMbarrierState(barrier));
  uint64_t count = operand;
  if (inst.mode & Expects) {
    // The bytes count before the arrival does.
    count = 1;
    int64_t sum = barrier.bytes + int64_t(operand);
    if (sum > int64_t(Mbarrier::kMaxCount))
      misuse("the transaction count leaves its range");
    else
      barrier.bytes = sum;
  }
  if (!count || count > barrier.pending) {
    misuse(Twine(count) + " arrivals, but the phase waits for " +
           Twine(barrier.pending));
    return;
  }
  if ((inst.mode & NoComplete) && count == barrier.pending && !barrier.bytes) {
    misuse("an arrival with .noComplete completes the phase");
    return;
  }
  if (inst.mode & Drops)
    barrier.expected -= std::min<uint64_t>(count, barrier.expected);
  arriveAt(cluster, barrier, count);
}

/// `flag` says that there is a count.
void runArrive(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  Mbarrier *barriers[kLanes] = {};
  forLanes(lanes, [&](unsigned lane) {
    barriers[lane] = getMbarrier(warp, inst, lane, inst.space, addresses[lane]);
    if (!barriers[lane] && inst.numDsts)
      warp.set(inst.ops[0], lane, 0);
  });
  if (!(inst.mode & Relaxed)) {
    uint32_t time = warp.block.cluster.clock.advance();
    LaneMask rest = lanes;
    while (rest) {
      Mbarrier *barrier = barriers[countr_zero(rest)];
      LaneMask same = 0;
      forLanes(rest, [&](unsigned lane) {
        same |= LaneMask(barriers[lane] == barrier) << lane;
      });
      if (barrier)
        release(warp, *barrier, same, time);
      rest &= ~same;
    }
  }
  forLanes(lanes, [&](unsigned lane) {
    if (barriers[lane])
      arriveLane(warp, inst, lane, addresses[lane], *barriers[lane]);
  });
}

void runPendingCount(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    warp.set(inst.ops[0], lane,
             warp.get(inst.ops[1], lane) & Mbarrier::kMaxCount);
  });
}

} // namespace

static void decodeArrive(Decoder &d, bool drops) {
  d.inst.mode = drops ? Drops : 0;
  if (d.take("expect_tx"))
    d.inst.mode |= Expects;
  if (d.take("noComplete"))
    d.inst.mode |= NoComplete;
  if (d.take("relaxed"))
    d.inst.mode |= Relaxed;
  else
    d.take("release");
  d.takeOneOf({"cta", "cluster"});
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b64");
  if (d.peek() && d.peek()->kind != ptx::Operand::Address)
    d.dst(Type::B64);
  d.address();
  d.inst.flag = d.hasOperands();
  if (d.inst.flag)
    d.src(Type::B32);
  else if (d.inst.mode & (Expects | NoComplete))
    d.fail("expected a count in '" + d.opcode + "'");
  d.inst.run = runArrive;
}

static void decodeMbarrier(Decoder &d) {
  d.inst.cls = InstClass::Barrier;
  if (d.take("arrive"))
    return decodeArrive(d, /*drops=*/false);
  if (d.take("arrive_drop"))
    return decodeArrive(d, /*drops=*/true);
  if (d.take("test_wait"))
    return decodeMbarrierWait(d, /*suspends=*/false);
  if (d.take("try_wait"))
    return decodeMbarrierWait(d, /*suspends=*/true);
  if (d.take("pending_count")) {
    d.take("b64");
    d.dst(Type::B32);
    d.src(Type::B64);
    d.inst.run = runPendingCount;
    return;
  }
  std::optional<unsigned> kind =
      d.takeOneOf({"init", "inval", "expect_tx", "complete_tx"});
  if (!kind)
    return;
  if (*kind >= 2) {
    d.take("relaxed");
    d.takeOneOf({"cta", "cluster"});
  }
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b64");
  d.address();
  if (*kind != 1)
    d.src(Type::B32);
  d.inst.imm = *kind == 2 ? 1 : -1;
  d.inst.run = *kind == 0 ? runInit : *kind == 1 ? runInvalidate : runBytes;
}

void addMbarrierInstructions(DecodeTable &table) {
  table["mbarrier"] = decodeMbarrier;
}

} // namespace mamba::sim
