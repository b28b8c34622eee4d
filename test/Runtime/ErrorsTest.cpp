//===- ErrorsTest.cpp - Tests of the bundle loader's messages -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace mamba::runtime;

namespace {

struct Mistake {
  const char *from, *to, *message;
};

TEST_F(RuntimeTest, RejectsManifests) {
  const Mistake mistakes[] = {
      {"{", "[", "is not JSON"},
      {R"("version": 1)", R"("version": 3)",
       ".version: expected an integer from 1 to 2, got 3"},
      {R"("version": 1)", R"("version": "1")",
       ".version: expected an integer from 1 to 2"},
      {R"("version": 1,)", "", ": expected a field 'version'"},
      {R"("sm_90a")", "90", ".target: expected a string"},
      {R"("name": "step")", R"("name": "a\u0000b")", "without zero bytes"},
      {R"("name": "x")", R"("name": "state")",
       ".functions[0].arguments[1]: argument 'state' occurs twice"},
      {R"("bf16")", R"("bf17")", "[1].dtype: unknown dtype 'bf17'"},
      {R"("inout")", R"("both")",
       "[0].role: expected input, output or inout, got 'both'"},
      {R"("heads", 64)", R"("heads", -1)", "[0].shape[2]: negative size"},
      {R"("heads", 64)", R"("heads", 1.5)", ".shape[2]: expected a string"},
      {R"("argument": "x")", R"("argument": "y")",
       ".sizes.batch: size 'batch' comes from 'y', which is not an input"},
      {R"("x", "axis": 0)", R"("x", "axis": 3)",
       ".sizes.batch: 'x' has no axis 3"},
      {R"("x", "axis": 0)", R"("x", "axis": -1)",
       ".axis: expected an integer from 0 to"},
      {"ceildiv(batch, 4)", "ceildiv(rows, 4)",
       "shape[0]: not a size expression: 'ceildiv(rows, 4)' (unknown size "
       "'rows')"},
      {" == 0", "",
       ".constraints[0]: not a condition on sizes: "
       "'mod(heads, groups)' (expected a comparison)"},
      {R"("name": "w1")", R"("name": "w0")", "workspace 'w0' occurs twice"},
      {R"("step.ptx")", R"("../step.ptx")",
       ".ptx: expected the name of a file, got '../step.ptx'"},
      {R"("step.ptx")", R"("other.ptx")", "other.ptx: No such file"},
      {R"(["batch", "heads", "1"])", R"(["batch"])",
       ".grid: expected three expressions"},
      {"[128, 1, 1]", "[128]", ".block: expected three numbers"},
      {"[128, 1, 1]", "[0, 1, 1]",
       ".block[0]: expected an integer from 1 to 1024"},
      {"65536", "18446744073709551615", ".shared_bytes: expected an integer"},
      {R"("kind": "i64")", R"("kind": "f32")",
       ".parameters[3]: unknown kind of parameter 'f32'"},
      {R"("pointer", "argument": "y")", R"("pointer", "argument": "q")",
       "there is no argument 'q'"},
      {R"("pointer", "workspace": "w1")", R"("pointer", "workspace": "q")",
       "there is no workspace 'q'"},
  };
  for (const Mistake &mistake : mistakes) {
    std::string error = loadError(replace(kManifest, mistake.from, mistake.to));
    EXPECT_NE(error.find(mistake.message), std::string::npos)
        << "got: " << error << "\nexpected: " << mistake.message;
  }
}

TEST_F(RuntimeTest, RejectsFunctionsOfOneName) {
  std::string manifest = kManifest, name = R"(,{"name": "step",
      "arguments": [], "launches": []}])";
  size_t end = manifest.rfind(']');
  EXPECT_NE(loadError(manifest.replace(end, 1, name))
                .find(".functions[1]: function 'step' occurs twice"),
            std::string::npos);
}

TEST_F(RuntimeTest, RejectsFoldersWithoutManifest) {
  mamba_bundle *bundle;
  EXPECT_EQ(mamba_bundle_load(folder.c_str(), &bundle), MAMBA_STATUS_BUNDLE);
  EXPECT_EQ(mamba_last_error(), "cannot read " + folder +
                                    "/manifest.json: No such file or "
                                    "directory");
}

TEST_F(RuntimeTest, RejectsNullPointers) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  mamba_bundle *other;
  EXPECT_EQ(mamba_bundle_load(nullptr, &other), MAMBA_STATUS_MISUSE);
  EXPECT_STREQ(mamba_last_error(), "folder is a null pointer");
  EXPECT_EQ(mamba_bundle_load("x", nullptr), MAMBA_STATUS_MISUSE);
  EXPECT_STREQ(mamba_last_error(), "bundle is a null pointer");
  EXPECT_EQ(mamba_call_bind(call.get(), "x", nullptr, "bf16", 3, nullptr),
            MAMBA_STATUS_MISUSE);
  EXPECT_STREQ(mamba_last_error(), "sizes is a null pointer");
  EXPECT_EQ(mamba_call_check(nullptr), MAMBA_STATUS_MISUSE);
  EXPECT_STREQ(mamba_last_error(), "call is a null pointer");
}

TEST_F(RuntimeTest, RejectsAnotherDriverOnceOneIsOpen) {
  BundlePtr bundle = load();
  mamba_function_prepare(mamba_bundle_get_function(bundle.get(), 0), nullptr);
  EXPECT_EQ(mamba_set_driver_path("libother.so"), MAMBA_STATUS_MISUSE);
  EXPECT_EQ(mamba_last_error(),
            std::string("the CUDA driver is open already (") + MAMBA_FAKE_CUDA +
                ")");
}

/// Arrays that bind rejects.
TEST_F(RuntimeTest, RejectsArrays) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  auto bindError = [&](const char *name, const char *dtype,
                       std::vector<int64_t> sizes) -> std::string {
    EXPECT_EQ(bind(call, name, 16, dtype, sizes), MAMBA_STATUS_ARGUMENT);
    return mamba_last_error();
  };
  EXPECT_EQ(bindError("z", "f32", {1}),
            "step: no argument 'z'; there are state, x, B, y, sums");
  EXPECT_EQ(bindError("x", "f32", {5, 4, 64}),
            "step: argument 'x': expected dtype bf16, got f32");
  EXPECT_EQ(bindError("x", "bf16", {5, 64}),
            "step: argument 'x': expected 3 axes, got 2");
  EXPECT_EQ(bindError("x", "bf16", {-5, 4, 64}),
            "step: argument 'x': size -5 of axis 0 is negative");
  EXPECT_EQ(bindError("x", "bf16", {5, 4, 128}),
            "step: argument 'x': expected size 64 of axis 2, got 128");
  EXPECT_EQ(bindError("x", "bf16", {INT64_MAX, 4, 64}),
            "step: argument 'x': its bytes do not fit in 64 bits");
  EXPECT_EQ(bindError("x", "f16", {5, 4, 65}),
            "step: argument 'x': expected dtype bf16, got f16\n"
            "step: argument 'x': expected size 64 of axis 2, got 65");
  EXPECT_EQ(bind(call, "x", 16, "bf16", {INT64_MAX, 0, 64}), 0)
      << "no elements, no bytes";
}

TEST_F(RuntimeTest, KeepsTheOldArrayAfterAMistake) {
  BundlePtr bundle = load();
  CallPtr call = makeCall(bundle);
  bindAll(call);
  EXPECT_NE(bind(call, "x", 0x800000, "f32", {5, 4, 64}), 0);
  EXPECT_EQ(launch(call), 0);
  fake_launch first;
  ASSERT_TRUE(fake_get_launch(0, &first));
  EXPECT_EQ(first.parameters[0], 0x200000u);
}

/// Calls with mistakes that are seen when all arrays are known.
class RejectsCalls : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    bundle = load();
    call = makeCall(bundle);
    bindAll(call);
  }

  /// The message of a launch, which must not queue anything.
  std::string launchError(uint64_t workspace = 0x600000, size_t bytes = 1024,
                          mamba_status status = MAMBA_STATUS_ARGUMENT) {
    EXPECT_EQ(launch(call, 0, workspace, bytes), status);
    EXPECT_EQ(fake_num_launches(), 0u);
    return mamba_last_error();
  }

  void reload(const char *from, const char *to) {
    call.reset();
    bundle = load(replace(kManifest, from, to));
    call = makeCall(bundle);
    bindAll(call);
  }

  BundlePtr bundle;
  CallPtr call;
};

TEST_F(RejectsCalls, WithoutInputs) {
  call = makeCall(bundle);
  size_t bytes;
  EXPECT_EQ(mamba_call_get_workspace_size(call.get(), &bytes),
            MAMBA_STATUS_ARGUMENT);
  EXPECT_STREQ(mamba_last_error(), "step: argument 'state' is missing\n"
                                   "step: argument 'x' is missing\n"
                                   "step: argument 'B' is missing");
}

TEST_F(RejectsCalls, WithoutOutputs) {
  call = makeCall(bundle);
  bind(call, "state", 0x100000, "f32", {3, 4, 64});
  bind(call, "x", 0x200000, "bf16", {5, 4, 64});
  bind(call, "B", 0x300000, "bf16", {5, 2, 128});
  EXPECT_EQ(launchError(), "step: argument 'y' is missing\n"
                           "step: argument 'sums' is missing");
}

TEST_F(RejectsCalls, WithDifferentSizesOfOneName) {
  bind(call, "x", 0x200000, "bf16", {5, 6, 64});
  bind(call, "sums", 0x500000, "f32", {5});
  EXPECT_EQ(launchError(),
            "step: argument 'x': expected size 4 of axis 1 (heads, as axis 1 "
            "of 'state'), got 6\n"
            "step: argument 'sums': expected size 2 of axis 0 (ceildiv(batch, "
            "4)), got 5");
}

TEST_F(RejectsCalls, AgainstConstraints) {
  bind(call, "B", 0x300000, "bf16", {5, 3, 128});
  EXPECT_EQ(launchError(), "step: expected mod(heads, groups) == 0, got groups "
                           "= 3, heads = 4");
  bind(call, "B", 0x300000, "bf16", {5, 0, 128});
  EXPECT_EQ(launchError(), "step: expected mod(heads, groups) == 0, got groups "
                           "= 0, heads = 4: division by 0 in 'mod(heads, "
                           "groups)'");
}

TEST_F(RejectsCalls, AtNullPointers) {
  bind(call, "x", 0, "bf16", {5, 4, 64});
  EXPECT_EQ(launchError(), "step: argument 'x': null pointer to 2560 bytes");
}

TEST_F(RejectsCalls, AtUnalignedAddresses) {
  bind(call, "x", 0x200008, "bf16", {5, 4, 64});
  EXPECT_EQ(launchError(),
            "step: argument 'x': address 2097160 is not a multiple of 16");
}

TEST_F(RejectsCalls, BeyondTheAddressSpace) {
  bind(call, "x", ~uint64_t(15), "bf16", {5, 4, 64});
  EXPECT_EQ(launchError(), "step: argument 'x': address 18446744073709551600 "
                           "plus 2560 bytes exceeds 64 bits");
}

TEST_F(RejectsCalls, ThatWriteOverOtherArrays) {
  bind(call, "y", 0x200100, "bf16", {5, 4, 64});
  EXPECT_EQ(launchError(),
            "step: arguments 'x' and 'y' overlap, and one is written");
  bind(call, "y", 0x200000 + 2560, "bf16", {5, 4, 64});
  bind(call, "B", 0x200000, "bf16", {5, 2, 128}); // both are only read
  EXPECT_EQ(mamba_call_check(call.get()), 0) << mamba_last_error();
}

TEST_F(RejectsCalls, WithWorkspace) {
  EXPECT_EQ(launchError(0x600000, 767),
            "step: expected 768 bytes of workspace, got 767");
  EXPECT_EQ(launchError(0, 1024), "step: workspace: null pointer to 768 bytes");
  EXPECT_EQ(launchError(0x600004),
            "step: workspace: address 6291460 is not a multiple of 16");
  EXPECT_EQ(launchError(0x200000), "step: workspace and argument 'x' overlap");
}

TEST_F(RejectsCalls, OfGridsBeyondTheLimits) {
  reload(R"(["batch", "heads", "1"])", R"(["batch", "heads * 16384", "1"])");
  EXPECT_EQ(launchError(),
            "step: launch 0: grid 5 x 65536 x 1 exceeds CUDA's limit of "
            "2147483647 x 65535 x 65535");
}

TEST_F(RejectsCalls, OfNegativeGrids) {
  reload(R"(["batch", "heads", "1"])", R"(["batch - 6", "heads", "1"])");
  EXPECT_EQ(launchError(), "step: launch 0: negative grid -1 x 4 x 1");
}

TEST_F(RejectsCalls, OfGridsThatAreNoMultipleOfTheCluster) {
  reload("16 * slots", "slots");
  EXPECT_EQ(launchError(), "step: launch 1: grid 3 x 1 x 1 is not a multiple "
                           "of the cluster 16 x 1 x 1");
}

TEST_F(RejectsCalls, WhoseNumbersOverflow) {
  const Mistake mistakes[] = {
      {R"(["batch", "heads", "1"])",
       R"(["9223372036854775807 * batch", "heads", "1"])",
       "step: launch 0: '9223372036854775807 * batch' does not fit in 64 bits"},
      {"0 - heads * batch", "0 - heads * 9223372036854775807",
       "step: launch 0: '0 - heads * 9223372036854775807' does not fit in 64 "
       "bits"},
      {"batch * 100", "batch * 4611686018427387904",
       "step: workspace 'w0': 'batch * 4611686018427387904' does not fit in 64 "
       "bits"},
      {"batch * 100", "9223372036854775807",
       "step: the bytes of workspace do not fit in 64 bits"},
      {"batch * 100", "batch - 100", "step: workspace 'w0': -95 bytes"},
  };
  for (const Mistake &mistake : mistakes) {
    reload(mistake.from, mistake.to);
    EXPECT_EQ(launchError(), mistake.message);
  }
}

TEST_F(RejectsCalls, WithoutContext) {
  fake_set_current(-1);
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "no CUDA context is current in this thread");
}

TEST_F(RejectsCalls, OnOtherDevices) {
  fake_set_capability(0, 10, 3);
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "the bundle is for sm_90a, and device 0 (Fake 0) is sm_103");
  reload("sm_90a", "sm_100f");
  EXPECT_EQ(launch(call), 0) << mamba_last_error();
  reload("sm_90a", "sm_90");
  EXPECT_EQ(launch(call), 0) << mamba_last_error();
}

TEST_F(RejectsCalls, OfFaultyPtx) {
  write("step.ptx", "nonsense");
  reload("sm_90a", "sm_90a");
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "loading step.ptx: ptxas fatal: no version: "
            "CUDA_ERROR_INVALID_PTX (218)");
  write("step.ptx", kPtx);
  reload(R"("kernel": "second")", R"("kernel": "third")");
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "kernel 'third' of step.ptx: CUDA_ERROR_NOT_FOUND (500)");
}

TEST_F(RejectsCalls, WhenTheDriverFails) {
  fake_fail("cuFuncSetAttribute", 1);
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "kernel 'first' of step.ptx with 65536 bytes of shared memory: "
            "CUDA_ERROR_INVALID_VALUE (1)");
  fake_fail("cuLaunchKernel", 719);
  EXPECT_EQ(launchError(0x600000, 1024, MAMBA_STATUS_DRIVER),
            "step: launch 0: unknown error (719)");
  EXPECT_EQ(mamba_function_prepare(mamba_bundle_get_function(bundle.get(), 0),
                                   reinterpret_cast<CUstream_st *>(64)),
            MAMBA_STATUS_DRIVER);
  EXPECT_STREQ(mamba_last_error(),
               "cuStreamGetCtx: CUDA_ERROR_INVALID_VALUE (1)");
}

} // namespace
