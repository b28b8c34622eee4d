//===- LayoutConversionTest.cpp - Tests of conversion planning ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutExecutor.h"
#include "LayoutRandom.h"
#include "mamba/Layout/Conversion.h"
#include "mamba/Layout/Distributed.h"
#include "mamba/Layout/Fragments.h"

#include "gtest/gtest.h"

using namespace mamba;

namespace {

constexpr uint32_t kWarps = 4;

struct Named {
  std::string name;
  LinearLayout layout;
};

BlockedShape blocked(uint32_t e0, uint32_t e1, uint32_t l0, uint32_t l1,
                     uint32_t w0, uint32_t w1, bool rowMajor = true) {
  BlockedShape block;
  block.elements = {e0, e1};
  block.lanes = {l0, l1};
  block.warps = {w0, w1};
  if (rowMajor)
    block.order = {1, 0};
  else
    block.order = {0, 1};
  return block;
}

/// Every kind of layout for a tile of this shape, over four warps (two
/// warpgroups have eight).
std::vector<Named> layoutsOf(uint32_t rows, uint32_t columns) {
  llvm::SmallVector<uint32_t, 2> shape = {rows, columns};
  std::vector<Named> all = {
      {"rows of 16 bytes, 2", coalescedLayout(shape, 2, kWarps)},
      {"rows of 16 bytes, 4", coalescedLayout(shape, 4, kWarps)},
      {"columns",
       blockedLayout(shape, blocked(8, 1, 2, 16, 1, 4, /*rowMajor=*/false))},
      {"scattered", blockedLayout(shape, blocked(1, 1, 4, 8, 2, 2))},
      {"square", blockedLayout(shape, blocked(2, 2, 8, 4, 4, 1))},
      {"mma A", mmaLayout(MmaOperand::A, 16, shape, 2, 2)},
      {"mma B", mmaLayout(MmaOperand::B, 16, shape, 2, 2)},
      {"mma C", mmaLayout(MmaOperand::C, 16, shape, 2, 2)},
      {"mma C, warps along n", mmaLayout(MmaOperand::C, 16, shape, 1, 4)},
      {"mma A tf32", mmaLayout(MmaOperand::A, 32, shape, 4, 1)},
      {"mma B tf32", mmaLayout(MmaOperand::B, 32, shape, 1, 4)},
      {"ldmatrix", coverShape(ldmatrixFragment(2, false), shape, {{0, 4}})},
      {"ldmatrix trans",
       coverShape(ldmatrixFragment(2, true), shape, {{1, 4}})},
  };
  if (rows >= 64) {
    all.push_back({"wgmma accumulator", wgmmaAccumulator(rows, columns)});
    all.push_back({"wgmma A", wgmmaOperandA(16, rows, columns)});
    all.push_back({"wgmma A tf32", wgmmaOperandA(32, rows, columns)});
  }
  if (rows == 128)
    all.push_back({"tcgen05 rows", tensorMemoryRows(columns)});
  return all;
}

/// Plans, runs, compares; the checks that hold for all plans.
void check(const LinearLayout &from, const LinearLayout &to,
           const ConversionOptions &options, const std::string &what,
           ConversionPlan *result = nullptr) {
  llvm::Expected<ConversionPlan> plan = planConversion(from, to, options);
  ASSERT_TRUE(bool(plan)) << what << llvm::toString(plan.takeError());
  LayoutExecutor executor(from,
                          std::max(from.getInSize(kWarp), to.getInSize(kWarp)));
  ASSERT_EQ(executor.run(*plan), "") << what << "\n" << plan->str();
  ASSERT_EQ(executor.compare(to), "") << what << "\n" << plan->str();

  for (const ConversionStep &step : plan->steps) {
    bool shared =
        step.kind == ConversionStep::Store || step.kind == ConversionStep::Load;
    bool moves = step.kind == ConversionStep::Registers;
    bool shuffles = step.kind == ConversionStep::Shuffle;
    ASSERT_TRUE(moves ||
                (shuffles ? plan->kind == ConversionPlan::WithinWarp
                          : plan->kind == ConversionPlan::ThroughShared))
        << what;
    if (!shared)
      continue;
    BankConflicts conflicts = countBankConflicts(step.access);
    ASSERT_GT(conflicts.phases, 0u) << what;
    ASSERT_EQ(conflicts.conflicts(), 0u) << what << "\n" << plan->str();
  }
  if (result)
    *result = std::move(*plan);
}

class AllPairs : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(AllPairs, MoveEveryElement) {
  auto [rows, columns] = GetParam();
  std::vector<Named> all = layoutsOf(rows, columns);
  for (const Named &from : all) {
    for (const Named &to : all) {
      for (unsigned bytes : {1, 2, 4, 8}) {
        for (bool forceShared : {false, true}) {
          ConversionOptions options;
          options.elementBytes = bytes;
          options.forceShared = forceShared;
          std::string what = from.name + " -> " + to.name + ", " +
                             std::to_string(bytes) + " bytes\n";
          ConversionPlan plan;
          check(from.layout, to.layout, options, what, &plan);
          if (HasFatalFailure())
            return;
          if (plan.kind == ConversionPlan::ThroughShared)
            break;
          if (&from == &to && !forceShared) {
            ASSERT_EQ(plan.kind, ConversionPlan::SameThread) << what;
            ASSERT_TRUE(plan.steps.empty()) << what;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LayoutConversion, AllPairs,
                         ::testing::Values(std::pair(16, 16), std::pair(16, 64),
                                           std::pair(32, 16), std::pair(32, 32),
                                           std::pair(64, 16), std::pair(64, 32),
                                           std::pair(64, 64),
                                           std::pair(64, 128),
                                           std::pair(128, 64)));

TEST(LayoutConversion, Slices) {
  // Vectors along one dimension: all pairs of slices of a 64 x 64 tile.
  std::vector<Named> slices;
  for (const Named &whole : layoutsOf(64, 64))
    for (unsigned dim : {0, 1})
      slices.push_back({whole.name + " without dim" + std::to_string(dim),
                        sliceLayout(whole.layout, dim)});
  slices.push_back({"coalesced", coalescedLayout({64}, 4, kWarps)});
  for (const Named &from : slices) {
    for (const Named &to : slices) {
      for (unsigned bytes : {2, 4}) {
        for (bool forceShared : {false, true}) {
          ConversionOptions options;
          options.elementBytes = bytes;
          options.forceShared = forceShared;
          check(from.layout, to.layout, options, from.name + " -> " + to.name);
          if (HasFatalFailure())
            return;
        }
      }
    }
  }
}

TEST(LayoutConversion, RandomPairs) {
  LayoutRandom random(1);
  const LayoutDims tile = {{"dim0", 4}, {"dim1", 4}};
  unsigned kinds[3] = {};
  for (int round = 0; round < 400; ++round) {
    // 8 to 12 input bits for 8 bits of elements: often with copies.
    LayoutDims ins = {{"register", 2 + random.below(3)},
                      {"lane", 5},
                      {"warp", 1 + random.below(2)}};
    LinearLayout from = random.surjective(ins, tile);
    ins[0].bits = 2 + random.below(3);
    LinearLayout to = random.surjective(ins, tile);
    ConversionOptions options;
    options.elementBytes = 1u << random.below(5);
    options.forceShared = random.below(4) == 0;
    ConversionPlan plan;
    check(from, to, options, from.str() + "\n" + to.str() + "\n", &plan);
    if (HasFatalFailure())
      return;
    ++kinds[plan.kind];
  }
  EXPECT_GT(kinds[ConversionPlan::ThroughShared], 100u);
}

TEST(LayoutConversion, RandomPairsWithinWarps) {
  LayoutRandom random(2);
  const LayoutDims tile = {{"dim0", 4}, {"dim1", 4}};
  unsigned kinds[3] = {};
  for (int round = 0; round < 1000; ++round) {
    LayoutDims ins = {{"register", 3 + random.below(3)}, {"lane", 5}};
    // Every warp of the source holds all, or its own part of a larger tile.
    bool parts = random.below(2);
    LinearLayout source = random.surjective(ins, tile);
    LinearLayout from = source * LinearLayout::broadcast("warp", 4);
    ins.push_back({"warp", 2});
    LinearLayout to = random.surjective(ins, tile);
    if (parts) {
      from = source * LinearLayout::identity("warp", "dim1", 4);
      ins.pop_back();
      to = random.surjective(ins, tile) *
           LinearLayout::identity("warp", "dim1", 4);
    }
    ConversionOptions options;
    options.elementBytes = 1u << random.below(4);
    ConversionPlan plan;
    check(from, to, options, from.str() + "\n" + to.str() + "\n", &plan);
    if (HasFatalFailure())
      return;
    ++kinds[plan.kind];
  }
  EXPECT_EQ(kinds[ConversionPlan::ThroughShared], 0u);
  EXPECT_GT(kinds[ConversionPlan::WithinWarp], 900u);
}

ConversionPlan planOf(const LinearLayout &from, const LinearLayout &to,
                      unsigned bytes) {
  ConversionOptions options;
  options.elementBytes = bytes;
  ConversionPlan plan;
  check(from, to, options, "", &plan);
  return plan;
}

TEST(LayoutConversion, AccumulatorToOperandIsFree) {
  EXPECT_TRUE(planOf(wgmmaAccumulator(64, 128), wgmmaOperandA(16, 64, 128), 2)
                  .steps.empty());
  // mma.sync has tiles of 8 columns in registers, A has steps of 16: a
  // renaming.
  ConversionPlan plan = planOf(mmaLayout(MmaOperand::C, 16, {64, 64}, 4, 1),
                               mmaLayout(MmaOperand::A, 16, {64, 64}, 4, 1), 2);
  EXPECT_EQ(plan.kind, ConversionPlan::SameThread);
}

TEST(LayoutConversion, RegisterPermutation) {
  LinearLayout from = llvm::cantFail(LinearLayout::parse(
      "register[1,2,4], lane[8,16,32,64,128] -> dim0[256]"));
  LinearLayout to = llvm::cantFail(LinearLayout::parse(
      "register[4,1,3], lane[8,16,32,64,128] -> dim0[256]"));
  ConversionPlan plan = planOf(from, to, 4);
  EXPECT_EQ(plan.str(), "same thread, elements of 4 bytes\n"
                        "  registers register[4,1,3], lane[0,0,0,0,0], warp[] "
                        "-> register[8]\n");
}

TEST(LayoutConversion, ExchangeOfARegisterAndALaneBit) {
  // Each thread keeps half of its registers: one shuffle a pair, and selects.
  LinearLayout from = llvm::cantFail(
      LinearLayout::parse("register[1,2], lane[4,8,16,32,64] -> dim0[128]"));
  LinearLayout to = llvm::cantFail(
      LinearLayout::parse("register[1,4], lane[2,8,16,32,64] -> dim0[128]"));
  ConversionPlan plan = planOf(from, to, 4);
  EXPECT_EQ(plan.kind, ConversionPlan::WithinWarp);
  EXPECT_EQ(plan.countShuffles(), 2u);
  EXPECT_EQ(plan.getPackedBits(), 0u);
  // 16-bit elements: register bit 0 stays, so pairs travel together.
  plan = planOf(from, to, 2);
  EXPECT_EQ(plan.getPackedBits(), 1u);
  EXPECT_EQ(plan.countShuffles(), 1u);
  ASSERT_EQ(plan.steps.size(), 3u);
  std::vector<RegisterShuffle> shuffles = getRegisterShuffles(plan.steps[1]);
  ASSERT_EQ(shuffles.size(), 4u);
  EXPECT_EQ(shuffles[0].kind, RegisterShuffle::Keep);
  EXPECT_EQ(shuffles[2].kind, RegisterShuffle::Butterfly);
  EXPECT_EQ(shuffles[2].mask, 1u);
}

TEST(LayoutConversion, LanePermutation) {
  LinearLayout from = LinearLayout::identity("lane", "dim0", 32);
  LinearLayout to =
      llvm::cantFail(LinearLayout::parse("lane[2,1,4,8,24] -> dim0[32]"));
  ConversionPlan plan = planOf(from, to, 4);
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(getRegisterShuffles(plan.steps[0])[0].kind, RegisterShuffle::Index);
  EXPECT_EQ(plan.countShuffles(), 1u);
  EXPECT_EQ(planOf(from, to, 8).countShuffles(), 2u);
}

TEST(LayoutConversion, SharedPlansAreVectorized) {
  LinearLayout accumulator = wgmmaAccumulator(64, 64);
  LinearLayout rows = coalescedLayout({64, 64}, 2, kWarps);
  // bf16: stmatrix, then 16 bytes of a row.
  ConversionPlan plan = planOf(accumulator, rows, 2);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].access.kind, SharedAccessKind::Matrix);
  EXPECT_FALSE(plan.steps[1].warpOnly);
  EXPECT_EQ(plan.steps[2].access.kind, SharedAccessKind::Vector);
  EXPECT_EQ(plan.steps[2].access.vectorBits, 3u);
  EXPECT_EQ(plan.sharedBytes, 8192u);
  EXPECT_TRUE(plan.sharedLayout.isBijective());
  // Without stmatrix: a thread stores 16 bytes from different places of its
  // row, and ldmatrix puts them in order.
  ConversionOptions options;
  options.elementBytes = 2;
  options.useStmatrix = false;
  check(accumulator, rows, options, "", &plan);
  ASSERT_EQ(plan.steps.size(), 4u);
  EXPECT_EQ(plan.steps[1].access.vectorBits, 3u);
  EXPECT_EQ(plan.steps[3].access.kind, SharedAccessKind::Matrix);
  // Without either: pairs are stored, 16 bytes loaded.
  options.useLdmatrix = false;
  check(accumulator, rows, options, "", &plan);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(plan.steps[0].access.kind, SharedAccessKind::Vector);
  EXPECT_EQ(plan.steps[0].access.vectorBits, 1u);
  EXPECT_EQ(plan.steps[2].access.vectorBits, 3u);
  // Operands of mma.sync: 16 bytes stored, ldmatrix, for B transposed.
  plan = planOf(rows, mmaLayout(MmaOperand::A, 16, {64, 64}, 2, 2), 2);
  EXPECT_EQ(plan.steps[0].access.vectorBits, 3u);
  EXPECT_EQ(plan.steps[2].access.kind, SharedAccessKind::Matrix);
  plan = planOf(rows, mmaLayout(MmaOperand::B, 16, {64, 64}, 2, 2), 2);
  EXPECT_EQ(plan.steps[0].access.vectorBits, 3u);
  EXPECT_EQ(plan.steps[2].access.kind, SharedAccessKind::MatrixTransposed);
  // f32: 16 bytes on one side at least.
  plan = planOf(accumulator, coalescedLayout({64, 64}, 4, kWarps), 4);
  unsigned widest = 0;
  for (const ConversionStep &step : plan.steps)
    widest = std::max(widest, step.access.vectorBits);
  EXPECT_EQ(widest, 2u);
}

TEST(LayoutConversion, CopiesAreStoredOnce) {
  // A's warps along n hold copies.
  ConversionPlan plan = planOf(mmaLayout(MmaOperand::A, 16, {64, 64}, 2, 2),
                               coalescedLayout({64, 64}, 2, kWarps), 2);
  ASSERT_EQ(plan.kind, ConversionPlan::ThroughShared);
  for (const ConversionStep &step : plan.steps)
    EXPECT_EQ(step.access.idleWarps,
              step.kind == ConversionStep::Store ? 2u : 0u);
}

TEST(LayoutConversion, ForcedSharedWithinWarpsNeedsNoBlockBarrier) {
  LinearLayout from = LinearLayout::identity("lane", "dim0", 32) *
                      LinearLayout::identity("warp", "dim0", 4);
  LinearLayout to = llvm::cantFail(
      LinearLayout::parse("lane[16,8,4,2,1], warp[32,64] -> dim0[128]"));
  ConversionOptions options;
  options.forceShared = true;
  ConversionPlan plan;
  check(from, to, options, "", &plan);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_TRUE(plan.steps[1].warpOnly);
}

TEST(LayoutConversion, Errors) {
  auto message = [](const char *from, const char *to, unsigned bytes) {
    ConversionOptions options;
    options.elementBytes = bytes;
    llvm::Expected<ConversionPlan> plan =
        planConversion(llvm::cantFail(LinearLayout::parse(from)),
                       llvm::cantFail(LinearLayout::parse(to)), options);
    return plan ? "" : llvm::toString(plan.takeError());
  };
  EXPECT_EQ(message("lane[1] -> dim0[2]", "lane[1] -> dim0[2]", 3),
            "expected elements of 1, 2, 4, 8 or 16 bytes, got 3");
  EXPECT_EQ(message("lane[1] -> dim0[2]", "lane[1,2] -> dim0[4]", 4),
            "expected layouts of the same tile, got lane[1] -> dim0[2] and "
            "lane[1,2] -> dim0[4]");
  EXPECT_EQ(message("offset[1] -> dim0[2]", "lane[1] -> dim0[2]", 4),
            "expected inputs register, lane, warp, got `offset` in the source");
  EXPECT_EQ(message("lane[1] -> dim0[2]", "lane[1,0,0,0,0,0] -> dim0[2]", 4),
            "expected at most 32 lanes, got 64 in the destination");
  EXPECT_EQ(message("lane[1] -> dim0[4]", "lane[1,2] -> dim0[4]", 4),
            "expected every element to be held in the source");
}

} // namespace
