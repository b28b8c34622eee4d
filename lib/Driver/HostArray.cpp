//===- HostArray.cpp - Dense arrays in host memory ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/HostArray.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace llvm;

namespace mamba {

StringRef getDtypeName(Dtype dtype) {
  switch (dtype) {
  case Dtype::BF16:
    return "bf16";
  case Dtype::F16:
    return "f16";
  case Dtype::F32:
    return "f32";
  case Dtype::F64:
    return "f64";
  case Dtype::I32:
    return "i32";
  case Dtype::I64:
    return "i64";
  }
  llvm_unreachable("unknown dtype");
}

std::optional<Dtype> parseDtype(StringRef name) {
  return StringSwitch<std::optional<Dtype>>(name)
      .Case("bf16", Dtype::BF16)
      .Case("f16", Dtype::F16)
      .Case("f32", Dtype::F32)
      .Case("f64", Dtype::F64)
      .Case("i32", Dtype::I32)
      .Case("i64", Dtype::I64)
      .Default(std::nullopt);
}

unsigned getDtypeSize(Dtype dtype) {
  switch (dtype) {
  case Dtype::BF16:
  case Dtype::F16:
    return 2;
  case Dtype::F32:
  case Dtype::I32:
    return 4;
  case Dtype::F64:
  case Dtype::I64:
    return 8;
  }
  llvm_unreachable("unknown dtype");
}

bool isFloat(Dtype dtype) { return dtype != Dtype::I32 && dtype != Dtype::I64; }

std::optional<int64_t> countElements(ArrayRef<int64_t> shape,
                                     unsigned elementSize) {
  // An empty array may have sizes whose product overflows.
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1, bytes;
  for (int64_t size : shape)
    if (MulOverflow(count, size, count))
      return std::nullopt;
  if (MulOverflow<int64_t>(count, elementSize, bytes))
    return std::nullopt;
  return count;
}

std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

Expected<HostArray> HostArray::create(Dtype dtype, ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = countElements(shape, getDtypeSize(dtype));
  if (!count)
    return createStringError("an array of shape " + formatShape(shape) +
                             " is too large");
  std::unique_ptr<WritableMemoryBuffer> storage =
      WritableMemoryBuffer::getNewUninitMemBuffer(*count * getDtypeSize(dtype),
                                                  "", Align(64));
  if (!storage)
    return createStringError("out of memory for an array of shape " +
                             formatShape(shape));
  return HostArray(dtype, shape, *count, std::move(storage));
}

uint16_t convertF32ToBF16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000)
    return bits >> 16 | 0x40; // a NaN whose payload may be in the low half
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint16_t convertF32ToF16(uint32_t bits) {
  uint16_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  if (magnitude >= 0x47800000) // 2^16
    return sign | 0x7c00;
  if (magnitude < 0x33000000) // below half of the smallest subnormal, 2^-25
    return sign;
  if (magnitude < 0x38800000) { // subnormal, below 2^-14
    uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
    unsigned shift = 126 - (magnitude >> 23);
    uint32_t quotient = significand >> shift;
    uint32_t rest = significand & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    return sign | (quotient + (rest > half || (rest == half && quotient & 1)));
  }
  uint32_t rebased = magnitude - 0x38000000; // exponent bias 127 to 15
  return sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13;
}

uint32_t convertF16ToF32(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return sign | 0x7f800000 | fraction << 13;
  if (exponent)
    return sign | (exponent + 112) << 23 | fraction << 13;
  if (!fraction)
    return sign;
  unsigned shift = llvm::countl_zero(fraction) - 21; // fraction has 11 places
  return sign | (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13;
}

/// `convert` of each element.
template <typename From, typename To, typename Fn>
static Expected<HostArray> mapArray(const HostArray &array, Dtype to,
                                    Fn convert) {
  Expected<HostArray> result = HostArray::create(to, array.getShape());
  if (result)
    llvm::transform(array.getElements<From>(),
                    result->getElements<To>().begin(), convert);
  return result;
}

Expected<HostArray> convertArray(HostArray array, Dtype to) {
  Dtype from = array.getDtype();
  if (from == to)
    return array;
  if (from == Dtype::F32 && to == Dtype::BF16)
    return mapArray<uint32_t, uint16_t>(array, to, convertF32ToBF16);
  if (from == Dtype::F32 && to == Dtype::F16)
    return mapArray<uint32_t, uint16_t>(array, to, convertF32ToF16);
  if (from == Dtype::BF16 && to == Dtype::F32)
    return mapArray<uint16_t, uint32_t>(array, to, convertBF16ToF32);
  if (from == Dtype::F16 && to == Dtype::F32)
    return mapArray<uint16_t, uint32_t>(array, to, convertF16ToF32);
  if (from == Dtype::I32 && to == Dtype::I64)
    return mapArray<int32_t, int64_t>(array, to, [](int32_t v) { return v; });
  if (from == Dtype::I64 && to == Dtype::I32) {
    for (int64_t value : array.getElements<int64_t>())
      if (!isInt<32>(value))
        return createStringError("value " + Twine(value) +
                                 " does not fit in i32");
    return mapArray<int64_t, int32_t>(array, to,
                                      [](int64_t v) { return int32_t(v); });
  }
  return createStringError("cannot convert " + getDtypeName(from) + " to " +
                           getDtypeName(to));
}

} // namespace mamba
