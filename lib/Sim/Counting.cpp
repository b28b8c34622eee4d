//===- Counting.cpp - What memory requests cost ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

static constexpr unsigned kBanks = 32, kBankBytes = 4, kSectorBytes = 32;

void Block::countShared(const uint64_t *addresses, LaneMask lanes,
                        unsigned bytes) {
  ++counters.sharedRequests;
  // One pass serves 128 bytes: 8-byte requests take the halves of the warp one
  // after the other, 16-byte requests its quarters. A pass repeats for every
  // further word of the same bank.
  unsigned words = std::max(1u, bytes / kBankBytes);
  unsigned lanesPerPass = std::max(1u, kLanes / words);
  for (unsigned first = 0; first < kLanes; first += lanesPerPass) {
    LaneMask part = lanes & (maskTrailingOnes<LaneMask>(lanesPerPass) << first);
    if (!part)
      continue;
    SmallVector<uint64_t, 64> touched;
    forLanes(part, [&](unsigned lane) {
      for (unsigned word = 0; word != words; ++word)
        touched.push_back(addresses[lane] / kBankBytes + word);
    });
    llvm::sort(touched);
    touched.erase(llvm::unique(touched), touched.end());
    unsigned perBank[kBanks] = {}, passes = 0;
    for (uint64_t word : touched)
      passes = std::max(passes, ++perBank[word % kBanks]);
    counters.sharedPasses += passes;
    ++counters.sharedIdealPasses;
  }
}

void Block::countGlobal(const uint64_t *addresses, LaneMask lanes,
                        unsigned bytes, bool isStore) {
  SmallVector<uint64_t, 64> sectors;
  SmallVector<uint64_t, 32> places;
  forLanes(lanes, [&](unsigned lane) {
    places.push_back(addresses[lane]);
    for (uint64_t sector = addresses[lane] / kSectorBytes,
                  last = (addresses[lane] + bytes - 1) / kSectorBytes;
         sector <= last; ++sector)
      sectors.push_back(sector);
  });
  // Lanes that read the same bytes need them once.
  for (SmallVectorImpl<uint64_t> *list :
       {static_cast<SmallVectorImpl<uint64_t> *>(&sectors),
        static_cast<SmallVectorImpl<uint64_t> *>(&places)}) {
    llvm::sort(*list);
    list->erase(llvm::unique(*list), list->end());
  }
  uint64_t distinct = places.size() * bytes;
  uint64_t ideal = divideCeil(distinct, kSectorBytes);
  if (isStore) {
    ++counters.globalStoreRequests;
    counters.globalStoreSectors += sectors.size();
    counters.globalStoreIdealSectors += ideal;
    counters.globalStoreBytes += distinct;
  } else {
    ++counters.globalLoadRequests;
    counters.globalLoadSectors += sectors.size();
    counters.globalLoadIdealSectors += ideal;
    counters.globalLoadBytes += distinct;
  }
}

void Block::countBytes(BytePath path, const uint64_t *addresses, LaneMask lanes,
                       unsigned bytes) {
  SmallVector<uint64_t, 32> places;
  forLanes(lanes, [&](unsigned lane) { places.push_back(addresses[lane]); });
  llvm::sort(places);
  places.erase(llvm::unique(places), places.end());
  countBytes(path, places.size() * bytes);
}

void Block::finishCounters() {
  for (auto [inst, warpCount, threadCount] :
       zip_equal(kernel.code, warpExecutions, threadExecutions)) {
    if (inst.synthetic)
      continue;
    counters.warpInstructions[unsigned(inst.cls)] += warpCount;
    counters.threadInstructions[unsigned(inst.cls)] += threadCount;
    if (inst.isExponential)
      counters.exponentials += threadCount;
    counters.matrixOperations += warpCount * inst.matrixOperations;
  }
}

} // namespace mamba::sim
