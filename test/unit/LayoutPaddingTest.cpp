//===- LayoutPaddingTest.cpp - Tests of sizes that are padded -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutExecutor.h"
#include "LayoutRandom.h"
#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"
#include "mamba/Layout/Padding.h"

#include "gtest/gtest.h"

#include <set>

using namespace mamba;

namespace {

/// By enumeration of all threads.
Presence presenceOf(const LinearLayout &layout,
                    llvm::ArrayRef<uint32_t> extents, uint32_t reg) {
  bool all = true, none = true;
  for (uint32_t lane = 0; lane < layout.getInSize(kLane); ++lane) {
    for (uint32_t warp = 0; warp < layout.getInSize(kWarp); ++warp) {
      bool within = isWithin(layout, extents, {reg, lane, warp});
      all &= within;
      none &= !within;
    }
  }
  return all ? Presence::All : none ? Presence::None : Presence::Some;
}

void expectPresences(const LinearLayout &layout,
                     llvm::ArrayRef<uint32_t> extents) {
  llvm::SmallVector<uint32_t, 64> present;
  for (uint32_t reg = 0; reg < layout.getInSize(kRegister); ++reg) {
    Presence expected = presenceOf(layout, extents, reg);
    EXPECT_EQ(getPresence(layout, extents, reg), expected) << reg;
    if (expected != Presence::None)
      present.push_back(reg);
  }
  EXPECT_EQ(getPresentRegisters(layout, extents), present);
}

TEST(Padding, Shapes) {
  EXPECT_EQ(getPaddedShape({80, 64, 1, 129}),
            (llvm::SmallVector<uint32_t, 4>{128, 64, 1, 256}));
}

TEST(Padding, Pieces) {
  llvm::SmallVector<ExtentPiece, 4> pieces = splitExtent(80);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].start, 0u);
  EXPECT_EQ(pieces[0].size, 64u);
  EXPECT_EQ(pieces[1].start, 64u);
  EXPECT_EQ(pieces[1].size, 16u);
  EXPECT_TRUE(splitExtent(0).empty());
  for (uint32_t extent = 1; extent <= 300; ++extent) {
    uint32_t end = 0;
    for (ExtentPiece piece : splitExtent(extent)) {
      EXPECT_EQ(piece.start, end);
      EXPECT_EQ(piece.start % piece.size, 0u);
      end += piece.size;
    }
    EXPECT_EQ(end, extent);
  }
}

TEST(Padding, WgmmaAccumulatorOf80) {
  // m64n80 has 40 registers; they are the first of the layout of n = 128.
  LinearLayout layout = wgmmaAccumulator(64, 80);
  EXPECT_EQ(layout, wgmmaAccumulator(64, 128));
  for (uint32_t reg = 0; reg < 64; ++reg)
    EXPECT_EQ(getPresence(layout, {64, 80}, reg),
              reg < 40 ? Presence::All : Presence::None);
  expectPresences(layout, {64, 80});
}

TEST(Padding, PiecesMakeUpThePaddedTile) {
  // 80 = 64 + 16: the elements of both pieces are those within the extent.
  std::set<std::pair<uint32_t, uint32_t>> whole, parts;
  LinearLayout padded = coalescedLayout(getPaddedShape({32, 80}), 2, 4);
  for (uint32_t reg = 0; reg < padded.getInSize(kRegister); ++reg)
    for (uint32_t lane = 0; lane < 32; ++lane)
      for (uint32_t warp = 0; warp < 4; ++warp)
        if (isWithin(padded, {32, 80}, {reg, lane, warp})) {
          Coordinates at = padded.apply({reg, lane, warp});
          whole.insert({at[0], at[1]});
        }
  for (ExtentPiece piece : splitExtent(80)) {
    LinearLayout part = coalescedLayout({32, piece.size}, 2, 4);
    for (uint64_t i = 0; i < uint64_t(1) << part.getTotalInBits(); ++i) {
      Coordinates at = part.unflattenOut(part.applyFlat(i));
      EXPECT_TRUE(parts.insert({at[0], piece.start + at[1]}).second ||
                  !part.isInjective());
    }
  }
  EXPECT_EQ(whole.size(), 32u * 80);
  EXPECT_EQ(whole, parts);
}

TEST(Padding, Presence) {
  expectPresences(coalescedLayout({64, 128}, 2, 4), {64, 80});
  expectPresences(coalescedLayout({128, 64}, 4, 4), {80, 64});
  expectPresences(coalescedLayout({128, 128}, 4, 4), {80, 80});
  expectPresences(mmaLayout(MmaOperand::A, 16, {128, 128}, 2, 2), {80, 100});
  expectPresences(mmaLayout(MmaOperand::B, 16, {128, 64}, 2, 2), {80, 33});
  LayoutRandom random(1);
  for (int round = 0; round < 200; ++round)
    expectPresences(random.layout({{"register", 3}, {"lane", 5}, {"warp", 2}},
                                  {{"dim0", 4}, {"dim1", 4}}),
                    {1 + random.below(16), 1 + random.below(16)});
}

TEST(Padding, ConversionsMoveThePaddingAlong) {
  // An accumulator with n = 80 to rows of memory: whoever holds an element
  // within the extent afterwards got it from a register that exists.
  LinearLayout from = wgmmaAccumulator(64, 80);
  LinearLayout to = coalescedLayout(getPaddedShape({64, 80}), 4, 4);
  ConversionPlan plan = llvm::cantFail(planConversion(from, to, {}));
  LayoutExecutor executor(from, 4);
  EXPECT_EQ(executor.run(plan), "");
  EXPECT_EQ(executor.compare(to), "");
}

} // namespace
