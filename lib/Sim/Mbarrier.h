//===- Mbarrier.h - Barrier objects in shared memory ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_MBARRIER_H
#define MAMBA_LIB_SIM_MBARRIER_H

#include "Warp.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

namespace mamba::sim {

class Cluster;

/// Its value is opaque, so it is kept beside shared memory.
struct Mbarrier {
  static constexpr uint64_t kBytes = 8;
  static constexpr uint64_t kMaxCount = (1 << 20) - 1;

  /// Arrivals of each phase from the next one on.
  uint32_t expected = 0;
  /// Arrivals and bytes that the current phase still waits for.
  uint32_t pending = 0;
  int64_t bytes = 0;
  /// Phases that are complete.
  uint64_t phase = 0;
  /// Who initialized it.
  uint32_t initThread = 0, initTime = 0, initPc = 0;
  /// What the arrivals of the current phase knew, and those of all before.
  Knowledge arriving, visible;

  /// How many phases were complete when each warp of the cluster last saw one
  /// that it waited for.
  std::map<unsigned, uint64_t> seen;

  /// Whether the phase with this parity, the current one or the one before, is
  /// complete.
  bool isComplete(unsigned parity) const { return (phase & 1) != parity; }
};

/// The objects of a block by their place in its shared memory.
class Mbarriers {
public:
  void clear();
  /// Null if there is none.
  Mbarrier *lookup(uint64_t offset);
  Mbarrier &add(uint64_t offset);
  void remove(uint64_t offset) { objects.erase(offset); }
  bool overlaps(uint64_t offset, uint64_t bytes) const {
    return offset < end && offset + bytes > begin && find(offset, bytes);
  }

private:
  bool find(uint64_t offset, uint64_t bytes) const;

  std::map<uint64_t, Mbarrier> objects;
  /// All objects lie between.
  uint64_t begin = ~uint64_t(0), end = 0;
};

/// The object at an address, or null after a finding.
Mbarrier *getMbarrier(Warp &warp, const Inst &inst, unsigned lane, Space space,
                      uint64_t address);

/// Counts arrivals at the current phase and completes it if it was the last.
/// Returns false if more arrive than are pending.
bool arriveAt(Cluster &cluster, Mbarrier &barrier, uint32_t count);
/// Adds bytes that are expected, or takes off what has come. Returns false if
/// the count leaves its range.
bool addBytes(Cluster &cluster, Mbarrier &barrier, int64_t bytes);

/// " for parity 0 of the mbarrier at ..." if the group waits for one.
void describeMbarrierWait(Warp &warp, const Warp::Group &group,
                          llvm::raw_ostream &os);

// Flags of `Inst` for MbarrierWait: `flag` suspends, `flag2` has a parity
// instead of a state, `mode` is 1 if the order is relaxed.

/// mbarrier.test_wait and mbarrier.try_wait.
void decodeMbarrierWait(class Decoder &d, bool suspends);

/// A state that an arrival gives: the phase and what was pending before.
inline uint64_t makeMbarrierState(const Mbarrier &barrier) {
  return barrier.phase << 20 | barrier.pending;
}
inline uint64_t getPhaseOfState(uint64_t state) { return state >> 20; }

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_MBARRIER_H
