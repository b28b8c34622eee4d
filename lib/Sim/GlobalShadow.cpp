//===- GlobalShadow.cpp - Who touched each part of global memory ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalShadow.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

static constexpr unsigned kThreadBits = 14, kTimeBits = 26, kClusterShift = 42;

static uint32_t getThread(uint64_t word) {
  return word & maskTrailingOnes<uint64_t>(kThreadBits);
}
static uint32_t getTime(uint64_t word) {
  return word >> kThreadBits & maskTrailingOnes<uint64_t>(kTimeBits);
}
static uint64_t getCluster(uint64_t word) {
  return (word >> kClusterShift) - 1;
}

/// Bytes of the smallest access to global memory.
static unsigned getSmallestAccess(const Kernel &kernel) {
  unsigned smallest = 16;
  for (const Inst &inst : kernel.code) {
    bool mayBeGlobal =
        inst.space == Space::Global || inst.space == Space::Generic;
    if (mayBeGlobal && inst.bytes && inst.accessesMemory())
      smallest = std::min<unsigned>(smallest, inst.bytes * inst.count);
  }
  return smallest;
}

GlobalShadow::GlobalShadow(Device::Impl &device, const Kernel &kernel,
                           bool concurrent)
    : concurrent(concurrent) {
  unsigned smallest = getSmallestAccess(kernel);
  for (const Buffer &buffer : device.buffers) {
    buffers.emplace_back();
    if (buffer.role == BufferRole::Input || !buffer.size)
      continue;
    unsigned shift = Log2_32(std::max(smallest, buffer.elementBytes));
    buffers.back().shift = shift;
    // Large pieces are zero without being touched.
    size_t count = (buffer.size >> shift) + 1;
    buffers.back().cells.reset(
        static_cast<Cell *>(std::calloc(count, sizeof(Cell))));
    outOfMemory |= !buffers.back().cells;
  }
}

uint64_t GlobalShadow::makeWord(const GlobalAccess &access) {
  return access.thread | uint64_t(access.time) << kThreadBits |
         (access.cluster + 1) << kClusterShift;
}

/// Whether the access of `word` lies before `access`.
bool GlobalShadow::isOrdered(uint64_t word, const GlobalAccess &access) const {
  uint32_t thread = getThread(word), time = getTime(word);
  uint64_t cluster = getCluster(word);
  if (cluster != access.cluster)
    return !access.knowledge.foreign.empty() &&
           access.knowledge.foreign.knows(cluster, thread / 32, time);
  if (thread == access.thread || access.knowledge.knows(thread, time))
    return true;
  return thread / 32 == access.thread / 32 &&
         access.knowledge.knowsLane(access.thread % 32, thread % 32, time);
}

GlobalConflict GlobalShadow::makeConflict(bool earlierIsWrite, uint64_t word,
                                          uint32_t pc,
                                          const GlobalAccess &access) {
  if (getCluster(word) != access.cluster)
    raceBetweenBlocks.store(true, std::memory_order_relaxed);
  return {earlierIsWrite, getCluster(word), getThread(word), pc, 0};
}

/// Strong accesses do not race if each includes the other's thread.
static bool areBothStrong(bool isStrong, bool ofDevice, bool sameCluster,
                          const GlobalAccess &access) {
  return isStrong && access.strength != Strength::Weak &&
         (sameCluster || (ofDevice && access.ofDevice));
}

std::optional<GlobalConflict>
GlobalShadow::readCell(Cell &cell, const GlobalAccess &access) {
  if (access.strength == Strength::Weak) {
    uint64_t word = makeWord(access);
    uint64_t last = cell.read.load(std::memory_order_relaxed);
    if (last) {
      bool sameCluster = getCluster(last) == access.cluster;
      if (!sameCluster || last & kManyBlocks)
        word |= kManyBlocks;
      if (sameCluster && getThread(last) / 32 == access.thread / 32 &&
          !isOrdered(last, access))
        word |= kManyLanes;
      if (getCluster(last) == access.cluster &&
          getThread(last) / 32 == access.thread / 32 &&
          getTime(last) == access.time)
        word |= last & kManyLanes;
    }
    // In a race one of two threads sees the other's access.
    if (last != word) {
      exchange(cell.read, word);
      cell.readPc.store(access.pc, std::memory_order_relaxed);
    }
  }
  uint64_t write = cell.write.load();
  if (!write || (!access.isNonCoherent && isOrdered(write, access)) ||
      areBothStrong(write & kStrong, write & kOfDevice,
                    getCluster(write) == access.cluster, access))
    return std::nullopt;
  return makeConflict(true, write, cell.writePc.load(std::memory_order_relaxed),
                      access);
}

std::optional<GlobalConflict>
GlobalShadow::writeCell(Cell &cell, const GlobalAccess &access, bool isSame) {
  uint64_t word = makeWord(access);
  if (access.strength != Strength::Weak)
    word |= access.ofDevice ? kFlags : kStrong;
  uint64_t last = exchange(cell.write, word);
  uint32_t lastPc = cell.writePc.load(std::memory_order_relaxed);
  cell.writePc.store(access.pc, std::memory_order_relaxed);
  if (last && !isSame && !isOrdered(last, access) &&
      !areBothStrong(last & kStrong, last & kOfDevice,
                     getCluster(last) == access.cluster, access))
    return makeConflict(true, last, lastPc, access);

  uint64_t read = cell.read.load();
  if (!read)
    return std::nullopt;
  uint32_t readPc = cell.readPc.load(std::memory_order_relaxed);
  bool sameThread =
      getCluster(read) == access.cluster && getThread(read) == access.thread;
  if (!isOrdered(read, access))
    return makeConflict(false, read, readPc, access);
  // Of several readers the last one is known; the others raced if nothing can
  // have ordered them.
  if (sameThread && read & kManyLanes &&
      getTime(read) > access.knowledge.seen[access.thread / 32] &&
      !access.knowledge.knowsSomeLane(access.thread % 32, getTime(read))) {
    GlobalConflict conflict = makeConflict(false, read, readPc, access);
    conflict.thread =
        access.thread % 32 ? access.thread - 1 : access.thread + 1;
    return conflict;
  }
  if (read & kManyBlocks && access.knowledge.foreign.empty()) {
    raceBetweenBlocks.store(true, std::memory_order_relaxed);
    // Any other block will do for the message.
    GlobalConflict conflict = makeConflict(false, read, readPc, access);
    if (conflict.cluster == access.cluster)
      conflict.cluster = access.cluster ? access.cluster - 1 : 1;
    return conflict;
  }
  return std::nullopt;
}

template <typename Fn>
std::optional<GlobalConflict> GlobalShadow::forCells(uint64_t address,
                                                     unsigned bytes, Fn fn) {
  Cells &buffer = buffers[(address >> Device::Impl::kStretchBits) - 1];
  if (!buffer.cells)
    return std::nullopt;
  uint64_t offset =
      address -
      (address >> Device::Impl::kStretchBits << Device::Impl::kStretchBits) -
      (uint64_t(1) << (Device::Impl::kStretchBits - 1));
  unsigned shift = buffer.shift, size = 1u << shift;
  std::optional<GlobalConflict> first;
  // Cells that are covered in part belong to none.
  for (uint64_t at = alignTo(offset, size); at + size <= offset + bytes;
       at += size) {
    std::optional<GlobalConflict> conflict =
        fn(buffer.cells[at >> shift], at - offset, size);
    if (!conflict || first)
      continue;
    first = conflict;
    first->byte = at - offset;
  }
  return first;
}

std::optional<GlobalConflict> GlobalShadow::read(const GlobalAccess &access,
                                                 uint64_t address,
                                                 unsigned bytes) {
  return forCells(address, bytes, [&](Cell &cell, uint64_t, unsigned) {
    return readCell(cell, access);
  });
}

std::optional<GlobalConflict> GlobalShadow::write(const GlobalAccess &access,
                                                  uint64_t address,
                                                  unsigned bytes,
                                                  const uint8_t *value,
                                                  const uint8_t *current) {
  return forCells(address, bytes, [&](Cell &cell, uint64_t at, unsigned size) {
    bool isSame = value && !std::memcmp(value + at, current + at, size);
    return writeCell(cell, access, isSame);
  });
}

} // namespace mamba::sim
