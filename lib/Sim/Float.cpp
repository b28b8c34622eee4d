//===- Float.cpp - Floating-point arithmetic ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Floating-Point Instructions", "Half Precision Floating-Point
// Instructions" and "Mixed Precision Floating-Point Instructions", as far as
// results are defined to the last bit. Approximations are in Approximate.cpp.
//
//===----------------------------------------------------------------------===//

#include "FloatModes.h"

#include <limits>

using namespace llvm;

namespace mamba::sim {

std::optional<Round> takeRound(Decoder &d) {
  if (d.take("rn"))
    return Round::NearestEven;
  if (d.take("rz"))
    return Round::Zero;
  if (d.take("rm"))
    return Round::Down;
  if (d.take("rp"))
    return Round::Up;
  return std::nullopt;
}

namespace {

enum Operation : uint8_t { Add, Sub, Mul, Fma, Div, Sqrt, Min, Max, Abs, Neg };

/// What to do with the three operands (or less) of one lane.
struct Mode {
  explicit Mode(const Inst &inst)
      : operation(Operation(inst.mode2)), round(Round(inst.mode)),
        flags(inst.imm) {}
  Operation operation;
  Round round;
  int64_t flags;
};

/// The result rounded to odd in double precision, for arguments of at most 24
/// significant bits.
double computeToOdd(const Mode &mode, double a, double b, double c) {
  auto add = [&](double x, double y) {
    double sum = addToOdd(x, y);
    // An exact difference of zero is negative when rounding down.
    if (sum == 0 && mode.round == Round::Down &&
        std::signbit(x) != std::signbit(y))
      return -0.0;
    return sum;
  };
  switch (mode.operation) {
  case Add:
    return add(a, b);
  case Sub:
    return add(a, -b);
  case Mul:
    return a * b;
  case Fma:
    return add(a * b, c);
  case Div:
    return divideToOdd(a, b);
  case Sqrt:
    return squareRootToOdd(a);
  default:
    return 0;
  }
}

float computeSingle(const Mode &mode, float a, float b, float c) {
  if (mode.flags & kFtz) {
    a = flush(a);
    b = flush(b);
    c = flush(c);
  }
  float result = 0;
  switch (mode.operation) {
  case Min:
  case Max:
    result = mode.flags & kXorSign
                 ? minMaxXorSign(a, b, mode.operation == Max, mode.flags & kNaN)
                 : minMax(a, b, mode.operation == Max, mode.flags & kNaN);
    break;
  case Abs:
    result = canonical(std::fabs(a));
    break;
  case Neg:
    result = canonical(-a);
    break;
  default:
    result =
        fromBits<float>(encode(computeToOdd(mode, a, b, c), kF32, mode.round));
  }
  if (mode.flags & kFtz)
    result = flush(result);
  if (mode.flags & kSat)
    result = saturate(result);
  if ((mode.flags & kRelu) && result < 0)
    result = 0;
  return result;
}

/// What is lost in a * b + c, where that is about zero. Scaling keeps it from
/// being lost itself.
double getResidual(double a, double b, double c) {
  constexpr double scale = 0x1p500;
  if (std::fabs(c) < 0x1p-400 && std::fabs(a) < 0x1p500)
    return std::fma(a * scale, b, c * scale);
  if (std::fabs(c) < 0x1p-400 && std::fabs(b) < 0x1p500)
    return std::fma(a, b * scale, c * scale);
  return std::fma(a, b, c);
}

/// The result for arguments of which one is a NaN: f64 keeps its bits, made
/// quiet. If there are several, the order is the hardware's.
std::optional<double> getNaN(const Mode &mode, double a, double b, double c) {
  double order[3] = {b, c, a};
  if (mode.operation == Div)
    std::swap(order[0], order[2]);
  for (double value : order)
    if (std::isnan(value))
      return quiet(value);
  return std::nullopt;
}

double computeDouble(const Mode &mode, double a, double b, double c) {
  bool isMinMax = mode.operation == Min || mode.operation == Max;
  if (!isMinMax || (std::isnan(a) && std::isnan(b)))
    if (std::optional<double> nan = getNaN(mode, a, b, c))
      return *nan;
  double result = 0, error = 0;
  switch (mode.operation) {
  case Sub:
    b = -b;
    [[fallthrough]];
  case Add: {
    result = a + b;
    double part = result - a;
    error = (a - (result - part)) + (b - part);
    break;
  }
  case Mul:
    result = a * b;
    error = getResidual(a, b, -result);
    if (result == 0 && a != 0 && b != 0)
      error = std::signbit(result) ? -1 : 1;
    break;
  case Fma: // the decoder allows rounding to nearest only
    result = std::fma(a, b, c);
    break;
  case Div:
    result = a / b;
    error = getResidual(-result, b, a) * (b < 0 ? -1 : 1);
    break;
  case Sqrt:
    result = std::sqrt(a);
    error = getResidual(-result, result, a);
    break;
  case Min:
  case Max:
    return minMax(a, b, mode.operation == Max, false);
  case Abs:
    return std::fabs(a);
  case Neg:
    return -a;
  }
  if (mode.round == Round::NearestEven || std::isnan(result))
    return canonical(result);
  if (std::isfinite(result))
    return roundDirected(result, error, mode.round);
  // An overflow, unless it is exact.
  bool isExact =
      std::isinf(a) || std::isinf(b) || (mode.operation == Div && b == 0);
  return isExact ? result
                 : roundDirected(result, result > 0 ? -1 : 1, mode.round);
}

struct F16 {
  static constexpr const FloatFormat &format = kF16;
  static float decode(uint16_t bits) { return decodeF16(bits); }
  static uint16_t encodeNearest(float value) { return encodeF16(value); }
};
struct BF16 {
  static constexpr const FloatFormat &format = kBF16;
  static float decode(uint16_t bits) { return decodeBF16(bits); }
  static uint16_t encodeNearest(float value) { return encodeBF16(value); }
};

template <typename Format>
uint16_t computeHalf(const Mode &mode, uint16_t aBits, uint16_t bBits,
                     uint16_t cBits) {
  if (mode.operation == Abs || mode.operation == Neg) {
    if (std::isnan(Format::decode(aBits)))
      return Format::format.nan;
    return mode.operation == Abs ? aBits & 0x7fff : aBits ^ 0x8000;
  }
  float a = Format::decode(aBits), b = Format::decode(bBits),
        c = Format::decode(cBits);
  float least = Format::format.minExponent == -14 ? 0x1p-14f : 0x1p-126f;
  auto flushHalf = [&](float value) {
    return (mode.flags & kFtz) && std::fabs(value) < least
               ? std::copysign(0.0f, value)
               : value;
  };
  a = flushHalf(a);
  b = flushHalf(b);
  c = flushHalf(c);
  if (mode.operation == Min || mode.operation == Max) {
    bool isMax = mode.operation == Max, keepNaN = mode.flags & kNaN;
    float result = mode.flags & kXorSign ? minMaxXorSign(a, b, isMax, keepNaN)
                                         : minMax(a, b, isMax, keepNaN);
    return Format::encodeNearest(result);
  }
  double exact = computeToOdd(mode, a, b, c);
  uint16_t bits = double(float(exact)) == exact
                      ? Format::encodeNearest(float(exact))
                      : encode(exact, Format::format);
  float result = flushHalf(Format::decode(bits));
  if (mode.flags & kSat)
    result = saturate(result);
  if ((mode.flags & kRelu) && !(result > 0) && !std::isnan(result))
    result = 0;
  return Format::encodeNearest(result);
}

/// Lane values of `Value` with `elements` in each register, through `compute`.
/// Missing operands are the first one.
template <typename Value, auto compute, unsigned elements>
void runGeneral(Warp &warp, const Inst &inst, LaneMask lanes) {
  Mode mode(inst);
  const Value *a = warp.row<Value>(inst.ops[1]);
  const Value *b = inst.numOps > 2 ? warp.row<Value>(inst.ops[2]) : a;
  const Value *c = inst.numOps > 3 ? warp.row<Value>(inst.ops[3]) : a;
  Value *row = warp.row<Value>(inst.ops[0]);
  forLanes(lanes, [&](unsigned lane) {
    for (unsigned i = lane * elements; i != (lane + 1) * elements; ++i)
      row[i] = compute(mode, a[i], b[i], c[i]);
  });
}

// The common case of each operation on f32.
struct FastAdd {
  float operator()(float a, float b) const { return canonical(a + b); }
};
struct FastSub {
  float operator()(float a, float b) const { return canonical(a - b); }
};
struct FastMul {
  float operator()(float a, float b) const { return canonical(a * b); }
};
struct FastFma {
  float operator()(float a, float b, float c) const {
    return canonical(std::fma(a, b, c));
  }
};

Handler getFast(Operation operation) {
  switch (operation) {
  case Add:
    return runBinary<float, FastAdd>;
  case Sub:
    return runBinary<float, FastSub>;
  case Mul:
    return runBinary<float, FastMul>;
  case Fma:
    return runTernary<float, FastFma>;
  default:
    return nullptr;
  }
}

/// An f32 operation with narrower first operands: fma.rn.f32.bf16 and, with
/// one narrow operand, add and sub.
template <typename Format>
void runMixed(Warp &warp, const Inst &inst, LaneMask lanes) {
  Mode mode(inst);
  const uint16_t *a = warp.row<uint16_t>(inst.ops[1]);
  const uint16_t *b = warp.row<uint16_t>(inst.ops[2]);
  const float *last = warp.row<float>(inst.ops[inst.numOps - 1]);
  mapRow<float>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    float x = Format::decode(a[lane]);
    if (mode.operation == Fma)
      return computeSingle(mode, x, Format::decode(b[lane]), last[lane]);
    return computeSingle(mode, x, last[lane], 0);
  });
}

} // namespace

static void setHandler(Decoder &d, Operation operation, Type type) {
  d.inst.mode2 = operation;
  switch (type) {
  case Type::F32:
    d.inst.cls = InstClass::Float;
    d.inst.run = runGeneral<float, computeSingle, 1>;
    if (!d.inst.imm && Round(d.inst.mode) == Round::NearestEven)
      if (Handler fast = getFast(operation))
        d.inst.run = fast;
    break;
  case Type::F32x2:
    d.inst.cls = InstClass::Float;
    d.inst.propagate = propagateWords;
    d.inst.run = runGeneral<float, computeSingle, 2>;
    break;
  case Type::F64:
    d.inst.cls = InstClass::Double;
    if (operation != Fma || Round(d.inst.mode) == Round::NearestEven)
      d.inst.run = runGeneral<double, computeDouble, 1>;
    break;
  case Type::F16:
    d.inst.run = runGeneral<uint16_t, computeHalf<F16>, 1>;
    break;
  case Type::F16x2:
    d.inst.propagate = propagateHalves;
    d.inst.run = runGeneral<uint16_t, computeHalf<F16>, 2>;
    break;
  case Type::BF16:
    d.inst.run = runGeneral<uint16_t, computeHalf<BF16>, 1>;
    break;
  case Type::BF16x2:
    d.inst.propagate = propagateHalves;
    d.inst.run = runGeneral<uint16_t, computeHalf<BF16>, 2>;
    break;
  default:
    break;
  }
  if (getSize(type) == 2 || type == Type::F16x2 || type == Type::BF16x2)
    d.inst.cls = InstClass::Half;
}

/// Operations with `count` operands of one type.
static void decodeSimple(Decoder &d, Operation operation, unsigned count) {
  d.inst.mode = uint8_t(takeRound(d).value_or(Round::NearestEven));
  takeFloatFlags(d);
  Type type = d.takeType();
  takeOperands(d, type, count);
  setHandler(d, operation, type);
}

/// The narrow type of a mixed-precision operation: "f32" comes first.
static bool decodeMixed(Decoder &d, Operation operation) {
  auto [rest, last] = d.opcode.rsplit('.');
  if (!rest.ends_with(".f32") || (last != "f16" && last != "bf16"))
    return false;
  d.inst.mode = uint8_t(takeRound(d).value_or(Round::NearestEven));
  takeFloatFlags(d);
  d.takeType();
  Type narrow = d.takeType();
  d.inst.mode2 = operation;
  d.inst.cls = InstClass::Float;
  d.dst(Type::F32);
  d.src(narrow);
  if (operation == Fma)
    d.src(narrow);
  d.src(Type::F32);
  d.inst.run = narrow == Type::F16 ? runMixed<F16> : runMixed<BF16>;
  return true;
}

void decodeFloatAddSub(Decoder &d) {
  Operation operation = d.base == "add" ? Add : Sub;
  if (!decodeMixed(d, operation))
    decodeSimple(d, operation, 2);
}

void decodeFloatMul(Decoder &d) { decodeSimple(d, Mul, 2); }

void decodeFloatFma(Decoder &d) {
  if (!decodeMixed(d, Fma))
    decodeSimple(d, Fma, 3);
}

void decodeFloatMinMax(Decoder &d) {
  takeFloatFlags(d);
  if (d.take("xorsign") && d.take("abs"))
    d.inst.imm |= kXorSign;
  Type type = d.takeType();
  Operation operation = d.base == "min" ? Min : Max;
  d.dst(type);
  d.src(type);
  d.src(type);
  setHandler(d, operation, type);
}

void decodeFloatAbsNeg(Decoder &d) {
  decodeSimple(d, d.base == "abs" ? Abs : Neg, 1);
}

void decodeExactDiv(Decoder &d) { decodeSimple(d, Div, 2); }
void decodeExactSqrt(Decoder &d) { decodeSimple(d, Sqrt, 1); }

/// rcp.rn: one over the operand.
void decodeExactRcp(Decoder &d) {
  d.inst.mode = uint8_t(takeRound(d).value_or(Round::NearestEven));
  takeFloatFlags(d);
  Type type = d.takeType();
  d.dst(type);
  d.constantSource(type, type == Type::F32 ? toBits(1.0f) : toBits(1.0));
  d.src(type);
  setHandler(d, Div, type);
}

template <typename T>
static void runCopysign(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  // The sign is the first operand's, the magnitude the second one's.
  mapRow<T>(warp, inst.ops[0], lanes,
            [=](unsigned lane) { return std::copysign(b[lane], a[lane]); });
}

static void decodeCopysign(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.inst.cls = InstClass::Float;
  if (type == Type::F32)
    d.inst.run = runCopysign<float>;
  if (type == Type::F64)
    d.inst.run = runCopysign<double>;
}

enum TestKind { Finite, Infinite, IsNumber, NotNumber, Normal, Subnormal };

template <typename T>
static void runTestp(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  LaneMask result = 0;
  forLanes(lanes, [&](unsigned lane) {
    int cls = std::fpclassify(a[lane]);
    bool is = false;
    switch (inst.imm) {
    case Finite:
      is = std::isfinite(a[lane]);
      break;
    case Infinite:
      is = cls == FP_INFINITE;
      break;
    case IsNumber:
      is = cls != FP_NAN;
      break;
    case NotNumber:
      is = cls == FP_NAN;
      break;
    case Normal: // which zero is, here
      is = cls == FP_NORMAL || cls == FP_ZERO;
      break;
    case Subnormal:
      is = cls == FP_SUBNORMAL;
      break;
    }
    result |= LaneMask(is) << lane;
  });
  warp.setPredicate(inst.ops[0], lanes, result);
}

static void decodeTestp(Decoder &d) {
  auto kind = d.takeOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = d.takeType();
  d.dst(Type::Pred);
  d.src(type);
  d.inst.cls = InstClass::Float;
  d.inst.imm = kind.value_or(0);
  if (kind && type == Type::F32)
    d.inst.run = runTestp<float>;
  if (kind && type == Type::F64)
    d.inst.run = runTestp<double>;
}

void addFloatInstructions(DecodeTable &table) {
  table["fma"] = decodeFloatFma;
  table["copysign"] = decodeCopysign;
  table["testp"] = decodeTestp;
}

} // namespace mamba::sim
