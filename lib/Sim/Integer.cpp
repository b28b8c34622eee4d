//===- Integer.cpp - Integer arithmetic -----------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions". The words add, sub, mul, mad, div, min, max, abs
// and neg are those of floating-point instructions too; the last modifier
// tells them apart.
//
//===----------------------------------------------------------------------===//

#include "Select.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace llvm;

namespace mamba::sim {

static bool isFloatOperation(Decoder &d) {
  auto [rest, last] = d.opcode.rsplit('.');
  std::optional<Type> type = ptx::parseType(last);
  return type && !ptx::isInteger(*type) && *type != Type::Pred;
}

// Signed overflow wraps.
template <typename T> using Unsigned = std::make_unsigned_t<T>;
template <typename T>
using Wide = std::conditional_t<
    std::is_signed_v<T>, std::conditional_t<sizeof(T) == 8, __int128, int64_t>,
    std::conditional_t<sizeof(T) == 8, unsigned __int128, uint64_t>>;

namespace {

struct Add {
  template <typename T> T operator()(T a, T b) const {
    return T(uint64_t(a) + uint64_t(b));
  }
};
struct Sub {
  template <typename T> T operator()(T a, T b) const {
    return T(uint64_t(a) - uint64_t(b));
  }
};
struct MulLo {
  template <typename T> T operator()(T a, T b) const {
    return T(uint64_t(a) * uint64_t(b));
  }
};
struct MulHi {
  template <typename T> T operator()(T a, T b) const {
    return T(Wide<T>(a) * Wide<T>(b) >> (8 * sizeof(T)));
  }
};
struct MadLo {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(MulLo()(a, b), c);
  }
};
struct MadHi {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(MulHi()(a, b), c);
  }
};
template <typename Op> struct Saturated {
  template <typename T> T operator()(T a, T b) const {
    int64_t exact = Op()(int64_t(a), int64_t(b));
    return T(std::clamp<int64_t>(exact, std::numeric_limits<T>::min(),
                                 std::numeric_limits<T>::max()));
  }
};
struct Mul24 {
  template <typename T> T operator()(T a, T b) const {
    if (std::is_signed_v<T>)
      return T(SignExtend64<24>(a) * SignExtend64<24>(b));
    return T((uint64_t(a) & 0xffffff) * (uint64_t(b) & 0xffffff));
  }
};
struct Mad24 {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(Mul24()(a, b), c);
  }
};
// Division by zero gives what the hardware gives: all ones.
struct Div {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return T(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return Sub()(T(0), a);
    return a / b;
  }
};
struct Rem {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return a % b;
  }
};
struct Min {
  template <typename T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return a < b ? b : a; }
};
struct MinRelu {
  template <typename T> T operator()(T a, T b) const {
    return Max()(Min()(a, b), T(0));
  }
};
struct MaxRelu {
  template <typename T> T operator()(T a, T b) const {
    return Max()(Max()(a, b), T(0));
  }
};
struct Abs {
  template <typename T> T operator()(T a) const {
    return std::is_signed_v<T> && a < 0 ? Sub()(T(0), a) : a;
  }
};
struct Neg {
  template <typename T> T operator()(T a) const { return Sub()(T(0), a); }
};
struct Sad {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(c, a < b ? Sub()(b, a) : Sub()(a, b));
  }
};

} // namespace

/// Both halves of a 32-bit register.
template <typename T, typename Op>
static void runPackedBinary(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  T *row = warp.row<T>(inst.ops[0]);
  forLanes(lanes, [&](unsigned lane) {
    for (unsigned i = 2 * lane; i != 2 * lane + 2; ++i)
      row[i] = Op()(a[i], b[i]);
  });
}

/// Packed integers, "u16x2" and "s16x2", are no types of registers.
template <typename Op> static bool decodePacked(Decoder &d) {
  bool isSigned = d.take("s16x2");
  if (!isSigned && !d.take("u16x2"))
    return false;
  takeOperands(d, Type::B32, 2);
  d.inst.propagate = propagateHalves;
  d.inst.run =
      isSigned ? runPackedBinary<int16_t, Op> : runPackedBinary<uint16_t, Op>;
  return true;
}

template <typename From, typename To>
static void runMulWide(Warp &warp, const Inst &inst, LaneMask lanes) {
  const From *a = warp.row<From>(inst.ops[1]), *b = warp.row<From>(inst.ops[2]);
  if (inst.numOps == 3) {
    mapRow<To>(warp, inst.ops[0], lanes,
               [=](unsigned lane) { return To(a[lane]) * To(b[lane]); });
    return;
  }
  const To *c = warp.row<To>(inst.ops[3]);
  mapRow<To>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    return Add()(To(To(a[lane]) * To(b[lane])), c[lane]);
  });
}

/// mul.wide and mad.wide.
static void decodeWide(Decoder &d, bool hasAddend) {
  Type type = d.takeType(), wide = Type::B64;
  switch (type) {
  case Type::U16:
    wide = Type::U32;
    d.inst.run = runMulWide<uint16_t, uint32_t>;
    break;
  case Type::S16:
    wide = Type::S32;
    d.inst.run = runMulWide<int16_t, int32_t>;
    break;
  case Type::U32:
    d.inst.run = runMulWide<uint32_t, uint64_t>;
    break;
  case Type::S32:
    d.inst.run = runMulWide<int32_t, int64_t>;
    break;
  default:
    return;
  }
  d.dst(wide);
  d.src(type);
  d.src(type);
  if (hasAddend)
    d.src(wide);
}

/// The carry is a predicate of the warp that instructions pass on in order.
/// `flag` says that it is read, `flag2` that it is written.
template <typename T, bool isSub>
static void runCarry(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  T *row = warp.row<T>(inst.ops[0]);
  forLanes(lanes, [&](unsigned lane) {
    LaneMask bit = LaneMask(1) << lane;
    // A borrow is a missing carry.
    T second = isSub ? T(~b[lane]) : b[lane];
    bool in = inst.flag ? (warp.carry & bit) != 0 : isSub;
    Wide<T> sum = Wide<T>(a[lane]) + second + in;
    row[lane] = T(sum);
    if (inst.flag2)
      warp.carry =
          (sum >> (8 * sizeof(T))) != 0 ? warp.carry | bit : warp.carry & ~bit;
  });
}

template <bool isSub> static void decodeCarry(Decoder &d, bool reads) {
  d.inst.flag = reads;
  d.inst.flag2 = d.take("cc");
  Type type = d.takeType();
  takeOperands(d, type, 2);
  if (getSize(type) == 4)
    d.inst.run = runCarry<uint32_t, isSub>;
  if (getSize(type) == 8)
    d.inst.run = runCarry<uint64_t, isSub>;
}

/// mad.lo.cc, madc.hi and so on: the product, then the sum with carry.
template <typename T>
static void runMadCarry(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  const T *c = warp.row<T>(inst.ops[3]);
  T *row = warp.row<T>(inst.ops[0]);
  forLanes(lanes, [&](unsigned lane) {
    LaneMask bit = LaneMask(1) << lane;
    Wide<T> product = Wide<T>(a[lane]) * b[lane];
    T part = inst.mode ? T(product >> (8 * sizeof(T))) : T(product);
    Wide<T> sum =
        Wide<T>(part) + c[lane] + (inst.flag && (warp.carry & bit) ? 1 : 0);
    row[lane] = T(sum);
    if (inst.flag2)
      warp.carry =
          (sum >> (8 * sizeof(T))) != 0 ? warp.carry | bit : warp.carry & ~bit;
  });
}

static void decodeMadCarry(Decoder &d, bool reads) {
  d.inst.flag = reads;
  d.inst.flag2 = d.take("cc");
  d.inst.mode = d.take("hi");
  if (!d.inst.mode)
    d.take("lo");
  Type type = d.takeType();
  takeOperands(d, type, 3);
  if (type == Type::U32 || (type == Type::S32 && !d.inst.mode))
    d.inst.run = runMadCarry<uint32_t>;
  if (type == Type::U64 || (type == Type::S64 && !d.inst.mode))
    d.inst.run = runMadCarry<uint64_t>;
}

template <typename Op, bool isSub> static void decodeAddSub(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatAddSub(d);
  if (d.opcode.contains(".cc"))
    return decodeCarry<isSub>(d, /*reads=*/false);
  if (decodePacked<Op>(d))
    return;
  bool saturates = d.take("sat");
  Type type = d.takeType();
  takeOperands(d, type, 2);
  if (!saturates)
    d.inst.run = integerBinary<Op>(type);
  else if (type == Type::S32)
    d.inst.run = runBinary<int32_t, Saturated<Op>>;
}

static void decodeMul(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatMul(d);
  if (d.take("wide"))
    return decodeWide(d, false);
  bool high = d.take("hi");
  if (!high)
    d.take("lo");
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.inst.run = high ? integerBinary<MulHi>(type) : integerBinary<MulLo>(type);
}

static void decodeMad(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatFma(d);
  if (d.opcode.contains(".cc"))
    return decodeMadCarry(d, /*reads=*/false);
  if (d.take("wide"))
    return decodeWide(d, true);
  bool high = d.take("hi");
  if (!high)
    d.take("lo");
  Type type = d.takeType();
  takeOperands(d, type, 3);
  d.inst.run = high ? integerTernary<MadHi>(type) : integerTernary<MadLo>(type);
}

template <typename Op> static void decodeBinary(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.inst.run = integerBinary<Op>(type);
}

static void decodeDiv(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatDiv(d);
  decodeBinary<Div>(d);
}

template <typename Op, typename Relu> static void decodeMinMax(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatMinMax(d);
  if (d.take("relu")) {
    if (!decodePacked<Relu>(d))
      decodeBinary<Relu>(d);
    return;
  }
  if (!decodePacked<Op>(d))
    decodeBinary<Op>(d);
}

template <typename Op> static void decodeUnary(Decoder &d) {
  if (isFloatOperation(d))
    return decodeFloatAbsNeg(d);
  Type type = d.takeType();
  takeOperands(d, type, 1);
  d.inst.run = integerUnary<Op>(type);
}

static void decodeSad(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 3);
  d.inst.run = integerTernary<Sad>(type);
}

template <typename Op, bool isMad> static void decode24(Decoder &d) {
  if (!d.take("lo"))
    return; // the high parts are not modelled
  Type type = d.takeType();
  takeOperands(d, type, isMad ? 3 : 2);
  if constexpr (isMad)
    d.inst.run = integerTernary<Op>(type);
  else
    d.inst.run = integerBinary<Op>(type);
}

/// dp4a: the sum of four products of bytes. mode: bit 0 a signed, bit 1 b.
static void runDp4a(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint32_t a = warp.get(inst.ops[1], lane), b = warp.get(inst.ops[2], lane);
    uint32_t sum = warp.get(inst.ops[3], lane);
    for (unsigned i = 0; i != 32; i += 8) {
      int x = inst.mode & 1 ? int8_t(a >> i) : uint8_t(a >> i);
      int y = inst.mode & 2 ? int8_t(b >> i) : uint8_t(b >> i);
      sum += x * y;
    }
    return sum;
  });
}

static void decodeDp4a(Decoder &d) {
  Type a = d.takeType(), b = d.takeType();
  d.inst.mode = ptx::isSigned(a) | ptx::isSigned(b) << 1;
  takeOperands(d, Type::B32, 3);
  d.inst.run = runDp4a;
}

/// dp2a: of two products of halves of a with bytes of b, the lower two or with
/// flag the upper ones.
static void runDp2a(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint32_t a = warp.get(inst.ops[1], lane), b = warp.get(inst.ops[2], lane);
    uint32_t sum = warp.get(inst.ops[3], lane);
    if (inst.flag)
      b >>= 16;
    for (unsigned i = 0; i != 2; ++i) {
      uint16_t half = a >> (16 * i);
      uint8_t byte = b >> (8 * i);
      int x = inst.mode & 1 ? int16_t(half) : half;
      int y = inst.mode & 2 ? int8_t(byte) : byte;
      sum += x * y;
    }
    return sum;
  });
}

static void decodeDp2a(Decoder &d) {
  d.inst.flag = d.take("hi");
  if (!d.inst.flag && !d.take("lo"))
    return;
  decodeDp4a(d);
  d.inst.run = runDp2a;
}

void addIntegerInstructions(DecodeTable &table) {
  table["add"] = decodeAddSub<Add, false>;
  table["sub"] = decodeAddSub<Sub, true>;
  table["addc"] = [](Decoder &d) { decodeCarry<false>(d, true); };
  table["subc"] = [](Decoder &d) { decodeCarry<true>(d, true); };
  table["madc"] = [](Decoder &d) { decodeMadCarry(d, true); };
  table["mul"] = decodeMul;
  table["mad"] = decodeMad;
  table["mul24"] = decode24<Mul24, false>;
  table["mad24"] = decode24<Mad24, true>;
  table["div"] = decodeDiv;
  table["rem"] = decodeBinary<Rem>;
  table["min"] = decodeMinMax<Min, MinRelu>;
  table["max"] = decodeMinMax<Max, MaxRelu>;
  table["abs"] = decodeUnary<Abs>;
  table["neg"] = decodeUnary<Neg>;
  table["sad"] = decodeSad;
  table["dp4a"] = decodeDp4a;
  table["dp2a"] = decodeDp2a;
}

} // namespace mamba::sim
