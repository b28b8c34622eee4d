//===- Select.h - Functions by operand type ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions are templates over the C++ type of a lane. `selectInteger(type,
// fn)` calls `fn` with a value of that type and gives back what it returns.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_SELECT_H
#define MAMBA_LIB_SIM_SELECT_H

#include "Decoder.h"
#include "FloatFormats.h"
#include "Warp.h"

namespace mamba::sim {

/// 16, 32 and 64 bits.
template <typename Fn> Handler selectInteger(Type type, Fn fn) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return fn(uint16_t());
  case Type::S16:
    return fn(int16_t());
  case Type::B32:
  case Type::U32:
    return fn(uint32_t());
  case Type::S32:
    return fn(int32_t());
  case Type::B64:
  case Type::U64:
    return fn(uint64_t());
  case Type::S64:
    return fn(int64_t());
  default:
    return nullptr;
  }
}

/// As `selectInteger`, without signs.
template <typename Fn> Handler selectBits(Type type, Fn fn) {
  switch (getSize(type)) {
  case 2:
    return fn(uint16_t());
  case 4:
    return fn(uint32_t());
  case 8:
    return fn(uint64_t());
  default:
    return nullptr;
  }
}

/// destination = Op()(a), (a, b) and (a, b, c).
template <typename T, typename Op>
void runUnary(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  mapRow<T>(warp, inst.ops[0], lanes,
            [=](unsigned lane) { return Op()(a[lane]); });
}
template <typename T, typename Op>
void runBinary(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  const T *b = warp.row<T>(inst.ops[2]);
  mapRow<T>(warp, inst.ops[0], lanes,
            [=](unsigned lane) { return Op()(a[lane], b[lane]); });
}
template <typename T, typename Op>
void runTernary(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  const T *b = warp.row<T>(inst.ops[2]);
  const T *c = warp.row<T>(inst.ops[3]);
  mapRow<T>(warp, inst.ops[0], lanes,
            [=](unsigned lane) { return Op()(a[lane], b[lane], c[lane]); });
}

/// Takes a destination and `count` sources of one type.
inline void takeOperands(Decoder &d, Type type, unsigned count) {
  d.dst(type);
  for (unsigned i = 0; i != count; ++i)
    d.src(type);
}

/// Handlers for an operation that is a template over nothing: Op::operator()
/// is a template over the type.
template <typename Op> Handler integerUnary(Type type) {
  return selectInteger(
      type, [](auto tag) -> Handler { return runUnary<decltype(tag), Op>; });
}
template <typename Op> Handler integerBinary(Type type) {
  return selectInteger(
      type, [](auto tag) -> Handler { return runBinary<decltype(tag), Op>; });
}
template <typename Op> Handler integerTernary(Type type) {
  return selectInteger(
      type, [](auto tag) -> Handler { return runTernary<decltype(tag), Op>; });
}

/// "rn", "rz", "rm" or "rp", if it is there.
std::optional<Round> takeRound(Decoder &d);

/// cvt of pairs of six, four or eight (ue8m0) bits, and with stochastic
/// rounding. Returns false if it is another one.
bool decodeNarrowConversion(Decoder &d);

/// Instructions whose first words integers and floats share.
void decodeFloatAddSub(Decoder &d);
void decodeFloatMul(Decoder &d);
void decodeFloatFma(Decoder &d);
void decodeFloatDiv(Decoder &d);
void decodeFloatMinMax(Decoder &d);
void decodeFloatAbsNeg(Decoder &d);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_SELECT_H
