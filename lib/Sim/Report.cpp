//===- Report.cpp - Findings and counters as text -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <numeric>

using namespace llvm;

namespace mamba::sim {

StringRef getName(InstClass cls) {
  static constexpr StringRef kNames[] = {
      "integer",     "float",        "half",        "double",       "special",
      "convert",     "move",         "control",     "barrier",      "warp",
      "global-load", "global-store", "shared-load", "shared-store", "local",
      "param-load",  "generic",      "atomic",      "async-copy",   "matrix",
      "other"};
  static_assert(std::size(kNames) == kNumInstClasses);
  return kNames[unsigned(cls)];
}

StringRef getName(BytePath path) {
  static constexpr StringRef kNames[] = {
      "global-load",   "global-store", "async-copy",   "bulk-load",
      "bulk-store",    "shared-load",  "shared-store", "cluster",
      "tensor-memory", "local",        "param",        "atomic"};
  static_assert(std::size(kNames) == kNumBytePaths);
  return kNames[unsigned(path)];
}

StringRef getName(FindingKind kind) {
  static constexpr StringRef kNames[] = {"out-of-bounds",
                                         "misaligned",
                                         "read-only",
                                         "unwritten",
                                         "unwritten-register",
                                         "race",
                                         "in-flight",
                                         "barrier",
                                         "proxy",
                                         "tensor-map",
                                         "deadlock",
                                         "limit",
                                         "trap",
                                         "missing-fence",
                                         "tensor-memory",
                                         "descriptor",
                                         "unwritten-result"};
  return kNames[unsigned(kind)];
}

std::string formatPlace(const std::array<unsigned, 3> &place) {
  return ("(" + Twine(place[0]) + ", " + Twine(place[1]) + ", " +
          Twine(place[2]) + ")")
      .str();
}

std::string Finding::str() const {
  std::string text;
  raw_string_ostream os(text);
  if (!line) {
    os << getName(kind) << ": " << message << " (" << kernel << ')';
    return text;
  }
  os << file << ':' << line << ": " << getName(kind) << ": " << message << " ("
     << kernel << ", block " << formatPlace(block) << ", thread "
     << formatPlace(thread);
  if (address)
    os << ", address 0x" << utohexstr(*address, /*LowerCase=*/true);
  os << ')';
  if (count > 1)
    os << "; " << count << " times";
  return text;
}

uint64_t Counters::getThreadInstructions() const {
  return std::accumulate(threadInstructions.begin(), threadInstructions.end(),
                         uint64_t(0));
}

namespace {
/// The counters that are plain numbers, with their names.
struct Field {
  StringRef name;
  uint64_t Counters::*value;
};
} // namespace

static constexpr Field kFields[] = {
    {"blocks", &Counters::blocks},
    {"warps", &Counters::warps},
    {"shared_requests", &Counters::sharedRequests},
    {"shared_passes", &Counters::sharedPasses},
    {"shared_ideal_passes", &Counters::sharedIdealPasses},
    {"global_load_requests", &Counters::globalLoadRequests},
    {"global_load_sectors", &Counters::globalLoadSectors},
    {"global_load_ideal_sectors", &Counters::globalLoadIdealSectors},
    {"global_load_bytes", &Counters::globalLoadBytes},
    {"global_store_requests", &Counters::globalStoreRequests},
    {"global_store_sectors", &Counters::globalStoreSectors},
    {"global_store_ideal_sectors", &Counters::globalStoreIdealSectors},
    {"global_store_bytes", &Counters::globalStoreBytes},
    {"matrix_operations", &Counters::matrixOperations},
    {"exponentials", &Counters::exponentials},
};

/// Of a kernel, not a sum over what ran.
static constexpr Field kKernelFields[] = {
    {"live_registers", &Counters::liveRegisters},
    {"declared_registers", &Counters::declaredRegisters},
    {"max_registers", &Counters::maxRegisters},
};

Counters &Counters::operator+=(const Counters &other) {
  for (unsigned i = 0; i != kNumInstClasses; ++i) {
    warpInstructions[i] += other.warpInstructions[i];
    threadInstructions[i] += other.threadInstructions[i];
  }
  for (unsigned i = 0; i != kNumBytePaths; ++i)
    bytes[i] += other.bytes[i];
  for (const Field &field : kFields)
    this->*field.value += other.*field.value;
  for (const Field &field : kKernelFields)
    this->*field.value = std::max(this->*field.value, other.*field.value);
  return *this;
}

json::Object Counters::toJSON() const {
  json::Object warp, thread;
  for (unsigned i = 0; i != kNumInstClasses; ++i) {
    warp[getName(InstClass(i))] = warpInstructions[i];
    thread[getName(InstClass(i))] = threadInstructions[i];
  }
  json::Object object;
  object["warp_instructions"] = std::move(warp);
  object["thread_instructions"] = std::move(thread);
  json::Object paths;
  for (unsigned i = 0; i != kNumBytePaths; ++i)
    paths[getName(BytePath(i))] = bytes[i];
  object["bytes"] = std::move(paths);
  for (const Field &field : kFields)
    object[field.name] = this->*field.value;
  for (const Field &field : kKernelFields)
    object[field.name] = this->*field.value;
  return object;
}

void Counters::print(raw_ostream &os) const {
  os << "  class               warp instructions   thread instructions\n";
  for (unsigned i = 0; i != kNumInstClasses; ++i)
    if (warpInstructions[i])
      os << "  " << left_justify(getName(InstClass(i)), 16)
         << format("%21llu %21llu\n", (unsigned long long)warpInstructions[i],
                   (unsigned long long)threadInstructions[i]);
  auto printRow = [&](const Twine &name, uint64_t value) {
    if (value)
      os << "  " << left_justify(name.str(), 28)
         << format("%9llu\n", (unsigned long long)value);
  };
  for (const Field &field : kFields)
    printRow(field.name, this->*field.value);
  for (unsigned i = 0; i != kNumBytePaths; ++i)
    printRow("bytes of " + getName(BytePath(i)), bytes[i]);
  for (const Field &field : kKernelFields)
    printRow(field.name, this->*field.value);
}

} // namespace mamba::sim
