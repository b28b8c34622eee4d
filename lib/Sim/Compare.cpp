//===- Compare.cpp - Comparisons and selections ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Comparison and Selection Instructions".
//
//===----------------------------------------------------------------------===//

#include "Select.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// `Inst::mode`. The second half are the unordered ones of floats.
enum Comparison : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Num, Nan, Unordered = 16 };
/// `Inst::mode2`: what to do with the third operand.
enum Combination : uint8_t { None, CombineAnd, CombineOr, CombineXor };

template <typename T> bool compare(uint8_t mode, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    bool unordered = std::isnan(a) || std::isnan(b);
    if (mode == Num)
      return !unordered;
    if (mode == Nan)
      return unordered;
    if (unordered)
      return mode & Unordered;
  }
  switch (mode & ~Unordered) {
  case Eq:
    return a == b;
  case Ne:
    return a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  default:
    return a >= b;
  }
}

struct Plain {
  template <typename T> static T decode(T value) { return value; }
};
struct FromF16 {
  static float decode(uint16_t bits) { return decodeF16(bits); }
};
struct FromBF16 {
  static float decode(uint16_t bits) { return decodeBF16(bits); }
};

/// Element `part` of `parts` in each register.
template <typename T, typename Decode>
LaneMask compareRows(Warp &warp, const Inst &inst, LaneMask lanes,
                     unsigned first, unsigned part = 0, unsigned parts = 1) {
  const T *a = warp.row<T>(inst.ops[first]);
  const T *b = warp.row<T>(inst.ops[first + 1]);
  bool ftz = inst.flag;
  LaneMask result = 0;
  forLanes(lanes, [&](unsigned lane) {
    auto x = Decode::decode(a[lane * parts + part]);
    auto y = Decode::decode(b[lane * parts + part]);
    if constexpr (std::is_same_v<decltype(x), float>) {
      if (ftz) {
        x = flush(x);
        y = flush(y);
      }
    }
    result |= LaneMask(compare(inst.mode, x, y)) << lane;
  });
  return result;
}

LaneMask combine(Warp &warp, const Inst &inst, LaneMask value, unsigned place) {
  switch (inst.mode2) {
  case CombineAnd:
    return value & warp.predicate(inst.ops[place]);
  case CombineOr:
    return value | warp.predicate(inst.ops[place]);
  case CombineXor:
    return value ^ warp.predicate(inst.ops[place]);
  default:
    return value;
  }
}

/// The second destination is the complement, combined likewise.
template <typename T, typename Decode>
void runSetp(Warp &warp, const Inst &inst, LaneMask lanes) {
  LaneMask value = compareRows<T, Decode>(warp, inst, lanes, inst.numDsts);
  unsigned third = inst.numDsts + 2;
  LaneMask first = combine(warp, inst, value, third);
  LaneMask second = combine(warp, inst, ~value, third);
  warp.setPredicate(inst.ops[0], lanes, first);
  if (inst.numDsts == 2)
    warp.setPredicate(inst.ops[1], lanes, second);
}

/// Two destinations, one an element.
template <typename Decode>
void runPackedSetp(Warp &warp, const Inst &inst, LaneMask lanes) {
  LaneMask low = compareRows<uint16_t, Decode>(warp, inst, lanes, 2, 0, 2);
  LaneMask high = compareRows<uint16_t, Decode>(warp, inst, lanes, 2, 1, 2);
  low = combine(warp, inst, low, 4);
  high = combine(warp, inst, high, 4);
  warp.setPredicate(inst.ops[0], lanes, low);
  warp.setPredicate(inst.ops[1], lanes, high);
}

/// set: `flag2` gives 1.0 instead of all ones.
template <typename T, typename Decode>
void runSet(Warp &warp, const Inst &inst, LaneMask lanes) {
  LaneMask value = compareRows<T, Decode>(warp, inst, lanes, 1);
  value = combine(warp, inst, value, 3);
  mapRow<uint32_t>(warp, inst.ops[0], lanes, [&](unsigned lane) -> uint32_t {
    if (!(value >> lane & 1))
      return 0;
    return inst.flag2 ? 0x3f800000 : ~uint32_t(0);
  });
}

template <typename T>
void runSelp(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  LaneMask choice = warp.predicate(inst.ops[3]);
  mapRow<T>(warp, inst.ops[0], lanes, [=](unsigned lane) {
    return choice >> lane & 1 ? a[lane] : b[lane];
  });
}

template <typename T, typename C>
void runSlct(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]), *b = warp.row<T>(inst.ops[2]);
  const C *c = warp.row<C>(inst.ops[3]);
  mapRow<T>(warp, inst.ops[0], lanes,
            [=](unsigned lane) { return c[lane] >= 0 ? a[lane] : b[lane]; });
}

} // namespace

static void takeComparison(Decoder &d) {
  StringRef name = d.takeAny();
  // Of unsigned integers lo, ls, hi and hs are other names.
  auto mode = StringSwitch<std::optional<unsigned>>(name)
                  .Case("eq", Eq)
                  .Case("ne", Ne)
                  .Cases({"lt", "lo"}, Lt)
                  .Cases({"le", "ls"}, Le)
                  .Cases({"gt", "hi"}, Gt)
                  .Cases({"ge", "hs"}, Ge)
                  .Case("num", Num)
                  .Case("nan", Nan)
                  .Case("equ", Eq | Unordered)
                  .Case("neu", Ne | Unordered)
                  .Case("ltu", Lt | Unordered)
                  .Case("leu", Le | Unordered)
                  .Case("gtu", Gt | Unordered)
                  .Case("geu", Ge | Unordered)
                  .Default(std::nullopt);
  if (!mode)
    d.fail("comparison '." + name + "' of '" + d.opcode + "' is not modelled");
  d.inst.mode = mode.value_or(0);
  if (auto combination = d.takeOneOf({"and", "or", "xor"}))
    d.inst.mode2 = *combination + 1;
  d.inst.flag = d.take("ftz");
}

static Handler getSetp(Type type) {
  switch (type) {
  case Type::F32:
    return runSetp<float, Plain>;
  case Type::F64:
    return runSetp<double, Plain>;
  case Type::F16:
    return runSetp<uint16_t, FromF16>;
  case Type::BF16:
    return runSetp<uint16_t, FromBF16>;
  default:
    return selectInteger(type, [](auto tag) -> Handler {
      return runSetp<decltype(tag), Plain>;
    });
  }
}

static void decodeSetp(Decoder &d) {
  takeComparison(d);
  Type type = d.takeType();
  d.inst.cls = ptx::isInteger(type) ? InstClass::Integer : InstClass::Float;
  bool packed = type == Type::F16x2 || type == Type::BF16x2;
  if (d.dstPair(Type::Pred, Type::Pred) != packed && packed)
    d.fail("expected two destinations of '" + d.opcode + "'");
  d.src(type);
  d.src(type);
  if (d.inst.mode2)
    d.src(Type::Pred);
  if (packed)
    d.inst.run =
        type == Type::F16x2 ? runPackedSetp<FromF16> : runPackedSetp<FromBF16>;
  else
    d.inst.run = getSetp(type);
}

static void decodeSet(Decoder &d) {
  takeComparison(d);
  Type to = d.takeType(), from = d.takeType();
  d.inst.flag2 = to == Type::F32;
  if (getSize(to) != 4)
    return;
  d.dst(to);
  d.src(from);
  d.src(from);
  if (d.inst.mode2)
    d.src(Type::Pred);
  switch (from) {
  case Type::F32:
    d.inst.run = runSet<float, Plain>;
    break;
  case Type::F64:
    d.inst.run = runSet<double, Plain>;
    break;
  default:
    d.inst.run = selectInteger(
        from, [](auto tag) -> Handler { return runSet<decltype(tag), Plain>; });
  }
}

static void decodeSelp(Decoder &d) {
  Type type = d.takeType();
  takeOperands(d, type, 2);
  d.src(Type::Pred);
  d.inst.cls = InstClass::Move;
  d.inst.propagate = propagateSelect;
  d.inst.run = selectBits(
      type, [](auto tag) -> Handler { return runSelp<decltype(tag)>; });
}

static void decodeSlct(Decoder &d) {
  d.take("ftz"); // changes no sign
  Type type = d.takeType(), condition = d.takeType();
  takeOperands(d, type, 2);
  d.src(condition);
  d.inst.cls = InstClass::Move;
  bool isFloat = condition == Type::F32;
  d.inst.run = selectBits(type, [&](auto tag) -> Handler {
    using T = decltype(tag);
    return isFloat ? runSlct<T, float> : runSlct<T, int32_t>;
  });
}

void addCompareInstructions(DecodeTable &table) {
  table["setp"] = decodeSetp;
  table["set"] = decodeSet;
  table["selp"] = decodeSelp;
  table["slct"] = decodeSlct;
}

} // namespace mamba::sim
