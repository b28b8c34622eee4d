//===- Fences.cpp - Fences between proxies --------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fences.h"

#include "Cluster.h"

using namespace llvm;

namespace mamba::sim {

void Fences::add(const Warp &warp, LaneMask lanes, FenceKind kind,
                 Clock &clock) {
  std::vector<Fence> &own = fences[warp.clusterWarp];
  if (own.size() == kMaxFences)
    own.erase(own.begin());
  own.push_back({kind, lanes, clock.advance(), warp.knowledge});
}

bool Fences::isBetween(uint32_t thread, uint32_t time, const Warp &warp,
                       unsigned lane, ArrayRef<FenceKind> kinds) const {
  auto isBefore = [&](unsigned fencing, unsigned fencingLane, uint32_t when) {
    return (fencing == warp.clusterWarp && fencingLane == lane) ||
           warp.knowledge.knows(fencing * kLanes + fencingLane, when);
  };
  unsigned writer = thread / kLanes, writerLane = thread % kLanes;
  auto helps = [&](unsigned fencing, const Fence &fence) {
    if (fence.time < time || !is_contained(kinds, fence.kind))
      return false;
    if (fencing == writer && (fence.lanes >> writerLane & 1) &&
        isBefore(writer, writerLane, fence.time))
      return true;
    if (!fence.knowledge.knows(thread, time))
      return false;
    for (LaneMask rest = fence.lanes; rest; rest &= rest - 1)
      if (isBefore(fencing, countr_zero(rest), fence.time))
        return true;
    return false;
  };
  // Mostly it is the writer's own.
  for (const Fence &fence : reverse(fences[writer]))
    if (helps(writer, fence))
      return true;
  for (unsigned other = 0; other != fences.size(); ++other)
    for (const Fence &fence : reverse(fences[other]))
      if (helps(other, fence))
        return true;
  return false;
}

void Fences::releaseTo(Knowledge &knowledge, const Warp &warp,
                       LaneMask lanes) const {
  for (const Fence &fence : reverse(fences[warp.clusterWarp])) {
    if (fence.kind == FenceKind::AsyncProxy || !(fence.lanes & lanes))
      continue;
    knowledge.join(fence.knowledge);
    LaneMask released = fence.lanes & lanes;
    if (released == warp.getLive())
      knowledge.set(warp.clusterWarp, fence.time);
    else
      forLanes(released, [&](unsigned lane) {
        knowledge.setThread(warp.getClusterThread(lane), fence.time);
      });
    lanes &= ~fence.lanes;
  }
}

void checkProxy(Warp &warp, const Inst &inst, unsigned lane,
                const SharedPlace &place, uint64_t bytes) {
  Cluster &cluster = warp.block.cluster;
  if (!cluster.launch.options.sanitize)
    return;
  uint32_t lastThread = 0, lastTime = 0;
  for (uint64_t i = 0; i != bytes; ++i) {
    std::optional<Shadow::Write> write =
        place.block->shadow.getLastWrite(place.offset + i);
    if (!write || write->thread / kLanes == cluster.getCopyWarp() ||
        (write->thread == lastThread && write->time == lastTime))
      continue;
    lastThread = write->thread;
    lastTime = write->time;
    if (cluster.fences.isBetween(write->thread, write->time, warp, lane,
                                 {FenceKind::AsyncProxy}))
      continue;
    warp.report(FindingKind::Proxy, inst, lane, kSharedStart + place.offset + i,
                "an asynchronous read of what " +
                    warp.block.describeThread(write->thread) +
                    " wrote in line " +
                    Twine(warp.kernel.code[write->pc].line) +
                    ", without fence.proxy.async between");
    return;
  }
}

} // namespace mamba::sim
