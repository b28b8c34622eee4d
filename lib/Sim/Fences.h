//===- Fences.h - Fences between proxies ------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Proxies" and "fence.proxy". What a thread writes in the ordinary
// way is seen by bulk copies and tensor cores only if a proxy fence lies on the
// way from the write to them: by the writer, by the thread that starts the
// copy, or by another one between.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_FENCES_H
#define MAMBA_LIB_SIM_FENCES_H

#include "Warp.h"

#include <memory>

namespace mamba::sim {

class Cluster;

enum class FenceKind : uint8_t {
  Memory,       // membar, fence
  AsyncProxy,   // fence.proxy.async
  MbarrierInit, // fence.mbarrier_init
};

/// The fences of a cluster, newest last.
class Fences {
public:
  void start(unsigned numWarps) { fences.assign(numWarps, {}); }
  void add(const Warp &warp, LaneMask lanes, FenceKind kind, Clock &clock);

  /// Whether a fence of one of these kinds lies between what `thread` did at
  /// `time` and what a lane does now.
  bool isBetween(uint32_t thread, uint32_t time, const Warp &warp,
                 unsigned lane, llvm::ArrayRef<FenceKind> kinds) const;

  /// What lanes of a warp released with their last fences.
  void releaseTo(Knowledge &knowledge, const Warp &warp, LaneMask lanes) const;

private:
  struct Fence {
    FenceKind kind;
    LaneMask lanes;
    uint32_t time;
    Knowledge knowledge;
  };
  static constexpr unsigned kMaxFences = 16;

  /// By warp of the cluster.
  std::vector<std::vector<Fence>> fences;
};

/// Reports bytes that were written by ordinary stores with no proxy fence on
/// the way to an asynchronous read by this lane.
void checkProxy(Warp &warp, const Inst &inst, unsigned lane,
                const SharedPlace &place, uint64_t bytes);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_FENCES_H
