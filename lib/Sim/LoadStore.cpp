//===- LoadStore.cpp - Loads and stores -----------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "ld", "ld.global.nc", "ldu", "st", "prefetch", "discard",
// "applypriority" and "createpolicy". Caches are not modelled.
//
//===----------------------------------------------------------------------===//

#include "LoadStore.h"

#include "Block.h"
#include "Select.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

void countRequest(Warp &warp, const Inst &inst, LaneMask lanes,
                  const uint64_t *addresses, unsigned bytes, bool isStore) {
  Block &block = warp.block;
  if (!block.launch.options.countMemory)
    return;
  // A generic request goes where its first lane points.
  Space space = inst.space;
  if (space == Space::Generic) {
    uint64_t address = addresses[countr_zero(lanes)];
    uint64_t window = address & ~(kWindowBytes - 1);
    space = window == kSharedWindow  ? Space::Shared
            : window == kLocalWindow ? Space::Local
            : window == kParamWindow ? Space::Param
                                     : Space::Global;
  }
  BytePath path;
  switch (space) {
  case Space::SharedCluster:
  case Space::Shared:
    block.countShared(addresses, lanes, bytes);
    path = isStore ? BytePath::SharedStore : BytePath::SharedLoad;
    break;
  case Space::Local: // addresses of lanes are all different
    return block.countBytes(BytePath::Local,
                            uint64_t(bytes) * llvm::popcount(lanes));
  case Space::Param:
    path = BytePath::Param;
    break;
  default:
    block.countGlobal(addresses, lanes, bytes, isStore);
    path = isStore ? BytePath::GlobalStore : BytePath::GlobalLoad;
    break;
  }
  if (inst.strength == Strength::Atomic)
    path = BytePath::Atomic;
  block.countBytes(path, addresses, lanes, bytes);
}

static void runLoad(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  unsigned total = inst.bytes * inst.count;
  countRequest(warp, inst, lanes, addresses, total, /*isStore=*/false);
  forLanes(lanes, [&](unsigned lane) {
    const uint8_t *place = warp.access(inst, lane, inst.space, addresses[lane],
                                       total, AccessKind::Load);
    for (unsigned i = 0; i != inst.count; ++i) {
      const Opnd &row = inst.ops[i];
      if (inst.bytes == 16) {
        char *to = warp.row<char>(row) + lane * 16;
        if (place)
          std::memcpy(to, place + i * 16, 16);
        else
          std::memset(to, 0, 16);
        continue;
      }
      uint64_t value = 0;
      if (place) {
        const uint8_t *from = place + i * inst.bytes;
        switch (inst.bytes) {
        case 1:
          value = *from;
          break;
        case 2:
          std::memcpy(&value, from, 2);
          break;
        case 4:
          std::memcpy(&value, from, 4);
          break;
        default:
          std::memcpy(&value, from, 8);
          break;
        }
      }
      if (inst.signExtend)
        value = SignExtend64(value, 8 * inst.bytes);
      warp.set(row, lane, value);
    }
  });
  orderIfStrong(warp, inst, lanes, addresses, /*reads=*/true, false);
}

static void runStore(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  unsigned total = inst.bytes * inst.count;
  countRequest(warp, inst, lanes, addresses, total, /*isStore=*/true);
  forLanes(lanes, [&](unsigned lane) {
    uint8_t value[64];
    for (unsigned i = 0; i != inst.count; ++i) {
      const Opnd &row = inst.ops[inst.address + 1 + i];
      std::memcpy(value + i * inst.bytes,
                  warp.row<char>(row) + lane * row.bytes, inst.bytes);
    }
    if (uint8_t *place = warp.access(inst, lane, inst.space, addresses[lane],
                                     total, AccessKind::Store, value))
      std::memcpy(place, value, total);
  });
  orderIfStrong(warp, inst, lanes, addresses, /*reads=*/false, true);
}

bool takeCacheHints(Decoder &d) {
  bool hasPolicy = false;
  if (d.take("L2::cache_hint"))
    hasPolicy = true;
  while (d.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt",
                      "L1::evict_normal", "L1::evict_unchanged",
                      "L1::evict_first", "L1::evict_last", "L1::no_allocate",
                      "L2::evict_normal", "L2::evict_first", "L2::evict_last",
                      "L2::64B", "L2::128B", "L2::256B", "unified"}))
    ;
  return hasPolicy;
}

void takeStrength(Decoder &d) {
  auto order = d.takeOneOf(
      {"acquire", "release", "acq_rel", "volatile", "relaxed", "mmio"});
  d.take("weak");
  d.inst.acquires = order == 0u || order == 2u;
  d.inst.releases = order == 1u || order == 2u;
  d.inst.scope = takeScope(d);
  if (order)
    d.inst.strength = Strength::Strong;
}

MemoryScope takeScope(Decoder &d) {
  if (d.take("cta"))
    return MemoryScope::Block;
  if (d.take("cluster"))
    return MemoryScope::Cluster;
  d.takeOneOf({"gpu", "sys"});
  return MemoryScope::Device;
}

static void decodeAccess(Decoder &d, bool isLoad) {
  if (!isLoad && d.take("async"))
    return decodeAsyncStore(d, /*reduces=*/false);
  d.inst.isNonCoherent = d.take("nc");
  bool hasPolicy = takeCacheHints(d);
  takeStrength(d);
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  auto vector = d.takeOneOf({"v2", "v4", "v8"});
  Type type = d.takeType();
  if (type == Type::Pred)
    return;
  d.inst.bytes = getSize(type);
  d.inst.signExtend = ptx::isSigned(type);
  unsigned count = vector ? 2u << *vector : 1;
  d.inst.count = count;
  Type reg = getSize(type) == 1 ? Type::B16 : type;
  unsigned given;
  auto takeAddress = [&] {
    if (d.inst.space == Space::Param && d.hasOperands() && d.isLocal(*d.peek()))
      d.inst.space = Space::Local;
    d.address();
  };
  if (isLoad) {
    given = d.dstVector(reg, /*wide=*/true);
    takeAddress();
  } else {
    takeAddress();
    given = d.srcVector(reg, /*wide=*/true);
    d.inst.propagate = useLowBytes;
  }
  if (!d.failed() && given != count)
    d.fail(Twine(given) + " registers of '" + d.opcode + "', expected " +
           Twine(count));
  if (hasPolicy)
    d.src(Type::B64);
  switch (d.inst.space) {
  case Space::Global:
  case Space::Const:
    d.inst.cls = isLoad ? InstClass::GlobalLoad : InstClass::GlobalStore;
    break;
  case Space::Shared:
  case Space::SharedCluster:
    d.inst.cls = isLoad ? InstClass::SharedLoad : InstClass::SharedStore;
    break;
  case Space::Local:
    d.inst.cls = InstClass::LocalAccess;
    break;
  case Space::Param:
    d.inst.cls = InstClass::ParamLoad;
    break;
  case Space::Generic:
    d.inst.cls = InstClass::GenericAccess;
    break;
  }
  if (d.inst.bytes * count <= 32)
    d.inst.run = isLoad ? runLoad : runStore;
}

static void runPolicy(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { warp.set(inst.ops[0], lane, 0); });
}

static void decodePolicy(Decoder &d) {
  while (d.hasModifiers())
    d.takeAny();
  d.dst(Type::B64);
  while (d.hasOperands())
    d.takeOperand();
  d.inst.cls = InstClass::Other;
  d.inst.run = runPolicy;
}

void addMemoryInstructions(DecodeTable &table) {
  table["ld"] = [](Decoder &d) { decodeAccess(d, /*isLoad=*/true); };
  table["ldu"] = [](Decoder &d) { decodeAccess(d, /*isLoad=*/true); };
  table["st"] = [](Decoder &d) { decodeAccess(d, /*isLoad=*/false); };
  // These only advise caches: their operands may be anything.
  table["prefetch"] = decodeIgnored;
  table["prefetchu"] = decodeIgnored;
  table["discard"] = decodeIgnored;
  table["applypriority"] = decodeIgnored;
  table["createpolicy"] = decodePolicy;
}

} // namespace mamba::sim
