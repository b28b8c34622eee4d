//===- FloatFormats.h - Floating-point numbers by their bits ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_FLOATFORMATS_H
#define MAMBA_LIB_SIM_FLOATFORMATS_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mamba::sim {

template <typename T>
using BitsOf =
    std::conditional_t<sizeof(T) == 8, uint64_t,
                       std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <typename T> BitsOf<T> toBits(T value) {
  BitsOf<T> bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

template <typename T> T fromBits(uint64_t bits) {
  BitsOf<T> narrow = BitsOf<T>(bits);
  T value;
  std::memcpy(&value, &narrow, sizeof(value));
  return value;
}

enum class Round : uint8_t { NearestEven, Zero, Down, Up, NearestAway };

struct FloatFormat {
  /// Bits of the significand, with the hidden one.
  unsigned precision;
  /// Of the smallest normal number.
  int minExponent;
  uint32_t largest, infinity, nan, sign;
};

constexpr FloatFormat kF16 = {11, -14, 0x7bff, 0x7c00, 0x7fff, 0x8000};
constexpr FloatFormat kBF16 = {8, -126, 0x7f7f, 0x7f80, 0x7fff, 0x8000};
constexpr FloatFormat kF32 = {24,         -126,       0x7f7fffff,
                              0x7f800000, 0x7fffffff, 0x80000000};
// f32 bits whose lower 13 are dropped.
constexpr FloatFormat kTF32 = {11, -126, 0x3fbff, 0x3fc00, 0x3ffff, 0x40000};
constexpr FloatFormat kE5M2 = {3, -14, 0x7b, 0x7c, 0x7f, 0x80};
// No infinity: what is too large saturates.
constexpr FloatFormat kE4M3 = {4, -6, 0x7e, 0x7f, 0x7f, 0x80};

/// Bits of `value` in `format`. A value that is not exact must have been
/// rounded to odd (`addToOdd`), so that nothing is rounded twice. With
/// `saturate` numbers that are too large become the largest one.
uint32_t encode(double value, const FloatFormat &format,
                Round round = Round::NearestEven, bool saturate = false);

/// a + b, rounded to odd: away from an exact result to the neighbour whose last
/// bit is set.
double addToOdd(double a, double b);
/// a / b and the square root, likewise.
double divideToOdd(double a, double b);
double squareRootToOdd(double a);

/// `nearest` is an operation's result rounded to nearest, `error` has the sign
/// of exact minus nearest.
double roundDirected(double nearest, double error, Round round);

float decodeF16(uint16_t bits);
inline float decodeBF16(uint16_t bits) {
  return fromBits<float>(uint32_t(bits) << 16);
}
float decodeE4M3(uint8_t bits);
float decodeE5M2(uint8_t bits);
uint16_t encodeF16(float value);
uint16_t encodeBF16(float value);

/// NVIDIA's floating-point units give one NaN only.
/// Of f64 that is the NaN of operations without one as operand.
inline float canonical(float value) {
  return std::isnan(value) ? fromBits<float>(0x7fffffff) : value;
}
inline double canonical(double value) {
  return std::isnan(value) ? fromBits<double>(0xfff8000000000000) : value;
}

/// A NaN that is not signalling.
inline double quiet(double nan) {
  return fromBits<double>(toBits(nan) | uint64_t(1) << 51);
}

/// Subnormal numbers to zeros of the same sign.
inline float flush(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_FLOATFORMATS_H
