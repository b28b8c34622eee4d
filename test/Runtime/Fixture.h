//===- Fixture.h - A bundle and a driver for tests --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_RUNTIME_FIXTURE_H
#define MAMBA_TEST_RUNTIME_FIXTURE_H

#include "FakeCuda.h"
#include "mamba-c/Runtime.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace mamba::runtime {

inline const char *const kManifest = R"json({
  "version": 1, "target": "sm_90a", "later": {},
  "functions": [{
    "name": "step",
    "arguments": [
      {"name": "state", "dtype": "f32", "shape": ["slots", "heads", 64],
       "role": "inout", "result": "new_state"},
      {"name": "x", "dtype": "bf16", "shape": ["batch", "heads", 64],
       "role": "input"},
      {"name": "B", "dtype": "bf16", "shape": ["batch", "groups", 128],
       "role": "input"},
      {"name": "y", "dtype": "bf16", "shape": ["batch", "heads", 64],
       "role": "output"},
      {"name": "sums", "dtype": "f32", "shape": ["ceildiv(batch, 4)"],
       "role": "output"}],
    "sizes": {
      "slots": {"argument": "state", "axis": 0},
      "heads": {"argument": "state", "axis": 1},
      "batch": {"argument": "x", "axis": 0},
      "groups": {"argument": "B", "axis": 1}},
    "constraints": ["mod(heads, groups) == 0"],
    "operations": [{"op": "mamba.ssu", "softplus": true}],
    "workspace": [{"name": "w0", "bytes": "batch * 100"},
                  {"name": "w1", "bytes": "heads * 8"}],
    "launches": [
      {"kernel": "first", "ptx": "step.ptx", "grid": ["batch", "heads", "1"],
       "block": [128, 1, 1], "cluster": [1, 1, 1], "shared_bytes": 65536,
       "parameters": [{"kind": "pointer", "argument": "x"},
                      {"kind": "pointer", "workspace": "w0"},
                      {"kind": "pointer", "workspace": "w1"},
                      {"kind": "i64", "value": "0 - heads * batch"}]},
      {"kernel": "second", "ptx": "step.ptx", "grid": ["16 * slots", 1, 1],
       "block": [64, 2, 1], "cluster": [16, 1, 1], "shared_bytes": 0,
       "parameters": [{"kind": "pointer", "argument": "state"},
                      {"kind": "pointer", "argument": "y"}]}]
  }]
})json";

inline const char *const kPtx = R"(.version 8.0
.entry first(
  .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d
) { ret; }
.entry second(.param .u64 a, .param .u64 b) { ret; }
)";

/// Fails the test unless `text` has one occurrence of `from`.
inline std::string replace(std::string text, const std::string &from,
                           const std::string &to) {
  size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return found == std::string::npos ? text
                                    : text.replace(found, from.size(), to);
}

struct BundleDeleter {
  void operator()(mamba_bundle *bundle) const { mamba_bundle_destroy(bundle); }
};
struct CallDeleter {
  void operator()(mamba_call *call) const { mamba_call_destroy(call); }
};
using BundlePtr = std::unique_ptr<mamba_bundle, BundleDeleter>;
using CallPtr = std::unique_ptr<mamba_call, CallDeleter>;

/// Tests with a folder for bundles and the fake driver, device 0 current.
class RuntimeTest : public ::testing::Test {
protected:
  void SetUp() override {
    static bool isPathSet =
        mamba_set_driver_path(MAMBA_FAKE_CUDA) == MAMBA_STATUS_OK;
    ASSERT_TRUE(isPathSet);
    fake_reset();
    fake_set_current(0);
    folder = ::testing::TempDir() + "mamba-runtime-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    write("step.ptx", kPtx);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &name, const std::string &text) {
    std::ofstream(folder + "/" + name) << text;
  }

  BundlePtr load(const std::string &manifest = kManifest) {
    write("manifest.json", manifest);
    mamba_bundle *bundle = nullptr;
    EXPECT_EQ(mamba_bundle_load(folder.c_str(), &bundle), MAMBA_STATUS_OK)
        << mamba_last_error();
    return BundlePtr(bundle);
  }

  /// The message of a manifest that is not accepted.
  std::string loadError(const std::string &manifest) {
    write("manifest.json", manifest);
    mamba_bundle *bundle = reinterpret_cast<mamba_bundle *>(16);
    EXPECT_EQ(mamba_bundle_load(folder.c_str(), &bundle), MAMBA_STATUS_BUNDLE);
    EXPECT_EQ(bundle, nullptr);
    return mamba_last_error();
  }

  CallPtr makeCall(const BundlePtr &bundle) {
    mamba_call *call = nullptr;
    EXPECT_EQ(
        mamba_call_create(mamba_bundle_get_function(bundle.get(), 0), &call),
        MAMBA_STATUS_OK);
    return CallPtr(call);
  }

  static mamba_status bind(const CallPtr &call, const char *name,
                           uint64_t address, const char *dtype,
                           std::vector<int64_t> sizes) {
    return mamba_call_bind(call.get(), name, reinterpret_cast<void *>(address),
                           dtype, sizes.size(), sizes.data());
  }

  /// Binds arrays of 3 slots, 4 heads, 5 rows, 2 groups.
  static void bindAll(const CallPtr &call, int64_t batch = 5,
                      int64_t slots = 3) {
    EXPECT_EQ(bind(call, "state", 0x100000, "f32", {slots, 4, 64}), 0);
    EXPECT_EQ(bind(call, "x", 0x200000, "bf16", {batch, 4, 64}), 0);
    EXPECT_EQ(bind(call, "B", 0x300000, "bf16", {batch, 2, 128}), 0);
    EXPECT_EQ(bind(call, "y", 0x400000, "bf16", {batch, 4, 64}), 0);
    EXPECT_EQ(bind(call, "sums", 0x500000, "f32", {(batch + 3) / 4}), 0);
  }

  static mamba_status launch(const CallPtr &call, uint64_t stream = 0,
                             uint64_t workspace = 0x600000,
                             size_t bytes = 1024) {
    return mamba_call_launch(call.get(), reinterpret_cast<void *>(workspace),
                             bytes, reinterpret_cast<CUstream_st *>(stream));
  }

  std::string folder;
};

} // namespace mamba::runtime

#endif // MAMBA_TEST_RUNTIME_FIXTURE_H
