//===- Cluster.h - Blocks that run together ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_CLUSTER_H
#define MAMBA_LIB_SIM_CLUSTER_H

#include "Block.h"
#include "BulkCopy.h"
#include "Fences.h"

#include <random>

namespace mamba::sim {

/// ClusterBarrier.cpp
struct ClusterBarrier {
  void start(unsigned numWarps);

  /// By warp: threads that arrived in the current phase, and those that have
  /// arrived and not waited.
  std::vector<LaneMask> arrived, owesWait;
  /// What arrivals of the current phase knew, and those of all before.
  Knowledge arriving, visible;
};

/// Runs clusters one after the other on one host thread. Without clusters each
/// block is one by itself.
class Cluster {
public:
  explicit Cluster(const Launch &launch);

  void run(uint64_t linearIndex);

  /// Something happened for which waiting threads may have to look again.
  void notify() { ++progress; }
  unsigned getNumWarps() const { return warps.size(); }
  /// The number of the warp that stands for asynchronous copies.
  unsigned getCopyWarp() const { return warps.size(); }

  const Launch &launch;
  std::vector<std::unique_ptr<Block>> blocks;
  std::mt19937_64 random;
  Clock clock;
  BulkCopies copies{*this};
  Fences fences;
  ClusterBarrier barrier;
  /// For threads of this cluster only.
  ReleaseMap releases;
  uint64_t linearIndex = 0;

  void arriveAtBarrier(Warp &warp, const Inst &inst, LaneMask lanes,
                       bool isRelaxed);
  /// Completes the barrier if nobody is missing.
  void checkBarrier();

private:
  void startClock();
  void schedule();
  bool handleQuiet(bool executedNothing);
  void reportDeadlock();
  void reportLimit(Warp &warp);
  void stop();

  /// Of all blocks.
  std::vector<Warp *> warps;
  uint64_t progress = 0;
  /// Rounds in which threads only waited and nothing happened.
  unsigned quietRounds = 0;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_CLUSTER_H
