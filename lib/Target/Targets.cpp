//===- Targets.cpp - What the compiler can generate code for --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Target/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mamba {
namespace {

/// A block gets all shared memory of a multiprocessor but what the system
/// takes.
constexpr GpuLimits makeLimits(int64_t sharedKilobytes, int64_t threads) {
  GpuLimits limits;
  limits.sharedBytesPerBlock = (sharedKilobytes - 1) * 1024;
  limits.sharedBytesPerSM = sharedKilobytes * 1024;
  limits.threadsPerSM = threads;
  return limits;
}

constexpr GpuLimits ampereLimits = makeLimits(164, 2048);
constexpr GpuLimits dataCenterLimits = makeLimits(228, 2048);
constexpr GpuLimits workstationLimits = makeLimits(100, 1536);

/// Clusters came with sm_90.
constexpr GpuLimits withoutClusters(GpuLimits limits) {
  limits.clusterSize = 1;
  return limits;
}

constexpr Target targets[] = {
    {"sm_80", "sm_80", "+ptx70", withoutClusters(ampereLimits), 108},
    {"sm_86", "sm_86", "+ptx71", withoutClusters(workstationLimits), 0},
    {"sm_89", "sm_89", "+ptx78", withoutClusters(workstationLimits), 0},
    {"sm_90a", "sm_90a", "+ptx80", dataCenterLimits, 132},
    {"sm_100a", "sm_100a", "+ptx86", dataCenterLimits, 148},
    {"sm_103a", "sm_103a", "+ptx88", dataCenterLimits, 0},
    {"sm_120a", "sm_120a", "+ptx87", workstationLimits, 0},
    {"cpu", "", "", GpuLimits{0, 0, 0, 0, 0, 0, 0}, 0},
};

/// The nearest name that few enough edits lead to, or null. Of the nearest ones
/// it is the one that goes on like `name`: for sm_90 sm_90a, not sm_80.
const Target *closest(StringRef name, ArrayRef<Target> candidates) {
  const Target *best = nullptr;
  unsigned bestDistance = 3; // Further away a suggestion is noise.
  for (const Target &target : candidates) {
    unsigned distance = name.edit_distance_insensitive(
        target.name, /*AllowReplacements=*/true, bestDistance);
    bool goesOn = best && distance == bestDistance &&
                  target.name.starts_with(name) &&
                  !best->name.starts_with(name);
    if (distance < bestDistance || goesOn) {
      best = &target;
      bestDistance = distance;
    }
  }
  return best;
}

Expected<const Target &> lookup(StringRef name, ArrayRef<Target> candidates,
                                StringRef kind) {
  for (const Target &target : candidates)
    if (target.name == name)
      return target;
  std::string message = ("unknown " + kind + " '" + name + "'").str();
  if (const Target *target = closest(name, candidates))
    message += (", did you mean '" + target->name + "'?").str();
  message += " (known targets: ";
  message +=
      join(map_range(candidates, [](const Target &t) { return t.name; }), ", ");
  return createStringError(message + ")");
}

} // namespace

int Target::getPtxVersion() const {
  StringRef version = features;
  int number = 0;
  if (!version.consume_front("+ptx") || version.getAsInteger(10, number))
    return 0;
  return number;
}

ArrayRef<Target> getTargets() { return targets; }

Expected<const Target &> lookupTarget(StringRef name) {
  return lookup(name, targets, "target");
}

Expected<const Target &> lookupGpuTarget(StringRef name) {
  return lookup(name, ArrayRef(targets).drop_back(), "GPU target");
}

} // namespace mamba
