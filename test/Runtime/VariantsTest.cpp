//===- VariantsTest.cpp - Tests of functions with several variants --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace mamba::runtime;

namespace {

/// The first variant takes rows of whole 16 bytes at multiples of 32, the
/// second at multiples of 8, the third anything.
const char *const kVariants = R"json({
  "version": 2, "target": "sm_90a",
  "functions": [{
    "name": "copy",
    "arguments": [
      {"name": "x", "dtype": "bf16", "shape": ["length", "width"],
       "role": "input", "alignment": 2},
      {"name": "y", "dtype": "f32", "shape": ["length", "width"],
       "role": "output"}],
    "sizes": {
      "length": {"argument": "x", "axis": 0},
      "width": {"argument": "x", "axis": 1}},
    "variants": [
      {"requires": [{"argument": "x", "alignment": 32},
                    {"argument": "y", "alignment": 64}],
       "workspace": [{"name": "w0", "bytes": "length * 4"}],
       "launches": [
         {"kernel": "tma", "ptx": "copy.ptx", "grid": ["length", 1, 1],
          "block": [128, 1, 1], "shared_bytes": 0,
          "parameters": [
            {"kind": "tensor_map", "argument": "x", "dtype": "bf16",
             "offset": 0, "sizes": ["width", "length"], "strides": ["width"],
             "box": [8, 8], "element_strides": [1, 1], "swizzle": 0,
             "l2_promotion": 0, "fill": "zero"}]}]},
      {"requires": [{"argument": "x", "alignment": 8}],
       "workspace": [{"name": "w0", "bytes": "length * 1000"},
                     {"name": "w1", "bytes": "length"}],
       "launches": [
         {"kernel": "eight", "ptx": "copy.ptx", "grid": ["width - 8", 1, 1],
          "block": [128, 1, 1], "shared_bytes": 0,
          "parameters": [{"kind": "pointer", "argument": "x"},
                         {"kind": "pointer", "workspace": "w1"}]}]},
      {"launches": [
         {"kernel": "any", "ptx": "copy.ptx", "grid": ["length", 1, 1],
          "block": [128, 1, 1], "shared_bytes": 0,
          "parameters": [{"kind": "pointer", "argument": "x"}]}]}]
  }]
})json";

const char *const kVariantsPtx = R"(.version 8.0
.entry tma(.param .align 64 .b8 a[128]) { ret; }
.entry eight(.param .u64 a, .param .u64 b) { ret; }
.entry any(.param .u64 a) { ret; }
)";

class Variants : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    write("copy.ptx", kVariantsPtx);
    bundle = load(kVariants);
    call = makeCall(bundle);
  }

  void bindXY(uint64_t x, uint64_t y, int64_t width = 16, int64_t length = 4) {
    ASSERT_EQ(bind(call, "x", x, "bf16", {length, width}), 0);
    ASSERT_EQ(bind(call, "y", y, "f32", {length, width}), 0);
  }

  /// The kernel that is launched for arrays at these addresses.
  std::string chosen(uint64_t x, uint64_t y, int64_t width = 16) {
    fake_reset();
    fake_set_current(0);
    bindXY(x, y, width);
    EXPECT_EQ(launch(call, 0, 0x600000, 1 << 20), MAMBA_STATUS_OK)
        << mamba_last_error();
    fake_launch made = {};
    EXPECT_EQ(fake_num_launches(), 1u);
    fake_get_launch(0, &made);
    return made.kernel;
  }

  BundlePtr bundle;
  CallPtr call;
};

TEST_F(Variants, AreChosenByAddresses) {
  EXPECT_EQ(chosen(0x200020, 0x400040), "tma");
  EXPECT_EQ(chosen(0x200010, 0x400040), "eight");
  EXPECT_EQ(chosen(0x200020, 0x400010), "eight");
  EXPECT_EQ(chosen(0x200008, 0x400040), "eight");
  EXPECT_EQ(chosen(0x200002, 0x400040), "any");
  EXPECT_EQ(chosen(0x200020, 0x400040), "tma") << "again";
}

TEST_F(Variants, AreChosenByWhatTheirTensorMapsNeed) {
  EXPECT_EQ(chosen(0x200020, 0x400040, /*width=*/24), "tma");
  EXPECT_EQ(chosen(0x200020, 0x400040, /*width=*/20), "eight");
  EXPECT_EQ(chosen(0x200002, 0x400040, /*width=*/20), "any");
}

TEST_F(Variants, AreChosenByTheirGrids) {
  EXPECT_EQ(chosen(0x200020, 0x400040, /*width=*/4), "any")
      << "width - 8 is negative";
}

TEST_F(Variants, AreAllPrepared) {
  ASSERT_EQ(mamba_function_prepare(mamba_bundle_get_function(bundle.get(), 0),
                                   nullptr),
            0);
  fake_fail("cuModuleLoadDataEx", 1);
  for (uint64_t x : {0x200020, 0x200008, 0x200002}) {
    bindXY(x, 0x400040);
    EXPECT_EQ(launch(call, 0, 0x600000, 1 << 20), 0) << mamba_last_error();
  }
  EXPECT_EQ(fake_num_loads(), 1u);
}

TEST_F(Variants, HaveOneWorkspaceThatIsEnoughForEach) {
  bindXY(0, 0);
  size_t bytes = 0;
  ASSERT_EQ(mamba_call_get_workspace_size(call.get(), &bytes), 0);
  EXPECT_EQ(bytes, 4096u + 256u) << "before there are addresses";
  bindXY(0x200008, 0x400040);
  ASSERT_EQ(launch(call, 0, 0x600000, bytes), 0) << mamba_last_error();
  fake_launch made = {};
  fake_get_launch(0, &made);
  EXPECT_EQ(made.parameters[1], 0x600000u + 4096);
}

TEST_F(Variants, AllMustFailForACallToFail) {
  bindXY(0x200001, 0x400040);
  EXPECT_EQ(launch(call, 0, 0x600000, 1 << 20), MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "copy: argument 'x': address 2097153 is not a multiple of 2")
      << "whatever the variant";

  call.reset();
  bundle = load(replace(kVariants, R"({"launches")",
                        R"({"requires": [{"argument": "x", "alignment": 4}],
                            "launches")"));
  call = makeCall(bundle);
  bindXY(0x200002, 0x400000, /*width=*/20);
  EXPECT_EQ(mamba_call_check(call.get()), MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(
      mamba_last_error(),
      "copy: variant 0: launch 0: tensor map of 'x': the stride of dimension 1 "
      "(width) is 40 bytes, expected a multiple of 16\n"
      "copy: variant 0: argument 'x': address 2097154 is not a multiple of 32\n"
      "copy: variant 1: argument 'x': address 2097154 is not a multiple of 8\n"
      "copy: variant 2: argument 'x': address 2097154 is not a multiple of 4");

  call.reset();
  bundle = load(replace(kVariants, R"("grid": ["length", 1, 1],
          "block": [128, 1, 1], "shared_bytes": 0,
          "parameters": [{"kind": "pointer", "argument": "x"}])",
                        R"("grid": ["0 - 1", 1, 1],
          "block": [128, 1, 1], "shared_bytes": 0,
          "parameters": [{"kind": "pointer", "argument": "x"}])"));
  call = makeCall(bundle);
  bindXY(0x200020, 0x400040, /*width=*/4);
  size_t bytes = 0;
  EXPECT_EQ(mamba_call_get_workspace_size(call.get(), &bytes),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(
      mamba_last_error(),
      "copy: variant 0: launch 0: tensor map of 'x': the stride of dimension 1 "
      "(width) is 8 bytes, expected a multiple of 16\n"
      "copy: variant 1: launch 0: negative grid -4 x 1 x 1\n"
      "copy: variant 2: launch 0: negative grid -1 x 1 x 1");
}

TEST_F(Variants, AreReadFromTheManifest) {
  const struct {
    const char *from, *to, *message;
  } mistakes[] = {
      {R"("x", "alignment": 8)", R"("q", "alignment": 8)",
       ".variants[1].requires[0]: there is no argument 'q'"},
      {R"("x", "alignment": 8)", R"("x", "alignment": 12)",
       ".variants[1].requires[0].alignment: expected a power of two, got 12"},
      {R"("input", "alignment": 2)", R"("input", "alignment": 512)",
       ".arguments[0].alignment: expected an integer from 1 to 256, got 512"},
      {R"("name": "w1")", R"("name": "w0")",
       ".variants[1].workspace[1]: workspace 'w0' occurs twice"},
      {R"("workspace": "w1")", R"("workspace": "w2")",
       ".variants[1].launches[0].parameters[1]: there is no workspace 'w2'"},
  };
  for (const auto &mistake : mistakes) {
    std::string error = loadError(replace(kVariants, mistake.from, mistake.to));
    EXPECT_NE(error.find(mistake.message), std::string::npos)
        << "got: " << error << "\nexpected: " << mistake.message;
  }
  std::string none = kVariants;
  size_t begin = none.find("\"variants\": [");
  none = none.substr(0, begin) + "\"variants\": []}]}";
  EXPECT_NE(loadError(none).find(".variants: expected at least one"),
            std::string::npos);
}

} // namespace
