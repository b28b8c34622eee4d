//===- Move.cpp - Moves between registers ---------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mov", "cvta" and "isspacep".
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Select.h"

using namespace llvm;

namespace mamba::sim {

namespace {

template <typename T>
void runMov(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  mapRow<T>(warp, inst.ops[0], lanes, [=](unsigned lane) { return a[lane]; });
}

void runMovPredicate(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.setPredicate(inst.ops[0], lanes, warp.predicate(inst.ops[1]));
}

/// From and to registers of any sizes, as a string of bits.
void runRepack(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    char bytes[32] = {};
    char *place = bytes;
    for (unsigned i = inst.numDsts; i != inst.numOps; ++i) {
      const Opnd &row = inst.ops[i];
      std::memcpy(place, warp.row<char>(row) + lane * row.bytes, row.bytes);
      place += row.bytes;
    }
    place = bytes;
    for (unsigned i = 0; i != inst.numDsts; ++i) {
      const Opnd &row = inst.ops[i];
      std::memcpy(warp.row<char>(row) + lane * row.bytes, place, row.bytes);
      place += row.bytes;
    }
  });
}

/// Clocks count the instructions of the block.
void runClock(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    warp.set(inst.ops[0], lane, warp.block.executed);
  });
}

/// imm is added.
template <typename T>
void runCvta(Warp &warp, const Inst &inst, LaneMask lanes) {
  const T *a = warp.row<T>(inst.ops[1]);
  mapRow<T>(warp, inst.ops[0], lanes,
            [&](unsigned lane) { return T(a[lane] + inst.imm); });
}

uint64_t getWindow(Space space) {
  switch (space) {
  case Space::Shared:
  case Space::SharedCluster:
    return kSharedWindow;
  case Space::Local:
    return kLocalWindow;
  case Space::Param:
    return kParamWindow;
  default:
    return 0; // generic and global addresses are the same
  }
}

void runIsspacep(Warp &warp, const Inst &inst, LaneMask lanes) {
  LaneMask result = 0;
  forLanes(lanes, [&](unsigned lane) {
    uint64_t address = warp.get(inst.ops[1], lane);
    uint64_t window = address & ~(kWindowBytes - 1);
    bool inWindow = window == kSharedWindow || window == kLocalWindow ||
                    window == kParamWindow;
    uint64_t wanted = getWindow(inst.space);
    bool isIn = wanted ? window == wanted : !inWindow;
    // Other blocks' shared memory has another rank above its addresses.
    if (inst.space == Space::Shared)
      isIn &= (address - window) >> kSharedBits == warp.block.rank;
    result |= LaneMask(isIn) << lane;
  });
  warp.setPredicate(inst.ops[0], lanes, result);
}

} // namespace

static void decodeMov(Decoder &d) {
  d.inst.cls = InstClass::Move;
  d.inst.propagate = propagateMove;
  Type type = d.takeType();
  if (type == Type::Pred) {
    d.dst(type);
    d.src(type);
    d.inst.run = runMovPredicate;
    return;
  }
  unsigned bytes = getSize(type);
  const ptx::Operand *to = d.takeOperand(), *from = d.takeOperand();
  if (d.failed())
    return;
  bool toVector = to->kind == ptx::Operand::Vector;
  bool fromVector = from->kind == ptx::Operand::Vector;
  auto getPart = [&](const ptx::Operand &vector) {
    unsigned part = bytes / vector.parts.size();
    return part == 1   ? Type::B8
           : part == 2 ? Type::B16
           : part == 4 ? Type::B32
                       : Type::B64;
  };
  if (toVector) {
    for (const ptx::Operand &part : to->parts)
      d.pushDestination(d.getRow(part, getPart(*to), false, true));
  } else {
    d.pushDestination(d.getRow(*to, type, false, true));
  }
  if (from->kind == ptx::Operand::Special &&
      (from->name.starts_with("%clock") || from->name == "%globaltimer")) {
    d.inst.propagate = nullptr;
    d.inst.run = runClock;
    return;
  }
  if (fromVector) {
    for (const ptx::Operand &part : from->parts)
      d.pushSource(d.getRow(part, getPart(*from), false, false));
  } else {
    d.pushSource(d.getRow(*from, type, false, false));
  }
  if (toVector || fromVector || bytes == 16)
    d.inst.run = runRepack;
  else
    d.inst.run = selectBits(
        type, [](auto tag) -> Handler { return runMov<decltype(tag)>; });
}

std::optional<Space> takeSpace(Decoder &d) {
  for (auto [name, space] :
       {std::pair("global", Space::Global), std::pair("shared", Space::Shared),
        std::pair("shared::cta", Space::Shared),
        std::pair("shared::cluster", Space::SharedCluster),
        std::pair("local", Space::Local), std::pair("param", Space::Param),
        std::pair("param::entry", Space::Param),
        std::pair("param::func", Space::Param),
        std::pair("const", Space::Const)})
    if (d.take(name))
      return space;
  return std::nullopt;
}

static void decodeCvta(Decoder &d) {
  d.inst.cls = InstClass::Move;
  d.inst.propagate = propagateWhole;
  bool fromGeneric = d.take("to");
  std::optional<Space> space = takeSpace(d);
  Type type = d.takeType();
  takeOperands(d, type, 1);
  if (!space)
    return;
  int64_t window = getWindow(*space);
  d.inst.imm = fromGeneric ? -window : window;
  if (getSize(type) == 8)
    d.inst.run = runCvta<uint64_t>;
}

static void decodeIsspacep(Decoder &d) {
  d.inst.cls = InstClass::Move;
  std::optional<Space> space = takeSpace(d);
  d.inst.space = space.value_or(Space::Generic);
  d.dst(Type::Pred);
  d.src(Type::B64);
  if (space)
    d.inst.run = runIsspacep;
}

void addMoveInstructions(DecodeTable &table) {
  table["mov"] = decodeMov;
  table["cvta"] = decodeCvta;
  table["isspacep"] = decodeIsspacep;
}

} // namespace mamba::sim
