//===- SimTensorCopyTest.cpp - Tensor copies in the simulator -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Boxes of random tensors against the image that a Hopper GPU was seen to make:
// rows one after the other with the pitch of the swizzle's span, and 16-byte
// units exchanged by bits 7 to 9 of the address.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"
#include "mamba/Sim/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <random>

using namespace llvm;
using namespace mamba::sim;
using mamba::ptx::Type;

namespace {

/// Shared memory starts here, and the tile with it.
constexpr uint64_t kTileStart = 1024;
constexpr unsigned kTileBytes = 32768;

struct Case {
  TensorMap map;
  std::vector<int> coordinates;
  unsigned tileOffset = 0;
  uint64_t seed = 0;
};

/// A map of a dense tensor whose rows are padded to 16 bytes.
TensorMap makeMap(Type element, std::vector<uint64_t> sizes,
                  std::vector<unsigned> box, unsigned swizzle) {
  TensorMap map;
  map.element = element;
  map.rank = sizes.size();
  map.swizzle = swizzle;
  uint64_t stride = getSize(element);
  for (unsigned d = 0; d != map.rank; ++d) {
    map.sizes[d] = sizes[d];
    map.box[d] = box[d];
    map.strides[d] = stride;
    stride = (stride * sizes[d] + 15) / 16 * 16;
  }
  return map;
}

uint64_t getTensorBytes(const TensorMap &map) {
  uint64_t bytes = 0;
  for (unsigned d = 0; d != map.rank; ++d)
    bytes = std::max(bytes, map.strides[d] * map.sizes[d]);
  return (bytes + 15) / 16 * 16;
}

/// Calls `fn(shared, global)` for each byte of the box: places from the tile's
/// and the tensor's start; -1 for what is outside of the tensor.
template <typename Fn> void forBox(const Case &test, Fn fn) {
  const TensorMap &map = test.map;
  uint64_t size = getSize(map.element);
  uint64_t pitch = map.swizzle ? map.swizzle : map.box[0] * size;
  uint64_t mask = map.swizzle / 16 ? map.swizzle / 16 - 1 : 0;
  uint64_t rows = 1;
  for (unsigned d = 1; d != map.rank; ++d)
    rows *= map.getExtent(d);
  for (uint64_t row = 0; row != rows; ++row)
    for (unsigned i = 0; i != map.box[0]; ++i) {
      uint64_t rest = row, place = 0;
      bool isInside = true;
      for (unsigned d = 0; d != map.rank; ++d) {
        int64_t index = i;
        if (d) {
          index = rest % map.getExtent(d) * map.elementStrides[d];
          rest /= map.getExtent(d);
        }
        index += test.coordinates[d];
        isInside &= index >= 0 && index < int64_t(map.sizes[d]);
        place += index * map.strides[d];
      }
      uint64_t linear = kTileStart + test.tileOffset + row * pitch + i * size;
      uint64_t shared = (linear ^ ((linear >> 7 & mask) << 4)) - kTileStart;
      for (unsigned byte = 0; byte != size; ++byte)
        fn(shared + byte, isInside ? int64_t(place + byte) : -1, byte);
    }
}

/// Head of a kernel `k(map, memory)`: memory is read into, or written from, the
/// tile. Thread 0 is %p0, coordinates are %c0 to %c4.
std::string makeHead(const Case &test) {
  std::string text = R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 k_map[128], .param .u64 k_memory)
{
 .reg .pred %p<4>;
 .reg .b32 %r<16>, %c<5>;
 .reg .b64 %rd<8>;
 .shared .align 1024 .b8 tile[32768];
 .shared .align 8 .b8 bar[8];
 mov.b64 %rd0, k_map;
 cvta.param.u64 %rd0, %rd0;
 ld.param.u64 %rd1, [k_memory];
 mov.u32 %r0, %tid.x;
 mov.u32 %r1, tile;
 mov.u32 %r2, bar;
 setp.eq.u32 %p0, %r0, 0;
 shl.b32 %r3, %r0, 2;
)";
  for (auto [index, value] : enumerate(test.coordinates))
    text += formatv(" mov.b32 %c{0}, {1};\n", index, value).str();
  return text;
}

std::string getTensor(const Case &test) {
  std::string text = "[%rd0, {";
  for (unsigned d = 0; d != test.map.rank; ++d)
    text += (d ? ", %c" : "%c") + std::to_string(d);
  return text + "}]";
}

/// Words of the tile from or to `memory`, 32 at a time.
std::string makeLoop(const std::string &label, const char *body) {
  return label +
         ":\n cvt.u64.u32 %rd2, %r3;\n add.s64 %rd2, %rd2, %rd1;\n"
         " add.u32 %r4, %r3, %r1;\n" +
         body +
         " add.u32 %r3, %r3, 128;\n setp.lt.u32 %p1, %r3, 32768;\n"
         " @%p1 bra " +
         label + ";\n";
}

std::string makeLoad(const Case &test) {
  std::string rank = std::to_string(test.map.rank);
  return makeHead(test) +
         // What the copy leaves stays as it was.
         makeLoop("FILL", " st.shared.b32 [%r4], -1;\n") +
         " shl.b32 %r3, %r0, 2;\n"
         " @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\n"
         " fence.proxy.async;\n bar.sync 0;\n"
         " @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], " +
         std::to_string(test.map.getBoxBytes()) +
         ";\n @%p0 cp.async.bulk.tensor." + rank +
         "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+" +
         std::to_string(test.tileOffset) + "], " + getTensor(test) +
         ", [%r2];\nWAIT:\n mbarrier.try_wait.parity.shared::cta.b64 %p2, "
         "[%r2], 0;\n @!%p2 bra WAIT;\n" +
         makeLoop("COPY", " ld.shared.b32 %r6, [%r4];\n"
                          " st.global.b32 [%rd2], %r6;\n") +
         " ret;\n}\n";
}

struct TensorRun {
  std::string error;
  std::vector<Finding> findings;
  std::string text() const {
    std::string text = error;
    for (const Finding &finding : findings)
      text += finding.str() + "\n";
    return text;
  }
};

TensorRun runTensor(StringRef text, const Case &test,
                    std::vector<uint8_t> &tensor, BufferRole tensorRole,
                    std::vector<uint8_t> &memory, BufferRole memoryRole) {
  TensorRun result;
  Device device;
  Expected<Program> program =
      Program::load(MemoryBuffer::getMemBufferCopy(text), "k.ptx", device);
  if (!program) {
    result.error = toString(program.takeError());
    return result;
  }
  TensorMap map = test.map;
  map.address = device.add("tensor", tensor.data(), tensor.size(), tensorRole);
  if (Error error = map.verify()) {
    result.error = toString(std::move(error));
    return result;
  }
  uint64_t address =
      device.add("memory", memory.data(), memory.size(), memoryRole);
  std::array<uint8_t, TensorMap::kBytes> image = map.encode();
  std::vector<std::vector<uint8_t>> parameters = {{image.begin(), image.end()},
                                                  std::vector<uint8_t>(8)};
  std::memcpy(parameters[1].data(), &address, 8);
  LaunchOptions options;
  options.block = {32, 1, 1};
  options.seed = test.seed;
  Expected<LaunchResult> launched = program->launch("k", options, parameters);
  if (!launched)
    result.error = toString(launched.takeError());
  else
    result.findings = launched->findings;
  return result;
}

std::vector<uint8_t> makeBytes(uint64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t &byte : bytes)
    byte = random();
  return bytes;
}

void checkLoad(const Case &test, uint64_t fill = 0) {
  std::vector<uint8_t> tensor = makeBytes(getTensorBytes(test.map), 1);
  std::vector<uint8_t> memory(kTileBytes);
  std::string text = makeLoad(test);
  TensorRun result = runTensor(text, test, tensor, BufferRole::Input, memory,
                               BufferRole::Output);
  ASSERT_EQ(result.text(), "");
  std::vector<uint8_t> expected(kTileBytes, 0xff);
  forBox(test, [&](uint64_t shared, int64_t global, unsigned byte) {
    expected[shared] =
        global < 0 ? uint8_t(fill >> (8 * byte)) : tensor[global];
  });
  ASSERT_EQ(memory, expected);
}

std::string makeStore(const Case &test, StringRef opcode) {
  return makeHead(test) +
         makeLoop("COPY", " ld.global.b32 %r6, [%rd2];\n"
                          " st.shared.b32 [%r4], %r6;\n") +
         " fence.proxy.async.shared::cta;\n bar.sync 0;\n @!%p0 bra END;\n " +
         opcode.str() + " " + getTensor(test) + ", [%r1+" +
         std::to_string(test.tileOffset) +
         "];\n cp.async.bulk.commit_group;\n"
         " cp.async.bulk.wait_group 0;\nEND:\n ret;\n}\n";
}

void checkStore(const Case &test) {
  std::vector<uint8_t> tensor = makeBytes(getTensorBytes(test.map), 1);
  std::vector<uint8_t> memory = makeBytes(kTileBytes, 2);
  std::vector<uint8_t> expected = tensor;
  // As recorded on an H200: the last 16 bytes of a row are written whole.
  Case whole = test;
  unsigned size = getSize(test.map.element);
  whole.map.sizes[0] = alignTo(test.map.sizes[0] * size, 16) / size;
  forBox(whole, [&](uint64_t shared, int64_t global, unsigned) {
    if (global >= 0)
      expected[global] = memory[shared];
  });
  std::string rank = std::to_string(test.map.rank);
  TensorRun result =
      runTensor(makeStore(test, "cp.async.bulk.tensor." + rank +
                                    "d.global.shared::cta.tile.bulk_group"),
                test, tensor, BufferRole::InOut, memory, BufferRole::Input);
  ASSERT_EQ(result.text(), "");
  ASSERT_EQ(tensor, expected);
}

struct Shape {
  Type element;
  std::vector<uint64_t> sizes;
  std::vector<unsigned> box;
  std::vector<int> inside, outside;
};

/// Rows of at most 32 bytes, so that they serve every swizzle.
std::vector<Shape> getShapes() {
  return {
      {Type::BF16, {100}, {16}, {8}, {96}},
      {Type::F32, {20, 30}, {8, 12}, {4, 3}, {16, 25}},
      {Type::U8, {64, 9, 7}, {32, 4, 5}, {16, 1, 2}, {48, 7, 4}},
      {Type::BF16, {24, 5, 4, 6}, {16, 3, 2, 4}, {8, 1, 2, 0}, {16, 3, 3, 4}},
      {Type::F32,
       {11, 3, 4, 2, 5},
       {8, 2, 3, 2, 2},
       {0, 1, 0, 0, 3},
       {8, 2, 2, 1, 4}},
  };
}

TEST(SimTensorCopyTest, LoadsOfEveryRankAndSwizzle) {
  for (const Shape &shape : getShapes())
    for (unsigned swizzle : {0u, 32u, 64u, 128u})
      for (const std::vector<int> &coordinates : {shape.inside, shape.outside})
        for (unsigned offset : {0u, 128u, 896u}) {
          Case test{makeMap(shape.element, shape.sizes, shape.box, swizzle),
                    coordinates, offset, swizzle / 32};
          SCOPED_TRACE(formatv("rank {0}, swizzle {1}, offset {2}",
                               shape.sizes.size(), swizzle, offset)
                           .str());
          checkLoad(test);
        }
}

TEST(SimTensorCopyTest, StoresOfEveryRankAndSwizzle) {
  for (const Shape &shape : getShapes())
    for (unsigned swizzle : {0u, 32u, 64u, 128u})
      for (const std::vector<int> &coordinates :
           {shape.inside, shape.outside}) {
        Case test{makeMap(shape.element, shape.sizes, shape.box, swizzle),
                  coordinates, 256, swizzle / 32};
        SCOPED_TRACE(
            formatv("rank {0}, swizzle {1}", shape.sizes.size(), swizzle)
                .str());
        checkStore(test);
      }
}

TEST(SimTensorCopyTest, WideBoxes) {
  checkLoad({makeMap(Type::BF16, {200, 70}, {64, 64}, 128), {64, 3}});
  checkLoad({makeMap(Type::F32, {40, 80}, {16, 64}, 64), {32, 40}});
  checkLoad({makeMap(Type::U8, {300, 200}, {128, 256}, 128), {0, 0}});
}

TEST(SimTensorCopyTest, NegativeCoordinatesOfLoads) {
  checkLoad({makeMap(Type::BF16, {40, 20}, {32, 8}, 64), {-8, -3}});
  checkLoad({makeMap(Type::BF16, {40, 20}, {32, 8}, 64), {-1000, -1000}});
  checkLoad({makeMap(Type::BF16, {40, 20}, {32, 8}, 64), {1000, 1000}});
}

TEST(SimTensorCopyTest, FillWithNaN) {
  Case test{makeMap(Type::BF16, {20, 20}, {32, 8}, 64), {0, 15}};
  test.map.fillsNaN = true;
  checkLoad(test, 0x7ff7);
  test.map = makeMap(Type::F32, {10, 20}, {16, 8}, 64);
  test.map.fillsNaN = true;
  checkLoad(test, 0x7ff77ff7);
}

TEST(SimTensorCopyTest, ElementStridesAndOverlap) {
  Case test{makeMap(Type::BF16, {64, 40}, {64, 24}, 128), {0, 5}};
  test.map.elementStrides[1] = 2;
  EXPECT_EQ(test.map.getBoxBytes(), 64u * 2 * 12);
  checkLoad(test);
  // Rows that overlap, and a dimension that repeats.
  test.map = makeMap(Type::BF16, {64, 40}, {64, 24}, 128);
  test.map.strides[1] = 16;
  checkLoad(test);
  test.map.strides[1] = 0;
  checkLoad(test);
}

TEST(SimTensorCopyTest, Reductions) {
  Case test{makeMap(Type::F32, {10, 12}, {8, 4}, 32), {4, 10}};
  std::vector<uint8_t> tensor(getTensorBytes(test.map)), memory(kTileBytes);
  std::vector<float> values(memory.size() / 4);
  for (unsigned i = 0; i != values.size(); ++i)
    values[i] = int(i % 97) - 40;
  std::memcpy(memory.data(), values.data(), memory.size());
  std::vector<float> before(tensor.size() / 4, 3);
  std::memcpy(tensor.data(), before.data(), tensor.size());
  for (const char *operation : {"add", "min", "max"}) {
    std::vector<uint8_t> result = tensor, expected = tensor;
    forBox(test, [&](uint64_t shared, int64_t global, unsigned byte) {
      if (global < 0 || byte)
        return;
      float value = values[shared / 4];
      value = operation[0] == 'a'   ? 3 + value
              : operation[1] == 'i' ? std::min(3.f, value)
                                    : std::max(3.f, value);
      std::memcpy(&expected[global], &value, 4);
    });
    TensorRun done =
        runTensor(makeStore(test, std::string("cp.reduce.async.bulk.tensor.2d."
                                              "global.shared::cta.") +
                                      operation + ".tile.bulk_group"),
                  test, result, BufferRole::InOut, memory, BufferRole::Input);
    ASSERT_EQ(done.text(), "");
    EXPECT_EQ(result, expected);
  }
}

/// The findings of a load.
std::string findLoad(const Case &test, StringRef from = "", StringRef to = "") {
  std::vector<uint8_t> tensor = makeBytes(getTensorBytes(test.map), 1);
  std::vector<uint8_t> memory(kTileBytes);
  std::string text = makeLoad(test);
  if (!from.empty())
    text.replace(text.find(from.str()), from.size(), to.str());
  return runTensor(text, test, tensor, BufferRole::Input, memory,
                   BufferRole::Output)
      .text();
}

void expectPart(const std::string &text, const char *part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(SimTensorCopyTest, Faults) {
  Case test{makeMap(Type::BF16, {40, 20}, {32, 8}, 64), {0, 0}};
  Case other = test;
  other.coordinates = {4, 0};
  expectPart(findLoad(other), "tensor-map: the innermost coordinate 4");
  other = test;
  other.tileOffset = 64;
  expectPart(findLoad(other), "misaligned: tensor copy of 512 bytes");
  other = test;
  other.tileOffset = kTileBytes - 128;
  expectPart(findLoad(other), "out-of-bounds: tensor copy of 512 bytes");
  expectPart(findLoad(test, "tensor.2d", "tensor.1d"),
             "expected 1 coordinates");
  expectPart(findLoad(test, "[%rd0, {%c0, %c1}]", "[%rd1, {%c0, %c1}]"),
             "tensor-map: there is no tensor map at this address");
  expectPart(findLoad(test, "[%rd0, {%c0, %c1}]", "[%rd0+16, {%c0, %c1}]"),
             "misaligned: a tensor map");
  // More is expected than comes: the threads wait for ever.
  expectPart(findLoad(test, "[%r2], 512;", "[%r2], 528;"),
             "waits for 0 of 1 arrivals and 16 bytes");
  // Nobody waits.
  expectPart(findLoad(test,
                      "mbarrier.try_wait.parity.shared::cta.b64 %p2, "
                      "[%r2], 0;",
                      "setp.eq.u32 %p2, %r0, %r0;"),
             "in-flight: read of bytes that an asynchronous copy still writes");
  expectPart(findLoad(test,
                      "mbarrier.try_wait.parity.shared::cta.b64 %p2, "
                      "[%r2], 0;",
                      "ret;"),
             "in-flight: the block ended while the copy may still write");
  expectPart(findLoad(test, ".tile.", ".tile::gather4."),
             "modifier '.tile::gather4'");

  // The tensor is larger than its memory.
  other = test;
  other.coordinates = {0, 14};
  std::vector<uint8_t> tensor(getTensorBytes(test.map) - 160);
  std::vector<uint8_t> memory(kTileBytes);
  std::string text = makeLoad(other);
  expectPart(runTensor(text, other, tensor, BufferRole::Input, memory,
                       BufferRole::Output)
                 .text(),
             "out-of-bounds: read of");

  other.coordinates = {0, -1};
  tensor.resize(getTensorBytes(test.map));
  expectPart(
      runTensor(makeStore(other, "cp.async.bulk.tensor.2d.global.shared::cta."
                                 "tile.bulk_group"),
                other, tensor, BufferRole::InOut, memory, BufferRole::Input)
          .text(),
      "tensor-map: a store to coordinate -1 of dimension 1");
}

} // namespace
