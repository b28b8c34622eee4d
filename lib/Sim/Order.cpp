//===- Order.cpp - Which accesses lie before which ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "Block.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace mamba::sim {

void Knowledge::reset(unsigned numWarps, uint32_t time) {
  seen.assign(numWarps, time);
  least = time;
  lanes.clear();
}

void Knowledge::join(const std::vector<uint32_t> &other) {
  for (size_t i = 0; i != seen.size(); ++i)
    seen[i] = std::max(seen[i], other[i]);
  least = *std::min_element(seen.begin(), seen.end());
}

void Knowledge::set(unsigned warp, uint32_t time) {
  seen[warp] = std::max(seen[warp], time);
  least = *std::min_element(seen.begin(), seen.end());
}

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

bool View::knows(uint64_t block, unsigned warp, uint32_t time) const {
  const std::vector<uint32_t> *seen = lookup(block);
  return seen && time <= (*seen)[warp];
}

const std::vector<uint32_t> *View::lookup(uint64_t block) const {
  auto it = views.find(block);
  return it == views.end() ? nullptr : &it->second;
}

void View::join(uint64_t block, const std::vector<uint32_t> &seen) {
  std::vector<uint32_t> &view = views[block];
  view.resize(seen.size());
  for (auto [mine, other] : zip_equal(view, seen))
    mine = std::max(mine, other);
}

const std::vector<uint32_t> *View::join(const View &other, uint64_t self) {
  const std::vector<uint32_t> *own = nullptr;
  for (const auto &[block, seen] : other.views) {
    if (block == self)
      own = &seen;
    else
      join(block, seen);
  }
  return own;
}

View Warp::release() {
  View view = foreign;
  std::vector<uint32_t> seen = knowledge.seen;
  seen[id] = std::max(seen[id], block.shadow.advance());
  view.join(block.linearIndex, seen);
  return view;
}

void Warp::acquire(const View &view) {
  if (const std::vector<uint32_t> *own = foreign.join(view, block.linearIndex))
    knowledge.join(*own);
}

void Warp::fence(bool ofDevice) {
  acquire(fences.ofBlock);
  if (ofDevice)
    acquire(fences.ofAll);
  else if (auto *own = fences.ofAll.lookup(block.linearIndex))
    knowledge.join(*own);
  fences.clear();
  fences.released = release();
  fences.ofDevice = ofDevice;
}

void Warp::orderAccesses(const Inst &inst, LaneMask active,
                         const uint64_t *addresses, bool reads, bool writes) {
  // Without order between blocks other host threads run blocks too.
  ReleaseMap &ofBlock = block.releases,
             &ofAll = kernel.ordersBlocks ? block.launch.globalShadow->releases
                                          : block.releases;
  bool ofDevice = inst.scope == MemoryScope::Device;
  auto read = [&](uint64_t address) {
    if (auto it = ofBlock.find(address); it != ofBlock.end()) {
      if (inst.acquires)
        acquire(it->second);
      else
        fences.ofBlock.join(it->second);
    }
    if (!kernel.ordersBlocks)
      return;
    auto it = ofAll.find(address);
    if (it == ofAll.end())
      return;
    if (inst.acquires && ofDevice)
      acquire(it->second);
    else if (inst.acquires || !ofDevice) {
      // Of the own block only.
      const std::vector<uint32_t> *own = it->second.lookup(block.linearIndex);
      if (own && inst.acquires)
        knowledge.join(*own);
      else if (own)
        fences.ofBlock.join(block.linearIndex, *own);
    } else {
      fences.ofAll.join(it->second);
    }
  };
  forLanes(active, [&](unsigned lane) {
    uint64_t address = addresses[lane];
    if (inst.space == Space::Shared)
      address |= kSharedWindow;
    if (reads)
      read(address);
    if (!writes)
      return;
    // What an atomic operation reads goes on being released.
    if (!reads) {
      ofBlock.erase(address);
      ofAll.erase(address);
    }
    if (inst.releases)
      (ofDevice ? ofAll : ofBlock)[address].join(release());
    else if (fences.released)
      (ofDevice && fences.ofDevice ? ofAll : ofBlock)[address].join(
          *fences.released);
  });
}

} // namespace mamba::sim
