//===- HostTest.cpp - Tests of bundles for the CPU ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace mamba::runtime;

namespace {

const char *const kHostManifest = R"json({
  "version": 1, "target": "cpu", "library": "functions.so",
  "functions": [{
    "name": "sum",
    "arguments": [
      {"name": "x", "dtype": "f32", "shape": ["rows", "columns"],
       "role": "input"},
      {"name": "total", "dtype": "f32", "shape": [], "role": "inout",
       "result": "new_total"},
      {"name": "sums", "dtype": "f32", "shape": [1, 5], "role": "output"}],
    "sizes": {"rows": {"argument": "x", "axis": 0},
              "columns": {"argument": "x", "axis": 1}}
  }]
})json";

class HostTest : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    std::filesystem::create_symlink(MAMBA_HOST_FUNCTIONS,
                                    folder + "/functions.so");
  }

  static mamba_status bindHost(const CallPtr &call, const char *name,
                               const float *address,
                               std::vector<int64_t> sizes) {
    return bind(call, name, reinterpret_cast<uintptr_t>(address), "f32", sizes);
  }
};

TEST_F(HostTest, Runs) {
  BundlePtr bundle = load(kHostManifest);
  EXPECT_STREQ(mamba_bundle_target(bundle.get()), "cpu");
  // Not aligned as device memory is.
  alignas(16) float memory[8] = {0, 1, 2, 3, 4, 5, 6, 0};
  float sums[5], total = 100;
  CallPtr call = makeCall(bundle);
  EXPECT_EQ(bindHost(call, "x", memory + 1, {2, 3}), 0);
  EXPECT_EQ(bindHost(call, "total", &total, {}), 0);
  EXPECT_EQ(bindHost(call, "sums", sums, {1, 5}), 0);
  size_t bytes = 1;
  EXPECT_EQ(mamba_call_get_workspace_size(call.get(), &bytes), 0);
  EXPECT_EQ(bytes, 0u);
  for (float expected : {121.f, 142.f}) {
    EXPECT_EQ(launch(call, 0, 0, 0), 0) << mamba_last_error();
    EXPECT_EQ(total, expected);
  }
  EXPECT_EQ(std::vector<float>(sums, sums + 5),
            std::vector<float>({2, 3, 3, 1, 21}));
  EXPECT_EQ(mamba_function_prepare(mamba_bundle_get_function(bundle.get(), 0),
                                   nullptr),
            0);
  EXPECT_EQ(fake_num_loads(), 0);
}

TEST_F(HostTest, TakesEmptyArrays) {
  BundlePtr bundle = load(kHostManifest);
  float sums[5], total = 7;
  CallPtr call = makeCall(bundle);
  EXPECT_EQ(bindHost(call, "x", nullptr, {0, 3}), 0);
  EXPECT_EQ(bindHost(call, "total", &total, {}), 0);
  EXPECT_EQ(bindHost(call, "sums", sums, {1, 5}), 0);
  EXPECT_EQ(launch(call, 0, 0, 0), 0) << mamba_last_error();
  EXPECT_EQ(total, 7);
}

TEST_F(HostTest, TakesRowsWithGaps) {
  std::string manifest =
      replace(kHostManifest, R"(["rows", "columns"],)",
              R"(["rows", "columns"], "strides": ["x_pitch_0", 1],)");
  manifest = replace(manifest, R"("sizes": {)",
                     R"("sizes": {"x_pitch_0": {"argument": "x", "stride": 0},
                     )");
  BundlePtr bundle = load(manifest);
  float memory[7] = {1, 2, 100, 100, 100, 3, 4};
  float sums[5], total = 0;
  int64_t sizes[2] = {2, 2}, strides[2] = {5, 1};
  CallPtr call = makeCall(bundle);
  EXPECT_EQ(mamba_call_bind_strided(call.get(), "x", memory, "f32", 2, sizes,
                                    strides),
            0)
      << mamba_last_error();
  EXPECT_EQ(bindHost(call, "total", &total, {}), 0);
  EXPECT_EQ(bindHost(call, "sums", sums, {1, 5}), 0);
  EXPECT_EQ(launch(call, 0, 0, 0), 0) << mamba_last_error();
  EXPECT_EQ(std::vector<float>(sums, sums + 5),
            std::vector<float>({2, 2, 5, 1, 10}));
}

TEST_F(HostTest, ChecksArrays) {
  BundlePtr bundle = load(kHostManifest);
  float memory[8] = {}, total = 0;
  CallPtr call = makeCall(bundle);
  EXPECT_EQ(bindHost(call, "sums", memory, {1, 4}), MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(),
               "sum: argument 'sums': expected size 5 of axis 1, got 4");
  EXPECT_EQ(
      bind(call, "x", reinterpret_cast<uintptr_t>(memory) + 2, "f32", {1, 1}),
      0);
  EXPECT_EQ(bindHost(call, "total", &total, {}), 0);
  EXPECT_EQ(launch(call, 0, 0, 0), MAMBA_STATUS_ARGUMENT);
  EXPECT_NE(std::string(mamba_last_error()).find("is missing"),
            std::string::npos);
  EXPECT_NE(std::string(mamba_last_error()).find("is not a multiple of 4"),
            std::string::npos);
}

TEST_F(HostTest, RejectsBundles) {
  EXPECT_NE(loadError(replace(kHostManifest, R"("library")", R"("archive")"))
                .find("expected a field 'library'"),
            std::string::npos);
  EXPECT_NE(loadError(replace(kHostManifest, "functions.so", "../functions.so"))
                .find(".library: expected the name of a file"),
            std::string::npos);
  EXPECT_NE(loadError(replace(kHostManifest, "functions.so", "other.so"))
                .find("cannot open the library of the bundle: "),
            std::string::npos);
  EXPECT_NE(loadError(replace(kHostManifest, R"("sum")", R"("product")"))
                .find("functions.so has no function 'product'"),
            std::string::npos);
}

} // namespace
