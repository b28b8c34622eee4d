//===- Block.cpp - A thread block -----------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>
#include <random>

using namespace llvm;

namespace mamba::sim {

/// Warp instructions that a warp executes before another one has its turn.
static constexpr uint64_t kSlice = 4096;

Block::Block(const Launch &launch) : launch(launch), kernel(launch.kernel) {
  const std::array<unsigned, 3> &size = launch.options.block;
  numThreads = size[0] * size[1] * size[2];
  numWarps = divideCeil(numThreads, kLanes);
  for (unsigned i = 0; i != numWarps; ++i)
    warps.emplace_back(*this, i);
  uint64_t end = launch.dynamicSharedBytes
                     ? kernel.dynamicShared + launch.dynamicSharedBytes
                     : kernel.staticShared;
  shared.resize(end - kSharedStart);
  if (launch.options.sanitize)
    shadow.resize(shared.size(), numWarps);
  warpExecutions.resize(kernel.code.size());
  threadExecutions.resize(kernel.code.size());
}

std::array<unsigned, 3> Block::getThread(unsigned linear) const {
  const std::array<unsigned, 3> &size = launch.options.block;
  return {linear % size[0], linear / size[0] % size[1],
          linear / size[0] / size[1]};
}

void Block::report(FindingKind kind, const Inst &inst, unsigned thread,
                   std::optional<uint64_t> address, const Twine &message) {
  uint32_t pc = &inst - kernel.code.data();
  auto [it, inserted] = findings.try_emplace({unsigned(kind), pc});
  if (!inserted) {
    ++it->second.finding.count;
    return;
  }
  Finding &finding = it->second.finding;
  finding.kind = kind;
  finding.kernel = kernel.name;
  finding.file = launch.file;
  finding.line = inst.line;
  finding.block = index;
  finding.thread = getThread(thread);
  finding.address = address;
  finding.message = message.str();
  it->second.block = linearIndex;
}

/// The value of a special register in a lane, if it differs between lanes.
static uint64_t getThreadValue(StringRef name, unsigned lane,
                               const std::array<unsigned, 3> &thread) {
  if (name.starts_with("%tid."))
    return name.back() == 'w' ? 0 : thread[name.back() - 'x'];
  uint32_t bit = uint32_t(1) << lane;
  return StringSwitch<uint64_t>(name)
      .Case("%laneid", lane)
      .Case("%lanemask_eq", bit)
      .Case("%lanemask_lt", bit - 1)
      .Case("%lanemask_le", bit | (bit - 1))
      .Case("%lanemask_gt", ~(bit | (bit - 1)))
      .Case("%lanemask_ge", ~(bit - 1))
      .Default(0);
}

void Block::fillSpecials(Warp &warp) {
  for (const SpecialRow &special : kernel.specials) {
    StringRef vector = StringRef(special.name).split('.').first;
    StringRef component = StringRef(special.name).split('.').second;
    unsigned axis = component.empty() ? 0 : component[0] - 'x';
    auto get = [&](const std::array<unsigned, 3> &value, unsigned other) {
      return component == "w" ? other : value[axis];
    };
    if (special.row.isPredicate) {
      warp.setPredicate(special.row, kAllLanes, 0);
      continue;
    }
    std::optional<uint64_t> uniform =
        StringSwitch<std::optional<uint64_t>>(vector)
            .Case("%ntid", get(launch.options.block, 1))
            .Case("%ctaid", get(index, 0))
            .Case("%nctaid", get(launch.options.grid, 1))
            // Every block is its own cluster.
            .Case("%clusterid", get(index, 0))
            .Case("%nclusterid", get(launch.options.grid, 1))
            .Case("%cluster_ctaid", 0)
            .Case("%cluster_nctaid", 1)
            .Case("%cluster_ctarank", 0)
            .Case("%cluster_nctarank", 1)
            .Case("%warpid", warp.id)
            .Case("%nwarpid", numWarps)
            .Case("%smid", 0)
            .Case("%nsmid", 1)
            .Case("%gridid", 1)
            .Case("%dynamic_smem_size", launch.dynamicSharedBytes)
            .Case("%total_smem_size", shared.size())
            .Default(std::nullopt);
    for (unsigned lane = 0; lane != kLanes; ++lane)
      warp.set(special.row, lane,
               uniform ? *uniform
                       : getThreadValue(special.name, lane,
                                        getThread(warp.id * kLanes + lane)));
  }
}

std::array<unsigned, 3> Block::getIndex(uint64_t linear) const {
  const std::array<unsigned, 3> &grid = launch.options.grid;
  return {unsigned(linear % grid[0]), unsigned(linear / grid[0] % grid[1]),
          unsigned(linear / grid[0] / grid[1])};
}

void Block::run(uint64_t linear) {
  linearIndex = linear;
  index = getIndex(linear);
  stopped = false;
  executed = 0;
  ++counters.blocks;
  counters.warps += numWarps;
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  releases.clear();
  if (launch.options.sanitize)
    shadow.startBlock();
  // Values that differ from run to run would hide what nobody wrote.
  std::fill(shared.begin(), shared.end(), 0xff);
  for (Warp &warp : warps) {
    unsigned rest = numThreads - warp.id * kLanes;
    warp.start(rest >= kLanes ? kAllLanes : maskTrailingOnes<LaneMask>(rest));
    warp.knowledge.reset(numWarps, shadow.getTime() - 1);
    warp.foreign.clear();
    warp.fences.clear();
    fillSpecials(warp);
  }
  schedule();
  // What is in flight must not be so in the next block.
  for (Warp &warp : warps)
    warp.finishCopies(kAllLanes, 0, /*uncommitted=*/true);
}

void Block::schedule() {
  std::vector<unsigned> order(numWarps);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(launch.options.seed * 0x9e3779b97f4a7c15 +
                         linearIndex);
  std::vector<bool> done(numWarps);
  unsigned numDone = 0;
  while (numDone != numWarps && !stopped) {
    if (launch.options.seed)
      std::shuffle(order.begin(), order.end(), random);
    uint64_t before = executed;
    for (unsigned id : order) {
      if (done[id] || stopped)
        continue;
      uint64_t slice = launch.options.seed ? 1 + random() % 256 : kSlice;
      Warp::Status status = warps[id].run(slice);
      if (executed > launch.options.maxInstructions)
        reportLimit(warps[id]);
      if (status != Warp::Status::Done)
        continue;
      done[id] = true;
      ++numDone;
    }
    if (executed == before && numDone != numWarps && !stopped) {
      reportDeadlock();
      stopped = true;
    }
  }
}

void Block::reportLimit(Warp &warp) {
  const Inst &inst =
      warp.groups.empty() ? kernel.code[0] : kernel.code[warp.groups[0].pc];
  report(FindingKind::Limit, inst, warp.id * kLanes, std::nullopt,
         "the block executed more than " +
             Twine(launch.options.maxInstructions) + " warp instructions");
  stopped = true;
}

/// One finding with the position of every group of threads that waits.
void Block::reportDeadlock() {
  std::string positions;
  raw_string_ostream os(positions);
  const Inst *first = nullptr;
  unsigned thread = 0;
  for (Warp &warp : warps)
    for (const Warp::Group &group : warp.groups) {
      const Inst &inst = kernel.code[group.pc];
      if (!first) {
        first = &inst;
        thread = warp.id * kLanes + countr_zero(group.lanes);
      }
      os << "; warp " << warp.id << " lanes 0x"
         << utohexstr(group.lanes, /*LowerCase=*/true) << " in line "
         << inst.line;
      if (group.state == Warp::Group::AtBarrier) {
        const Barrier &barrier = barriers[group.barrier];
        os << " at barrier " << unsigned(group.barrier) << " ("
           << barrier.arrived << " of " << barrier.expected << " threads)";
      } else {
        os << " for lanes of its mask";
      }
    }
  if (first)
    report(FindingKind::Deadlock, *first, thread, std::nullopt,
           "no thread of the block can go on" + positions);
}

} // namespace mamba::sim
