//===- TensorMap.cpp - Tensors as the copy engine sees them ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The demands are those of cuTensorMapEncodeTiled in the CUDA driver's manual.
// The driver says only that some value is invalid, so that all are checked
// here.
//
//===----------------------------------------------------------------------===//

#include "TensorMap.h"
#include "Error.h"
#include "JsonReader.h"

namespace mamba::runtime {
namespace {

constexpr int64_t kAlignment = 16;
constexpr int64_t kMaxSize = int64_t(1) << 32;
constexpr int64_t kMaxStrideBytes = int64_t(1) << 40;

struct DataType {
  const char *dtype;
  int code; // CUtensorMapDataType
  uint64_t bytes;

  bool isFloat() const { return code >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16; }
};

const DataType &readDataType(const JsonReader &json) {
  static const DataType types[] = {
      {"i8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
      {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
      {"i16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
      {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
      {"i32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
      {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},
      {"i64", CU_TENSOR_MAP_DATA_TYPE_INT64, 8},
      {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, 8},
      {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
      {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
      {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
      {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}};
  std::string name = json.string();
  for (const DataType &type : types)
    if (name == type.dtype)
      return type;
  json.fail("tensor maps have no dtype '" + name + "'");
}

/// The place of an integer among `choices`, which is its code in the driver.
int readChoice(const JsonReader &json, const std::array<int64_t, 4> &choices) {
  int64_t value = json.integer(0, INT64_MAX);
  for (int i = 0; i < 4; ++i)
    if (choices[i] == value)
      return i;
  json.fail("expected " + std::to_string(choices[0]) + ", " +
            std::to_string(choices[1]) + ", " + std::to_string(choices[2]) +
            " or " + std::to_string(choices[3]) + ", got " +
            std::to_string(value));
}

int readFill(const JsonReader &json) {
  std::string name = json.string();
  if (name == "zero")
    return CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (name == "nan")
    return CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  json.fail("expected zero or nan, got '" + name + "'");
}

std::vector<uint32_t> readNumbers(const JsonReader &json, size_t rank,
                                  int64_t most) {
  std::vector<uint32_t> numbers;
  for (const JsonReader &element : json.elements())
    numbers.push_back(uint32_t(element.integer(1, most)));
  if (numbers.size() != rank)
    json.fail("expected " + std::to_string(rank) + " numbers, got " +
              std::to_string(numbers.size()));
  return numbers;
}

[[noreturn]] void fail(const std::string &message) {
  throw Error(MAMBA_STATUS_ARGUMENT, message);
}

int64_t evaluate(const Expression &expression,
                 const std::vector<int64_t> &symbols) {
  std::string error;
  std::optional<int64_t> value = expression.evaluate(symbols, error);
  if (!value)
    fail(error);
  return *value;
}

/// `elements` in bytes, which are whole 16 and less than `limit`.
uint64_t getBytes(const TensorMap &map, const Expression &elements,
                  const std::vector<int64_t> &symbols, const std::string &what,
                  int64_t limit) {
  int64_t value = evaluate(elements, symbols), bytes = 0;
  if (value < 0 ||
      __builtin_mul_overflow(value, int64_t(map.elementBytes), &bytes) ||
      bytes >= limit)
    fail(what + " (" + elements.str() + ") is " + std::to_string(value) +
         " elements, expected 0 to " +
         std::to_string((limit - 1) / int64_t(map.elementBytes)));
  if (bytes % kAlignment)
    fail(what + " (" + elements.str() + ") is " + std::to_string(bytes) +
         " bytes, expected a multiple of " + std::to_string(kAlignment));
  return uint64_t(bytes);
}

} // namespace

TensorMap TensorMap::read(
    const JsonReader &json,
    const std::function<Expression(const JsonReader &)> &readExpression) {
  TensorMap map;
  const DataType &type = readDataType(json.get("dtype"));
  map.dataType = type.code;
  map.elementBytes = type.bytes;
  map.offset = readExpression(json.get("offset"));
  for (const JsonReader &size : json.get("sizes").elements())
    map.sizes.push_back(readExpression(size));
  size_t rank = map.getRank();
  if (rank < 1 || rank > 5)
    json.get("sizes").fail("expected 1 to 5 dimensions, got " +
                           std::to_string(rank));
  for (const JsonReader &stride : json.get("strides").elements())
    map.strides.push_back(readExpression(stride));
  if (map.strides.size() != rank - 1)
    json.get("strides").fail("expected " + std::to_string(rank - 1) +
                             " strides, got " +
                             std::to_string(map.strides.size()));
  map.box = readNumbers(json.get("box"), rank, 256);
  map.elementStrides = readNumbers(json.get("element_strides"), rank, 8);
  map.swizzle = readChoice(json.get("swizzle"), {0, 32, 64, 128});
  map.l2Promotion = readChoice(json.get("l2_promotion"), {0, 64, 128, 256});
  map.fill = readFill(json.get("fill"));
  if (map.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !type.isFloat())
    json.get("fill").fail("integers cannot be filled with nan");

  uint64_t rowBytes = map.box[0] * map.elementBytes;
  if (rowBytes % kAlignment)
    json.get("box").fail("rows of " + std::to_string(rowBytes) +
                         " bytes, expected a multiple of " +
                         std::to_string(kAlignment));
  uint64_t span = uint64_t(16) << map.swizzle;
  if (map.swizzle && rowBytes > span)
    json.get("box").fail("rows of " + std::to_string(rowBytes) +
                         " bytes, expected at most the " +
                         std::to_string(span) + " of the swizzle");
  return map;
}

PreparedTensorMap::PreparedTensorMap(const TensorMap &map,
                                     const std::vector<int64_t> &symbols)
    : map(&map) {
  for (size_t i = 0; i < map.getRank(); ++i) {
    int64_t size = evaluate(map.sizes[i], symbols);
    if (size < 0 || size > kMaxSize)
      fail("size " + std::to_string(i) + " (" + map.sizes[i].str() + ") is " +
           std::to_string(size) + ", expected 0 to " +
           std::to_string(kMaxSize));
    sizes[i] = uint64_t(size);
    isEmpty |= size == 0;
  }
  if (isEmpty) {
    if (map.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
      fail("the tensor is empty, and its fill is not zero");
    sizes.fill(1);
    strideBytes.fill(kAlignment);
    return;
  }
  offsetBytes = getBytes(map, map.offset, symbols, "the offset", INT64_MAX);
  for (size_t i = 0; i < map.strides.size(); ++i)
    strideBytes[i] = getBytes(
        map, map.strides[i], symbols,
        "the stride of dimension " + std::to_string(i + 1), kMaxStrideBytes);
}

CUtensorMap PreparedTensorMap::encode(const Driver &driver, uint64_t base,
                                      uint64_t zeros) const {
  if (!driver.tensorMapEncodeTiled)
    throw Error(MAMBA_STATUS_DRIVER,
                "the CUDA driver has no tensor maps; they need CUDA 12");
  CUtensorMap encoded = {};
  uint64_t address = isEmpty ? zeros : base + offsetBytes;
  driver.check(driver.tensorMapEncodeTiled(
                   &encoded, map->dataType, uint32_t(map->getRank()),
                   reinterpret_cast<void *>(address), sizes.data(),
                   strideBytes.data(), map->box.data(),
                   map->elementStrides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                   map->swizzle, map->l2Promotion, map->fill),
               "cuTensorMapEncodeTiled");
  return encoded;
}

} // namespace mamba::runtime
