//===- LayoutFragmentsTest.cpp - Fragments against hardware tables --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those that were verified on an H200, element by element;
// here every register of every thread is compared.
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"

#include "gtest/gtest.h"

#include <functional>

using namespace mamba;

namespace {

using Place = std::pair<uint32_t, uint32_t>;

/// Compares all registers, lanes and warps with place(register, thread), thread
/// counted over the warps.
void expectPlaces(const LinearLayout &layout, uint32_t registers,
                  uint32_t warps,
                  std::function<Place(uint32_t, uint32_t)> place) {
  LinearLayout all = layout.selectIns({kRegister, kLane, kWarp});
  ASSERT_EQ(all.getInSize(kRegister), registers);
  ASSERT_EQ(all.getInSize(kLane), 32u);
  ASSERT_EQ(all.getInSize(kWarp), warps);
  for (uint32_t t = 0; t < 32 * warps; ++t) {
    for (uint32_t i = 0; i < registers; ++i) {
      Coordinates at = all.apply({i, t % 32, t / 32});
      EXPECT_EQ(Place(at[0], at[1]), place(i, t)) << "thread " << t << " " << i;
    }
  }
}

TEST(Fragments, Mma16A) {
  LinearLayout a = mmaFragment(MmaOperand::A, 16);
  EXPECT_TRUE(a.isBijective());
  expectPlaces(a, 8, 1, [](uint32_t i, uint32_t l) {
    uint32_t r = i / 2, h = i % 2;
    return Place(l / 4 + 8 * (r % 2), 2 * (l % 4) + h + 8 * (r / 2));
  });
}

TEST(Fragments, Mma16B) {
  LinearLayout b = mmaFragment(MmaOperand::B, 16);
  EXPECT_TRUE(b.isBijective());
  expectPlaces(b, 4, 1, [](uint32_t i, uint32_t l) {
    uint32_t r = i / 2, h = i % 2;
    return Place(2 * (l % 4) + h + 8 * r, l / 4);
  });
}

TEST(Fragments, MmaC) {
  for (unsigned bits : {16, 32}) {
    LinearLayout c = mmaFragment(MmaOperand::C, bits);
    EXPECT_TRUE(c.isBijective());
    expectPlaces(c, 4, 1, [](uint32_t i, uint32_t l) {
      return Place(l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2);
    });
  }
}

TEST(Fragments, MmaTf32) {
  expectPlaces(mmaFragment(MmaOperand::A, 32), 4, 1,
               [](uint32_t r, uint32_t l) {
                 return Place(l / 4 + 8 * (r % 2), l % 4 + 4 * (r / 2));
               });
  expectPlaces(
      mmaFragment(MmaOperand::B, 32), 2, 1,
      [](uint32_t r, uint32_t l) { return Place(l % 4 + 4 * r, l / 4); });
}

TEST(Fragments, MmaOverWarps) {
  // 2 x 2 warps, each 32 x 16 of the result; further tiles along n, then m.
  expectPlaces(mmaLayout(MmaOperand::C, 16, {64, 32}, 2, 2), 16, 4,
               [](uint32_t i, uint32_t t) {
                 uint32_t l = t % 32, m = (t / 32) % 2, n = t / 64;
                 return Place(l / 4 + 8 * (i / 2 % 2) + 16 * m + 32 * (i / 8),
                              2 * (l % 4) + i % 2 + 8 * n + 16 * (i / 4 % 2));
               });
  LinearLayout a = mmaLayout(MmaOperand::A, 16, {64, 64}, 2, 2);
  EXPECT_EQ(a.getBroadcastMask(kWarp), 2u);
  EXPECT_TRUE(a.isSurjective());
  LinearLayout b = mmaLayout(MmaOperand::B, 16, {64, 64}, 2, 2);
  EXPECT_EQ(b.getBroadcastMask(kWarp), 1u);
  EXPECT_TRUE(b.isSurjective());
  // No room for four warps along m.
  EXPECT_EQ(
      mmaLayout(MmaOperand::C, 16, {32, 16}, 4, 1).getBroadcastMask(kWarp), 2u);
}

TEST(Fragments, WgmmaAccumulator) {
  for (uint32_t n : {8, 16, 64, 128, 256}) {
    LinearLayout c = wgmmaAccumulator(64, n);
    EXPECT_TRUE(c.isBijective());
    expectPlaces(c, n / 2, 4, [](uint32_t i, uint32_t t) {
      return Place(16 * (t / 32) + (t % 32) / 4 + 8 * ((i / 2) % 2),
                   8 * (i / 4) + 2 * (t % 4) + i % 2);
    });
  }
  // Two warpgroups: the formula goes on.
  expectPlaces(wgmmaAccumulator(128, 64), 32, 8, [](uint32_t i, uint32_t t) {
    return Place(16 * (t / 32) + (t % 32) / 4 + 8 * ((i / 2) % 2),
                 8 * (i / 4) + 2 * (t % 4) + i % 2);
  });
}

TEST(Fragments, WgmmaOperandA) {
  for (uint32_t k : {16, 64}) {
    expectPlaces(wgmmaOperandA(16, 64, k), k / 2, 4,
                 [](uint32_t i, uint32_t t) {
                   uint32_t step = i / 8, r = i / 2 % 4, h = i % 2;
                   return Place(16 * (t / 32) + (t % 32) / 4 + 8 * (r % 2),
                                16 * step + 2 * (t % 4) + h + 8 * (r / 2));
                 });
    expectPlaces(wgmmaOperandA(32, 64, k), k / 2, 4,
                 [](uint32_t i, uint32_t t) {
                   uint32_t step = i / 4, r = i % 4;
                   return Place(16 * (t / 32) + (t % 32) / 4 + 8 * (r % 2),
                                8 * step + t % 4 + 4 * (r / 2));
                 });
  }
}

TEST(Fragments, WgmmaAccumulatorIsOperandA) {
  // Registers 8j .. 8j+7 of the accumulator are A of k-step j.
  for (uint32_t n : {16, 64, 128})
    EXPECT_EQ(wgmmaAccumulator(64, n), wgmmaOperandA(16, 64, n));
}

TEST(Fragments, Ldmatrix) {
  for (uint32_t count : {1, 2, 4}) {
    expectPlaces(ldmatrixFragment(count, /*transposed=*/false), 2 * count, 1,
                 [](uint32_t i, uint32_t l) {
                   return Place(8 * (i / 2) + l / 4, 2 * (l % 4) + i % 2);
                 });
    expectPlaces(ldmatrixFragment(count, /*transposed=*/true), 2 * count, 1,
                 [](uint32_t i, uint32_t l) {
                   return Place(8 * (i / 2) + 2 * (l % 4) + i % 2, l / 4);
                 });
    LinearLayout rows = ldmatrixRows(count);
    ASSERT_EQ(rows.getInSize(kLane), 32u);
    for (uint32_t l = 0; l < 32; ++l)
      EXPECT_EQ(rows.apply({l})[0], l % (8 * count));
  }
}

TEST(Fragments, LdmatrixLoadsMmaOperands) {
  // A from row-major [m][k]: matrices of x4 are (row block, k block) in this
  // order: lane l passes row l % 16, k offset 8 * (l / 16).
  LinearLayout matrix = ldmatrixFragment(1, false);
  EXPECT_EQ(matrix * LinearLayout::identity(kRegister, tensorDim(0), 2) *
                LinearLayout::identity(kRegister, tensorDim(1), 2),
            mmaFragment(MmaOperand::A, 16));
  // B from row-major [k][n]: x2.trans, lane l passes row k = l % 16.
  EXPECT_EQ(ldmatrixFragment(2, true), mmaFragment(MmaOperand::B, 16));
}

TEST(Fragments, TensorMemory) {
  LinearLayout rows = tensorMemoryRows(64);
  EXPECT_TRUE(rows.isBijective());
  expectPlaces(rows, 64, 4, [](uint32_t i, uint32_t t) { return Place(t, i); });
  // Through tensor memory: which row and column a register holds.
  LinearLayout held = rows.compose(*tensorMemoryLayout(64).leftInverse());
  EXPECT_EQ(held.getBasis(kWarp, 1), (Coordinates{64, 0}));
  EXPECT_EQ(held.getOuts()[0].name, kTensorRow);
}

TEST(Distributed, Blocked) {
  BlockedShape block;
  block.elements = {2, 4};
  block.lanes = {4, 8};
  block.warps = {2, 2};
  block.order = {1, 0};
  // The block is 16 x 64; two fit along dim1, two along dim0.
  expectPlaces(
      blockedLayout({32, 128}, block), 32, 4, [](uint32_t i, uint32_t t) {
        uint32_t l = t % 32, w = t / 32;
        return Place(i / 4 % 2 + 2 * (l / 8) + 8 * (w / 2) + 16 * (i / 16),
                     i % 4 + 4 * (l % 8) + 32 * (w % 2) + 64 * (i / 8 % 2));
      });
  // Too large: registers are left out, lanes and warps hold copies.
  LinearLayout small = blockedLayout({2, 8}, block);
  EXPECT_EQ(small.getInSize(kRegister), 8u);
  EXPECT_EQ(small.getBroadcastMask(kLane), 30u);
  EXPECT_EQ(small.getBroadcastMask(kWarp), 3u);
  EXPECT_TRUE(small.isSurjective());
}

TEST(Distributed, Coalesced) {
  // 16 bytes are 8 bf16; 8 lanes make a row of 64.
  expectPlaces(coalescedLayout({64, 64}, 2, 4), 32, 4,
               [](uint32_t i, uint32_t t) {
                 return Place(t / 8 + 16 * (i / 8), 8 * (t % 8) + i % 8);
               });
  LinearLayout row = coalescedLayout({64}, 4, 4);
  EXPECT_EQ(row.getInSize(kRegister), 4u);
  EXPECT_EQ(row.getBroadcastMask(kLane), 16u);
  EXPECT_EQ(row.getBroadcastMask(kWarp), 3u);
}

TEST(Distributed, Slices) {
  // Row sums of an accumulator: two rows per thread, equal in groups of four.
  LinearLayout rows = sliceLayout(wgmmaAccumulator(64, 128), 1);
  EXPECT_EQ(rows.str(), "register[8], lane[0,0,1,2,4], warp[16,32] -> "
                        "dim0[64]");
  LinearLayout columns = sliceLayout(wgmmaAccumulator(64, 32), 0);
  EXPECT_EQ(columns.str(), "register[1,8,16], lane[2,4,0,0,0], warp[0,0] -> "
                           "dim0[32]");
  // Registers that repeat a sum of others go too.
  LinearLayout mixed = llvm::cantFail(LinearLayout::parse(
      "register[(1,0),(2,1),(3,0)], lane[(0,1)] -> dim0[4], dim1[2]"));
  EXPECT_EQ(sliceLayout(mixed, 1).str(), "register[1,2], lane[0] -> dim0[4]");
}

} // namespace
