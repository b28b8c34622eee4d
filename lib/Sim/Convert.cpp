//===- Convert.cpp - Conversions between types ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "cvt". Types of six and four bits are in ConvertNarrow.cpp.
//
//===----------------------------------------------------------------------===//

#include "FloatModes.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// A source value: a float, or an integer of which `isSigned` tells the kind.
struct Value {
  bool isFloat;
  bool isSigned;
  double real;
  uint64_t integer;
};

/// `Inst::imm` packs what `cvt` says.
struct Conversion {
  Type to, from;
  Round round;
  bool toIntegral; // float to float of integral value
  bool ftz, saturates, relu, finite;

  int64_t pack() const {
    return int64_t(to) | int64_t(from) << 8 | int64_t(round) << 16 |
           int64_t(toIntegral) << 24 | int64_t(ftz) << 25 |
           int64_t(saturates) << 26 | int64_t(relu) << 27 |
           int64_t(finite) << 28;
  }
  static Conversion unpack(int64_t bits) {
    auto flag = [&](unsigned place) { return bool(bits >> place & 1); };
    return {Type(bits & 0xff),
            Type(bits >> 8 & 0xff),
            Round(bits >> 16 & 0xff),
            flag(24),
            flag(25),
            flag(26),
            flag(27),
            flag(28)};
  }
};

Value decodeValue(uint64_t bits, Type type) {
  switch (type) {
  case Type::F16:
    return {true, true, decodeF16(bits), 0};
  case Type::BF16:
    return {true, true, decodeBF16(bits), 0};
  case Type::F32:
  case Type::TF32:
    return {true, true, fromBits<float>(bits), 0};
  case Type::F64:
    return {true, true, fromBits<double>(bits), 0};
  case Type::E4M3:
    return {true, true, decodeE4M3(bits), 0};
  case Type::E5M2:
    return {true, true, decodeE5M2(bits), 0};
  default: {
    unsigned width = 8 * getSize(type);
    if (ptx::isSigned(type))
      return {false, true, 0, uint64_t(SignExtend64(bits, width))};
    return {false, false, 0, bits & maskTrailingOnes<uint64_t>(width)};
  }
  }
}

double roundToIntegral(double value, Round round) {
  switch (round) {
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t toInteger(double value, const Conversion &conversion) {
  unsigned width = 8 * getSize(conversion.to);
  bool isSigned = ptx::isSigned(conversion.to);
  if (std::isnan(value))
    return conversion.from == Type::F64 || width == 64
               ? uint64_t(1) << (width - 1)
               : 0;
  value = roundToIntegral(value, conversion.round);
  double limit = std::ldexp(1.0, isSigned ? width - 1 : width);
  if (value >= limit)
    return isSigned ? maskTrailingOnes<uint64_t>(width - 1)
                    : maskTrailingOnes<uint64_t>(width);
  if (isSigned)
    return value < -limit ? uint64_t(1) << (width - 1)
                          : uint64_t(int64_t(value));
  return value <= 0 ? 0 : uint64_t(value);
}

uint64_t saturateInteger(const Value &value, Type to) {
  unsigned width = 8 * getSize(to);
  __int128 exact = value.isSigned ? __int128(int64_t(value.integer))
                                  : __int128(value.integer);
  __int128 one = 1;
  __int128 low = ptx::isSigned(to) ? -(one << (width - 1)) : 0;
  __int128 high = (one << (ptx::isSigned(to) ? width - 1 : width)) - 1;
  return uint64_t(exact < low ? low : exact > high ? high : exact);
}

/// An integer as a double: rounded as asked for, or to odd if something else
/// rounds again.
double fromInteger(const Value &value, Round round, bool toOdd) {
  double nearest =
      value.isSigned ? double(int64_t(value.integer)) : double(value.integer);
  __int128 exact = value.isSigned ? __int128(int64_t(value.integer))
                                  : __int128(value.integer);
  double error = double(exact - __int128(nearest));
  if (error == 0)
    return nearest;
  if (!toOdd)
    return roundDirected(nearest, error, round);
  return toBits(nearest) & 1
             ? nearest
             : std::nextafter(nearest, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

uint64_t encodeFloat(double value, Type type, Round round, bool finite) {
  switch (type) {
  case Type::F16:
    return encode(value, kF16, round, finite);
  case Type::BF16:
    return encode(value, kBF16, round, finite);
  case Type::F32:
    return encode(value, kF32, round, finite);
  case Type::TF32:
    return uint64_t(encode(value, kTF32, round, finite)) << 13;
  case Type::E4M3:
    return encode(value, kE4M3, round, true);
  case Type::E5M2:
    return encode(value, kE5M2, round, finite);
  default:
    return toBits(value);
  }
}

/// What becomes of a NaN in a conversion between floats.
uint64_t convertNaN(uint64_t bits, const Conversion &conversion) {
  if (conversion.to == Type::TF32)
    return bits & 0xffffe000;
  if (conversion.from == Type::F64) {
    uint64_t nan = toBits(quiet(fromBits<double>(bits)));
    if (conversion.to == Type::F64)
      return nan;
    // What fits of the bits.
    if (conversion.to == Type::F32)
      return (nan >> 32 & 0x80000000) | 0x7f800000 | (nan >> 29 & 0x7fffff);
    if (conversion.to == Type::F16)
      return (nan >> 48 & 0x8000) | 0x7c00 | (nan >> 42 & 0x3ff);
  }
  if (conversion.to == Type::F64) // that of f32, extended
    return 0x7fffffffe0000000;
  if (conversion.to == Type::F32 && conversion.from == Type::BF16)
    return bits << 16;
  return encodeFloat(std::nan(""), conversion.to, conversion.round,
                     conversion.finite);
}

uint64_t convert(uint64_t bits, const Conversion &conversion) {
  Value value = decodeValue(bits, conversion.from);
  if (ptx::isInteger(conversion.to)) {
    if (value.isFloat) {
      if (conversion.ftz)
        value.real = flush(float(value.real));
      return toInteger(value.real, conversion);
    }
    return conversion.saturates ? saturateInteger(value, conversion.to)
                                : value.integer;
  }
  double real = value.real;
  if (!value.isFloat) {
    real = fromInteger(value, conversion.round, conversion.to != Type::F64);
  } else {
    if (std::isnan(real) && !conversion.saturates)
      return convertNaN(bits, conversion);
    if (conversion.ftz && conversion.from == Type::F32)
      real = flush(float(real));
    if (conversion.toIntegral)
      real = roundToIntegral(real, conversion.round);
  }
  if (conversion.saturates)
    real = saturate(real);
  if (conversion.relu && real <= 0)
    real = 0; // -0 too
  uint64_t result =
      encodeFloat(real, conversion.to, conversion.round, conversion.finite);
  if (conversion.ftz && conversion.to == Type::F32)
    result = toBits(flush(fromBits<float>(result)));
  return result;
}

void runConvert(Warp &warp, const Inst &inst, LaneMask lanes) {
  Conversion conversion = Conversion::unpack(inst.imm);
  bool extends = ptx::isSigned(conversion.to);
  unsigned width = 8 * getSize(conversion.to);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t result = convert(warp.get(inst.ops[1], lane), conversion);
    // A register with more bits is filled up.
    if (width < 64)
      result = extends ? uint64_t(SignExtend64(result, width))
                       : result & maskTrailingOnes<uint64_t>(width);
    warp.set(inst.ops[0], lane, result);
  });
}

/// Two elements: of two registers, the first the upper one, or of one.
/// `mode` is the size of a destination's element in bits.
void runConvertPair(Warp &warp, const Inst &inst, LaneMask lanes) {
  Conversion conversion = Conversion::unpack(inst.imm);
  unsigned fromWidth = 8 * getSize(conversion.from);
  forLanes(lanes, [&](unsigned lane) {
    uint64_t high, low;
    if (inst.numOps == 3) {
      high = warp.get(inst.ops[1], lane);
      low = warp.get(inst.ops[2], lane);
    } else {
      uint64_t both = warp.get(inst.ops[1], lane);
      low = both & maskTrailingOnes<uint64_t>(fromWidth);
      high = both >> fromWidth;
    }
    warp.set(inst.ops[0], lane,
             convert(low, conversion) | convert(high, conversion) << inst.mode);
  });
}

// Conversions that are frequent.
template <typename From, typename To>
void runTruncateOrExtend(Warp &warp, const Inst &inst, LaneMask lanes) {
  const From *a = warp.row<From>(inst.ops[1]);
  mapRow<To>(warp, inst.ops[0], lanes,
             [=](unsigned lane) { return To(a[lane]); });
}
void runDecodeF16(Warp &warp, const Inst &inst, LaneMask lanes) {
  const uint16_t *a = warp.row<uint16_t>(inst.ops[1]);
  mapRow<float>(warp, inst.ops[0], lanes,
                [=](unsigned lane) { return canonical(decodeF16(a[lane])); });
}
void runDecodeBF16(Warp &warp, const Inst &inst, LaneMask lanes) {
  // NaNs keep their bits.
  const uint16_t *a = warp.row<uint16_t>(inst.ops[1]);
  mapRow<uint32_t>(warp, inst.ops[0], lanes,
                   [=](unsigned lane) { return uint32_t(a[lane]) << 16; });
}
template <auto encodeHalf>
void runEncodeHalf(Warp &warp, const Inst &inst, LaneMask lanes) {
  const float *a = warp.row<float>(inst.ops[1]);
  mapRow<uint16_t>(warp, inst.ops[0], lanes,
                   [=](unsigned lane) { return encodeHalf(a[lane]); });
}

Handler getFast(const Conversion &c) {
  if (c.ftz || c.saturates || c.relu || c.finite || c.toIntegral)
    return nullptr;
  auto is = [&](Type to, Type from) { return c.to == to && c.from == from; };
  if (is(Type::F32, Type::BF16))
    return runDecodeBF16;
  if (is(Type::F32, Type::F16))
    return runDecodeF16;
  if (is(Type::U32, Type::U64) || is(Type::S32, Type::S64))
    return runTruncateOrExtend<uint64_t, uint32_t>;
  if (is(Type::U64, Type::U32))
    return runTruncateOrExtend<uint32_t, uint64_t>;
  if (is(Type::S64, Type::S32))
    return runTruncateOrExtend<int32_t, int64_t>;
  if (c.round != Round::NearestEven)
    return nullptr;
  if (is(Type::BF16, Type::F32))
    return runEncodeHalf<encodeBF16>;
  if (is(Type::F16, Type::F32))
    return runEncodeHalf<encodeF16>;
  if (is(Type::F32, Type::S32))
    return runTruncateOrExtend<int32_t, float>;
  if (is(Type::F32, Type::U32))
    return runTruncateOrExtend<uint32_t, float>;
  return nullptr;
}

} // namespace

/// The element type of a pair.
static std::optional<Type> getElement(Type type) {
  switch (type) {
  case Type::F16x2:
    return Type::F16;
  case Type::BF16x2:
    return Type::BF16;
  case Type::E4M3x2:
    return Type::E4M3;
  case Type::E5M2x2:
    return Type::E5M2;
  default:
    return std::nullopt;
  }
}

static void decodePair(Decoder &d, Conversion conversion, Type to, Type from) {
  conversion.to = *getElement(to);
  conversion.from = getElement(from).value_or(from);
  d.inst.mode = 8 * getSize(conversion.to);
  d.dst(getSize(to) == 2 ? Type::B16 : Type::B32);
  if (getElement(from)) {
    d.src(getSize(from) == 2 ? Type::B16 : Type::B32);
  } else {
    if (from != Type::F32)
      return;
    d.src(from);
    d.src(from);
  }
  d.inst.imm = conversion.pack();
  d.inst.propagate = propagatePair;
  d.inst.run = runConvertPair;
}

static void decodeCvt(Decoder &d) {
  if (decodeNarrowConversion(d))
    return;
  d.inst.cls = InstClass::Convert;
  Conversion conversion{};
  if (std::optional<Round> round = takeRound(d)) {
    conversion.round = *round;
  } else if (auto integral = d.takeOneOf({"rni", "rzi", "rmi", "rpi"})) {
    conversion.round = Round(*integral);
    conversion.toIntegral = true;
  } else if (d.take("rna")) {
    conversion.round = Round::NearestAway;
  }
  conversion.ftz = d.take("ftz");
  conversion.saturates = d.take("sat");
  conversion.relu = d.take("relu");
  conversion.finite = d.take("satfinite");
  Type to = d.takeType(), from = d.takeType();
  if (getElement(to))
    return decodePair(d, conversion, to, from);
  conversion.to = to;
  conversion.from = from;
  if (getElement(from) || to == Type::Pred || from == Type::Pred)
    return;
  d.dstWide(to);
  d.srcWide(from);
  if (d.failed())
    return;
  if (ptx::isInteger(to))
    conversion.toIntegral = false;
  d.inst.imm = conversion.pack();
  d.inst.run = runConvert;
  d.inst.bytes = getSize(from);
  d.inst.signExtend = ptx::isSigned(from);
  bool extends =
      ptx::isInteger(to) && ptx::isInteger(from) && !conversion.saturates;
  d.inst.propagate = extends ? propagateExtend : useLowBytes;
  if (d.hasExactRows(to, from))
    if (Handler fast = getFast(conversion))
      d.inst.run = fast;
}

/// cvt.pack: two saturated integers above the bits of a third operand.
static void runPack(Warp &warp, const Inst &inst, LaneMask lanes) {
  Conversion c = Conversion::unpack(inst.imm);
  unsigned width = 8 * getSize(c.to);
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint64_t mask = maskTrailingOnes<uint64_t>(width);
    uint64_t high =
        saturateInteger(decodeValue(warp.get(inst.ops[1], lane), c.from), c.to);
    uint64_t low =
        saturateInteger(decodeValue(warp.get(inst.ops[2], lane), c.from), c.to);
    uint64_t result = (high & mask) << width | (low & mask);
    if (inst.numOps == 4)
      result |= warp.get(inst.ops[3], lane) << (2 * width);
    return uint32_t(result);
  });
}

static void decodeCvtOrPack(Decoder &d) {
  if (!d.take("pack"))
    return decodeCvt(d);
  d.inst.cls = InstClass::Convert;
  Conversion conversion{};
  d.take("sat");
  conversion.to = d.takeType();
  conversion.from = d.takeType();
  d.tryTakeType();
  takeOperands(d, Type::B32, 2);
  if (d.hasOperands())
    d.src(Type::B32);
  d.inst.imm = conversion.pack();
  if (getSize(conversion.to) <= 2 && getSize(conversion.from) == 4)
    d.inst.run = runPack;
}

void addConvertInstructions(DecodeTable &table) {
  table["cvt"] = decodeCvtOrPack;
}

} // namespace mamba::sim
