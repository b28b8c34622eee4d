//===- Block.h - A thread block ---------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_BLOCK_H
#define MAMBA_LIB_SIM_BLOCK_H

#include "GlobalShadow.h"
#include "Memory.h"
#include "Warp.h"

#include <deque>
#include <map>

namespace mamba::sim {

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
  std::vector<uint32_t> knowledge;
  View foreign;
  unsigned population = 0;
  bool all = true, any = false;
};

/// "(1, 0, 0)".
std::string formatPlace(const std::array<unsigned, 3> &place);

/// Runs blocks one after the other on one host thread.
class Block {
public:
  explicit Block(const Launch &launch);

  void run(uint64_t linearIndex);

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

  std::array<unsigned, 3> getThread(unsigned linear) const;
  std::array<unsigned, 3> getIndex(uint64_t linear) const;

  const Launch &launch;
  const Kernel &kernel;
  std::array<unsigned, 3> index{};
  uint64_t linearIndex = 0;
  unsigned numThreads, numWarps;
  std::deque<Warp> warps;
  /// From `kSharedStart` on.
  std::vector<uint8_t> shared;
  Shadow shadow;
  std::array<Barrier, 16> barriers;
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
  void schedule();
  void reportDeadlock();
  void reportLimit(Warp &warp);
  void complete(Barrier &barrier, unsigned number, const Inst &inst);
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_BLOCK_H
