//===- Shadow.cpp - Who touched each byte of shared memory ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shadow.h"

namespace mamba::sim {

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
}

bool Shadow::isOrdered(const Cell &cell, const Access &access) const {
  if (cell.writeTime == kInFlight)
    return false;
  if (cell.writeTime <= access.knowledge.least || cell.writeTime < start ||
      cell.writer == access.thread || (cell.writeIsStrong && access.isStrong))
    return true;
  return cell.writeTime <= access.knowledge.seen[cell.writer / 32] ||
         (cell.writer / 32u == access.thread / 32 &&
          access.knowledge.knowsLane(access.thread % 32, cell.writer % 32,
                                     cell.writeTime));
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
    if (warp == own && access.knowledge.lanes.size() &&
        (lane == kManyLanes ? access.knowledge.knowsSomeLane(access.thread % 32,
                                                             read >> kLaneBits)
                            : access.knowledge.knowsLane(
                                  access.thread % 32, lane, read >> kLaneBits)))
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

} // namespace mamba::sim
