//===- Approximate.cpp - Approximate functions ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hardware gives results within a documented error, not one result. Here they
// are the function's value rounded to nearest, which is within that error; so
// results differ from the hardware's by at most that and a rounding.
// docs/simulator.md lists the bounds.
//
//===----------------------------------------------------------------------===//

#include "FloatModes.h"

using namespace llvm;

namespace mamba::sim {

void decodeExactDiv(Decoder &d);
void decodeExactSqrt(Decoder &d);
void decodeExactRcp(Decoder &d);

namespace {

struct Ex2 {
  double operator()(double x) const { return std::exp2(x); }
};
struct Lg2 {
  double operator()(double x) const { return std::log2(x); }
};
struct Rcp {
  double operator()(double x) const { return 1 / x; }
};
struct Rsqrt {
  double operator()(double x) const {
    return x < 0 ? std::nan("") : 1 / std::sqrt(x);
  }
};
struct Sqrt {
  double operator()(double x) const { return std::sqrt(x); }
};
struct Sin {
  double operator()(double x) const { return std::sin(x); }
};
struct Cos {
  double operator()(double x) const { return std::cos(x); }
};
struct Tanh {
  double operator()(double x) const { return std::tanh(x); }
};

template <typename Op>
void runSingle(Warp &warp, const Inst &inst, LaneMask lanes) {
  const float *a = warp.row<float>(inst.ops[1]);
  bool ftz = inst.imm & kFtz;
  mapRow<float>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    float x = ftz ? flush(a[lane]) : a[lane];
    float result = canonical(float(Op()(x)));
    return ftz ? flush(result) : result;
  });
}

template <typename Op>
void runDouble(Warp &warp, const Inst &inst, LaneMask lanes) {
  const double *a = warp.row<double>(inst.ops[1]);
  mapRow<double>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    // The approximations of doubles have 20 bits, and flush subnormals.
    double x =
        std::fabs(a[lane]) < 0x1p-1022 ? std::copysign(0.0, a[lane]) : a[lane];
    double result = canonical(Op()(x));
    if (!std::isfinite(result))
      return result;
    if (std::fabs(result) < 0x1p-1022)
      return std::copysign(0.0, result);
    return fromBits<double>(toBits(result) & ~uint64_t(0xffffffff));
  });
}

/// f16 and bf16, packed or not. Measured: ex2 of bf16 is that of f32, cut off,
/// so that too large results are infinite all the same.
template <typename Op, unsigned elements>
void runHalf(Warp &warp, const Inst &inst, LaneMask lanes) {
  bool isBF16 = inst.flag;
  const uint16_t *a = warp.row<uint16_t>(inst.ops[1]);
  uint16_t *row = warp.row<uint16_t>(inst.ops[0]);
  Round round = inst.flag2 ? Round::Zero : Round::NearestEven;
  forLanes(lanes, [&](unsigned lane) {
    for (unsigned i = lane * elements; i != (lane + 1) * elements; ++i) {
      double x = isBF16 ? decodeBF16(a[i]) : decodeF16(a[i]);
      double result = inst.flag2 ? float(Op()(x)) : Op()(x);
      row[i] = encode(result, isBF16 ? kBF16 : kF16, round);
    }
  });
}

/// div.approx gives zero for divisors from 2^126 on, unless the dividend is
/// infinite. div.full scales them.
void runDiv(Warp &warp, const Inst &inst, LaneMask lanes) {
  const float *a = warp.row<float>(inst.ops[1]);
  const float *b = warp.row<float>(inst.ops[2]);
  bool ftz = inst.imm & kFtz, full = inst.flag;
  mapRow<float>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    float x = a[lane], y = b[lane];
    if (ftz) {
      x = flush(x);
      y = flush(y);
    }
    float result = canonical(x / y);
    if (!full && std::isfinite(y) && std::fabs(y) > 0x1p126f)
      result = std::isinf(x)   ? canonical(x * 0.0f)
               : std::isnan(x) ? canonical(x)
                               : std::copysign(0.0f, result);
    return ftz ? flush(result) : result;
  });
}

} // namespace

template <typename Op> static void decodeApproximate(Decoder &d) {
  d.take("approx");
  takeFloatFlags(d);
  Type type = d.takeType();
  takeOperands(d, type, 1);
  d.inst.cls = InstClass::Special;
  d.inst.isExponential = d.base == "ex2";
  d.inst.flag = type == Type::BF16 || type == Type::BF16x2;
  d.inst.flag2 = d.inst.flag && d.base == "ex2";
  switch (type) {
  case Type::F32:
    d.inst.run = runSingle<Op>;
    break;
  case Type::F64:
    d.inst.run = runDouble<Op>;
    break;
  case Type::F16:
  case Type::BF16:
    d.inst.run = runHalf<Op, 1>;
    break;
  case Type::F16x2:
  case Type::BF16x2:
    d.inst.propagate = propagateHalves;
    d.inst.run = runHalf<Op, 2>;
    break;
  default:
    break;
  }
}

/// Functions that also have an exact form, with a rounding mode.
template <typename Op, void (*decodeExact)(Decoder &)>
static void decodeEither(Decoder &d) {
  if (d.opcode.contains(".approx"))
    decodeApproximate<Op>(d);
  else
    decodeExact(d);
}

void decodeFloatDiv(Decoder &d) {
  bool full = d.take("full"), approximate = d.take("approx");
  if (!full && !approximate)
    return decodeExactDiv(d);
  takeFloatFlags(d);
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.inst.cls = InstClass::Special;
  d.inst.flag = full;
  if (type == Type::F32)
    d.inst.run = runDiv;
}

void addApproximateInstructions(DecodeTable &table) {
  table["ex2"] = decodeApproximate<Ex2>;
  table["lg2"] = decodeApproximate<Lg2>;
  table["rsqrt"] = decodeApproximate<Rsqrt>;
  table["sin"] = decodeApproximate<Sin>;
  table["cos"] = decodeApproximate<Cos>;
  table["tanh"] = decodeApproximate<Tanh>;
  table["rcp"] = decodeEither<Rcp, decodeExactRcp>;
  table["sqrt"] = decodeEither<Sqrt, decodeExactSqrt>;
}

} // namespace mamba::sim
