//===- LayoutSharedAccessTest.cpp - Accesses of given shared layouts ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutExecutor.h"
#include "mamba/Layout/Conversion.h"
#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"

#include "gtest/gtest.h"

using namespace mamba;

namespace {

using Steps = std::vector<ConversionStep>;

const SharedAccess &accessOf(const Steps &steps) {
  for (const ConversionStep &step : steps)
    if (step.kind != ConversionStep::Registers)
      return step.access;
  llvm_unreachable("expected an access");
}

/// A store in one layout and a load in another, through a given tile.
void check(const LinearLayout &from, const LinearLayout &to,
           const SharedTile &tile, Steps *storing = nullptr,
           Steps *loading = nullptr) {
  LinearLayout offsets = sharedOffsets(tile);
  ConversionOptions options;
  options.elementBytes = tile.elementBytes;
  Steps store = llvm::cantFail(planSharedStore(from, offsets, options));
  Steps load = llvm::cantFail(planSharedLoad(to, offsets, options));
  ConversionPlan plan;
  plan.kind = ConversionPlan::ThroughShared;
  plan.elementBytes = tile.elementBytes;
  plan.sharedBytes = offsets.getOutSize(kOffset) * tile.elementBytes;
  plan.steps = store;
  plan.steps.insert(plan.steps.end(), load.begin(), load.end());
  LayoutExecutor executor(from,
                          std::max(from.getInSize(kWarp), to.getInSize(kWarp)));
  ASSERT_EQ(executor.run(plan), "") << plan.str();
  ASSERT_EQ(executor.compare(to), "") << plan.str();
  if (storing)
    *storing = store;
  if (loading)
    *loading = load;
}

SharedTile makeTile(uint32_t rows, uint32_t columns, unsigned bytes,
                    Swizzle swizzle, bool transposed = false) {
  SharedTile tile;
  tile.rows = rows;
  tile.columns = columns;
  tile.elementBytes = bytes;
  tile.swizzle = swizzle;
  tile.transposed = transposed;
  return tile;
}

TEST(SharedAccess, EveryLayoutAndTile) {
  for (unsigned bytes : {1, 2, 4}) {
    std::vector<LinearLayout> layouts = {
        coalescedLayout({64, 64}, bytes, 4),
        mmaLayout(MmaOperand::A, 16, {64, 64}, 2, 2),
        mmaLayout(MmaOperand::B, 16, {64, 64}, 2, 2),
        mmaLayout(MmaOperand::C, 16, {64, 64}, 2, 2),
        mmaLayout(MmaOperand::A, 32, {64, 64}, 4, 1),
        wgmmaAccumulator(64, 64)};
    for (Swizzle swizzle : {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64,
                            Swizzle::Bytes128}) {
      for (bool transposed : {false, true}) {
        SharedTile tile = makeTile(64, 64, bytes, swizzle, transposed);
        for (const LinearLayout &from : layouts)
          for (const LinearLayout &to : layouts)
            check(from, to, tile);
      }
    }
  }
}

TEST(SharedAccess, SwizzledTileOfTma) {
  // Epilogue: accumulator by stmatrix to a 128-byte swizzled tile. Loads: A by
  // ldmatrix, B by ldmatrix.trans, rows by 16 bytes. Nothing conflicts.
  SharedTile tile = makeTile(64, 64, 2, Swizzle::Bytes128);
  LinearLayout accumulator = wgmmaAccumulator(64, 64);
  auto expect = [](const Steps &steps, SharedAccessKind kind,
                   unsigned vectorBits) {
    EXPECT_EQ(steps.size(), 1u);
    EXPECT_EQ(accessOf(steps).kind, kind);
    EXPECT_EQ(accessOf(steps).vectorBits, vectorBits);
    EXPECT_EQ(countBankConflicts(accessOf(steps)).conflicts(), 0u);
  };
  Steps store, load;
  check(accumulator, mmaLayout(MmaOperand::A, 16, {64, 64}, 2, 2), tile, &store,
        &load);
  expect(store, SharedAccessKind::Matrix, 0);
  expect(load, SharedAccessKind::Matrix, 0);
  check(accumulator, mmaLayout(MmaOperand::B, 16, {64, 64}, 2, 2), tile,
        nullptr, &load);
  expect(load, SharedAccessKind::MatrixTransposed, 0);
  check(accumulator, coalescedLayout({64, 64}, 2, 4), tile, nullptr, &load);
  expect(load, SharedAccessKind::Vector, 3);
  // An M-major tile: the accumulator is transposed on the way.
  check(accumulator, accumulator, makeTile(64, 64, 2, Swizzle::Bytes128, true),
        &store, &load);
  expect(store, SharedAccessKind::MatrixTransposed, 0);
  expect(load, SharedAccessKind::MatrixTransposed, 0);
}

TEST(SharedAccess, NarrowBox) {
  // 32 columns in a span of 64: half of each row is not used.
  SharedTile tile = makeTile(64, 32, 2, Swizzle::Bytes128);
  check(wgmmaAccumulator(64, 32), coalescedLayout({64, 32}, 2, 4), tile);
}

TEST(SharedAccess, Errors) {
  LinearLayout layout = LinearLayout::identity("lane", "dim0", 2);
  auto message = [&](const LinearLayout &offsets) {
    return llvm::toString(planSharedLoad(layout, offsets, {}).takeError());
  };
  EXPECT_EQ(message(LinearLayout::identity("dim0", "place", 2)),
            "expected an offset for each element, from the coordinates of "
            "lane[1] -> dim0[2], got dim0[1] -> place[2]");
  EXPECT_EQ(
      message(llvm::cantFail(LinearLayout::parse("dim0[0] -> offset[2]"))),
      "expected an offset for each element, from the coordinates of "
      "lane[1] -> dim0[2], got dim0[0] -> offset[2]");
}

} // namespace
