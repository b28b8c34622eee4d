//===- FloatFormats.cpp - Floating-point numbers by their bits ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloatFormats.h"

#include <algorithm>

namespace mamba::sim {

uint32_t encode(double value, const FloatFormat &format, Round round,
                bool saturate) {
  if (std::isnan(value))
    return format.nan;
  bool negative = std::signbit(value);
  uint32_t sign = negative ? format.sign : 0;
  if (std::isinf(value))
    return sign | (saturate ? format.largest : format.infinity);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  int unit = exponent - int(format.precision) + 1; // of the last place
  double scaled = std::ldexp(magnitude, -unit);
  double whole = std::floor(scaled), rest = scaled - whole;
  uint64_t significand = uint64_t(whole);
  bool up = false;
  switch (round) {
  case Round::NearestEven:
    up = rest > 0.5 || (rest == 0.5 && significand % 2);
    break;
  case Round::NearestAway:
    up = rest >= 0.5;
    break;
  case Round::Zero:
    break;
  case Round::Down:
    up = negative && rest > 0;
    break;
  case Round::Up:
    up = !negative && rest > 0;
    break;
  }
  significand += up;
  // The hidden bit adds one to the exponent; so does a carry.
  uint64_t bits =
      (uint64_t(exponent - format.minExponent) << (format.precision - 1)) +
      significand;
  if (bits > format.largest) {
    bool toLargest = saturate || round == Round::Zero ||
                     (round == Round::Down && !negative) ||
                     (round == Round::Up && negative);
    bits = toLargest ? format.largest : format.infinity;
  }
  return sign | uint32_t(bits);
}

static double toOdd(double nearest, double error) {
  if (error == 0 || !std::isfinite(nearest) || toBits(nearest) & 1)
    return nearest;
  return std::nextafter(nearest, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - a; // Knuth's exact error of a sum
  double error = (a - (sum - part)) + (b - part);
  return toOdd(sum, error);
}

double divideToOdd(double a, double b) {
  double quotient = a / b;
  if (!std::isfinite(quotient) || b == 0 || std::isinf(b))
    return quotient;
  double residual = std::fma(-quotient, b, a);
  return toOdd(quotient, b < 0 ? -residual : residual);
}

double squareRootToOdd(double a) {
  double root = std::sqrt(a);
  if (!std::isfinite(root) || root == 0)
    return root;
  return toOdd(root, std::fma(-root, root, a));
}

double roundDirected(double nearest, double error, Round round) {
  if (error == 0 || std::isnan(nearest))
    return nearest;
  bool down = round == Round::Down || (round == Round::Zero && nearest > 0);
  bool up = round == Round::Up || (round == Round::Zero && nearest < 0);
  // Where the exact result lies decides, on which side of the nearest one.
  if (down && error < 0)
    return std::nextafter(nearest, -HUGE_VAL);
  if (up && error > 0)
    return std::nextafter(nearest, HUGE_VAL);
  return nearest;
}

float decodeF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest >= 0x7c00)
    return fromBits<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // Scaling by a power of two is exact and handles subnormal numbers too.
  float magnitude = fromBits<float>(rest << 13) * 0x1p112f;
  return fromBits<float>(sign | toBits(magnitude));
}

float decodeE5M2(uint8_t bits) { return decodeF16(uint16_t(bits) << 8); }

float decodeE4M3(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80) << 24, rest = bits & 0x7f;
  if (rest == 0x7f)
    return fromBits<float>(0x7fffffff);
  float magnitude = fromBits<float>(rest << 20) * 0x1p120f;
  return fromBits<float>(sign | toBits(magnitude));
}

uint16_t encodeBF16(float value) {
  if (std::isnan(value))
    return 0x7fff;
  uint32_t bits = toBits(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint16_t encodeF16(float value) {
  uint32_t bits = toBits(value), magnitude = bits & 0x7fffffff;
  if (magnitude < 0x38800000 || magnitude >= 0x47800000)
    return encode(value, kF16); // subnormal, too large or no number
  uint32_t rebased = magnitude - 0x38000000;
  return (bits >> 16 & 0x8000) | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13;
}

} // namespace mamba::sim
