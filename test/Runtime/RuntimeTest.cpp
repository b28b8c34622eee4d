//===- RuntimeTest.cpp - Tests of the bundle loader's C interface ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <thread>

using namespace mamba::runtime;

namespace {

using Strings = std::vector<std::string>;

TEST_F(RuntimeTest, DescribesBundles) {
  BundlePtr bundle = load();
  EXPECT_STREQ(mamba_bundle_target(bundle.get()), "sm_90a");
  ASSERT_EQ(mamba_bundle_num_functions(bundle.get()), 1u);
  const mamba_function *function = mamba_bundle_get_function(bundle.get(), 0);
  EXPECT_EQ(mamba_bundle_get_function(bundle.get(), 1), nullptr);
  EXPECT_STREQ(mamba_function_name(function), "step");
  EXPECT_STREQ(mamba_function_operations(function),
               R"([{"op":"mamba.ssu","softplus":true}])");
  EXPECT_STREQ(mamba_function_get_constraint(function, 0),
               "mod(heads, groups) == 0");
  EXPECT_EQ(mamba_function_get_constraint(function, 1), nullptr);

  ASSERT_EQ(mamba_function_num_arguments(function), 5u);
  EXPECT_EQ(mamba_function_get_argument(function, 5), nullptr);
  const mamba_argument_info *state = mamba_function_get_argument(function, 0);
  EXPECT_STREQ(state->name, "state");
  EXPECT_STREQ(state->dtype, "f32");
  EXPECT_EQ(state->role, MAMBA_ROLE_INOUT);
  EXPECT_STREQ(state->result, "new_state");
  EXPECT_EQ(state->element_bytes, 4u);
  EXPECT_EQ(Strings(state->shape, state->shape + state->rank),
            (Strings{"slots", "heads", "64"}));
  EXPECT_EQ(mamba_function_get_argument(function, 1)->result, nullptr);
  EXPECT_STREQ(mamba_function_get_argument(function, 3)->result, "y");
}

TEST_F(RuntimeTest, FindsFunctions) {
  BundlePtr bundle = load();
  const mamba_function *function = nullptr;
  EXPECT_EQ(mamba_bundle_find_function(bundle.get(), "step", &function), 0);
  EXPECT_EQ(function, mamba_bundle_get_function(bundle.get(), 0));
  EXPECT_EQ(mamba_bundle_find_function(bundle.get(), nullptr, &function), 0);
  EXPECT_EQ(function, mamba_bundle_get_function(bundle.get(), 0));
  EXPECT_EQ(mamba_bundle_find_function(bundle.get(), "ssd", &function),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_EQ(function, nullptr);
  EXPECT_STREQ(mamba_last_error(), "no function 'ssd'; there are step");
}

TEST_F(RuntimeTest, TellsSizesBeforeThereIsMemory) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  EXPECT_EQ(bind(call, "state", 0, "f32", {3, 4, 64}), 0);
  EXPECT_EQ(bind(call, "x", 0, "bf16", {5, 4, 64}), 0);
  EXPECT_EQ(bind(call, "B", 0, "bf16", {5, 2, 128}), 0);
  size_t bytes = 0, rank = 0;
  ASSERT_EQ(mamba_call_get_workspace_size(call.get(), &bytes), 0);
  EXPECT_EQ(bytes, 512u + 256u); // 500 and 32, each rounded up
  int64_t sizes[4] = {};
  ASSERT_EQ(mamba_call_get_shape(call.get(), "sums", 4, sizes, &rank), 0);
  EXPECT_EQ(rank, 1u);
  EXPECT_EQ(sizes[0], 2);
  ASSERT_EQ(mamba_call_get_shape(call.get(), "new_state", 0, nullptr, &rank),
            0);
  EXPECT_EQ(rank, 3u);
  ASSERT_EQ(mamba_call_get_shape(call.get(), "y", 1, sizes, &rank), 0);
  EXPECT_EQ(rank, 3u);
  EXPECT_EQ(sizes[0], 5);
  EXPECT_EQ(sizes[1], 0) << "there was room for one";
  EXPECT_EQ(mamba_call_get_shape(call.get(), "z", 4, sizes, &rank),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(), "step: no argument or result 'z'");
}

TEST_F(RuntimeTest, Launches) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call);
  ASSERT_EQ(launch(call), MAMBA_STATUS_OK) << mamba_last_error();
  ASSERT_EQ(fake_num_launches(), 2u);
  fake_launch first, second;
  fake_get_launch(0, &first);
  fake_get_launch(1, &second);
  EXPECT_STREQ(first.kernel, "first");
  EXPECT_EQ(Strings({first.kernel, second.kernel}),
            (Strings{"first", "second"}));
  using Three = std::vector<uint32_t>;
  EXPECT_EQ(Three(first.grid, first.grid + 3), (Three{5, 4, 1}));
  EXPECT_EQ(Three(first.block, first.block + 3), (Three{128, 1, 1}));
  EXPECT_EQ(Three(first.cluster, first.cluster + 3), (Three{1, 1, 1}));
  EXPECT_EQ(first.shared_bytes, 65536u);
  EXPECT_EQ(first.max_shared_bytes, 65536u);
  EXPECT_EQ(first.non_portable_cluster, 0u);
  ASSERT_EQ(first.num_parameters, 4u);
  EXPECT_EQ(first.parameters[0], 0x200000u);
  EXPECT_EQ(first.parameters[1], 0x600000u);
  EXPECT_EQ(first.parameters[2], 0x600000u + 512);
  EXPECT_EQ(first.parameters[3], uint64_t(-20));

  EXPECT_EQ(Three(second.grid, second.grid + 3), (Three{48, 1, 1}));
  EXPECT_EQ(Three(second.block, second.block + 3), (Three{64, 2, 1}));
  EXPECT_EQ(Three(second.cluster, second.cluster + 3), (Three{16, 1, 1}));
  EXPECT_EQ(second.max_shared_bytes, 0u) << "48 KiB need no attribute";
  EXPECT_EQ(second.non_portable_cluster, 1u);
  EXPECT_EQ(second.parameters[0], 0x100000u);
  EXPECT_EQ(second.parameters[1], 0x400000u);
  EXPECT_EQ(fake_num_loads(), 1u);
}

TEST_F(RuntimeTest, LaunchesAgainWithOtherArrays) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call);
  ASSERT_EQ(launch(call), 0);
  bind(call, "x", 0x700000, "bf16", {5, 4, 64});
  ASSERT_EQ(launch(call), 0);
  bindAll(call, /*batch=*/6);
  ASSERT_EQ(launch(call), 0) << mamba_last_error();
  fake_launch again, larger;
  ASSERT_TRUE(fake_get_launch(2, &again) && fake_get_launch(4, &larger));
  EXPECT_EQ(again.parameters[0], 0x700000u);
  EXPECT_EQ(larger.grid[0], 6u);
  EXPECT_EQ(fake_num_loads(), 1u);
}

TEST_F(RuntimeTest, SkipsEmptyGrids) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call, /*batch=*/0);
  bind(call, "x", 0, "bf16", {0, 4, 64});
  ASSERT_EQ(launch(call), 0) << mamba_last_error();
  fake_launch only;
  ASSERT_EQ(fake_num_launches(), 1u);
  fake_get_launch(0, &only);
  EXPECT_STREQ(only.kernel, "second");

  fake_reset(); // No context is current, and none is needed.
  bindAll(call, /*batch=*/0, /*slots=*/0);
  EXPECT_EQ(launch(call), 0) << mamba_last_error();
  EXPECT_EQ(fake_num_launches(), 0u);
}

TEST_F(RuntimeTest, UsesTheContextOfTheStream) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call);
  for (int device : {1, 2, 1}) {
    ASSERT_EQ(launch(call, fake_stream(device)), 0) << mamba_last_error();
    EXPECT_EQ(fake_depth(), 1) << "the context before is current again";
    fake_launch last;
    fake_get_launch(fake_num_launches() - 1, &last);
    EXPECT_EQ(last.device, device);
    EXPECT_EQ(last.current_device, device);
    EXPECT_EQ(last.stream, fake_stream(device));
  }
  ASSERT_EQ(launch(call, /*stream=*/2), 0); // CU_STREAM_PER_THREAD
  EXPECT_EQ(fake_num_loads(), 3u);
  bundle.reset();
  EXPECT_EQ(fake_num_unloads(), 3u);
}

TEST_F(RuntimeTest, LoadsAgainIntoANewContextWithAnOldHandle) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call);
  ASSERT_EQ(launch(call), 0);
  fake_renew_context(0);
  ASSERT_EQ(launch(call), 0);
  EXPECT_EQ(fake_num_loads(), 2u);
}

TEST_F(RuntimeTest, PreparesFunctions) {
  BundlePtr bundle = load();
  ASSERT_EQ(mamba_function_prepare(mamba_bundle_get_function(bundle.get(), 0),
                                   nullptr),
            0);
  EXPECT_EQ(fake_num_loads(), 1u);
  EXPECT_EQ(fake_num_launches(), 0u);
  CallPtr call = makeCall(bundle);
  bindAll(call);
  ASSERT_EQ(launch(call), 0);
  EXPECT_EQ(fake_num_loads(), 1u);
}

TEST_F(RuntimeTest, LaunchesFromManyThreads) {
  constexpr int threads = 4, launches = 50;
  BundlePtr bundle = load();
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back([&, i] {
      fake_set_current(i % 2);
      CallPtr call = makeCall(bundle);
      for (int n = 0; n < launches; ++n) {
        bindAll(call, /*batch=*/1 + i);
        EXPECT_EQ(launch(call), 0) << mamba_last_error();
        EXPECT_EQ(bind(call, "x", 0, "f32", {1, 4, 64}), MAMBA_STATUS_ARGUMENT);
        EXPECT_STREQ(mamba_last_error(),
                     "step: argument 'x': expected dtype bf16, got f32");
      }
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_EQ(fake_num_loads(), 2u) << "once for each context";
  std::vector<int> byBatch(threads + 1);
  fake_launch launch;
  ASSERT_EQ(fake_num_launches(), 2u * threads * launches);
  for (uint32_t i = 0; fake_get_launch(i, &launch); ++i)
    if (std::string(launch.kernel) == "first") {
      EXPECT_EQ(launch.device, int(launch.grid[0] - 1) % 2);
      ++byBatch[launch.grid[0]];
    }
  EXPECT_EQ(byBatch,
            (std::vector<int>{0, launches, launches, launches, launches}));
}

} // namespace
