//===- Barriers.cpp - Barriers of a block ---------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `bar` and `barrier` (PTX ISA, "Parallel Synchronization and Communication
// Instructions"). Barriers count whole warps: a warp whose threads have all
// arrived counts as 32, whatever its number of threads.
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"

#include "Cluster.h"

using namespace llvm;

namespace mamba::sim {

static bool isAligned(const Inst &inst) { return inst.flag2; }

std::optional<unsigned> Block::arrive(Warp &warp, const Inst &inst,
                                      LaneMask lanes) {
  unsigned lane = countr_zero(lanes);
  auto misuse = [&](const Twine &message) {
    report(FindingKind::BarrierMisuse, inst, warp.id * kLanes + lane,
           std::nullopt, message);
  };
  BarrierOperands operands = getBarrierOperands(inst);
  uint64_t number = warp.get(*operands.number, lane);
  if (number >= barriers.size()) {
    misuse("there is no barrier " + Twine(number));
    number = 0;
  }
  unsigned expected = numWarps * kLanes;
  if (operands.count) {
    expected = warp.get(*operands.count, lane);
    if (!expected || expected % kLanes) {
      misuse("a count of " + Twine(expected) +
             " threads is no multiple of the warp size");
      expected = std::max(kLanes, expected / kLanes * kLanes);
    }
  }
  Barrier &barrier = barriers[number];
  if (!barrier.expected) {
    barrier = Barrier();
    barrier.parts.resize(numWarps);
    barrier.hasArrived.resize(numWarps);
    barrier.knowledge.reset(warp.knowledge.seen.size(), 0);
    barrier.expected = expected;
    barrier.ofAll = !operands.count;
  } else if (barrier.expected != expected) {
    misuse("barrier " + Twine(number) + " waits for " +
           Twine(barrier.expected) + " threads, not for " + Twine(expected));
  }

  // What the warp did so far is known to all who wait.
  warp.knowledge.set(warp.clusterWarp, cluster.clock.advance());
  barrier.knowledge.join(warp.knowledge);
  cluster.notify();
  LaneMask &part = barrier.parts[warp.id];
  unsigned already = llvm::popcount(part);
  barrier.hasArrived[warp.id] = true;
  part |= lanes;
  if (part == warp.getLive()) {
    barrier.arrived += kLanes - already;
    part = 0;
  } else {
    barrier.arrived += llvm::popcount(lanes);
  }
  if (operands.predicate) {
    LaneMask value = warp.predicate(*operands.predicate) & lanes;
    barrier.population += llvm::popcount(value);
    barrier.all &= value == lanes;
    barrier.any |= value != 0;
  }
  if (inst.mode == unsigned(BarrierMode::Arrive)) {
    checkComplete(number, inst);
    return std::nullopt;
  }
  return number;
}

void Block::checkComplete(unsigned number, const Inst &inst) {
  Barrier &barrier = barriers[number];
  if (!barrier.expected)
    return;
  unsigned arrived = barrier.arrived;
  if (barrier.ofAll)
    for (Warp &warp : warps)
      if (!barrier.hasArrived[warp.id] && !warp.getLive())
        arrived += kLanes;
  if (arrived < barrier.expected)
    return;
  if (arrived > barrier.expected)
    report(FindingKind::BarrierMisuse, inst, 0, std::nullopt,
           Twine(arrived) + " threads arrived at barrier " + Twine(number) +
               ", which waits for " + Twine(barrier.expected));
  complete(barrier, number, inst);
}

void Block::complete(Barrier &barrier, unsigned number, const Inst &inst) {
  if (barrier.ofAll)
    for (Warp &warp : warps)
      if (LaneMask gone = warp.exited) {
        report(FindingKind::BarrierMisuse, inst,
               warp.id * kLanes + countr_zero(gone), std::nullopt,
               "the thread exited without arriving at a barrier of all");
        break;
      }
  for (Warp &warp : warps) {
    const Inst *at = nullptr;
    for (Warp::Group &group : warp.groups) {
      if (group.state != Warp::Group::AtBarrier || group.barrier != number)
        continue;
      const Inst &waiting = kernel.code[group.pc];
      if (at && at != &waiting && isAligned(waiting))
        report(FindingKind::BarrierMisuse, waiting,
               warp.id * kLanes + countr_zero(group.lanes), std::nullopt,
               "threads of one warp arrived at different barrier "
               "instructions, also in line " +
                   Twine(at->line));
      at = &waiting;
      writeBarrierResult(warp, waiting, group.lanes, barrier);
      group.state = Warp::Group::Ready;
      ++group.pc;
    }
    if (!at)
      continue;
    warp.knowledge.join(barrier.knowledge);
  }
  barrier = Barrier();
}

void writeBarrierResult(Warp &warp, const Inst &inst, LaneMask lanes,
                        const Barrier &barrier) {
  if (!inst.numDsts)
    return;
  const Opnd &destination = inst.ops[0];
  switch (BarrierMode(inst.mode)) {
  case BarrierMode::ReducePopulation:
    forLanes(lanes, [&](unsigned lane) {
      warp.set(destination, lane, barrier.population);
    });
    break;
  case BarrierMode::ReduceAnd:
    warp.setPredicate(destination, lanes, barrier.all ? kAllLanes : 0);
    break;
  case BarrierMode::ReduceOr:
    warp.setPredicate(destination, lanes, barrier.any ? kAllLanes : 0);
    break;
  default:
    break;
  }
  warp.markWritten(destination, lanes);
}

void Block::threadsExited(Warp &warp) {
  cluster.checkBarrier();
  for (unsigned number = 0; number != barriers.size(); ++number) {
    Barrier &barrier = barriers[number];
    if (!barrier.expected)
      continue;
    LaneMask &part = barrier.parts[warp.id];
    if (part && part == warp.getLive()) {
      barrier.arrived += kLanes - llvm::popcount(part);
      part = 0;
    }
    // The instruction that is to blame: one that waits.
    for (Warp &other : warps)
      for (const Warp::Group &group : other.groups)
        if (group.state == Warp::Group::AtBarrier && group.barrier == number) {
          checkComplete(number, kernel.code[group.pc]);
          goto next;
        }
  next:;
  }
}

BarrierOperands getBarrierOperands(const Inst &inst) {
  // Sources: the number, then what there is of count and predicate.
  BarrierOperands operands;
  const Opnd *source = inst.ops + inst.numDsts, *end = inst.ops + inst.numOps;
  operands.number = source++;
  if (source != end && !source->isPredicate)
    operands.count = source++;
  if (source != end)
    operands.predicate = source;
  return operands;
}

} // namespace mamba::sim
