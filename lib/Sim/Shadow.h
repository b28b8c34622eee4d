//===- Shadow.h - Who touched each byte of shared memory --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data races by the order that barriers make. A cluster has one clock, which
// every arrival at a barrier advances. Each warp knows, for every warp, the
// time up to which that warp's accesses lie before its own: barriers pass this
// knowledge on. Two accesses to a byte, one of them a write, race if the later
// one's warp does not know the time of the earlier one.
//
// The clock goes on from block to block, so that bytes need no reset.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_SHADOW_H
#define MAMBA_LIB_SIM_SHADOW_H

#include "Order.h"

#include <utility>

namespace mamba::sim {

/// The time of all blocks of a cluster.
struct Clock {
  uint32_t time = 1, start = 1;
  /// Returns the time before it advances.
  uint32_t advance() { return time++; }
};

/// What a warp knows of the order of accesses. Warps and threads are numbered
/// through the cluster; behind its warps comes one that stands for asynchronous
/// copies.
struct Knowledge {
  /// By warp: the last time that lies before what this warp does now. The own
  /// entry is about the other lanes.
  std::vector<uint32_t> seen;
  /// The least of these.
  uint32_t least = 0;
  /// Threads of which more is known than of their warps, and until when.
  std::vector<std::pair<uint32_t, uint32_t>> threads;
  /// For each lane, then each other lane of the own warp: likewise, if a part
  /// of the warp has met at a `bar.warp.sync`.
  std::vector<uint32_t> lanes;
  /// Of other clusters.
  View foreign;

  void reset(unsigned numWarps, uint32_t time);
  /// Joins what another warp knew.
  void join(const Knowledge &other);
  /// Joins entries of warps.
  void join(const std::vector<uint32_t> &other);
  void set(unsigned warp, uint32_t time);
  void setThread(uint32_t thread, uint32_t time);
  /// Whether what the thread did at `time` lies before.
  bool knows(uint32_t thread, uint32_t time) const;
  /// The lanes of `mask` have met; what they did until `time` is before.
  void meet(uint32_t mask, uint32_t time);
  bool knowsLane(unsigned lane, unsigned other, uint32_t time) const {
    return !lanes.empty() && lanes[lane * 32 + other] >= time;
  }
  /// Whether `lane` knows any other lane at `time`.
  bool knowsSomeLane(unsigned lane, uint32_t time) const;
};

/// The access that another one conflicts with.
struct Conflict {
  enum Kind : uint8_t { Race, InFlight, Unwritten } kind;
  bool earlierIsWrite;
  /// Thread of the cluster and instruction of the earlier access. For reads the
  /// thread may be another one of the same warp.
  uint32_t thread, pc;
  unsigned byte; // of the access
};

struct Access {
  uint32_t thread;
  uint32_t pc;
  const Knowledge &knowledge;
  bool isStrong; // does not race with other strong accesses
};

class Shadow {
public:
  /// `warps` are those of the cluster, without the one of copies.
  void resize(uint64_t bytes, unsigned warps, Clock &clock);
  /// Forgets everything: the clock starts anew.
  void reset();

  uint32_t getTime() const { return clock->time; }
  uint32_t advance() { return clock->advance(); }

  /// Notes an access to bytes from `offset` on; returns the first conflict.
  /// With `value`, writes of what `current` holds already do not conflict.
  std::optional<Conflict> read(const Access &access, uint64_t offset,
                               unsigned bytes);
  std::optional<Conflict> write(const Access &access, uint64_t offset,
                                unsigned bytes, const uint8_t *value,
                                const uint8_t *current);
  /// The bytes belong to an asynchronous copy until `land`.
  std::optional<Conflict> startCopy(const Access &access, uint64_t offset,
                                    unsigned bytes);
  void land(const Access &access, uint64_t offset, unsigned bytes);

  /// An asynchronous instruction reads the bytes, any time until `endRead`.
  /// Offset and size are multiples of `kReadBytes`.
  std::optional<Conflict> startRead(const Access &access, uint64_t offset,
                                    unsigned bytes);
  void endRead(const Access &access, uint64_t offset, unsigned bytes);
  /// At the end of a block none is left.
  void dropReads();
  struct Write {
    uint32_t thread, time, pc;
  };
  /// Of a byte of this block, unless it is unwritten or in flight.
  std::optional<Write> getLastWrite(uint64_t offset) const;

private:
  struct Cell {
    uint32_t writeTime, readTime, writePc, readPc;
    uint16_t writer;
    bool writeIsStrong;
  };
  static constexpr uint32_t kInFlight = ~uint32_t(0);
  static constexpr unsigned kReadBytes = 16;
  /// Asynchronous reads of `kReadBytes` that have not ended, and the last one.
  struct AsyncReads {
    uint32_t count, thread, pc;
  };
  static constexpr unsigned kLaneBits = 6;
  static constexpr unsigned kManyLanes = 63;
  /// For which every lane has waited.
  static constexpr unsigned kWholeWarp = 62;

  /// Whether a write to the cell lies before `access`.
  bool isOrdered(const Cell &cell, const Access &access) const;
  std::optional<Conflict> findReader(const Access &access, uint64_t offset,
                                     const Cell &cell) const;

  std::vector<Cell> cells;
  /// By warp, then byte: time and lane of the last weak read. Empty for warps
  /// that read nothing.
  std::vector<std::vector<uint32_t>> reads;
  /// Empty until there is one.
  std::vector<AsyncReads> asyncReads;
  Clock *clock = nullptr;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_SHADOW_H
