//===- SimTensorMapTest.cpp - Tensor maps in the simulator ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which maps are legal, and the places from which instructions take them.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"
#include "mamba/Sim/TensorMap.h"

#include <cstring>
#include <numeric>

using namespace llvm;
using namespace mamba::sim;
using mamba::ptx::Type;

namespace {

/// Rows of 40 bf16 elements.
TensorMap makeMap() {
  TensorMap map;
  map.element = Type::BF16;
  map.rank = 2;
  map.sizes = {40, 20, 1, 1, 1};
  map.strides = {2, 80, 0, 0, 0};
  map.box = {32, 8, 1, 1, 1};
  map.swizzle = 64;
  return map;
}

TEST(SimTensorMapTest, Rules) {
  auto check = [](TensorMap map) { return toString(map.verify()); };
  const TensorMap good = makeMap();
  EXPECT_FALSE(bool(good.verify()));
  std::array<uint8_t, TensorMap::kBytes> image = good.encode();
  std::optional<TensorMap> again = TensorMap::decode(image.data());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->strides, good.strides);
  EXPECT_EQ(again->sizes, good.sizes);
  EXPECT_EQ(again->box, good.box);
  EXPECT_EQ(again->swizzle, 64u);

  TensorMap map = good;
  map.address = 8;
  EXPECT_EQ(check(map), "tensor map: address 0x8, expected a multiple of 16");
  map = good;
  map.strides[1] = 88;
  EXPECT_EQ(check(map), "tensor map: dimension 1 has a stride of 88 bytes, "
                        "expected a multiple of 16 below 2^40");
  map = good;
  map.box[1] = 257;
  EXPECT_EQ(check(map), "tensor map: dimension 1 has a box of 257 elements, "
                        "expected 1 to 256");
  map = good;
  map.box[0] = 40;
  EXPECT_EQ(check(map), "tensor map: a box row of 80 bytes, more than the 64 "
                        "of the swizzle");
  map.box[0] = 12;
  EXPECT_EQ(check(map),
            "tensor map: a box row of 24 bytes, expected a multiple of 16");
  map = good;
  map.sizes[1] = 0;
  EXPECT_EQ(check(map),
            "tensor map: dimension 1 has size 0, expected 1 to 2^32");
  map = good;
  map.elementStrides[1] = 9;
  EXPECT_EQ(check(map), "tensor map: dimension 1 has an element stride of 9, "
                        "expected 1 to 8");
  map = good;
  map.element = Type::U16;
  map.fillsNaN = true;
  EXPECT_EQ(check(map), "tensor map: a fill with NaN of elements of type u16");
  map = good;
  map.element = Type::F32;
  map.swizzle = 0;
  map.box = {256, 256, 1, 1, 1};
  EXPECT_EQ(check(map), "tensor map: a box of 262144 bytes, more than shared "
                        "memory has");
}

/// Loads the first eight words of the tensor by a map at %rd2.
constexpr StringLiteral kHead = R"(.version 8.6
.target sm_90a
.address_size 64
)";
constexpr StringLiteral kBody = R"(
 .reg .pred %p<4>;
 .reg .b32 %r<8>;
 .shared .align 128 .b8 tile[512];
 .shared .align 8 .b8 bar[8];
 mbarrier.init.shared::cta.b64 [bar], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;
 mov.b32 %r0, 0;
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {%r0, %r0}], [bar];
WAIT:
 mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0;
 @!%p0 bra WAIT;
 ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [tile];
 st.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r4};
 ret;
}
)";

struct MapRun {
  std::array<uint32_t, 4> out{};
  std::string text;
};

/// `makeText` gets the map, and gives the kernel `k(out, map)` or `k(out)`.
template <typename Fn> MapRun run(bool passesMap, Fn makeText) {
  MapRun result;
  Device device;
  std::vector<uint16_t> tensor(40 * 20);
  std::iota(tensor.begin(), tensor.end(), 0);
  TensorMap map = makeMap();
  map.swizzle = 0;
  map.address =
      device.add("tensor", tensor.data(), tensor.size() * 2, BufferRole::Input);
  std::array<uint8_t, TensorMap::kBytes> image = map.encode();
  uint64_t addresses[] = {
      device.add("out", result.out.data(), 16, BufferRole::Output),
      device.add("map", image.data(), image.size(), BufferRole::Input)};
  Expected<Program> program = Program::load(
      MemoryBuffer::getMemBufferCopy(makeText(image)), "k.ptx", device);
  if (!program) {
    result.text = toString(program.takeError());
    return result;
  }
  std::vector<std::vector<uint8_t>> parameters;
  for (unsigned i = 0; i != 1u + passesMap; ++i) {
    parameters.emplace_back(8);
    std::memcpy(parameters.back().data(), &addresses[i], 8);
  }
  Expected<LaunchResult> launched = program->launch("k", {}, parameters);
  if (!launched) {
    result.text = toString(launched.takeError());
    return result;
  }
  for (const Finding &finding : launched->findings)
    result.text += finding.str() + "\n";
  return result;
}

void expectWords(const MapRun &run) {
  EXPECT_EQ(run.text, "");
  for (unsigned i = 0; i != 4; ++i)
    EXPECT_EQ(run.out[i], (2 * i + 1) << 16 | 2 * i);
}

TEST(SimTensorMapTest, InGlobalMemory) {
  expectWords(run(true, [](const auto &) {
    return (kHead + ".visible .entry k(.param .u64 out, .param .u64 map)\n{" +
            " .reg .b64 %rd<4>; ld.param.u64 %rd1, [out];\n"
            " ld.param.u64 %rd2, [map];\n"
            " fence.proxy.tensormap::generic.release.gpu;\n"
            " fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"
            " prefetch.tensormap [%rd2];\n{" +
            kBody + "}\n")
        .str();
  }));
}

TEST(SimTensorMapTest, InConstants) {
  auto makeText = [](const std::array<uint8_t, TensorMap::kBytes> &image) {
    std::string bytes;
    for (uint8_t byte : image)
      bytes += (bytes.empty() ? "" : ", ") + std::to_string(byte);
    return (kHead + ".const .align 64 .b8 map[128] = {" + bytes + "};\n" +
            ".visible .entry k(.param .u64 out)\n{"
            " .reg .b64 %rd<4>; ld.param.u64 %rd1, [out];\n"
            " mov.u64 %rd2, map;\n cvta.const.u64 %rd2, %rd2;\n{" +
            kBody + "}\n")
        .str();
  };
  expectWords(run(false, makeText));
  // Bytes that are not those of a map.
  MapRun broken = run(false, [&](std::array<uint8_t, TensorMap::kBytes> image) {
    image[3] ^= 1;
    return makeText(image);
  });
  EXPECT_NE(broken.text.find("tensor-map: there is no tensor map"),
            std::string::npos)
      << broken.text;
}

} // namespace
