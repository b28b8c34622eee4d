//===- Cluster.cpp - Blocks that run together -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which warps have their turns, and the end of programs that wait
// for ever. `mbarrier.try_wait` suspends its threads. When nothing else can go
// on it gives up, as it would after its time limit; if after many such rounds
// nothing has happened but waiting, nothing ever will.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"

#include "Mbarrier.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;

namespace mamba::sim {

/// Warp instructions that a warp executes before another one has its turn.
static constexpr uint64_t kSlice = 4096;
static constexpr unsigned kMaxQuietRounds = 256;
/// Suspended threads give up after so many of these while others test.
static constexpr unsigned kSuspendedRounds = 16;

Cluster::Cluster(const Launch &launch) : launch(launch) {
  unsigned size = launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  for (unsigned rank = 0; rank != size; ++rank)
    blocks.push_back(std::make_unique<Block>(launch, *this, rank));
  for (std::unique_ptr<Block> &block : blocks)
    for (Warp &warp : block->warps)
      warps.push_back(&warp);
  if (launch.options.sanitize)
    for (std::unique_ptr<Block> &block : blocks)
      block->shadow.resize(block->shared.size(), warps.size(), clock);
}

void Cluster::startClock() {
  // Times of reads have 26 bits.
  if (clock.time > uint32_t(1) << 25) {
    clock = Clock();
    for (std::unique_ptr<Block> &block : blocks)
      block->shadow.reset();
  }
  clock.start = ++clock.time;
  ++clock.time;
}

void Cluster::run(uint64_t linear) {
  const std::array<unsigned, 3> &grid = launch.options.grid;
  std::array<unsigned, 3> position;
  uint64_t rest = linear;
  for (unsigned axis = 0; axis != 3; ++axis) {
    unsigned count = grid[axis] / launch.cluster[axis];
    position[axis] = rest % count * launch.cluster[axis];
    rest /= count;
  }
  random.seed(launch.options.seed * 0x9e3779b97f4a7c15 + linear);
  linearIndex = linear;
  releases.clear();
  progress = 0;
  quietRounds = 0;
  startClock();
  fences.start(warps.size());
  barrier.start(warps.size());
  for (std::unique_ptr<Block> &block : blocks)
    block->start(position);
  schedule();
  copies.finish(launch.options.sanitize && !blocks.front()->stopped);
  for (std::unique_ptr<Block> &block : blocks)
    block->finish();
}

void Cluster::stop() {
  for (std::unique_ptr<Block> &block : blocks)
    block->stopped = true;
}

void Cluster::schedule() {
  std::vector<unsigned> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<bool> done(warps.size());
  unsigned numDone = 0;
  uint64_t seed = launch.options.seed;
  while (numDone != warps.size()) {
    if (seed)
      std::shuffle(order.begin(), order.end(), random);
    uint64_t before = progress;
    bool onlyWaits = true, executedNothing = true;
    for (unsigned index : order) {
      if (done[index])
        continue;
      Warp &warp = *warps[index];
      Block &block = warp.block;
      uint64_t executed = block.executed;
      uint64_t slice = seed ? 1 + random() % 256 : kSlice;
      if (seed)
        copies.deliverRandom();
      if (seed)
        warp.wgmma.completeSome(warp, random());
      if (seed && random() % 8 == 0 && block.tensor.completeNext(block))
        notify();
      Warp::Status status = warp.run(slice);
      executedNothing &= block.executed == executed;
      onlyWaits &= status == Warp::Status::Blocked || warp.isPolling;
      if (block.executed > launch.options.maxInstructions)
        reportLimit(warp);
      if (block.stopped)
        return stop();
      if (status != Warp::Status::Done)
        continue;
      done[index] = true;
      ++numDone;
      notify();
    }
    if (!onlyWaits || progress != before) {
      quietRounds = 0;
      continue;
    }
    if (!handleQuiet(executedNothing))
      return stop();
  }
}

/// A round without progress. Returns false if there is no hope.
bool Cluster::handleQuiet(bool executedNothing) {
  // Asynchronous instructions complete as late as may be.
  for (std::unique_ptr<Block> &block : blocks)
    if (block->tensor.completeNext(*block)) {
      notify();
      quietRounds = 0;
      return true;
    }
  bool anyGaveUp = false;
  if (executedNothing || quietRounds % kSuspendedRounds + 1 == kSuspendedRounds)
    for (Warp *warp : warps)
      anyGaveUp |= warp->giveUpWaits();
  bool isStuck = executedNothing && !anyGaveUp;
  if (!isStuck && ++quietRounds < kMaxQuietRounds)
    return true;
  reportDeadlock();
  return false;
}

void Cluster::reportLimit(Warp &warp) {
  Block &block = warp.block;
  const std::vector<Inst> &code = block.kernel.code;
  block.report(FindingKind::Limit,
               warp.groups.empty() ? code[0] : code[warp.groups[0].pc],
               warp.id * kLanes, std::nullopt,
               "the block executed more than " +
                   Twine(launch.options.maxInstructions) +
                   " warp instructions");
  block.stopped = true;
}

/// One finding with the position of every group of threads that waits.
void Cluster::reportDeadlock() {
  std::string positions;
  raw_string_ostream os(positions);
  const Inst *first = nullptr;
  Warp *firstWarp = nullptr;
  unsigned thread = 0;
  for (Warp *warp : warps)
    for (const Warp::Group &group : warp->groups) {
      const Inst &inst = launch.kernel.code[group.pc];
      if (!first) {
        first = &inst;
        firstWarp = warp;
        thread = warp->id * kLanes + countr_zero(group.lanes);
      }
      os << "; ";
      if (blocks.size() > 1)
        os << "block " << warp->block.rank << " of the cluster, ";
      os << "warp " << warp->id << " lanes 0x"
         << utohexstr(group.lanes, /*LowerCase=*/true) << " in line "
         << inst.line;
      switch (group.state) {
      case Warp::Group::AtBarrier: {
        const Barrier &barrier = warp->block.barriers[group.barrier];
        os << " at barrier " << unsigned(group.barrier) << " ("
           << barrier.arrived << " of " << barrier.expected << " threads)";
        break;
      }
      case Warp::Group::AtSync:
        os << " for lanes of its mask";
        break;
      case Warp::Group::Ready:
        os << " in a loop that waits";
        break;
      case Warp::Group::AtAllocation:
        os << " for columns of tensor memory";
        break;
      case Warp::Group::AtCluster:
        os << " at the barrier of the cluster";
        break;
      case Warp::Group::AtMbarrier:
        break;
      }
      describeMbarrierWait(*warp, group, os);
    }
  if (first)
    firstWarp->block.report(FindingKind::Deadlock, *first, thread, std::nullopt,
                            "no thread of the " +
                                Twine(blocks.size() > 1 ? "cluster" : "block") +
                                " can go on" + positions);
}

} // namespace mamba::sim
