//===- SharedMemory.cpp - Swizzled tiles in shared memory -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/SharedMemory.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace mamba {

uint32_t getSwizzleSpan(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 0 : 16u << unsigned(swizzle);
}

LinearLayout sharedOffsets(const SharedTile &tile) {
  assert(llvm::isPowerOf2_32(tile.rows) && llvm::isPowerOf2_32(tile.columns) &&
         llvm::isPowerOf2_32(tile.elementBytes) && tile.elementBytes <= 16);
  uint32_t span = getSwizzleSpan(tile.swizzle) / tile.elementBytes;
  uint32_t box = tile.boxColumns;
  if (box == 0)
    box = span ? std::min(span, tile.columns) : tile.columns;
  assert((span == 0 || box <= span) && "expected a box within the span");
  uint32_t pitch = span ? span : box;

  std::string row = tensorDim(tile.transposed),
              column = tensorDim(!tile.transposed);
  unsigned boxBits = llvm::Log2_32(box), pitchBits = llvm::Log2_32(pitch);
  unsigned rowBits = llvm::Log2_32(tile.rows);
  unsigned columnBits = llvm::Log2_32(tile.columns);
  unsigned bytesBits = llvm::Log2_32(tile.elementBytes);

  // The address before the swizzle, in elements.
  BinaryVectors rows, columns;
  for (unsigned bit = 0; bit < rowBits; ++bit)
    rows.push_back(uint64_t(1) << (pitchBits + bit));
  for (unsigned bit = 0; bit < columnBits; ++bit)
    columns.push_back(uint64_t(1)
                      << (bit < boxBits ? bit
                                        : pitchBits + rowBits + bit - boxBits));
  auto swizzle = [&](BinaryVector offset) {
    uint64_t bytes = offset << bytesBits;
    uint64_t mask = (uint64_t(1) << unsigned(tile.swizzle)) - 1;
    return (bytes ^ (((bytes >> 7) & mask) << 4)) >> bytesBits;
  };
  for (BinaryVector &vector : rows)
    vector = swizzle(vector);
  for (BinaryVector &vector : columns)
    vector = swizzle(vector);

  unsigned offsetBits =
      pitchBits + rowBits + (columnBits > boxBits ? columnBits - boxBits : 0);
  LayoutDims ins = {{row, rowBits}, {column, columnBits}};
  rows.append(columns);
  return LinearLayout::fromColumns(
             std::move(ins), {{kOffset.str(), offsetBits}}, std::move(rows))
      .selectIns({tensorDim(0), tensorDim(1)});
}

LinearLayout sharedLayout(const SharedTile &tile) {
  LinearLayout offsets = sharedOffsets(tile);
  assert(offsets.isBijective() && "expected no unused bytes");
  return *offsets.leftInverse();
}

} // namespace mamba
