//===- Shadow.h - Who touched each byte of shared memory --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two accesses to a byte, one of them a write, race if the later one's warp
// does not know the time of the earlier one (Order.h).
//
// The clock goes on from block to block, so that bytes need no reset.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_SHADOW_H
#define MAMBA_LIB_SIM_SHADOW_H

#include "Order.h"

namespace mamba::sim {

/// The access that another one conflicts with.
struct Conflict {
  enum Kind : uint8_t { Race, InFlight, Unwritten } kind;
  bool earlierIsWrite;
  /// Thread of the block and instruction of the earlier access. For reads the
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
  void resize(uint64_t bytes, unsigned numWarps);
  /// Starts a block: nothing is written.
  void startBlock();

  uint32_t getTime() const { return time; }
  /// Returns the time before it advances.
  uint32_t advance() { return time++; }

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

private:
  struct Cell {
    uint32_t writeTime, readTime, writePc, readPc;
    uint16_t writer;
    bool writeIsStrong;
  };
  static constexpr uint32_t kInFlight = ~uint32_t(0);
  static constexpr unsigned kLaneBits = 6;
  static constexpr unsigned kManyLanes = 63;

  /// Whether a write to the cell lies before `access`.
  bool isOrdered(const Cell &cell, const Access &access) const;
  std::optional<Conflict> findReader(const Access &access, uint64_t offset,
                                     const Cell &cell) const;

  std::vector<Cell> cells;
  /// By warp, then byte: time and lane of the last weak read.
  std::vector<uint32_t> reads;
  unsigned numWarps = 0;
  uint32_t time = 1, start = 1;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_SHADOW_H
