//===- GlobalShadow.h - Who touched each part of global memory --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data races in the buffers that a launch may write. Nothing orders two blocks
// but releases and acquires of device scope; inside of a block order is as in
// Shadow.h. A cell stands for an element of the buffer, or for as many bytes as
// the kernel's smallest access has. It holds the last write and the last read.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_GLOBALSHADOW_H
#define MAMBA_LIB_SIM_GLOBALSHADOW_H

#include "Memory.h"
#include "Program.h"
#include "Shadow.h"

#include <atomic>
#include <cstdlib>

namespace mamba::sim {

/// Who makes an access.
struct GlobalAccess {
  uint64_t cluster;
  /// Of the cluster.
  uint32_t thread;
  uint32_t pc, time;
  const Knowledge &knowledge;
  Strength strength;
  /// Strong for the threads of other blocks as well.
  bool ofDevice;
  /// Not ordered behind any write, not even the thread's own.
  bool isNonCoherent;
};

/// The access that another one conflicts with.
struct GlobalConflict {
  bool earlierIsWrite;
  uint64_t cluster;
  uint32_t thread, pc;
  unsigned byte; // of the access
};

class GlobalShadow {
public:
  static constexpr uint64_t kMaxClusters = uint64_t(1) << 22;

  /// `concurrent`: several host threads run blocks.
  GlobalShadow(Device::Impl &device, const Kernel &kernel, bool concurrent);

  /// Whether there is memory for it.
  explicit operator bool() const { return !outOfMemory; }

  /// Notes an access; returns the first conflict. Writes of what `current`
  /// holds already do not conflict.
  std::optional<GlobalConflict> read(const GlobalAccess &access,
                                     uint64_t address, unsigned bytes);
  std::optional<GlobalConflict> write(const GlobalAccess &access,
                                      uint64_t address, unsigned bytes,
                                      const uint8_t *value,
                                      const uint8_t *current);
  /// Whether blocks raced with each other: what is found then depends on the
  /// order in which they ran.
  bool hasRaceBetweenBlocks() const { return raceBetweenBlocks; }

  /// Of device scope; used by one host thread only.
  ReleaseMap releases;

private:
  /// Word: the thread of the cluster in 14 bits, time in 26, two flags, the
  /// cluster plus one in 22; 0 if there was no access.
  struct Cell {
    std::atomic<uint64_t> write, read;
    std::atomic<uint32_t> writePc, readPc;
  };
  /// Of writes: strong, and for whom. Of reads: other lanes or blocks too.
  static constexpr uint64_t kStrong = uint64_t(1) << 40,
                            kOfDevice = uint64_t(1) << 41, kManyLanes = kStrong,
                            kManyBlocks = kOfDevice,
                            kFlags = kStrong | kOfDevice;
  static uint64_t makeWord(const GlobalAccess &access);
  bool isOrdered(uint64_t word, const GlobalAccess &access) const;
  std::optional<GlobalConflict> readCell(Cell &cell,
                                         const GlobalAccess &access);
  std::optional<GlobalConflict>
  writeCell(Cell &cell, const GlobalAccess &access, bool isSame);
  GlobalConflict makeConflict(bool earlierIsWrite, uint64_t word, uint32_t pc,
                              const GlobalAccess &access);
  uint64_t exchange(std::atomic<uint64_t> &place, uint64_t word) {
    if (concurrent)
      return place.exchange(word);
    uint64_t old = place.load(std::memory_order_relaxed);
    place.store(word, std::memory_order_relaxed);
    return old;
  }
  template <typename Fn>
  std::optional<GlobalConflict> forCells(uint64_t address, unsigned bytes,
                                         Fn fn);

  struct Freer {
    void operator()(void *memory) const { std::free(memory); }
  };
  struct Cells {
    /// Nothing for buffers that are read-only.
    std::unique_ptr<Cell[], Freer> cells;
    unsigned shift = 0; // of a cell's bytes
  };
  std::vector<Cells> buffers;
  bool concurrent, outOfMemory = false;
  std::atomic<bool> raceBetweenBlocks{false};
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_GLOBALSHADOW_H
