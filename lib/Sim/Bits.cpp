//===- Bits.cpp - Logic, shifts and bit fields ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Logic and Shift Instructions" and the bit field instructions of
// "Integer Arithmetic Instructions".
//
//===----------------------------------------------------------------------===//

#include "Select.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

struct And {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not {
  template <typename T> T operator()(T a) const { return ~a; }
};
struct Cnot {
  template <typename T> T operator()(T a) const { return a == 0; }
};

/// Amounts over the width shift everything out.
template <typename T>
void runShl(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  const uint32_t *b = warp.row<uint32_t>(inst.ops[2]);
  mapRow<T>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    return b[lane] < 8 * sizeof(T) ? T(a[lane] << b[lane]) : T(0);
  });
}
template <typename T>
void runShr(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  const uint32_t *b = warp.row<uint32_t>(inst.ops[2]);
  constexpr uint32_t last = 8 * sizeof(T) - 1;
  mapRow<T>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    if (std::is_signed_v<T>)
      return T(a[lane] >> std::min(b[lane], last));
    return b[lane] <= last ? T(a[lane] >> b[lane]) : T(0);
  });
}

/// shf: flag is left, flag2 wraps the amount instead of clamping it.
void runFunnel(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint64_t value = warp.get(inst.ops[1], lane) | warp.get(inst.ops[2], lane)
                                                       << 32;
    uint32_t amount = warp.get(inst.ops[3], lane);
    amount = inst.flag2 ? amount & 31 : std::min(amount, 32u);
    return inst.flag ? uint32_t(value << amount >> 32)
                     : uint32_t(value >> amount);
  });
}

/// lop3: bit i of the table is the result for inputs with number i.
void runLop3(Warp &warp, const Inst &inst, LaneMask lanes) {
  const uint32_t *a = warp.row<uint32_t>(inst.ops[1]);
  const uint32_t *b = warp.row<uint32_t>(inst.ops[2]);
  const uint32_t *c = warp.row<uint32_t>(inst.ops[3]);
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint32_t result = 0;
    for (unsigned i = 0; i != 8; ++i)
      if (inst.imm >> i & 1)
        result |= (i & 4 ? a[lane] : ~a[lane]) & (i & 2 ? b[lane] : ~b[lane]) &
                  (i & 1 ? c[lane] : ~c[lane]);
    return result;
  });
}

struct Brev {
  template <typename T> T operator()(T a) const { return reverseBits(a); }
};

/// Unary instructions with a 32-bit result.
template <typename T, typename Fn>
void runCount(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  mapRow<uint32_t>(warp, inst.ops[0], lanes,
                   [&](unsigned lane) { return Fn()(a[lane], inst); });
}
struct Popc {
  template <typename T> uint32_t operator()(T a, const Inst &) const {
    return popcount(std::make_unsigned_t<T>(a));
  }
};
struct Clz {
  template <typename T> uint32_t operator()(T a, const Inst &) const {
    return countl_zero(std::make_unsigned_t<T>(a));
  }
};
/// The highest bit that differs from the sign; with flag its shift amount.
struct Bfind {
  template <typename T> uint32_t operator()(T a, const Inst &inst) const {
    std::make_unsigned_t<T> bits = std::is_signed_v<T> && a < 0 ? ~a : a;
    if (!bits)
      return ~uint32_t(0);
    uint32_t shift = countl_zero(bits);
    return inst.flag ? shift : 8 * sizeof(T) - 1 - shift;
  }
};

/// fns: the bit that is the offset-th one that is set, from the base on, up or
/// down.
void runFns(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) -> uint32_t {
    uint32_t mask = warp.get(inst.ops[1], lane);
    uint32_t base = warp.get(inst.ops[2], lane);
    int64_t offset = int32_t(warp.get(inst.ops[3], lane));
    int64_t left = offset < 0 ? -offset : offset, step = offset < 0 ? -1 : 1;
    if (!offset)
      return base < 32 && mask >> base & 1 ? base : ~uint32_t(0);
    for (int64_t bit = base; bit >= 0 && bit < 32; bit += step)
      if (mask >> bit & 1 && !--left)
        return bit;
    return ~uint32_t(0);
  });
}

template <typename T>
void runBfe(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  constexpr unsigned width = 8 * sizeof(T);
  mapRow<T>(warp, inst.ops[0], lanes, [&](unsigned lane) -> T {
    unsigned position = warp.get(inst.ops[2], lane) & 0xff;
    unsigned length = warp.get(inst.ops[3], lane) & 0xff;
    if (!length)
      return 0;
    // Above the field are copies of its highest bit that exists.
    bool fill = std::is_signed_v<T> &&
                (a[lane] >> std::min(position + length - 1, width - 1) & 1);
    uint64_t bits = position < width
                        ? uint64_t(std::make_unsigned_t<T>(a[lane])) >> position
                        : 0;
    unsigned valid = std::min(length, position < width ? width - position : 0u);
    bits &= maskTrailingOnes<uint64_t>(valid);
    if (fill)
      bits |= ~maskTrailingOnes<uint64_t>(valid);
    return T(bits);
  });
}

template <typename T>
void runBfi(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  constexpr unsigned width = 8 * sizeof(T);
  mapRow<T>(warp, inst.ops[0], lanes, [&](unsigned lane) -> T {
    unsigned position = warp.get(inst.ops[3], lane) & 0xff;
    unsigned length = warp.get(inst.ops[4], lane) & 0xff;
    if (position >= width)
      return b[lane];
    uint64_t mask =
        maskTrailingOnes<uint64_t>(std::min(length, width - position))
        << position;
    return T((uint64_t(a[lane]) << position & mask) | (b[lane] & ~mask));
  });
}

/// bmsk: flag wraps position and length.
void runBmsk(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) -> uint32_t {
    uint32_t position = warp.get(inst.ops[1], lane);
    uint32_t length = warp.get(inst.ops[2], lane);
    if (inst.flag) {
      position &= 31;
      length &= 31;
    }
    if (position >= 32)
      return 0;
    return uint32_t(maskTrailingOnes<uint64_t>(std::min(length, 32u))
                    << position);
  });
}

void runSzext(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) -> uint32_t {
    uint32_t value = warp.get(inst.ops[1], lane);
    uint32_t width = warp.get(inst.ops[2], lane);
    width = inst.flag ? width & 31 : std::min(width, 32u);
    if (width == 0)
      return 0;
    return inst.flag2 ? uint32_t(SignExtend64(value, width))
                      : value & maskTrailingOnes<uint32_t>(width);
  });
}

/// prmt: bytes of b:a by selectors. imm is the mode.
enum PermuteMode { Default, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };
void runPrmt(Warp &warp, const Inst &inst, LaneMask lanes) {
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) {
    uint64_t bytes = warp.get(inst.ops[1], lane) | warp.get(inst.ops[2], lane)
                                                       << 32;
    uint32_t control = warp.get(inst.ops[3], lane), result = 0;
    unsigned k = control & 3;
    for (unsigned i = 0; i != 4; ++i) {
      unsigned selector = 0;
      switch (inst.imm) {
      case Default:
        selector = control >> (4 * i) & 15;
        break;
      case F4e:
        selector = (k + i) & 7;
        break;
      case B4e:
        selector = (k + 8 - i) & 7;
        break;
      case Rc8:
        selector = k;
        break;
      case Ecl:
        selector = std::max(i, k);
        break;
      case Ecr:
        selector = std::min(i, k);
        break;
      case Rc16:
        selector = (k & 1) * 2 + (i & 1);
        break;
      }
      uint8_t byte = bytes >> (8 * (selector & 7));
      if (selector & 8) // copies of the sign
        byte = byte & 0x80 ? 0xff : 0;
      result |= uint32_t(byte) << (8 * i);
    }
    return result;
  });
}

/// Logic on predicates.
template <typename Op>
void runPredicateBinary(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.setPredicate(
      inst.ops[0], lanes,
      Op()(warp.predicate(inst.ops[1]), warp.predicate(inst.ops[2])));
}
void runPredicateNot(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.setPredicate(inst.ops[0], lanes, ~warp.predicate(inst.ops[1]));
}

} // namespace

template <typename Op> static void decodeLogic(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.inst.run =
      type == Type::Pred ? runPredicateBinary<Op> : integerBinary<Op>(type);
  if (type != Type::Pred)
    d.inst.propagate = std::is_same_v<Op, And>  ? propagateAnd
                       : std::is_same_v<Op, Or> ? propagateOr
                                                : propagateBytes;
}

static void decodeNot(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 1);
  d.inst.run = type == Type::Pred ? runPredicateNot : integerUnary<Not>(type);
  if (type != Type::Pred)
    d.inst.propagate = propagateBytes;
}

static void decodeCnot(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 1);
  d.inst.run = integerUnary<Cnot>(type);
}

template <bool isLeft> static void decodeShift(Decoder &d) {
  Type type = d.takeType();
  d.dst(type);
  d.src(type);
  d.src(Type::U32);
  d.inst.signExtend = ptx::isSigned(type);
  d.inst.propagate = isLeft ? propagateShl : propagateShr;
  d.inst.run = selectInteger(type, [](auto tag) -> Handler {
    using T = decltype(tag);
    if constexpr (isLeft)
      return runShl<std::make_unsigned_t<T>>;
    else
      return runShr<T>;
  });
}

static void decodeFunnel(Decoder &d) {
  d.inst.flag = d.take("l");
  if (!d.inst.flag)
    d.take("r");
  d.inst.flag2 = d.take("wrap");
  if (!d.inst.flag2)
    d.take("clamp");
  takeOperands(d, d.takeType(), 3);
  d.inst.run = runFunnel;
}

static void decodeLop3(Decoder &d) {
  takeOperands(d, d.takeType(), 3);
  d.inst.imm = d.constant();
  d.inst.run = runLop3;
}

template <typename Fn> static void decodeCount(Decoder &d) {
  d.inst.flag = d.take("shiftamt");
  Type type = d.takeType();
  d.dst(Type::U32);
  d.src(type);
  if (getSize(type) >= 4)
    d.inst.run = selectInteger(
        type, [](auto tag) -> Handler { return runCount<decltype(tag), Fn>; });
}

static void decodeBrev(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 1);
  d.inst.run = selectBits(
      type, [](auto tag) -> Handler { return runUnary<decltype(tag), Brev>; });
}

static void decodeFns(Decoder &d) {
  takeOperands(d, d.takeType(), 3);
  d.inst.run = runFns;
}

static void decodeBfe(Decoder &d) {
  Type type = d.takeType();
  d.dst(type);
  d.src(type);
  d.src(Type::U32);
  d.src(Type::U32);
  d.inst.run = selectInteger(
      type, [](auto tag) -> Handler { return runBfe<decltype(tag)>; });
}

static void decodeBfi(Decoder &d) {
  Type type = d.takeType();
  d.dst(type);
  d.src(type);
  d.src(type);
  d.src(Type::U32);
  d.src(Type::U32);
  d.inst.run = selectBits(
      type, [](auto tag) -> Handler { return runBfi<decltype(tag)>; });
}

static void decodeBmsk(Decoder &d) {
  d.inst.flag = d.take("wrap");
  if (!d.inst.flag)
    d.take("clamp");
  takeOperands(d, d.takeType(), 2);
  d.inst.run = runBmsk;
}

static void decodeSzext(Decoder &d) {
  d.inst.flag = d.take("wrap");
  if (!d.inst.flag)
    d.take("clamp");
  Type type = d.takeType();
  d.inst.flag2 = ptx::isSigned(type);
  takeOperands(d, type, 2);
  d.inst.run = runSzext;
}

static void decodePrmt(Decoder &d) {
  takeOperands(d, d.takeType(), 3);
  if (auto mode = d.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}))
    d.inst.imm = *mode + 1;
  d.inst.propagate = propagatePermute;
  d.inst.run = runPrmt;
}

void addBitInstructions(DecodeTable &table) {
  table["and"] = decodeLogic<And>;
  table["or"] = decodeLogic<Or>;
  table["xor"] = decodeLogic<Xor>;
  table["not"] = decodeNot;
  table["cnot"] = decodeCnot;
  table["shl"] = decodeShift<true>;
  table["shr"] = decodeShift<false>;
  table["shf"] = decodeFunnel;
  table["lop3"] = decodeLop3;
  table["popc"] = decodeCount<Popc>;
  table["clz"] = decodeCount<Clz>;
  table["bfind"] = decodeCount<Bfind>;
  table["brev"] = decodeBrev;
  table["fns"] = decodeFns;
  table["bfe"] = decodeBfe;
  table["bfi"] = decodeBfi;
  table["bmsk"] = decodeBmsk;
  table["szext"] = decodeSzext;
  table["prmt"] = decodePrmt;
}

} // namespace mamba::sim
