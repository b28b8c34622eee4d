//===- Atomics.cpp - Atomic operations ------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "atom" and "red". Lanes take effect one after the other, in order;
// hardware takes any order.
//
//===----------------------------------------------------------------------===//

#include "AtomicOperations.h"
#include "Block.h"
#include "LoadStore.h"

using namespace llvm;

namespace mamba::sim {

using namespace atomic;

namespace {

/// `count` elements of T in each of the registers (packed values and vectors).
template <typename T, auto compute>
void runAtomic(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  unsigned total = inst.bytes * inst.count;
  countRequest(warp, inst, lanes, addresses, total, /*isStore=*/true);
  unsigned perRegister = inst.bytes / sizeof(T);
  forLanes(lanes, [&](unsigned lane) {
    uint8_t *place = warp.access(inst, lane, inst.space, addresses[lane], total,
                                 AccessKind::Atomic);
    if (!place)
      return;
    AtomicLock lock(warp.block.launch.device, place);
    for (unsigned r = 0; r != inst.count; ++r) {
      const Opnd *operand = &inst.ops[inst.address + 1 + r];
      T old[4], b[4] = {}, c[4] = {}, result[4];
      std::memcpy(old, place + r * inst.bytes, inst.bytes);
      std::memcpy(b, warp.row<char>(*operand) + lane * inst.bytes, inst.bytes);
      if (inst.mode == Cas)
        std::memcpy(c, warp.row<char>(operand[1]) + lane * inst.bytes,
                    inst.bytes);
      for (unsigned i = 0; i != perRegister; ++i)
        result[i] = compute(inst.mode, old[i], b[i], c[i]);
      std::memcpy(place + r * inst.bytes, result, inst.bytes);
      if (inst.numDsts)
        std::memcpy(warp.row<char>(inst.ops[r]) + lane * inst.bytes, old,
                    inst.bytes);
    }
  });
  orderIfStrong(warp, inst, lanes, addresses, /*reads=*/true, true);
}

} // namespace

static Handler getHandler(Type type) {
  switch (type) {
  case Type::F32:
    return runAtomic<float, computeFloat<float>>;
  case Type::F64:
    return runAtomic<double, computeFloat<double>>;
  case Type::F16:
  case Type::F16x2:
    return runAtomic<uint16_t, computeHalf<false>>;
  case Type::BF16:
  case Type::BF16x2:
    return runAtomic<uint16_t, computeHalf<true>>;
  case Type::B16:
  case Type::U16:
    return runAtomic<uint16_t, computeInteger<uint16_t>>;
  case Type::B32:
  case Type::U32:
    return runAtomic<uint32_t, computeInteger<uint32_t>>;
  case Type::S32:
    return runAtomic<int32_t, computeInteger<int32_t>>;
  case Type::B64:
  case Type::U64:
    return runAtomic<uint64_t, computeInteger<uint64_t>>;
  case Type::S64:
    return runAtomic<int64_t, computeInteger<int64_t>>;
  default:
    return nullptr;
  }
}

static void decodeAtomic(Decoder &d) {
  if (d.base == "red" && d.take("async"))
    return decodeAsyncStore(d, /*reduces=*/true);
  d.inst.cls = InstClass::Atomic;
  bool hasPolicy = takeCacheHints(d);
  takeStrength(d);
  d.inst.strength = Strength::Atomic;
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("noftz");
  auto operation = d.takeOneOf(
      {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  auto vector = d.takeOneOf({"v2", "v4", "v8"});
  Type type = d.takeType();
  d.inst.bytes = getSize(type);
  d.inst.count = vector ? 2u << *vector : 1;
  if (!operation)
    return;
  d.inst.mode = *operation;
  if (d.base == "atom")
    d.dstVector(type);
  d.address();
  unsigned given = d.srcVector(type);
  if (!d.failed() && given != d.inst.count)
    d.fail("expected " + Twine(unsigned(d.inst.count)) + " registers of '" +
           d.opcode + "'");
  if (d.inst.mode == Cas)
    d.src(type);
  if (hasPolicy)
    d.src(Type::B64);
  bool isFloat = !ptx::isInteger(type);
  if (isFloat && d.inst.mode != Add && d.inst.mode != Min &&
      d.inst.mode != Max && d.inst.mode != Exch)
    return;
  if (d.inst.bytes * d.inst.count <= 16)
    d.inst.run = getHandler(type);
}

void addAtomicInstructions(DecodeTable &table) {
  table["atom"] = decodeAtomic;
  table["red"] = decodeAtomic;
}

} // namespace mamba::sim
