//===- MbarrierWait.cpp - Waiting for phases of mbarriers -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mbarrier.test_wait" and "mbarrier.try_wait". Copies that the phase
// waits for take place when somebody looks at it.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "LoadStore.h"
#include "Mbarrier.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mamba::sim {

/// Whether the phase that the lane waits for is complete.
static bool testPhase(Warp &warp, const Inst &inst, unsigned lane,
                      const Mbarrier &barrier) {
  uint64_t operand = warp.get(inst.ops[inst.address + 1], lane);
  return inst.flag2 ? barrier.isComplete(operand & 1)
                    : getPhaseOfState(operand) < barrier.phase;
}

/// Looks for waits for phases before the last one. With a parity it is taken to
/// be the next one of that parity after the last that the warp saw complete.
static void checkPhase(Warp &warp, const Inst &inst, unsigned lane,
                       uint64_t address, const Mbarrier &barrier) {
  uint64_t operand = warp.get(inst.ops[inst.address + 1], lane);
  uint64_t phase = getPhaseOfState(operand);
  if (inst.flag2) {
    auto it = barrier.seen.find(warp.clusterWarp);
    if (it == barrier.seen.end())
      return;
    phase = it->second + ((it->second ^ operand) & 1);
    if (phase > barrier.phase)
      return; // one that was complete before
  }
  if (phase > barrier.phase || phase + 1 < barrier.phase)
    warp.report(FindingKind::BarrierMisuse, inst, lane, address,
                "a wait for phase " + Twine(phase) +
                    " of an mbarrier whose current phase is " +
                    Twine(barrier.phase));
}

/// The lanes whose phase is complete.
static LaneMask testPhases(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  LaneMask done = 0;
  forLanes(lanes, [&](unsigned lane) {
    Mbarrier *barrier =
        getMbarrier(warp, inst, lane, inst.space, addresses[lane]);
    // Without an object there is nothing to wait for.
    bool isDone = !barrier || testPhase(warp, inst, lane, *barrier);
    if (!isDone) {
      uint64_t offset =
          (addresses[lane] & maskTrailingOnes<uint64_t>(kSharedBits)) -
          kSharedStart;
      // An mbarrier that threads wait for is one of their own block.
      warp.block.cluster.copies.deliverTo(warp.block, offset);
      isDone = testPhase(warp, inst, lane, *barrier);
    }
    done |= LaneMask(isDone) << lane;
    if (!barrier || !isDone)
      return;
    if (warp.block.launch.options.sanitize)
      barrier->seen[warp.clusterWarp] = barrier->phase;
    if (!inst.mode)
      warp.knowledge.join(barrier->visible);
  });
  return done;
}

static void checkPhases(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t local = addresses[lane] & maskTrailingOnes<uint64_t>(kSharedBits);
    if (Mbarrier *barrier = warp.block.mbarriers.lookup(local - kSharedStart))
      checkPhase(warp, inst, lane, addresses[lane], *barrier);
  });
}

static void finishWait(Warp &warp, const Inst &inst, LaneMask lanes,
                       LaneMask done) {
  warp.setPredicate(inst.ops[0], lanes, done);
  warp.markWritten(inst.ops[0], lanes);
}

bool Warp::waitMbarrier(const Inst &inst, LaneMask active, uint64_t &budget) {
  if (!splitOff(active))
    return false;
  if (block.launch.options.sanitize)
    reportUnwritten(inst, lanes);
  if (block.launch.options.sanitize)
    checkPhases(*this, inst, lanes);
  LaneMask done = testPhases(*this, inst, lanes);
  bool isDone = (done & lanes) == lanes;
  if (!isDone && inst.flag) {
    putBack(Group::AtMbarrier);
    return false;
  }
  finishWait(*this, inst, lanes, done);
  ++pc;
  if (!isDone) {
    isPolling = true;
    budget = 0;
  }
  if (groups.empty())
    return true;
  // Those that the guard left out are at the same place now.
  putBack();
  return false;
}

void Warp::resumeWaits() {
  for (Group &group : groups) {
    if (group.state != Group::AtMbarrier)
      continue;
    const Inst &inst = kernel.code[group.pc];
    pc = group.pc;
    LaneMask done = testPhases(*this, inst, group.lanes);
    if ((done & group.lanes) != group.lanes)
      continue;
    finishWait(*this, inst, group.lanes, done);
    group.state = Group::Ready;
    ++group.pc;
  }
}

bool Warp::giveUpWaits() {
  bool any = false;
  for (Group &group : groups) {
    if (group.state != Group::AtMbarrier)
      continue;
    const Inst &inst = kernel.code[group.pc];
    pc = group.pc;
    finishWait(*this, inst, group.lanes, testPhases(*this, inst, group.lanes));
    group.state = Group::Ready;
    ++group.pc;
    any = true;
  }
  return any;
}

void describeMbarrierWait(Warp &warp, const Warp::Group &group,
                          raw_ostream &os) {
  // A loop that has just given up stands behind its wait.
  const std::vector<Inst> &code = warp.kernel.code;
  uint32_t pc = group.pc;
  if (group.state == Warp::Group::Ready)
    while (pc && code[pc].flow != Flow::MbarrierWait && group.pc - pc < kLanes)
      --pc;
  const Inst &inst = code[pc];
  if (inst.flow != Flow::MbarrierWait ||
      (group.state != Warp::Group::AtMbarrier &&
       group.state != Warp::Group::Ready))
    return;
  uint64_t addresses[kLanes];
  unsigned lane = countr_zero(group.lanes);
  warp.getAddresses(inst, group.lanes, addresses);
  uint64_t operand = warp.get(inst.ops[inst.address + 1], lane);
  os << (inst.flag2 ? " for parity " : " for phase ")
     << (inst.flag2 ? operand & 1 : getPhaseOfState(operand))
     << " of the mbarrier at 0x" << utohexstr(addresses[lane], true);
  uint64_t local = addresses[lane];
  if (inst.space == Space::Generic)
    local &= kWindowBytes - 1;
  uint64_t rank = local >> kSharedBits;
  if (rank >= warp.block.cluster.blocks.size())
    return;
  Mbarrier *barrier = warp.block.cluster.blocks[rank]->mbarriers.lookup(
      (local & maskTrailingOnes<uint64_t>(kSharedBits)) - kSharedStart);
  if (!barrier)
    return;
  os << " (" << barrier->phase << " phases complete, the current one waits for "
     << barrier->pending << " of " << barrier->expected << " arrivals and "
     << barrier->bytes << " bytes)";
}

void decodeMbarrierWait(Decoder &d, bool suspends) {
  d.inst.flag = suspends;
  d.inst.flag2 = d.take("parity");
  d.inst.mode = d.take("relaxed");
  d.take("acquire");
  d.takeOneOf({"cta", "cluster"});
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b64");
  d.dst(Type::Pred);
  d.address();
  d.src(d.inst.flag2 ? Type::B32 : Type::B64);
  if (suspends && d.hasOperands())
    d.src(Type::B32); // the time limit
  d.inst.flow = Flow::MbarrierWait;
}

} // namespace mamba::sim
