//===- FloatModes.h - Modifiers of floating-point arithmetic ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_FLOATMODES_H
#define MAMBA_LIB_SIM_FLOATMODES_H

#include "Select.h"

namespace mamba::sim {

/// Bits of `Inst::imm`.
enum FloatFlag : int64_t {
  kFtz = 1,
  kSat = 2,
  kRelu = 4,
  kNaN = 8,
  kXorSign = 16,
};

/// Takes ".ftz" and so on into `inst.imm`.
inline void takeFloatFlags(Decoder &d) {
  d.inst.imm = (d.take("ftz") ? kFtz : 0) | (d.take("sat") ? kSat : 0) |
               (d.take("relu") ? kRelu : 0) | (d.take("NaN") ? kNaN : 0);
}

template <typename T> inline T saturate(T value) {
  // A NaN and -0 become +0.
  return value > T(0) ? (value <= T(1) ? value : T(1)) : T(0);
}

/// minimum or maximum as PTX orders numbers: -0 below +0, and a NaN loses
/// unless it has to win.
template <typename T> inline T minMax(T a, T b, bool isMax, bool keepNaN) {
  if (std::isnan(a) || std::isnan(b)) {
    if (keepNaN || (std::isnan(a) && std::isnan(b)))
      return canonical(std::numeric_limits<T>::quiet_NaN());
    return std::isnan(a) ? b : a;
  }
  if (a == b)
    return std::signbit(a) == isMax ? b : a;
  return (a < b) == isMax ? b : a;
}

/// As `minMax` of the magnitudes, with the sign of the product.
inline float minMaxXorSign(float a, float b, bool isMax, bool keepNaN) {
  float result = minMax(std::fabs(a), std::fabs(b), isMax, keepNaN);
  if (std::isnan(result))
    return result;
  return std::signbit(a) != std::signbit(b) ? -result : result;
}

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_FLOATMODES_H
