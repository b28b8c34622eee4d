//===- ConvertNarrow.cpp - Conversions to and from narrow floats ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "cvt": pairs of e2m1, e2m3, e3m2 and ue8m0, and stochastic rounding.
// Of the random bits the ISA says which elements they are for; that of two
// elements with one field the first reads it in reverse, and that random bits
// are aligned with the highest of the bits that are cut off, is what others
// measured on a B200.
//
//===----------------------------------------------------------------------===//

#include "FloatModes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// An element of a packed destination or source.
struct Element {
  StringRef name;
  unsigned storageBits, bits;
  FloatFormat format;
};

// Formats without a NaN have the largest number in its place.
constexpr Element kElements[] = {
    {"e2m1", 4, 4, {2, 0, 0x7, 0x7, 0x7, 0x8}},
    {"e2m3", 8, 6, {4, 0, 0x1f, 0x1f, 0x1f, 0x20}},
    {"e3m2", 8, 6, {3, -2, 0x1f, 0x1f, 0x1f, 0x20}},
    {"e4m3", 8, 8, kE4M3},
    {"e5m2", 8, 8, kE5M2},
    {"f16", 16, 16, kF16},
    {"bf16", 16, 16, kBF16},
    {"ue8m0", 8, 8, {}},
};
constexpr unsigned kE2M1 = 0, kF16Element = 5, kBF16Element = 6, kUE8M0 = 7;

enum Flag : uint8_t { kIsRelu = 1, kSaturates = 2, kRoundsUp = 4 };

/// The power of two that an exponent stands for; 0xff is a NaN.
double decodeExponent(uint8_t bits) {
  return bits == 0xff ? std::nan("") : std::ldexp(1.0, int(bits) - 127);
}

uint8_t encodeExponent(double value, bool up, bool saturates) {
  if (std::isnan(value))
    return 0xff;
  double magnitude = std::fabs(value);
  uint8_t tooLarge = saturates ? 0xfe : 0xff;
  if (std::isinf(magnitude))
    return tooLarge;
  if (magnitude <= 0x1p-127)
    return 0;
  int exponent = std::ilogb(magnitude);
  if (up && magnitude != std::ldexp(1.0, exponent))
    ++exponent;
  return exponent > 127 ? tooLarge : exponent + 127;
}

double decodeElement(const Element &element, uint32_t bits) {
  const FloatFormat &format = element.format;
  if (&element == &kElements[kUE8M0])
    return decodeExponent(bits);
  if (&element == &kElements[kF16Element])
    return decodeF16(bits);
  if (&element == &kElements[kBF16Element])
    return decodeBF16(bits);
  unsigned fraction = format.precision - 1;
  uint32_t magnitude = bits & (format.sign - 1);
  int exponent = magnitude >> fraction;
  double significand = magnitude & maskTrailingOnes<uint32_t>(fraction);
  if (exponent)
    significand += 1u << fraction;
  double value =
      std::ldexp(significand, std::max(exponent, 1) - 1 + format.minExponent -
                                  int(fraction));
  return bits & format.sign ? -value : value;
}

/// Cut off after `random`, as a fraction of the last place, has been added.
uint32_t encodeStochastic(double value, const FloatFormat &format,
                          double random, bool saturates) {
  if (std::isnan(value) || std::isinf(value) || value == 0)
    return encode(value, format, Round::Zero, saturates);
  double magnitude = std::fabs(value);
  int exponent = std::max(std::ilogb(magnitude), format.minExponent);
  int unit = exponent - int(format.precision) + 1;
  double whole = std::floor(std::ldexp(magnitude, -unit) + random);
  double result = std::copysign(std::ldexp(whole, unit), value);
  // Now exact, or too large.
  return encode(result, format, Round::NearestEven, saturates);
}

double applyRelu(const Inst &inst, double value) {
  return inst.mode2 & kIsRelu && value <= 0 ? 0 : value;
}

const Element &getElement(const Inst &inst) { return kElements[inst.imm]; }

/// From two f32, the first the upper one, or the halves of f16x2 (flag) or
/// bf16x2.
void runToNarrow(Warp &warp, const Inst &inst, LaneMask lanes) {
  const Element &element = getElement(inst);
  auto convert = [&](double value) -> uint64_t {
    if (&element == &kElements[kUE8M0])
      return encodeExponent(value, inst.mode2 & kRoundsUp,
                            inst.mode2 & kSaturates);
    return encode(applyRelu(inst, value), element.format, Round::NearestEven,
                  /*saturate=*/true);
  };
  forLanes(lanes, [&](unsigned lane) {
    double high, low;
    if (inst.numOps == 3) {
      high = fromBits<float>(warp.get(inst.ops[1], lane));
      low = fromBits<float>(warp.get(inst.ops[2], lane));
    } else {
      uint32_t both = warp.get(inst.ops[1], lane);
      const Element &half = kElements[inst.flag ? kF16Element : kBF16Element];
      high = decodeElement(half, both >> 16);
      low = decodeElement(half, both & 0xffff);
    }
    warp.set(inst.ops[0], lane,
             convert(high) << element.storageBits | convert(low));
  });
}

/// To f16x2 (flag) or bf16x2.
void runFromNarrow(Warp &warp, const Inst &inst, LaneMask lanes) {
  const Element &element = getElement(inst);
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint32_t bits = warp.get(inst.ops[1], lane);
    auto convert = [&](uint32_t part) {
      double value = decodeElement(
          element, part & maskTrailingOnes<uint32_t>(element.bits));
      return encode(applyRelu(inst, value), inst.flag ? kF16 : kBF16);
    };
    return convert(bits >> element.storageBits) << 16 | convert(bits);
  });
}

uint16_t reverse(uint16_t bits) { return llvm::reverseBits(bits); }

/// Two or four f32, from the upper element on, then the random bits.
void runStochastic(Warp &warp, const Inst &inst, LaneMask lanes) {
  const Element &element = getElement(inst);
  unsigned count = inst.numOps - 2;
  forLanes(lanes, [&](unsigned lane) {
    uint32_t random = warp.get(inst.ops[count + 1], lane);
    uint16_t high = random >> 16, low = random;
    std::array<uint16_t, 4> fields = {reverse(high), high, reverse(low), low};
    double scale = 0x1p-16;
    if (count == 2) {
      fields = {high, low};
      if (&element == &kElements[kF16Element]) { // 13 bits
        scale = 0x1p-13;
        fields = {uint16_t(high & 0x1fff), uint16_t(low & 0x1fff)};
      }
    } else if (&element == &kElements[kE2M1]) {
      // Each field has a byte of both halves.
      uint16_t upper = (high & 0xff00) | low >> 8,
               lower = high << 8 | (low & 0xff);
      fields = {reverse(upper), upper, reverse(lower), lower};
    }
    uint64_t result = 0;
    for (unsigned i = 0; i != count; ++i) {
      double value = fromBits<float>(warp.get(inst.ops[1 + i], lane));
      result = result << element.storageBits |
               encodeStochastic(applyRelu(inst, value), element.format,
                                fields[i] * scale, inst.mode2 & kSaturates);
    }
    warp.set(inst.ops[0], lane, result);
  });
}

/// The element whose pair or quadruple is the next modifier.
std::optional<unsigned> takeElement(Decoder &d, StringRef count) {
  for (auto [index, element] : enumerate(kElements))
    if (d.take((element.name + count).str()))
      return index;
  return std::nullopt;
}

} // namespace

static void decodeStochastic(Decoder &d) {
  d.take("rs");
  bool isPair = true;
  std::optional<unsigned> element = takeElement(d, "x2");
  if (!element) {
    element = takeElement(d, "x4");
    isPair = false;
  }
  // Only halves come in pairs.
  bool isHalf = element == kF16Element || element == kBF16Element;
  if (!element || isHalf != isPair || element == kUE8M0 || !d.take("f32"))
    return;
  d.inst.imm = *element;
  d.dst(element == kE2M1 ? Type::B16 : Type::B32);
  if (isPair) {
    d.src(Type::F32);
    d.src(Type::F32);
  } else if (d.srcVector(Type::F32) != 4) {
    return d.fail("expected four registers of '" + d.opcode + "'");
  }
  d.src(Type::B32);
  d.inst.run = runStochastic;
}

bool decodeNarrowConversion(Decoder &d) {
  bool isStochastic = d.opcode.contains(".rs");
  // Those of eight bits are in Convert.cpp, unless rounding is stochastic.
  bool isNarrow =
      any_of(ArrayRef<StringRef>{"e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2"},
             [&](StringRef name) { return d.opcode.contains(name); });
  if (!isStochastic && !isNarrow)
    return false;
  d.inst.cls = InstClass::Convert;
  d.inst.mode2 =
      (d.take("relu") ? kIsRelu : 0) | (d.take("satfinite") ? kSaturates : 0);
  if (isStochastic) {
    decodeStochastic(d);
    return true;
  }
  bool toHalf = d.opcode.contains(".f16x2.") || d.opcode.contains(".bf16x2.");
  auto round = d.takeOneOf({"rn", "rz", "rp"});
  d.inst.mode2 |= round == 2u ? kRoundsUp : 0;
  bool isF16 = d.take("f16x2"), isBF16 = !isF16 && d.take("bf16x2");
  d.inst.flag = isF16;
  std::optional<unsigned> element = takeElement(d, "x2");
  if (!element || !round)
    return true;
  bool isExponent = element == kUE8M0;
  // Exponents are rounded up or down, but exact as bf16.
  bool fits = isExponent ? (round == 0u) == toHalf && !isF16 : round == 0u;
  if (!fits || (!isExponent && !toHalf && !(d.inst.mode2 & kSaturates)))
    return true;
  d.inst.imm = *element;
  // Pairs of e2m1 are bytes.
  Type packed = element == kE2M1 ? Type::B8 : Type::B16;
  if (toHalf) {
    d.dst(Type::B32);
    d.srcWide(packed);
    d.inst.run = runFromNarrow;
    return true;
  }
  d.dstWide(packed);
  if (isF16 || isBF16) {
    d.src(Type::B32);
  } else {
    if (!d.take("f32"))
      return true;
    d.src(Type::F32);
    d.src(Type::F32);
  }
  d.inst.run = runToNarrow;
  return true;
}

} // namespace mamba::sim
