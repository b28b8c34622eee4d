//===- LayoutSharedTest.cpp - Tests of shared memory layouts --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRandom.h"
#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"
#include "mamba/Layout/SharedMemory.h"

#include "gtest/gtest.h"

using namespace mamba;

namespace {

const Swizzle kSwizzles[] = {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64,
                             Swizzle::Bytes128};

/// The address that was verified for TMA: the box's line and byte, swizzled.
uint32_t tmaAddress(Swizzle swizzle, uint32_t pitch, uint32_t line,
                    uint32_t byte) {
  uint32_t mask = swizzle == Swizzle::None      ? 0
                  : swizzle == Swizzle::Bytes32 ? 1
                  : swizzle == Swizzle::Bytes64 ? 3
                                                : 7;
  uint32_t linear = line * pitch + byte;
  return linear ^ (((linear >> 7) & mask) << 4);
}

TEST(SharedLayout, EveryOffsetOfEveryBox) {
  for (Swizzle swizzle : kSwizzles) {
    for (unsigned bytes : {1, 2, 4, 8}) {
      uint32_t span = getSwizzleSpan(swizzle);
      for (uint32_t width : {16, 32, 64, 128}) { // bytes of a box
        if (span && width > span)
          continue;
        SharedTile tile;
        tile.rows = 64;
        tile.columns = width / bytes;
        tile.elementBytes = bytes;
        tile.swizzle = swizzle;
        LinearLayout offsets = sharedOffsets(tile);
        EXPECT_TRUE(offsets.isInjective());
        uint32_t pitch = span ? span : width;
        for (uint32_t row = 0; row < tile.rows; ++row)
          for (uint32_t column = 0; column < tile.columns; ++column)
            EXPECT_EQ(offsets.apply({row, column})[0] * bytes,
                      tmaAddress(swizzle, pitch, row, column * bytes));
        // A box narrower than the span leaves bytes unused.
        EXPECT_EQ(offsets.isSurjective(), pitch == width);
      }
    }
  }
}

TEST(SharedLayout, ChunksOfARow) {
  // In 16-byte chunks of a row: chunk ^ (r % 8), ^ (r / 2 % 4), ^ (r / 4 % 2).
  for (Swizzle swizzle :
       {Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128}) {
    uint32_t span = getSwizzleSpan(swizzle);
    SharedTile tile;
    tile.rows = 16;
    tile.columns = span / 2;
    tile.swizzle = swizzle;
    LinearLayout layout = sharedLayout(tile);
    for (uint32_t offset = 0; offset < tile.rows * tile.columns; ++offset) {
      uint32_t row = offset * 2 / span, chunk = offset * 2 % span / 16;
      uint32_t turn = span == 128  ? row % 8
                      : span == 64 ? row / 2 % 4
                                   : row / 4 % 2;
      Coordinates at = layout.apply({offset});
      EXPECT_EQ(at[0], row);
      EXPECT_EQ(at[1], (chunk ^ turn) * 8 + offset % 8);
    }
  }
}

TEST(SharedLayout, Bases128) {
  // Offset bits 0-2 are columns 0-2, bits 3-5 columns 3-5, and a row bit turns
  // its column bit along.
  SharedTile tile;
  tile.rows = 16;
  tile.columns = 64;
  tile.swizzle = Swizzle::Bytes128;
  EXPECT_EQ(sharedLayout(tile).str(),
            "offset[(0,1),(0,2),(0,4),(0,8),(0,16),(0,32),(1,8),(2,16),(4,32),"
            "(8,0)] -> dim0[16], dim1[64]");
}

TEST(SharedLayout, SeveralBoxes) {
  // 128 columns of bf16 with a span of 64: two boxes of 32 rows, back to back.
  for (bool transposed : {false, true}) {
    SharedTile tile;
    tile.rows = 32;
    tile.columns = 128;
    tile.swizzle = Swizzle::Bytes128;
    tile.transposed = transposed;
    LinearLayout offsets = sharedOffsets(tile);
    EXPECT_TRUE(offsets.isBijective());
    for (uint32_t row = 0; row < 32; ++row) {
      for (uint32_t column = 0; column < 128; ++column) {
        uint32_t expected =
            tmaAddress(Swizzle::Bytes128, 128, row, column % 64 * 2) +
            column / 64 * 32 * 128;
        Coordinates at = transposed ? offsets.apply({column, row})
                                    : offsets.apply({row, column});
        EXPECT_EQ(at[0] * 2, expected);
      }
    }
  }
  // Without swizzle, wgmma's boxes of 16 bytes.
  SharedTile tile;
  tile.rows = 64;
  tile.columns = 32;
  tile.boxColumns = 8;
  LinearLayout offsets = sharedOffsets(tile);
  for (uint32_t row = 0; row < 64; ++row)
    for (uint32_t column = 0; column < 32; ++column)
      EXPECT_EQ(offsets.apply({row, column})[0],
                column / 8 * 512 + row * 8 + column % 8);
}

// A tile as mamba-select-tma-layout has it copied: boxes as wide as the swizzle
// spans, or of 256 elements, one behind the other in memory.
TEST(SharedLayout, RandomTilesAreWhatTmaWrites) {
  LayoutRandom random(7);
  for (unsigned round = 0; round < 200; ++round) {
    SharedTile tile;
    tile.elementBytes = 2u << random.below(2);
    tile.swizzle = kSwizzles[random.below(4)];
    uint32_t span = getSwizzleSpan(tile.swizzle) / tile.elementBytes;
    // Rows fill the span at least; without one there is a single row, or one
    // box of less than 32 bytes.
    tile.columns = span ? span << random.below(3) : 256u << random.below(3);
    tile.rows = span ? 1u << random.below(9) : 1;
    if (!span && random.below(2)) {
      tile.columns = 16 / tile.elementBytes;
      tile.rows = 8u << random.below(6);
    }
    uint32_t box = std::min(tile.columns, span ? span : 256);
    uint32_t boxBytes = tile.rows * box * tile.elementBytes;
    if (boxBytes % 128)
      continue;
    LinearLayout offsets = sharedOffsets(tile);
    for (uint32_t row = 0; row < tile.rows; ++row)
      for (uint32_t column = 0; column < tile.columns; ++column) {
        // The swizzle takes bits of the address, which the box's start is part
        // of: a tile starts at a multiple of 1024 bytes.
        uint32_t start = column / box * boxBytes;
        uint32_t linear =
            start + (row * box + column % box) * tile.elementBytes;
        uint32_t mask = (1u << unsigned(tile.swizzle)) - 1;
        uint32_t address = linear ^ (((linear >> 7) & mask) << 4);
        ASSERT_EQ(offsets.apply({row, column})[0] * tile.elementBytes, address)
            << "row " << row << " of " << tile.rows << ", column " << column
            << " of " << tile.columns;
      }
  }
}

TEST(BankConflicts, Wavefronts) {
  auto lanes = [](unsigned count, uint32_t stride) {
    llvm::SmallVector<uint32_t, 32> addresses;
    for (unsigned lane = 0; lane < count; ++lane)
      addresses.push_back(lane * stride);
    return addresses;
  };
  EXPECT_EQ(countWavefronts(lanes(32, 4), 4), 1u);
  EXPECT_EQ(countWavefronts(lanes(32, 0), 4), 1u);
  EXPECT_EQ(countWavefronts(lanes(32, 8), 4), 2u);
  EXPECT_EQ(countWavefronts(lanes(32, 128), 4), 32u);
  EXPECT_EQ(countWavefronts(lanes(32, 132), 4), 1u);
  EXPECT_EQ(countWavefronts(lanes(32, 2), 2), 1u);
  EXPECT_EQ(countWavefronts(lanes(8, 16), 16), 1u);
  EXPECT_EQ(countWavefronts(lanes(8, 128), 16), 8u);
  EXPECT_EQ(countWavefronts(lanes(8, 144), 16), 1u);
}

/// ldmatrix of A fragments from a K-major tile of 64 columns of bf16.
BankConflicts ldmatrixConflicts(Swizzle swizzle, uint32_t columns,
                                bool transposed) {
  SharedTile tile;
  tile.rows = 64;
  tile.columns = columns;
  tile.swizzle = swizzle;
  SharedAccess access;
  access.elementBytes = 2;
  access.kind = transposed ? SharedAccessKind::MatrixTransposed
                           : SharedAccessKind::Matrix;
  MmaOperand operand = transposed ? MmaOperand::B : MmaOperand::A;
  access.offsets =
      mmaLayout(operand, 16, {64, columns}, 1, 1).compose(sharedOffsets(tile));
  return countBankConflicts(access);
}

TEST(BankConflicts, LdmatrixFromSwizzledTiles) {
  // 64 * 64 elements are 64 matrices.
  for (bool transposed : {false, true}) {
    BankConflicts swizzled =
        ldmatrixConflicts(Swizzle::Bytes128, 64, transposed);
    EXPECT_EQ(swizzled.phases, 64u);
    EXPECT_EQ(swizzled.conflicts(), 0u);
    // Rows of 128 bytes all start in bank 0.
    BankConflicts plain = ldmatrixConflicts(Swizzle::None, 64, transposed);
    EXPECT_EQ(plain.wavefronts, 8 * plain.phases);
    EXPECT_EQ(ldmatrixConflicts(Swizzle::Bytes64, 32, transposed).conflicts(),
              0u);
    EXPECT_EQ(ldmatrixConflicts(Swizzle::Bytes32, 16, transposed).conflicts(),
              0u);
    BankConflicts narrow = ldmatrixConflicts(Swizzle::None, 16, transposed);
    EXPECT_EQ(narrow.wavefronts, 2 * narrow.phases);
  }
}

TEST(BankConflicts, Vectors) {
  SharedAccess access;
  access.elementBytes = 4;
  SharedTile tile;
  tile.rows = 32;
  tile.columns = 32;
  tile.elementBytes = 4;
  LinearLayout rows = coalescedLayout({32, 32}, 4, 1);
  access.vectorBits = 2;
  access.offsets = rows.compose(sharedOffsets(tile));
  BankConflicts conflicts = countBankConflicts(access);
  EXPECT_EQ(conflicts.phases, 32u); // 4096 bytes, 128 at a time
  EXPECT_EQ(conflicts.conflicts(), 0u);
  // A column per lane: all lanes in one bank.
  access.vectorBits = 0;
  access.offsets = (LinearLayout::identity(kLane, tensorDim(0), 32) *
                    LinearLayout::identity(kRegister, tensorDim(1), 32))
                       .compose(sharedOffsets(tile));
  conflicts = countBankConflicts(access);
  EXPECT_EQ(conflicts.phases, 32u);
  EXPECT_EQ(conflicts.wavefronts, 32u * 32);
  // Only lane 0 takes part.
  access.idleLanes = 31;
  EXPECT_EQ(countBankConflicts(access).conflicts(), 0u);
}

} // namespace
