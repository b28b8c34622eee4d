//===- BankConflicts.cpp - Counting bank conflicts ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/SharedMemory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace mamba {

unsigned countWavefronts(llvm::ArrayRef<uint32_t> addresses, unsigned bytes) {
  // Lanes that touch the same word share it.
  llvm::SmallVector<uint32_t, 32> words;
  for (uint32_t address : addresses)
    for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; ++word)
      words.push_back(word);
  llvm::sort(words);
  words.erase(llvm::unique(words), words.end());
  unsigned perBank[32] = {};
  unsigned most = 0;
  for (uint32_t word : words)
    most = std::max(most, ++perBank[word % 32]);
  return most;
}

LinearLayout getMatrixRows(const SharedAccess &access) {
  assert(access.kind != SharedAccessKind::Vector);
  llvm::ArrayRef<BinaryVector> registers = access.offsets.getColumns(kRegister);
  llvm::ArrayRef<BinaryVector> lanes = access.offsets.getColumns(kLane);
  llvm::ArrayRef<BinaryVector> warps = access.offsets.getColumns(kWarp);
  BinaryVectors columns(registers.drop_front());
  // A row starts at the element of column 0. Lane 4r holds it, transposed the
  // register r % 2 of lane r / 2.
  if (access.kind == SharedAccessKind::Matrix)
    columns.append({lanes[2], lanes[3], lanes[4]});
  else
    columns.append({registers[0], lanes[0], lanes[1]});
  columns.append(warps.begin(), warps.end());
  return LinearLayout::fromColumns({{"matrix", unsigned(registers.size() - 1)},
                                    {"row", 3},
                                    {kWarp.str(), unsigned(warps.size())}},
                                   LayoutDims(access.offsets.getOuts()),
                                   std::move(columns));
}

BankConflicts countBankConflicts(const SharedAccess &access) {
  LinearLayout offsets = access.offsets.selectIns({kRegister, kLane, kWarp});
  uint32_t registers = offsets.getInSize(kRegister);
  uint32_t lanes = offsets.getInSize(kLane);
  uint32_t warps = offsets.getInSize(kWarp);
  auto address = [&](uint32_t reg, uint32_t lane, uint32_t warp) {
    return uint32_t(offsets.applyFlat(offsets.flattenIn({reg, lane, warp})) *
                    access.elementBytes);
  };

  LinearLayout matrixRows;
  if (access.kind != SharedAccessKind::Vector)
    matrixRows = getMatrixRows(access);

  BankConflicts result;
  auto addPhase = [&](llvm::ArrayRef<uint32_t> addresses, unsigned bytes) {
    if (addresses.empty())
      return;
    ++result.phases;
    result.wavefronts += countWavefronts(addresses, bytes);
  };
  for (uint32_t warp = 0; warp < warps; ++warp) {
    if (warp & access.idleWarps)
      continue;
    if (access.kind != SharedAccessKind::Vector) {
      for (uint32_t matrix = 0; matrix < registers / 2; ++matrix) {
        llvm::SmallVector<uint32_t, 8> rows;
        for (uint32_t row = 0; row < 8; ++row)
          rows.push_back(matrixRows.apply({matrix, row, warp})[0] *
                         access.elementBytes);
        addPhase(rows, 16);
      }
      continue;
    }
    unsigned bytes = access.elementBytes << access.vectorBits;
    uint32_t together = std::min(32u, 128 / bytes);
    for (uint32_t reg = 0; reg < registers; reg += 1u << access.vectorBits) {
      for (uint32_t first = 0; first < lanes; first += together) {
        llvm::SmallVector<uint32_t, 32> phase;
        for (uint32_t lane = first; lane < std::min(first + together, lanes);
             ++lane)
          if (!(lane & access.idleLanes))
            phase.push_back(address(reg, lane, warp));
        addPhase(phase, bytes);
      }
    }
  }
  return result;
}

} // namespace mamba
