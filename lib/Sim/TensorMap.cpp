//===- TensorMap.cpp - Tensor maps of the simulator -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules are those of "cuTensorMapEncodeTiled" in the CUDA driver API, for
// maps without interleave.
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

using ptx::Type;

static constexpr uint64_t kMaxSize = uint64_t(1) << 32;
static constexpr uint64_t kMaxStride = uint64_t(1) << 40;
static constexpr unsigned kMaxBox = 256, kMaxElementStride = 8, kUnit = 16;
static constexpr uint64_t kMaxBoxBytes = 232448;
static constexpr uint64_t kMagic = 0x70616d726f736e54; // "Tnsormap"

namespace {
/// The image.
struct Image {
  uint64_t magic, address;
  uint64_t strides[TensorMap::kMaxRank - 1];
  uint32_t lastIndices[TensorMap::kMaxRank]; // sizes less one
  uint16_t box[TensorMap::kMaxRank];
  uint8_t elementStrides[TensorMap::kMaxRank];
  uint8_t element, rank, swizzle, l2Promotion, fillsNaN, isEmpty;
};
} // namespace
static_assert(sizeof(Image) <= TensorMap::kBytes);

static bool isTensorElement(Type type) {
  return is_contained({Type::U8, Type::U16, Type::U32, Type::S32, Type::U64,
                       Type::S64, Type::F16, Type::BF16, Type::TF32, Type::F32,
                       Type::F64},
                      type);
}

std::optional<Type> parseTensorElement(StringRef name) {
  name = StringSwitch<StringRef>(name)
             .Case("i8", "u8")
             .Case("i16", "u16")
             .Case("i32", "s32")
             .Case("i64", "s64")
             .Default(name);
  std::optional<Type> type = ptx::parseType(name);
  return type && isTensorElement(*type) ? type : std::nullopt;
}

uint64_t TensorMap::getBoxBytes() const {
  uint64_t bytes = getSize(element);
  for (unsigned d = 0; d != rank; ++d)
    bytes *= getExtent(d);
  return bytes;
}

Error TensorMap::verify() const {
  auto fail = [](const Twine &message) {
    return createStringError("tensor map: " + message);
  };
  if (rank < 1 || rank > kMaxRank)
    return fail(Twine(rank) + " dimensions, expected 1 to 5");
  if (!isTensorElement(element))
    return fail("elements of type " + ptx::getName(element));
  if (address % kUnit)
    return fail("address 0x" + Twine::utohexstr(address) +
                ", expected a multiple of 16");
  for (unsigned d = 0; d != rank; ++d) {
    auto failAt = [&](const Twine &message) {
      return fail("dimension " + Twine(d) + " has " + message);
    };
    if (!sizes[d] || sizes[d] > kMaxSize)
      return failAt("size " + Twine(int64_t(sizes[d])) +
                    ", expected 1 to 2^32");
    if (d && (strides[d] % kUnit || strides[d] >= kMaxStride))
      return failAt("a stride of " + Twine(int64_t(strides[d])) +
                    " bytes, expected a multiple of 16 below 2^40");
    if (!box[d] || box[d] > kMaxBox)
      return failAt("a box of " + Twine(box[d]) + " elements, expected 1 to " +
                    Twine(kMaxBox));
    if (!elementStrides[d] || elementStrides[d] > kMaxElementStride)
      return failAt("an element stride of " + Twine(elementStrides[d]) +
                    ", expected 1 to " + Twine(kMaxElementStride));
  }
  if (!is_contained({0u, 32u, 64u, 128u}, swizzle))
    return fail("a swizzle of " + Twine(swizzle) +
                " bytes, expected 0, 32, 64 or 128");
  if (!is_contained({0u, 64u, 128u, 256u}, l2Promotion))
    return fail("an L2 promotion of " + Twine(l2Promotion) +
                " bytes, expected 0, 64, 128 or 256");
  unsigned rowBytes = box[0] * getSize(element);
  if (rowBytes % kUnit)
    return fail("a box row of " + Twine(rowBytes) +
                " bytes, expected a multiple of 16");
  if (swizzle && rowBytes > swizzle)
    return fail("a box row of " + Twine(rowBytes) + " bytes, more than the " +
                Twine(swizzle) + " of the swizzle");
  if (getBoxBytes() > kMaxBoxBytes)
    return fail("a box of " + Twine(getBoxBytes()) +
                " bytes, more than shared memory has");
  bool isFloat = !ptx::isInteger(element);
  if (fillsNaN && !isFloat)
    return fail("a fill with NaN of elements of type " + ptx::getName(element));
  return Error::success();
}

std::array<uint8_t, TensorMap::kBytes> TensorMap::encode() const {
  Image image = {};
  image.magic = kMagic;
  image.address = address;
  for (unsigned d = 0; d != kMaxRank; ++d) {
    if (d)
      image.strides[d - 1] = strides[d];
    image.lastIndices[d] = uint32_t(sizes[d] - 1);
    image.box[d] = box[d];
    image.elementStrides[d] = elementStrides[d];
  }
  image.element = uint8_t(element);
  image.rank = rank;
  image.swizzle = swizzle;
  image.l2Promotion = l2Promotion / 2;
  image.fillsNaN = fillsNaN;
  image.isEmpty = isEmpty;
  std::array<uint8_t, kBytes> bytes = {};
  std::memcpy(bytes.data(), &image, sizeof(image));
  return bytes;
}

std::optional<TensorMap> TensorMap::decode(const uint8_t *bytes) {
  Image image;
  std::memcpy(&image, bytes, sizeof(image));
  if (image.magic != kMagic || image.rank < 1 || image.rank > kMaxRank ||
      !isTensorElement(Type(image.element)))
    return std::nullopt;
  TensorMap map;
  map.address = image.address;
  for (unsigned d = 0; d != kMaxRank; ++d) {
    if (d)
      map.strides[d] = image.strides[d - 1];
    map.sizes[d] = uint64_t(image.lastIndices[d]) + 1;
    map.box[d] = image.box[d];
    map.elementStrides[d] = image.elementStrides[d];
  }
  map.element = Type(image.element);
  map.strides[0] = getSize(map.element);
  map.rank = image.rank;
  map.swizzle = image.swizzle;
  map.l2Promotion = image.l2Promotion * 2;
  map.fillsNaN = image.fillsNaN;
  map.isEmpty = image.isEmpty;
  // Bytes that something changed are no map.
  if (Error error = map.verify()) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  return map;
}

} // namespace mamba::sim
