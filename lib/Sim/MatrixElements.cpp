//===- MatrixElements.cpp - Elements of matrices --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixElements.h"

#include "FloatFormats.h"

#include <algorithm>

using namespace llvm;

namespace mamba::sim {

namespace {
struct ElementRow {
  StringRef name;
  unsigned bits;
  bool isInteger;
};
} // namespace

// In the order of the enumeration.
static constexpr ElementRow kElements[] = {
    {"f16", 16, false},  {"bf16", 16, false}, {"tf32", 32, false},
    {"f64", 64, false},  {"e4m3", 8, false},  {"e5m2", 8, false},
    {"e2m3", 6, false},  {"e3m2", 6, false},  {"e2m1", 4, false},
    {"s8", 8, true},     {"u8", 8, true},     {"s4", 4, true},
    {"u4", 4, true},     {"b1", 1, true},     {"ue8m0", 8, false},
    {"ue4m3", 8, false},
};

std::optional<Element> parseElement(StringRef name) {
  for (unsigned i = 0; i != std::size(kElements); ++i)
    if (kElements[i].name == name)
      return Element(i);
  return std::nullopt;
}

unsigned getBits(Element element) { return kElements[unsigned(element)].bits; }

bool isInteger(Element element) {
  return kElements[unsigned(element)].isInteger;
}

/// A format without infinities and NaNs.
static double decodeFinite(uint32_t bits, unsigned exponentBits,
                           unsigned mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = bits & ((1 << mantissaBits) - 1);
  if (exponent)
    mantissa += 1 << mantissaBits;
  double magnitude =
      std::ldexp(mantissa, std::max(exponent, 1) - bias - int(mantissaBits));
  bool isNegative = bits >> (exponentBits + mantissaBits) & 1;
  return isNegative ? -magnitude : magnitude;
}

double decodeElement(Element element, uint64_t bits) {
  switch (element) {
  case Element::F16:
    return decodeF16(bits);
  case Element::BF16:
    return decodeBF16(bits);
  case Element::TF32: // the lower bits are not looked at
    return fromBits<float>(bits & 0xffffe000);
  case Element::F64:
    return fromBits<double>(bits);
  case Element::E4M3:
    return decodeE4M3(bits);
  case Element::E5M2:
    return decodeE5M2(bits);
  case Element::E2M3:
    return decodeFinite(bits & 0x3f, 2, 3);
  case Element::E3M2:
    return decodeFinite(bits & 0x3f, 3, 2);
  case Element::E2M1:
    return decodeFinite(bits & 0xf, 2, 1);
  case Element::S8:
    return int8_t(bits);
  case Element::U8:
    return uint8_t(bits);
  case Element::S4:
    return int8_t(bits << 4) >> 4;
  case Element::U4:
    return bits & 0xf;
  case Element::B1:
    return bits & 1;
  case Element::UE8M0:
    return (bits & 0xff) == 0xff ? NAN
                                 : std::ldexp(1.0, int(bits & 0xff) - 127);
  case Element::UE4M3:
    return decodeE4M3(bits & 0x7f);
  }
  return 0;
}

template <typename Fn>
static void forPacked(const uint8_t *from, unsigned count, double *to,
                      unsigned stride, unsigned bits, Fn decode) {
  for (unsigned i = 0; i != count; ++i) {
    uint64_t word = 0;
    unsigned at = i * bits;
    std::memcpy(&word, from + at / 8, (at % 8 + bits + 7) / 8);
    to[i * stride] = decode(word >> at % 8);
  }
}

void decodeElements(Element element, const uint8_t *from, unsigned count,
                    double *to, unsigned stride) {
  // The common ones without a decision for every element.
  switch (element) {
  case Element::F16:
    return forPacked(from, count, to, stride, 16,
                     [](uint64_t bits) { return decodeF16(bits); });
  case Element::BF16:
    return forPacked(from, count, to, stride, 16,
                     [](uint64_t bits) { return decodeBF16(bits); });
  default:
    return forPacked(
        from, count, to, stride, getBits(element),
        [=](uint64_t bits) { return decodeElement(element, bits); });
  }
}

void multiply(const double *a, unsigned aStride, const double *b, double *sums,
              unsigned rows, unsigned depth, unsigned columns) {
  constexpr unsigned kBlock = 8; // sums that stay in vector registers
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned column = 0; column < columns; column += kBlock) {
      double block[kBlock] = {};
      for (unsigned k = 0; k != depth; ++k) {
        double factor = a[row * aStride + k];
        const double *other = b + k * columns + column;
        for (unsigned i = 0; i != kBlock; ++i)
          block[i] += factor * other[i];
      }
      std::copy(block, block + kBlock, sums + row * columns + column);
    }
}

float addInexact(double sum, float addend) {
  return canonical(float(addToOdd(sum, addend)));
}

uint16_t addRoundedF16(double sum, uint16_t addend) {
  return encode(addToOdd(sum, decodeF16(addend)), kF16);
}

int32_t addIntegers(double sum, int32_t addend, bool saturate) {
  int64_t exact = int64_t(sum) + addend;
  if (saturate)
    exact = std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX);
  return int32_t(exact);
}

} // namespace mamba::sim
