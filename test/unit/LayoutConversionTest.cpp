//===- LayoutConversionTest.cpp - Tests of conversion planning ------------===//
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

#include <random>

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
    if (plan->kind != ConversionPlan::ThroughShared)
      ASSERT_FALSE(shared || step.kind == ConversionStep::Barrier) << what;
    if (plan->kind == ConversionPlan::SameThread)
      ASSERT_EQ(step.kind, ConversionStep::Registers) << what;
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

} // namespace
