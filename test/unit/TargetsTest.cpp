//===- TargetsTest.cpp - Tests of the target table ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Target/Targets.h"

#include "gtest/gtest.h"

using namespace mamba;

namespace {

std::string message(llvm::Expected<const Target &> target) {
  return target ? "" : llvm::toString(target.takeError());
}

TEST(Targets, LooksUpEveryTarget) {
  for (const Target &target : getTargets()) {
    llvm::Expected<const Target &> found = lookupTarget(target.name);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_EQ(&*found, &target);
  }
}

TEST(Targets, HasTheLimitsOfBlocks) {
  EXPECT_EQ(llvm::cantFail(lookupGpuTarget("sm_80")).limits.sharedBytesPerBlock,
            166912);
  for (const char *name : {"sm_90a", "sm_100a", "sm_103a"})
    EXPECT_EQ(llvm::cantFail(lookupGpuTarget(name)).limits.sharedBytesPerBlock,
              232448);
  for (const char *name : {"sm_86", "sm_89", "sm_120a"})
    EXPECT_EQ(llvm::cantFail(lookupGpuTarget(name)).limits.sharedBytesPerBlock,
              101376);
}

TEST(Targets, BlockTakesItsSharedBytesFromTheMultiprocessor) {
  for (const Target &target : getTargets())
    if (target.isGpu())
      EXPECT_EQ(target.limits.sharedBytesPerBlock + 1024,
                target.limits.sharedBytesPerSM)
          << target.name.str();
}

TEST(Targets, ClustersCameWithSm90) {
  for (const Target &target : getTargets())
    if (target.isGpu())
      EXPECT_EQ(target.limits.clusterSize,
                target.name.starts_with("sm_8") ? 1 : 8)
          << target.name.str();
}

TEST(Targets, CpuIsNoGpu) {
  EXPECT_FALSE(llvm::cantFail(lookupTarget("cpu")).isGpu());
  EXPECT_EQ(message(lookupGpuTarget("cpu")),
            "unknown GPU target 'cpu' (known targets: sm_80, sm_86, sm_89, "
            "sm_90a, sm_100a, sm_103a, sm_120a)");
}

TEST(Targets, SuggestsTheClosestName) {
  EXPECT_EQ(message(lookupTarget("sm_90")),
            "unknown target 'sm_90', did you mean 'sm_90a'? (known targets: "
            "sm_80, sm_86, sm_89, sm_90a, sm_100a, sm_103a, sm_120a, cpu)");
  EXPECT_EQ(message(lookupTarget("hopper")),
            "unknown target 'hopper' (known targets: sm_80, sm_86, sm_89, "
            "sm_90a, sm_100a, sm_103a, sm_120a, cpu)");
  EXPECT_EQ(message(lookupTarget("")),
            "unknown target '' (known targets: sm_80, sm_86, sm_89, sm_90a, "
            "sm_100a, sm_103a, sm_120a, cpu)");
}

} // namespace
