//===- Order.h - Which accesses lie before which ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Memory Consistency Model". A block has one clock, which every
// arrival at a barrier and every release advances. Each warp knows, for every
// warp, the time up to which that warp's accesses lie before its own: barriers
// and pairs of release and acquire pass this knowledge on.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_ORDER_H
#define MAMBA_LIB_SIM_ORDER_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace mamba::sim {

/// What a warp knows of the order of accesses in its block.
struct Knowledge {
  /// By warp: the last time that lies before what this warp does now. The own
  /// entry is about the other lanes.
  std::vector<uint32_t> seen;
  /// The least of these.
  uint32_t least = 0;
  /// For each lane, then each other lane of the warp: likewise, if a part of
  /// the warp has met at a `bar.warp.sync`.
  std::vector<uint32_t> lanes;

  void reset(unsigned numWarps, uint32_t time);
  /// Joins what another warp knew.
  void join(const std::vector<uint32_t> &other);
  void set(unsigned warp, uint32_t time);
  /// The lanes of `mask` have met; what they did until `time` is before.
  void meet(uint32_t mask, uint32_t time);
  bool knowsLane(unsigned lane, unsigned other, uint32_t time) const {
    return !lanes.empty() && lanes[lane * 32 + other] >= time;
  }
  /// Whether `lane` knows any other lane at `time`.
  bool knowsSomeLane(unsigned lane, uint32_t time) const;
};

/// Times by block and warp: what a warp knows of other blocks, or what a
/// release passes on to those that acquire it.
class View {
public:
  bool empty() const { return views.empty(); }
  bool knows(uint64_t block, unsigned warp, uint32_t time) const;
  void join(uint64_t block, const std::vector<uint32_t> &seen);
  /// Joins all but what is about the block `self`, which is returned.
  const std::vector<uint32_t> *join(const View &other, uint64_t self);
  void join(const View &other) { (void)join(other, ~uint64_t(0)); }
  const std::vector<uint32_t> *lookup(uint64_t block) const;
  void clear() { views.clear(); }

private:
  std::map<uint64_t, std::vector<uint32_t>> views;
};

/// The order that fences of a warp and its strong accesses make together. A
/// thread that releases or acquires does so for its whole warp.
struct Fences {
  /// What the last fence released, by way of the strong writes behind it, and
  /// whether that is for other blocks too.
  std::optional<View> released;
  bool ofDevice = false;
  /// What strong reads saw, for the next fence to acquire: from the own block,
  /// and from all.
  View ofBlock, ofAll;

  void clear() { *this = Fences(); }
};

/// What can be acquired by reading an address. A shared address has the bits of
/// its window.
using ReleaseMap = std::map<uint64_t, View>;

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_ORDER_H
