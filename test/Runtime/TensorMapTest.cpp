//===- TensorMapTest.cpp - Tests of tensor maps as parameters -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fixture.h"

using namespace mamba::runtime;

namespace {

const char *const kMapManifest = R"json({
  "version": 2, "target": "sm_90a",
  "functions": [{
    "name": "copy",
    "arguments": [
      {"name": "x", "dtype": "bf16", "shape": ["batch", "length", "width"],
       "role": "input"},
      {"name": "y", "dtype": "f32", "shape": [2, "batch"],
       "role": "output"}],
    "sizes": {
      "batch": {"argument": "x", "axis": 0},
      "length": {"argument": "x", "axis": 1},
      "width": {"argument": "x", "axis": 2}},
    "workspace": [{"name": "w0", "bytes": "512"},
                  {"name": "w1", "bytes": "batch * 64"}],
    "launches": [
      {"kernel": "copy", "ptx": "copy.ptx", "grid": ["batch", 1, 1],
       "block": [128, 1, 1], "shared_bytes": 0,
       "parameters": [
         {"kind": "i64", "value": "length"},
         {"kind": "tensor_map", "argument": "x", "dtype": "bf16",
          "offset": "width * 8", "sizes": ["width", "length - 8", "batch"],
          "strides": ["width", "length * width"], "box": [64, 128, 1],
          "element_strides": [1, 2, 1], "swizzle": 128, "l2_promotion": 256,
          "fill": "nan"},
         {"kind": "pointer", "argument": "y"},
         {"kind": "tensor_map", "workspace": "w1", "dtype": "i32",
          "offset": 0, "sizes": [16, "batch"], "strides": [16], "box": [4, 8],
          "element_strides": [1, 1], "swizzle": 0, "l2_promotion": 0,
          "fill": "zero"}]}]
  }]
})json";

const char *const kMapPtx = R"(.version 8.0
.entry copy(
  .param .u64 a, .param .align 64 .b8 b[128], .param .u64 c,
  .param .align 64 .b8 d[128]
) { ret; }
)";

class TensorMaps : public RuntimeTest {
protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    write("copy.ptx", kMapPtx);
  }

  void bindCopy(const BundlePtr &bundle, int64_t batch = 3,
                int64_t length = 100, int64_t width = 72) {
    call = makeCall(bundle);
    EXPECT_EQ(bind(call, "x", batch * length * width ? 0x200000 : 0, "bf16",
                   {batch, length, width}),
              0);
    EXPECT_EQ(bind(call, "y", 0x400000, "f32", {2, batch}), 0)
        << mamba_last_error();
  }

  /// The message of a launch that is refused.
  std::string launchError(const char *from, const char *to,
                          mamba_status status = MAMBA_STATUS_ARGUMENT) {
    BundlePtr bundle = load(replace(manifest, from, to));
    bindCopy(bundle);
    EXPECT_EQ(launch(call), status);
    EXPECT_EQ(fake_num_launches(), 0u);
    call.reset();
    return mamba_last_error();
  }

  std::string manifest = kMapManifest;
  CallPtr call;
};

using Words = std::vector<uint64_t>;
using Numbers = std::vector<int>;

TEST_F(TensorMaps, AreEncodedFromTheManifest) {
  BundlePtr bundle = load(manifest);
  bindCopy(bundle);
  ASSERT_EQ(launch(call), MAMBA_STATUS_OK) << mamba_last_error();
  fake_launch copy;
  ASSERT_TRUE(fake_get_launch(0, &copy));
  ASSERT_EQ(copy.num_parameters, 4u);
  EXPECT_EQ(copy.parameters[0], 100u);
  EXPECT_EQ(copy.parameters[2], 0x400000u);
  ASSERT_EQ(copy.num_tensor_maps, 2u);

  const fake_tensor_map &x = copy.tensor_maps[0], &w = copy.tensor_maps[1];
  EXPECT_EQ(x.address, 0x200000u + 72 * 8 * 2);
  EXPECT_EQ(x.data_type, 9) << "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
  EXPECT_EQ(x.rank, 3);
  EXPECT_EQ(Words(x.sizes, x.sizes + 3), (Words{72, 92, 3}));
  EXPECT_EQ(Words(x.strides, x.strides + 3), (Words{144, 14400, 0}))
      << "in bytes, without the innermost";
  EXPECT_EQ(Numbers(x.box, x.box + 3), (Numbers{64, 128, 1}));
  EXPECT_EQ(Numbers(x.element_strides, x.element_strides + 3),
            (Numbers{1, 2, 1}));
  EXPECT_EQ(x.interleave, 0);
  EXPECT_EQ(x.swizzle, 3) << "CU_TENSOR_MAP_SWIZZLE_128B";
  EXPECT_EQ(x.l2_promotion, 3) << "CU_TENSOR_MAP_L2_PROMOTION_L2_256B";
  EXPECT_EQ(x.fill, 1) << "NAN_REQUEST_ZERO_FMA";

  EXPECT_EQ(w.address, 0x600000u + 512);
  EXPECT_EQ(w.data_type, 3) << "CU_TENSOR_MAP_DATA_TYPE_INT32";
  EXPECT_EQ(Words(w.sizes, w.sizes + 2), (Words{16, 3}));
  EXPECT_EQ(Words(w.strides, w.strides + 1), (Words{64}));
  EXPECT_EQ(w.swizzle + w.l2_promotion + w.fill, 0);
}

TEST_F(TensorMaps, FollowTheArrays) {
  BundlePtr bundle = load(manifest);
  bindCopy(bundle);
  ASSERT_EQ(launch(call), 0);
  bind(call, "x", 0x800000, "bf16", {3, 100, 72});
  ASSERT_EQ(launch(call), 0);
  bindCopy(bundle, /*batch=*/3, /*length=*/40);
  ASSERT_EQ(launch(call, 0, /*workspace=*/0x700000), 0);
  fake_launch moved, shorter;
  ASSERT_TRUE(fake_get_launch(1, &moved) && fake_get_launch(2, &shorter));
  EXPECT_EQ(moved.tensor_maps[0].address, 0x800000u + 72 * 8 * 2);
  EXPECT_EQ(shorter.tensor_maps[0].sizes[1], 32u);
  EXPECT_EQ(shorter.tensor_maps[1].address, 0x700000u + 512);
}

/// Everything in a map of one zero element is zero, in bounds or not.
TEST_F(TensorMaps, OfEmptyTensorsAreZeros) {
  BundlePtr bundle = load(replace(manifest, R"("nan")", R"("zero")"));
  bindCopy(bundle, /*batch=*/3, /*length=*/8);
  ASSERT_EQ(launch(call), MAMBA_STATUS_OK) << mamba_last_error();
  fake_launch copy;
  ASSERT_TRUE(fake_get_launch(0, &copy));
  const fake_tensor_map &x = copy.tensor_maps[0];
  EXPECT_NE(x.address, 0u);
  EXPECT_EQ(x.address, fake_variable());
  EXPECT_EQ(Words(x.sizes, x.sizes + 3), (Words{1, 1, 1}));
  EXPECT_EQ(Words(x.strides, x.strides + 2), (Words{16, 16}));
  EXPECT_EQ(Numbers(x.box, x.box + 3), (Numbers{64, 128, 1}));
  EXPECT_EQ(x.swizzle, 3);
  EXPECT_EQ(fake_num_loads(), 2u);
  // The zeros are loaded once for each context.
  ASSERT_EQ(launch(call), 0);
  EXPECT_EQ(fake_num_loads(), 2u);
  ASSERT_EQ(launch(call, fake_stream(1)), 0);
  EXPECT_EQ(fake_num_loads(), 4u);
  ASSERT_TRUE(fake_get_launch(2, &copy));
  EXPECT_EQ(copy.tensor_maps[0].address, fake_variable());
  bundle.reset();
  EXPECT_EQ(fake_num_unloads(), 4u);
}

TEST_F(TensorMaps, OfSkippedLaunchesAreNotEncoded) {
  BundlePtr bundle = load(manifest);
  fake_fail("cuTensorMapEncodeTiled", 1);
  bindCopy(bundle, /*batch=*/0);
  EXPECT_EQ(launch(call), MAMBA_STATUS_OK) << mamba_last_error();
  EXPECT_EQ(fake_num_launches(), 0u);
}

TEST_F(TensorMaps, AreCheckedBeforeTheDriverDoes) {
  const char *const prefix = "copy: launch 0: tensor map of 'x': ";
  const struct {
    const char *from, *to, *message;
  } mistakes[] = {
      {R"("strides": ["width", )", R"("strides": ["width + 4", )",
       "the stride of dimension 1 (width + 4) is 152 bytes, expected a "
       "multiple of 16"},
      {"length * width", "length * 68719476736",
       "the stride of dimension 2 (length * 68719476736) is 6871947673600 "
       "elements, expected 0 to 549755813887"},
      {"length * width", "length - 101",
       "the stride of dimension 2 (length - 101) is -1 elements, expected 0 "
       "to 549755813887"},
      {R"("offset": "width * 8")", R"("offset": "width + 1")",
       "the offset (width + 1) is 146 bytes, expected a multiple of 16"},
      {R"("offset": "width * 8")", R"("offset": "width - 80")",
       "the offset (width - 80) is -8 elements, expected 0 to "
       "4611686018427387903"},
      {"length - 8", "length - 101",
       "size 1 (length - 101) is -1, expected 0 to 4294967296"},
      {"length - 8", "length * 42949673",
       "size 1 (length * 42949673) is 4294967300, expected 0 to 4294967296"},
      {"length - 8", "length * 922337203685477580",
       "'length * 922337203685477580' does not fit in 64 bits"},
      {"length - 8", "length - 100",
       "the tensor is empty, and its fill is not zero"},
  };
  for (const auto &mistake : mistakes)
    EXPECT_EQ(launchError(mistake.from, mistake.to),
              prefix + std::string(mistake.message));
}

TEST_F(TensorMaps, AreAskedOfTheDriverBeforeAnythingIsQueued) {
  fake_fail("cuTensorMapEncodeTiled", 1);
  EXPECT_EQ(launchError("copy.ptx", "copy.ptx", MAMBA_STATUS_DRIVER),
            "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_F(TensorMaps, ThatAreNeverLegalAreRejectedWithTheManifest) {
  const struct {
    const char *from, *to, *message;
  } mistakes[] = {
      {R"("x", "dtype": "bf16",
          "offset")",
       R"("x", "dtype": "i1", "offset")",
       "parameters[1].dtype: tensor maps have no dtype 'i1'"},
      {R"("argument": "x", "dtype": "bf16",
          "offset")",
       R"("argument": "q", "dtype": "bf16", "offset")",
       "parameters[1]: there is no argument 'q'"},
      {R"(["width", "length - 8", "batch"])", "[]",
       ".sizes: expected 1 to 5 dimensions, got 0"},
      {R"(["width", "length - 8", "batch"])", "[1, 1, 1, 1, 1, 1]",
       ".sizes: expected 1 to 5 dimensions, got 6"},
      {R"(["width", "length * width"])", R"(["width"])",
       ".strides: expected 2 strides, got 1"},
      {R"("length * width"])", R"("rows"])", "(unknown size 'rows')"},
      {"[64, 128, 1]", "[64, 128]", ".box: expected 3 numbers, got 2"},
      {"[64, 128, 1]", "[64, 257, 1]",
       ".box[1]: expected an integer from 1 to 256"},
      {"[64, 128, 1]", "[60, 128, 1]",
       ".box: rows of 120 bytes, expected a multiple of 16"},
      {"[64, 128, 1]", "[72, 128, 1]",
       ".box: rows of 144 bytes, expected at most the 128 of the swizzle"},
      {"[1, 2, 1]", "[1, 9, 1]",
       ".element_strides[1]: expected an integer from 1 to 8"},
      {R"("swizzle": 128)", R"("swizzle": 96)",
       ".swizzle: expected 0, 32, 64 or 128, got 96"},
      {R"("l2_promotion": 256)", R"("l2_promotion": 32)",
       ".l2_promotion: expected 0, 64, 128 or 256, got 32"},
      {R"("nan")", R"("one")", ".fill: expected zero or nan, got 'one'"},
      {R"("zero")", R"("nan")", ".fill: integers cannot be filled with nan"},
      {R"("workspace": "w1", "dtype")", R"("workspace": "w2", "dtype")",
       "parameters[3]: there is no workspace 'w2'"},
  };
  for (const auto &mistake : mistakes) {
    std::string error = loadError(replace(manifest, mistake.from, mistake.to));
    EXPECT_NE(error.find(mistake.message), std::string::npos)
        << "got: " << error << "\nexpected: " << mistake.message;
  }
}

} // namespace
