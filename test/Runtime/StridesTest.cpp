//===- StridesTest.cpp - Tests of arrays with gaps ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace mamba::runtime;

namespace {

/// Rows of x may have gaps between them.
const char *const kStrided = R"json({
  "version": 2, "target": "sm_90a",
  "functions": [{
    "name": "copy",
    "arguments": [
      {"name": "x", "dtype": "bf16",
       "shape": ["batch", "length", "heads", 64], "role": "input",
       "strides": ["x_pitch_0", "x_pitch_1", 64, 1]},
      {"name": "y", "dtype": "bf16",
       "shape": ["batch", "length", "heads", 64], "role": "output"}],
    "sizes": {
      "batch": {"argument": "x", "axis": 0},
      "length": {"argument": "x", "axis": 1},
      "heads": {"argument": "x", "axis": 2},
      "x_pitch_0": {"argument": "x", "stride": 0},
      "x_pitch_1": {"argument": "x", "stride": 1}},
    "constraints": ["mod(x_pitch_0, 8) == 0", "mod(x_pitch_1, 8) == 0"],
    "launches": [
      {"kernel": "copy", "ptx": "copy.ptx", "grid": ["batch", 1, 1],
       "block": [128, 1, 1], "shared_bytes": 0,
       "parameters": [{"kind": "pointer", "argument": "x"},
                      {"kind": "i64", "value": "x_pitch_0"},
                      {"kind": "i64", "value": "floordiv(x_pitch_1, 8)"}]}]
  }]
})json";

const char *const kStridedPtx = R"(.version 8.0
.entry copy(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
)";

class Strides : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    write("copy.ptx", kStridedPtx);
    bundle = load(kStrided);
    call = makeCall(bundle);
  }

  mamba_status bindStrided(const char *name, uint64_t address,
                           std::vector<int64_t> sizes,
                           std::vector<int64_t> strides) {
    return mamba_call_bind_strided(call.get(), name,
                                   reinterpret_cast<void *>(address), "bf16",
                                   sizes.size(), sizes.data(), strides.data());
  }

  /// Strides of x that its launch gets: of axis 0, and of axis 1 by 8.
  std::vector<uint64_t> launched() {
    uint32_t before = fake_num_launches();
    EXPECT_EQ(launch(call), 0) << mamba_last_error();
    fake_launch made = {};
    EXPECT_TRUE(fake_get_launch(before, &made));
    return {made.parameters[1], made.parameters[2]};
  }

  BundlePtr bundle;
  CallPtr call;
};

using Words = std::vector<uint64_t>;

TEST_F(Strides, AreToldOfArguments) {
  const mamba_function *function = mamba_bundle_get_function(bundle.get(), 0);
  const mamba_argument_info *x = mamba_function_get_argument(function, 0);
  EXPECT_EQ(std::vector<std::string>(x->strides, x->strides + x->rank),
            (std::vector<std::string>{"x_pitch_0", "x_pitch_1", "64", "1"}));
  EXPECT_EQ(mamba_function_get_argument(function, 1)->strides, nullptr);
}

TEST_F(Strides, OfDenseArraysFollowFromTheSizes) {
  ASSERT_EQ(bind(call, "x", 0x200000, "bf16", {2, 5, 3, 64}), 0);
  ASSERT_EQ(bind(call, "y", 0x400000, "bf16", {2, 5, 3, 64}), 0);
  EXPECT_EQ(launched(), (Words{960, 24}));
}

TEST_F(Strides, AreTheCallers) {
  ASSERT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {5000, 1000, 64, 1}), 0)
      << mamba_last_error();
  ASSERT_EQ(bindStrided("y", 0x400000, {2, 5, 3, 64}, {960, 192, 64, 1}), 0)
      << mamba_last_error();
  EXPECT_EQ(launched(), (Words{5000, 125}));
  // The same sizes, and other strides.
  ASSERT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {192, 8000, 64, 1}), 0);
  EXPECT_EQ(launched(), (Words{192, 1000}));
  ASSERT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {0, 0, 64, 1}), 0);
  EXPECT_EQ(launched(), (Words{0, 0})) << "one row for all";
}

TEST_F(Strides, OfOneElementAreIgnored) {
  ASSERT_EQ(bindStrided("x", 0x200000, {1, 5, 1, 64}, {77, 1000, 13, 1}), 0)
      << mamba_last_error();
  ASSERT_EQ(bindStrided("y", 0x400000, {1, 5, 1, 64}, {7, 64, 3, 1}), 0)
      << mamba_last_error();
  EXPECT_EQ(launched(), (Words{0, 125}));
}

TEST_F(Strides, OfEmptyArraysAreIgnored) {
  ASSERT_EQ(bindStrided("x", 0, {2, 0, 3, 64}, {7, 7, 7, 7}), 0)
      << mamba_last_error();
  ASSERT_EQ(bindStrided("y", 0, {2, 0, 3, 64}, {7, 7, 7, 7}), 0)
      << mamba_last_error();
  EXPECT_EQ(launched(), (Words{0, 0}));
}

TEST_F(Strides, MustBeThoseOfTheArgument) {
  EXPECT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {5000, 1000, 80, 2}),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: argument 'x': expected stride 1 of axis 3, got 2\n"
               "copy: argument 'x': expected stride 64 of axis 2, got 80");
  EXPECT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {-8, 1000, 64, 1}),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: argument 'x': stride -8 of axis 0 is negative");
  EXPECT_EQ(bindStrided("y", 0x400000, {2, 5, 3, 64}, {960, 200, 64, 1}),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(), "copy: argument 'y': expected stride 192 of "
                                   "axis 1 (the array is dense), got 200");
  EXPECT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {INT64_MAX, 8, 64, 1}),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: argument 'x': its bytes do not fit in 64 bits");
}

TEST_F(Strides, MeetTheConstraints) {
  ASSERT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {5000, 1004, 64, 1}), 0);
  ASSERT_EQ(bind(call, "y", 0x400000, "bf16", {2, 5, 3, 64}), 0);
  EXPECT_EQ(launch(call), MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: expected mod(x_pitch_1, 8) == 0, got x_pitch_1 = 1004");
}

TEST_F(Strides, CountForOverlaps) {
  // From 0x200000 to the end of the last row.
  uint64_t end = 0x200000 + 2 * (1 * 5000 + 4 * 1000 + 3 * 64);
  ASSERT_EQ(bindStrided("x", 0x200000, {2, 5, 3, 64}, {5000, 1000, 64, 1}), 0);
  ASSERT_EQ(bind(call, "y", end - 16, "bf16", {2, 5, 3, 64}), 0);
  EXPECT_EQ(mamba_call_check(call.get()), MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: arguments 'x' and 'y' overlap, and one is written");
  ASSERT_EQ(bind(call, "y", end, "bf16", {2, 5, 3, 64}), 0);
  EXPECT_EQ(mamba_call_check(call.get()), 0) << mamba_last_error();
}

TEST_F(Strides, AreReadFromTheManifest) {
  const struct {
    const char *from, *to, *message;
  } mistakes[] = {
      {R"("x_pitch_1", 64, 1])", "64, 1]",
       ".arguments[0].strides: expected 4 strides, got 3"},
      {R"("x_pitch_1", 64, 1])", R"("x_pitch_1", -64, 1])",
       ".arguments[0].strides[2]: negative stride"},
      {R"("x_pitch_1", 64, 1])", R"("x_pitch_2", 64, 1])",
       "(unknown size 'x_pitch_2')"},
      {R"("x_pitch_1", 64, 1])", R"("heads", 64, 1])",
       "stride 1 of 'x' is not 'x_pitch_1'"},
      {R"(["x_pitch_0", "x_pitch_1", 64, 1])",
       R"(["x_pitch_0", "x_pitch_1", "heads", 1])",
       ".arguments: stride 2 of 'x' is neither a number nor a size that it "
       "gives"},
      {R"("stride": 1})", R"("stride": 4})",
       ".sizes.x_pitch_1: 'x' has no axis 4"},
      {R"("role": "input")", R"("role": "inout")",
       ".arguments[0].strides: expected strides of inputs only"},
  };
  for (const auto &mistake : mistakes) {
    std::string error = loadError(replace(kStrided, mistake.from, mistake.to));
    EXPECT_NE(error.find(mistake.message), std::string::npos)
        << "got: " << error << "\nexpected: " << mistake.message;
  }
}

} // namespace
