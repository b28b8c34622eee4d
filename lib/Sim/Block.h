//===- Block.h - A thread block ---------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_BLOCK_H
#define MAMBA_LIB_SIM_BLOCK_H

#include "GlobalShadow.h"
#include "Mbarrier.h"
#include "Memory.h"
#include "TensorMemory.h"
#include "Warp.h"

#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <map>

namespace mamba::sim {

class Cluster;

/// What all blocks of a launch share; constant while they run.
struct Launch {
  const Kernel &kernel;
  const LaunchOptions &options;
  Device::Impl &device;
  std::string file;
  std::vector<uint8_t> parameters;
  uint64_t dynamicSharedBytes;
  /// If sanitized.
  GlobalShadow *globalShadow = nullptr;
  std::array<unsigned, 3> cluster{1, 1, 1};
  bool isExplicitCluster = false;
};

/// A named barrier of a block.
struct Barrier {
  /// Threads it waits for; 0 while nobody waits.
  unsigned expected = 0;
  bool ofAll = false; // no count was given
  unsigned arrived = 0;
  /// By warp: lanes that arrived without the rest of their warp, and whether
  /// any did.
  std::vector<LaneMask> parts;
  std::vector<bool> hasArrived;
  Knowledge knowledge;
  unsigned population = 0;
  bool all = true, any = false;
};

/// "(1, 0, 0)".
std::string formatPlace(const std::array<unsigned, 3> &place);

/// Stands for one block after the other.
class Block {
public:
  Block(const Launch &launch, Cluster &cluster, unsigned rank);

  /// `position` is the first block of the cluster.
  void start(const std::array<unsigned, 3> &position);
  /// All threads have exited, or the block was stopped.
  void finish();

  /// Notes a finding; only the first of its kind at its place is kept.
  void report(FindingKind kind, const Inst &inst, unsigned thread,
              std::optional<uint64_t> address, const llvm::Twine &message);

  // Barriers.cpp. Returns the barrier at which the threads have to wait, after
  // which `checkComplete` is due.
  std::optional<unsigned> arrive(Warp &warp, const Inst &inst, LaneMask lanes);
  void checkComplete(unsigned number, const Inst &inst);
  void threadsExited(Warp &warp);

  // Counting.cpp: one request of a warp.
  void countShared(const uint64_t *addresses, LaneMask lanes, unsigned bytes);
  void countGlobal(const uint64_t *addresses, LaneMask lanes, unsigned bytes,
                   bool isStore);
  /// `bytes` of each lane; those at one address count once.
  void countBytes(BytePath path, const uint64_t *addresses, LaneMask lanes,
                  unsigned bytes);
  /// Bytes that no lane has an address for.
  void countBytes(BytePath path, uint64_t bytes) {
    counters.bytes[unsigned(path)] += bytes;
  }
  /// Adds the instructions executed to `counters`.
  void finishCounters();

  /// Whether any thread has not exited.
  bool isLive() const {
    return llvm::any_of(warps, [](const Warp &warp) { return warp.getLive(); });
  }

  // Bytes of shared memory that bulk copies may still read.
  void beginRead(uint64_t offset, uint64_t bytes);
  void endRead(uint64_t offset, uint64_t bytes);
  bool isBeingRead(uint64_t offset, uint64_t bytes) const;

  std::array<unsigned, 3> getThread(unsigned linear) const;
  std::array<unsigned, 3> getIndex(uint64_t clusterIndex,
                                   unsigned ofRank) const;
  /// "thread (0, 0, 0)" for a thread as `Shadow` numbers them.
  std::string describeThread(uint32_t clusterThread) const;

  const Launch &launch;
  Cluster &cluster;
  const Kernel &kernel;
  /// Place in the grid and in the cluster.
  std::array<unsigned, 3> index{}, indexInCluster{};
  unsigned rank;
  uint64_t linearIndex = 0;
  unsigned numThreads, numWarps;
  std::deque<Warp> warps;
  /// From `kSharedStart` on.
  std::vector<uint8_t> shared;
  Shadow shadow;
  std::array<Barrier, 16> barriers;
  WarpgroupOrder warpgroups;
  TensorMemory tensor;
  Mbarriers mbarriers;
  /// For threads of this block only.
  ReleaseMap releases;
  bool stopped = false; // a finding that ends the block

  /// By instruction.
  std::vector<uint64_t> warpExecutions, threadExecutions;
  uint64_t executed = 0; // in this block
  Counters counters;
  struct Found {
    Finding finding;
    uint64_t block; // linear
  };
  std::map<std::pair<unsigned, uint32_t>, Found> findings;

private:
  void fillSpecials(Warp &warp);
  /// By 16 bytes of shared memory: runs of copies that read them.
  std::vector<uint16_t> readers;
  unsigned numReads = 0;
  void complete(Barrier &barrier, unsigned number, const Inst &inst);
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_BLOCK_H
