//===- Shadow.cpp - Who touched each byte of shared memory ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shadow.h"

namespace mamba::sim {

void Knowledge::reset(unsigned numWarps, uint32_t time) {
  seen.assign(numWarps, time);
  least = time;
  threads.clear();
  lanes.clear();
  foreign.clear();
}

void Knowledge::join(const Knowledge &other) {
  for (size_t i = 0; i != seen.size(); ++i)
    seen[i] = std::max(seen[i], other.seen[i]);
  least = *std::min_element(seen.begin(), seen.end());
  for (auto [thread, time] : other.threads)
    setThread(thread, time);
  foreign.join(other.foreign);
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

void Knowledge::setThread(uint32_t thread, uint32_t time) {
  if (time <= seen[thread / 32])
    return;
  for (auto &[known, until] : threads)
    if (known == thread) {
      until = std::max(until, time);
      return;
    }
  // What the warps' entries cover by now needs no place.
  threads.erase(std::remove_if(threads.begin(), threads.end(),
                               [&](const auto &entry) {
                                 return entry.second <= seen[entry.first / 32];
                               }),
                threads.end());
  threads.push_back({thread, time});
}

bool Knowledge::knows(uint32_t thread, uint32_t time) const {
  if (time <= seen[thread / 32])
    return true;
  for (auto [known, until] : threads)
    if (known == thread)
      return time <= until;
  return false;
}

void Shadow::resize(uint64_t bytes, unsigned warps, Clock &shared) {
  clock = &shared;
  cells.assign(bytes, {});
  reads.assign(warps + 1, {});
}

void Shadow::reset() {
  std::fill(cells.begin(), cells.end(), Cell());
  for (std::vector<uint32_t> &row : reads)
    row.clear();
}

bool Shadow::isOrdered(const Cell &cell, const Access &access) const {
  if (cell.writeTime == kInFlight)
    return false;
  if (cell.writeTime <= access.knowledge.least ||
      cell.writeTime < clock->start || cell.writer == access.thread ||
      (cell.writeIsStrong && access.isStrong))
    return true;
  return access.knowledge.knows(cell.writer, cell.writeTime) ||
         (cell.writer / 32u == access.thread / 32 &&
          access.knowledge.knowsLane(access.thread % 32, cell.writer % 32,
                                     cell.writeTime));
}

std::optional<Conflict> Shadow::read(const Access &access, uint64_t offset,
                                     unsigned bytes) {
  std::optional<Conflict> conflict;
  std::vector<uint32_t> &ownReads = reads[access.thread / 32];
  if (ownReads.empty())
    ownReads.resize(cells.size());
  uint32_t time = clock->time;
  uint32_t ownSeen = access.knowledge.seen[access.thread / 32];
  uint32_t lane = access.thread % 32;
  for (unsigned i = 0; i != bytes; ++i) {
    Cell &cell = cells[offset + i];
    if (cell.writeTime < clock->start) {
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
  for (unsigned warp = 0; warp != reads.size(); ++warp) {
    if (reads[warp].empty())
      continue;
    uint32_t read = reads[warp][offset];
    if (read >> kLaneBits <= access.knowledge.seen[warp])
      continue;
    unsigned lane = read & kManyLanes;
    if (warp == own && (lane == access.thread % 32 || lane == kWholeWarp))
      continue;
    if (lane == kWholeWarp)
      return Conflict{Conflict::Race, false, warp * 32, cell.readPc, 0};
    uint32_t when = read >> kLaneBits;
    if (lane != kManyLanes && access.knowledge.knows(warp * 32 + lane, when))
      continue;
    if (warp == own &&
        (lane == kManyLanes
             ? access.knowledge.knowsSomeLane(access.thread % 32, when)
             : access.knowledge.knowsLane(access.thread % 32, lane, when)))
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
    cell.writeTime = clock->time;
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

std::optional<Shadow::Write> Shadow::getLastWrite(uint64_t offset) const {
  const Cell &cell = cells[offset];
  if (cell.writeTime == kInFlight || cell.writeTime < clock->start)
    return std::nullopt;
  return Write{cell.writer, cell.writeTime, cell.writePc};
}

void Shadow::land(const Access &access, uint64_t offset, unsigned bytes) {
  for (unsigned i = 0; i != bytes; ++i) {
    cells[offset + i].writeTime = clock->time;
    cells[offset + i].writer = access.thread;
  }
}

void Shadow::dropReads() {
  std::fill(asyncReads.begin(), asyncReads.end(), AsyncReads{});
}

std::optional<Conflict> Shadow::startRead(const Access &access, uint64_t offset,
                                          unsigned bytes) {
  if (asyncReads.empty())
    asyncReads.resize(cells.size() / kReadBytes + 1);
  std::optional<Conflict> conflict;
  for (unsigned i = 0; i != bytes; ++i) {
    const Cell &cell = cells[offset + i];
    if (cell.writeTime >= clock->start && isOrdered(cell, access))
      continue;
    Conflict::Kind kind = cell.writeTime < clock->start ? Conflict::Unwritten
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
  std::vector<uint32_t> &ownReads = reads[access.thread / 32];
  if (ownReads.empty())
    ownReads.resize(cells.size());
  uint32_t read = clock->time << kLaneBits | kWholeWarp;
  for (unsigned i = 0; i != bytes; ++i) {
    ownReads[offset + i] = read;
    cells[offset + i].readTime = clock->time;
    cells[offset + i].readPc = access.pc;
  }
}

} // namespace mamba::sim
