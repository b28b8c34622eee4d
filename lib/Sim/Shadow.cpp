//===- Shadow.cpp - Who touched each byte of shared memory ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shadow.h"

#include <algorithm>

namespace mamba::sim {

void Knowledge::reset(unsigned numWarps, uint32_t time) {
  seen.assign(numWarps, time);
  least = time;
}

void Knowledge::join(const std::vector<uint32_t> &other) {
  for (size_t i = 0; i != seen.size(); ++i)
    seen[i] = std::max(seen[i], other[i]);
  least = *std::min_element(seen.begin(), seen.end());
}

void Knowledge::set(unsigned warp, uint32_t time) {
  seen[warp] = std::max(seen[warp], time);
  least = *std::min_element(seen.begin(), seen.end());
}

void Shadow::resize(uint64_t bytes, unsigned warps) {
  cells.assign(bytes, {});
  numWarps = warps;
  reads.assign(bytes * warps, 0);
  time = start = 1;
}

void Shadow::startBlock() {
  // Times of reads have 26 bits.
  if (time > uint32_t(1) << 25)
    resize(cells.size(), numWarps);
  start = ++time;
  ++time;
  std::fill(asyncReads.begin(), asyncReads.end(), AsyncReads{});
}

bool Shadow::isOrdered(const Cell &cell, const Access &access) const {
  if (cell.writeTime == kInFlight)
    return false;
  if (cell.writeTime <= access.knowledge.least || cell.writeTime < start ||
      cell.writer == access.thread || (cell.writeIsStrong && access.isStrong))
    return true;
  return cell.writeTime <= access.knowledge.seen[cell.writer / 32];
}

std::optional<Conflict> Shadow::read(const Access &access, uint64_t offset,
                                     unsigned bytes) {
  std::optional<Conflict> conflict;
  uint32_t *ownReads = &reads[access.thread / 32 * cells.size()];
  uint32_t ownSeen = access.knowledge.seen[access.thread / 32];
  uint32_t lane = access.thread % 32;
  for (unsigned i = 0; i != bytes; ++i) {
    Cell &cell = cells[offset + i];
    if (cell.writeTime < start) {
      if (!conflict)
        conflict = {Conflict::Unwritten, true, 0, 0, i};
    } else if (!isOrdered(cell, access) && !conflict) {
      bool inFlight = cell.writeTime == kInFlight;
      conflict = {inFlight ? Conflict::InFlight : Conflict::Race, true,
                  cell.writer, cell.writePc, i};
    }
    if (access.isStrong)
      continue;
    uint32_t &read = ownReads[offset + i];
    bool another = read >> kLaneBits > ownSeen && (read & kManyLanes) != lane;
    read = time << kLaneBits | (another ? kManyLanes : lane);
    cell.readTime = time;
    cell.readPc = access.pc;
  }
  return conflict;
}

std::optional<Conflict> Shadow::findReader(const Access &access,
                                           uint64_t offset,
                                           const Cell &cell) const {
  unsigned own = access.thread / 32;
  for (unsigned warp = 0; warp != numWarps; ++warp) {
    uint32_t read = reads[warp * cells.size() + offset];
    if (read >> kLaneBits <= access.knowledge.seen[warp])
      continue;
    unsigned lane = read & kManyLanes;
    if (warp == own && lane == access.thread % 32)
      continue;
    // Of many lanes any other one will do for the message.
    if (lane == kManyLanes)
      lane = warp == own && access.thread % 32 == 0 ? 1 : 0;
    return Conflict{Conflict::Race, false, warp * 32 + lane, cell.readPc, 0};
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::write(const Access &access, uint64_t offset,
                                      unsigned bytes, const uint8_t *value,
                                      const uint8_t *current) {
  std::optional<Conflict> conflict;
  for (unsigned i = 0; i != bytes; ++i) {
    Cell &cell = cells[offset + i];
    if (!conflict && !isOrdered(cell, access)) {
      bool inFlight = cell.writeTime == kInFlight;
      if (inFlight || !value || value[i] != current[i])
        conflict = {inFlight ? Conflict::InFlight : Conflict::Race, true,
                    cell.writer, cell.writePc, i};
    }
    if (!conflict && cell.readTime > access.knowledge.least &&
        (conflict = findReader(access, offset + i, cell)))
      conflict->byte = i;
    if (!asyncReads.empty()) {
      const AsyncReads &reads = asyncReads[(offset + i) / kReadBytes];
      if (reads.count && (!value || value[i] != current[i]))
        conflict = {Conflict::InFlight, false, reads.thread, reads.pc, i};
    }
    if (cell.writeTime == kInFlight)
      continue;
    cell.writeTime = time;
    cell.writer = access.thread;
    cell.writePc = access.pc;
    cell.writeIsStrong = access.isStrong;
  }
  return conflict;
}

std::optional<Conflict> Shadow::startCopy(const Access &access, uint64_t offset,
                                          unsigned bytes) {
  std::optional<Conflict> conflict =
      write(access, offset, bytes, nullptr, nullptr);
  for (unsigned i = 0; i != bytes; ++i)
    cells[offset + i].writeTime = kInFlight;
  return conflict;
}

void Shadow::land(const Access &access, uint64_t offset, unsigned bytes) {
  for (unsigned i = 0; i != bytes; ++i) {
    cells[offset + i].writeTime = time;
    cells[offset + i].writer = access.thread;
  }
}

std::optional<Conflict> Shadow::startRead(const Access &access, uint64_t offset,
                                          unsigned bytes) {
  if (asyncReads.empty())
    asyncReads.resize(cells.size() / kReadBytes + 1);
  std::optional<Conflict> conflict;
  for (unsigned i = 0; i != bytes; ++i) {
    const Cell &cell = cells[offset + i];
    if (cell.writeTime >= start && isOrdered(cell, access))
      continue;
    Conflict::Kind kind = cell.writeTime < start        ? Conflict::Unwritten
                          : cell.writeTime == kInFlight ? Conflict::InFlight
                                                        : Conflict::Race;
    conflict = {kind, true, cell.writer, cell.writePc, i};
    break;
  }
  for (unsigned i = 0; i != bytes; i += kReadBytes) {
    AsyncReads &reads = asyncReads[(offset + i) / kReadBytes];
    reads = {reads.count + 1, access.thread, access.pc};
  }
  return conflict;
}

void Shadow::endRead(const Access &access, uint64_t offset, unsigned bytes) {
  for (unsigned i = 0; i != bytes; i += kReadBytes)
    --asyncReads[(offset + i) / kReadBytes].count;
  uint32_t *ownReads = &reads[access.thread / 32 * cells.size()];
  uint32_t read = time << kLaneBits | access.thread % 32;
  for (unsigned i = 0; i != bytes; ++i) {
    ownReads[offset + i] = read;
    cells[offset + i].readTime = time;
    cells[offset + i].readPc = access.pc;
  }
}

} // namespace mamba::sim
