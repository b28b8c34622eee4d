//===- Definedness.cpp - Which bytes of registers were written ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Definedness.h"

#include "Block.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

static ByteMask getFull(unsigned bytes) {
  return maskTrailingOnes<uint32_t>(bytes);
}

static ByteMask getFull(const Opnd &operand) {
  return getFull(operand.isPredicate ? 1 : operand.bytes);
}

bool propagateMove(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  uint64_t bytes = 0;
  unsigned place = 0;
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i) {
    bytes |= uint64_t(masks[i]) << place;
    place += inst.ops[i].isPredicate ? 1 : inst.ops[i].bytes;
  }
  for (unsigned i = 0; i != inst.numDsts; ++i) {
    masks[i] = bytes & getFull(inst.ops[i]);
    bytes >>= inst.ops[i].isPredicate ? 1 : inst.ops[i].bytes;
  }
  return true;
}

bool propagateWhole(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  if (masks[1] != getFull(inst.ops[1]))
    masks[0] = 0;
  return true;
}

template <unsigned size>
static bool propagateElements(const Inst &inst, ByteMask *masks) {
  ByteMask common = getFull(inst.ops[0]);
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i)
    common &= masks[i];
  masks[0] = 0;
  for (unsigned place = 0; place < inst.ops[0].bytes; place += size) {
    ByteMask element = getFull(size) << place;
    if ((common & element) == element)
      masks[0] |= element;
  }
  return true;
}

bool propagateBytes(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  return propagateElements<1>(inst, masks);
}
bool propagateHalves(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  return propagateElements<2>(inst, masks);
}
bool propagateWords(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  return propagateElements<4>(inst, masks);
}

/// Logic in which a byte `dominant` of one source decides.
static bool propagateLogic(Warp &warp, const Inst &inst, unsigned lane,
                           ByteMask *masks, uint8_t dominant) {
  ByteMask decided = 0;
  for (unsigned i : {1, 2}) {
    uint64_t value = warp.get(inst.ops[i], lane);
    for (unsigned byte = 0; byte != inst.ops[i].bytes; ++byte)
      if (masks[i] >> byte & 1 && uint8_t(value >> (8 * byte)) == dominant)
        decided |= ByteMask(1) << byte;
  }
  masks[0] = (masks[1] & masks[2]) | decided;
  return true;
}

bool propagateAnd(Warp &warp, const Inst &inst, unsigned lane,
                  ByteMask *masks) {
  return propagateLogic(warp, inst, lane, masks, 0);
}
bool propagateOr(Warp &warp, const Inst &inst, unsigned lane, ByteMask *masks) {
  return propagateLogic(warp, inst, lane, masks, 0xff);
}

/// The bits of `mask`'s bytes.
static uint64_t toBits(ByteMask mask) {
  uint64_t bits = 0;
  for (unsigned byte = 0; byte != 8; ++byte)
    if (mask >> byte & 1)
      bits |= uint64_t(0xff) << (8 * byte);
  return bits;
}

/// The bytes of which all bits are set.
static ByteMask toBytes(uint64_t bits) {
  ByteMask mask = 0;
  for (unsigned byte = 0; byte != 8; ++byte)
    if (uint8_t(bits >> (8 * byte)) == 0xff)
      mask |= ByteMask(1) << byte;
  return mask;
}

bool propagateShl(Warp &warp, const Inst &inst, unsigned lane,
                  ByteMask *masks) {
  if (masks[2] != getFull(inst.ops[2]))
    return false;
  uint64_t amount = warp.get(inst.ops[2], lane);
  uint64_t unknown = ~toBits(masks[1]);
  unsigned width = 8 * inst.ops[0].bytes;
  unknown = amount < width ? unknown << amount : 0;
  masks[0] = toBytes(~unknown) & getFull(inst.ops[0]);
  return true;
}

bool propagateShr(Warp &warp, const Inst &inst, unsigned lane,
                  ByteMask *masks) {
  if (masks[2] != getFull(inst.ops[2]))
    return false;
  unsigned width = 8 * inst.ops[0].bytes;
  uint64_t amount = warp.get(inst.ops[2], lane);
  uint64_t unknown = ~toBits(masks[1]) & maskTrailingOnes<uint64_t>(width);
  if (inst.signExtend)
    unknown = uint64_t(SignExtend64(unknown, width) >>
                       std::min<uint64_t>(amount, width - 1));
  else
    unknown = amount < width ? unknown >> amount : 0;
  masks[0] = toBytes(~unknown) & getFull(inst.ops[0]);
  return true;
}

bool propagatePermute(Warp &warp, const Inst &inst, unsigned lane,
                      ByteMask *masks) {
  if (inst.imm || masks[3] != getFull(inst.ops[3]))
    return false;
  uint32_t control = warp.get(inst.ops[3], lane);
  ByteMask sources = masks[1] | masks[2] << 4;
  masks[0] = 0;
  for (unsigned i = 0; i != 4; ++i)
    masks[0] |= (sources >> (control >> (4 * i) & 7) & 1) << i;
  return true;
}

bool propagateSelect(Warp &warp, const Inst &inst, unsigned lane,
                     ByteMask *masks) {
  if (!masks[3])
    return false;
  bool first = warp.predicate(inst.ops[3]) >> lane & 1;
  masks[0] = masks[first ? 1 : 2];
  return true;
}

bool propagateExtend(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  ByteMask source = masks[1] & getFull(inst.bytes);
  bool hasSign = source >> (inst.bytes - 1) & 1;
  masks[0] = source;
  if (!inst.signExtend || hasSign)
    masks[0] |= ~getFull(inst.bytes);
  masks[0] &= getFull(inst.ops[0]);
  return true;
}

bool useLowBytes(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i) {
    ByteMask needed = getFull(inst.ops[i]);
    // An address is used as a whole.
    if (inst.cls == InstClass::Convert || i != inst.address)
      needed &= getFull(inst.bytes);
    if ((masks[i] & needed) != needed)
      return false;
  }
  return true;
}

bool propagatePair(Warp &, const Inst &inst, unsigned, ByteMask *masks) {
  unsigned size = inst.mode / 8;
  bool low, high;
  if (inst.numOps == 3) {
    high = masks[1] == getFull(inst.ops[1]);
    low = masks[2] == getFull(inst.ops[2]);
  } else {
    unsigned half = inst.ops[1].bytes / 2;
    low = (masks[1] & getFull(half)) == getFull(half);
    high = masks[1] >> half == getFull(half);
  }
  masks[0] = (low ? getFull(size) : 0) | (high ? getFull(size) << size : 0);
  return true;
}

ByteMask Warp::getWritten(const Opnd &operand, unsigned lane) const {
  if (written[operand.slot] >> lane & 1)
    return getFull(operand);
  auto it = partlyWritten.find(operand.slot);
  return it == partlyWritten.end() ? 0 : it->second[lane];
}

void Warp::executeUnwritten(const Inst &inst, LaneMask active,
                            LaneMask missing) {
  // A destination may be a source: first what is known, then the instruction.
  SmallVector<std::array<ByteMask, kLanes>, 4> results(inst.numDsts);
  LaneMask used = 0;
  forLanes(missing, [&](unsigned lane) {
    SmallVector<ByteMask, 16> masks(inst.numOps);
    for (unsigned i = 0; i != inst.numOps; ++i)
      masks[i] = i < inst.numDsts ? getFull(inst.ops[i])
                                  : getWritten(inst.ops[i], lane);
    if (!inst.propagate || !inst.propagate(*this, inst, lane, masks.data())) {
      used |= LaneMask(1) << lane;
      // One finding for one fault.
      for (unsigned i = 0; i != inst.numDsts; ++i)
        masks[i] = getFull(inst.ops[i]);
    }
    for (unsigned i = 0; i != inst.numDsts; ++i)
      results[i][lane] = masks[i];
  });
  if (used)
    reportUnwritten(inst, used);
  inst.run(*this, inst, active);
  for (unsigned i = 0; i != inst.numDsts; ++i) {
    const Opnd &operand = inst.ops[i];
    written[operand.slot] |= active;
    forLanes(missing, [&](unsigned lane) {
      if (results[i][lane] == getFull(operand))
        return;
      written[operand.slot] &= ~(LaneMask(1) << lane);
      partlyWritten[operand.slot][lane] = results[i][lane];
    });
  }
}

void Warp::reportUnwritten(const Inst &inst, LaneMask active) {
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i) {
    LaneMask missing = active & ~written[inst.ops[i].slot];
    if (!missing)
      continue;
    unsigned lane = countr_zero(missing);
    report(FindingKind::UninitializedValue, inst, lane, std::nullopt,
           "register " + kernel.slotNames[inst.ops[i].slot] +
               (getWritten(inst.ops[i], lane) ? " was written only in part"
                                              : " was not written"));
    return;
  }
}

} // namespace mamba::sim
