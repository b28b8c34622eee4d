//===- Order.h - What releases pass on --------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Memory Consistency Model": order by pairs of release and acquire,
// which are single accesses or accesses and fences. Inside of a cluster what is
// known of others are the times of Shadow.h; of other clusters likewise, each
// with a clock of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_ORDER_H
#define MAMBA_LIB_SIM_ORDER_H

#include "Program.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace mamba::sim {

/// Times by cluster and warp of it: what a warp knows of other clusters, or
/// what a release passes on to those that acquire it.
class View {
public:
  bool empty() const { return views.empty(); }
  bool knows(uint64_t cluster, unsigned warp, uint32_t time) const;
  void join(uint64_t cluster, const std::vector<uint32_t> &seen);
  /// Joins all but what is about the cluster `self`, which is returned.
  const std::vector<uint32_t> *join(const View &other, uint64_t self);
  void join(const View &other) { (void)join(other, ~uint64_t(0)); }
  const std::vector<uint32_t> *lookup(uint64_t cluster) const;
  void clear() { views.clear(); }

private:
  std::map<uint64_t, std::vector<uint32_t>> views;
};

constexpr unsigned kNumScopes = unsigned(MemoryScope::Device) + 1;

/// The order that fences of a warp and its strong accesses make together. A
/// thread that releases or acquires does so for its whole warp.
struct FenceOrder {
  /// What the last fence released, by way of the strong writes behind it, and
  /// for whom.
  std::optional<View> released;
  MemoryScope scope = MemoryScope::Block;
  /// What strong reads saw, by scope of the pair, for the next fence to
  /// acquire.
  std::array<View, kNumScopes> observed;

  void clear() { *this = FenceOrder(); }
};

/// What can be acquired by reading an address. A shared address has the bits of
/// its window.
using ReleaseMap = std::map<uint64_t, View>;

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_ORDER_H
