//===- Order.cpp - What releases pass on ----------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "Cluster.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace mamba::sim {

void Knowledge::meet(uint32_t mask, uint32_t time) {
  if (lanes.empty())
    lanes.resize(kLanes * kLanes);
  std::array<uint32_t, kLanes> common{};
  forLanes(mask, [&](unsigned lane) {
    for (unsigned other = 0; other != kLanes; ++other)
      common[other] = std::max(common[other], lanes[lane * kLanes + other]);
  });
  forLanes(mask, [&](unsigned lane) { common[lane] = time; });
  forLanes(mask, [&](unsigned lane) {
    std::copy(common.begin(), common.end(), lanes.begin() + lane * kLanes);
  });
}

bool Knowledge::knowsSomeLane(unsigned lane, uint32_t time) const {
  if (lanes.empty())
    return false;
  for (unsigned other = 0; other != kLanes; ++other)
    if (other != lane && lanes[lane * kLanes + other] >= time)
      return true;
  return false;
}

bool View::knows(uint64_t cluster, unsigned warp, uint32_t time) const {
  const std::vector<uint32_t> *seen = lookup(cluster);
  return seen && time <= (*seen)[warp];
}

const std::vector<uint32_t> *View::lookup(uint64_t cluster) const {
  auto it = views.find(cluster);
  return it == views.end() ? nullptr : &it->second;
}

void View::join(uint64_t cluster, const std::vector<uint32_t> &seen) {
  std::vector<uint32_t> &view = views[cluster];
  view.resize(seen.size());
  for (auto [mine, other] : zip_equal(view, seen))
    mine = std::max(mine, other);
}

const std::vector<uint32_t> *View::join(const View &other, uint64_t self) {
  const std::vector<uint32_t> *own = nullptr;
  for (const auto &[cluster, seen] : other.views) {
    if (cluster == self)
      own = &seen;
    else
      join(cluster, seen);
  }
  return own;
}

View Warp::release() {
  View view = knowledge.foreign;
  std::vector<uint32_t> seen = knowledge.seen;
  for (auto [thread, time] : knowledge.threads)
    seen[thread / kLanes] = std::max(seen[thread / kLanes], time);
  seen[clusterWarp] =
      std::max(seen[clusterWarp], block.cluster.clock.advance());
  view.join(block.cluster.linearIndex, seen);
  return view;
}

/// The part of a view that is about threads of a scope of this warp.
View Warp::restrict(const View &view, MemoryScope from, MemoryScope to) const {
  if (from <= to)
    return view;
  View part;
  const std::vector<uint32_t> *own = view.lookup(block.cluster.linearIndex);
  if (!own)
    return part;
  std::vector<uint32_t> seen = *own;
  if (to == MemoryScope::Block)
    for (auto [warp, time] : enumerate(seen))
      if (warp / block.numWarps != block.rank)
        time = 0;
  part.join(block.cluster.linearIndex, seen);
  return part;
}

void Warp::acquire(const View &view) {
  if (const std::vector<uint32_t> *own =
          knowledge.foreign.join(view, block.cluster.linearIndex))
    knowledge.join(*own);
}

void Warp::fence(MemoryScope scope) {
  for (unsigned i = 0; i != kNumScopes; ++i)
    acquire(restrict(fenceOrder.observed[i], MemoryScope(i), scope));
  fenceOrder.clear();
  fenceOrder.released = release();
  fenceOrder.scope = scope;
}

void Warp::orderAccesses(const Inst &inst, LaneMask active,
                         const uint64_t *addresses, bool reads, bool writes) {
  // By scope. Without order between blocks other host threads run blocks too.
  std::array<ReleaseMap *, kNumScopes> maps = {
      &block.releases, &block.cluster.releases,
      kernel.ordersBlocks ? &block.launch.globalShadow->releases : nullptr};
  auto read = [&](uint64_t address) {
    for (auto [index, map] : enumerate(maps)) {
      if (!map)
        continue;
      auto it = map->find(address);
      if (it == map->end())
        continue;
      MemoryScope released = MemoryScope(index),
                  scope = std::min(released, inst.scope);
      View view = restrict(it->second, released, scope);
      if (inst.acquires)
        acquire(view);
      else
        fenceOrder.observed[unsigned(scope)].join(view);
    }
  };
  forLanes(active, [&](unsigned lane) {
    uint64_t address = addresses[lane];
    if (inst.space == Space::Shared || inst.space == Space::SharedCluster)
      address |= kSharedWindow;
    if (reads)
      read(address);
    if (!writes)
      return;
    // What an atomic operation reads goes on being released.
    if (!reads)
      for (ReleaseMap *map : maps)
        if (map)
          map->erase(address);
    if (inst.releases)
      (*maps[unsigned(inst.scope)])[address].join(release());
    else if (fenceOrder.released)
      (*maps[unsigned(std::min(inst.scope, fenceOrder.scope))])[address].join(
          *fenceOrder.released);
  });
}

} // namespace mamba::sim
