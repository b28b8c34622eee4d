//===- Block.cpp - A thread block -----------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "Cluster.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

Block::Block(const Launch &launch, Cluster &cluster, unsigned rank)
    : launch(launch), cluster(cluster), kernel(launch.kernel), rank(rank) {
  const std::array<unsigned, 3> &shape = launch.cluster;
  indexInCluster = {rank % shape[0], rank / shape[0] % shape[1],
                    rank / shape[0] / shape[1]};
  const std::array<unsigned, 3> &size = launch.options.block;
  numThreads = size[0] * size[1] * size[2];
  numWarps = divideCeil(numThreads, kLanes);
  for (unsigned i = 0; i != numWarps; ++i)
    warps.emplace_back(*this, i);
  uint64_t end = launch.dynamicSharedBytes
                     ? kernel.dynamicShared + launch.dynamicSharedBytes
                     : kernel.staticShared;
  shared.resize(end - kSharedStart);
  warpExecutions.resize(kernel.code.size());
  threadExecutions.resize(kernel.code.size());
}

std::array<unsigned, 3> Block::getThread(unsigned linear) const {
  const std::array<unsigned, 3> &size = launch.options.block;
  return {linear % size[0], linear / size[0] % size[1],
          linear / size[0] / size[1]};
}

std::string Block::describeThread(uint32_t clusterThread) const {
  unsigned warp = clusterThread / kLanes;
  if (warp == cluster.getCopyWarp())
    return "an asynchronous copy";
  std::array<unsigned, 3> thread =
      getThread(warp % numWarps * kLanes + clusterThread % kLanes);
  std::string text = ("thread (" + Twine(thread[0]) + ", " + Twine(thread[1]) +
                      ", " + Twine(thread[2]) + ")")
                         .str();
  if (warp / numWarps != rank)
    text += (" of block " + Twine(warp / numWarps) + " of the cluster").str();
  return text;
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

static std::array<unsigned, 3> divide(const std::array<unsigned, 3> &a,
                                      const std::array<unsigned, 3> &b) {
  return {a[0] / b[0], a[1] / b[1], a[2] / b[2]};
}

void Block::fillSpecials(Warp &warp) {
  for (const Opnd &row : kernel.sharedAddresses)
    for (unsigned lane = 0; rank && lane != kLanes; ++lane)
      warp.set(row, lane,
               warp.get(row, lane) + (uint64_t(rank) << kSharedBits));
  for (const SpecialRow &special : kernel.specials) {
    StringRef vector = StringRef(special.name).split('.').first;
    StringRef component = StringRef(special.name).split('.').second;
    unsigned axis = component.empty() ? 0 : component[0] - 'x';
    auto get = [&](const std::array<unsigned, 3> &value, unsigned other) {
      return component == "w" ? other : value[axis];
    };
    if (special.row.isPredicate) {
      warp.setPredicate(special.row, kAllLanes,
                        launch.isExplicitCluster ? kAllLanes : 0);
      continue;
    }
    std::optional<uint64_t> uniform =
        StringSwitch<std::optional<uint64_t>>(vector)
            .Case("%ntid", get(launch.options.block, 1))
            .Case("%ctaid", get(index, 0))
            .Case("%nctaid", get(launch.options.grid, 1))
            .Case("%clusterid", get(divide(index, launch.cluster), 0))
            .Case("%nclusterid",
                  get(divide(launch.options.grid, launch.cluster), 1))
            .Case("%cluster_ctaid", get(indexInCluster, 0))
            .Case("%cluster_nctaid", get(launch.cluster, 1))
            .Case("%cluster_ctarank", rank)
            .Case("%cluster_nctarank", cluster.blocks.size())
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

std::array<unsigned, 3> Block::getIndex(uint64_t clusterIndex,
                                        unsigned ofRank) const {
  std::array<unsigned, 3> result;
  for (unsigned axis = 0; axis != 3; ++axis) {
    unsigned size = launch.cluster[axis],
             count = launch.options.grid[axis] / size;
    result[axis] = clusterIndex % count * size + ofRank % size;
    clusterIndex /= count;
    ofRank /= size;
  }
  return result;
}

void Block::start(const std::array<unsigned, 3> &position) {
  const std::array<unsigned, 3> &grid = launch.options.grid;
  for (unsigned axis = 0; axis != 3; ++axis)
    index[axis] = position[axis] + indexInCluster[axis];
  linearIndex =
      index[0] + uint64_t(grid[0]) * (index[1] + uint64_t(grid[1]) * index[2]);
  stopped = false;
  executed = 0;
  ++counters.blocks;
  counters.warps += numWarps;
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  warpgroups.start(numWarps);
  tensor.start(*this);
  mbarriers.clear();
  readers.clear();
  numReads = 0;
  releases.clear();
  // Values that differ from run to run would hide what nobody wrote.
  std::fill(shared.begin(), shared.end(), 0xff);
  for (Warp &warp : warps) {
    unsigned rest = numThreads - warp.id * kLanes;
    warp.start(rest >= kLanes ? kAllLanes : maskTrailingOnes<LaneMask>(rest));
    warp.fenceOrder.clear();
    warp.knowledge.reset(cluster.getNumWarps() + 1, cluster.clock.time - 1);
    fillSpecials(warp);
  }
}

static constexpr unsigned kReadUnit = 16;

void Block::beginRead(uint64_t offset, uint64_t bytes) {
  readers.resize(shared.size() / kReadUnit + 1);
  for (uint64_t unit = offset / kReadUnit;
       unit <= (offset + bytes - 1) / kReadUnit; ++unit)
    ++readers[unit];
  ++numReads;
}

void Block::endRead(uint64_t offset, uint64_t bytes) {
  for (uint64_t unit = offset / kReadUnit;
       unit <= (offset + bytes - 1) / kReadUnit; ++unit)
    --readers[unit];
  --numReads;
}

bool Block::isBeingRead(uint64_t offset, uint64_t bytes) const {
  if (!numReads)
    return false;
  for (uint64_t unit = offset / kReadUnit;
       unit <= (offset + bytes - 1) / kReadUnit; ++unit)
    if (readers[unit])
      return true;
  return false;
}

void Block::finish() {
  warpgroups.finish(*this);
  tensor.finish(*this);
  shadow.dropReads();
  // What is in flight must not be so in the next block.
  for (Warp &warp : warps)
    warp.finishCopies(kAllLanes, 0, /*uncommitted=*/true);
}

} // namespace mamba::sim
