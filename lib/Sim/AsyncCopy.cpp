//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy",
// the non-bulk copies. A copy takes place when its thread waits for it, as late
// as may be; until then its bytes belong to it.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "BulkCopy.h"
#include "LoadStore.h"
#include "Select.h"

using namespace llvm;

namespace mamba::sim {

void Warp::finishCopy(const PendingCopy &copy) {
  uint64_t offset = copy.destination;
  uint8_t *place = block.shared.data() + offset;
  std::memset(place, 0, copy.bytes);
  if (copy.source)
    std::memcpy(place, copy.source, copy.sourceBytes);
  if (block.launch.options.sanitize) {
    Access access{getClusterThread(copy.lane), copy.pc, knowledge, false};
    block.shadow.land(access, offset, copy.bytes);
  }
}

void Warp::finishCopies(LaneMask active, uint32_t keepGroups,
                        bool uncommitted) {
  erase_if(copies, [&](const PendingCopy &copy) {
    if (!(active >> copy.lane & 1))
      return false;
    bool isCommitted = copy.group < committed[copy.lane];
    bool waits = uncommitted || (isCommitted && copy.group + keepGroups <
                                                    committed[copy.lane]);
    if (waits)
      finishCopy(copy);
    return waits;
  });
}

void Warp::finishCopiesUpTo(unsigned lane, uint32_t serial) {
  erase_if(copies, [&](const PendingCopy &copy) {
    bool waits = copy.lane == lane && copy.serial < serial;
    if (waits)
      finishCopy(copy);
    return waits;
  });
}

/// Operands: destination, source and, if any, the bytes to read. `bytes` is the
/// size, `imm` the destination's displacement.
static void runCopy(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t sources[kLanes], destinations[kLanes];
  warp.getAddresses(inst, lanes, sources);
  forLanes(lanes, [&](unsigned lane) {
    destinations[lane] = warp.get(inst.ops[0], lane) + inst.imm;
  });
  Block &block = warp.block;
  auto getSize = [&](unsigned lane) -> unsigned {
    if (inst.flag)
      return std::min<uint64_t>(warp.get(inst.ops[2], lane), inst.bytes);
    bool ignoreSource = inst.flag2 && warp.predicate(inst.ops[2]) >> lane & 1;
    return ignoreSource ? 0 : inst.bytes;
  };
  if (block.launch.options.countMemory) {
    LaneMask reading = 0;
    forLanes(lanes, [&](unsigned lane) {
      reading |= LaneMask(getSize(lane) != 0) << lane;
    });
    block.countGlobal(sources, reading, inst.bytes, /*isStore=*/false);
    block.countBytes(BytePath::AsyncCopy, sources, reading, inst.bytes);
    block.countShared(destinations, lanes, inst.bytes);
  }
  forLanes(lanes, [&](unsigned lane) {
    unsigned size = getSize(lane);
    uint64_t destination = destinations[lane];
    std::optional<SharedPlace> place =
        warp.resolveShared(inst, lane, Space::Shared, destination, inst.bytes,
                           inst.bytes, "asynchronous copy");
    if (!place)
      return;
    if (sources[lane] % inst.bytes) {
      warp.report(FindingKind::Misaligned, inst, lane, sources[lane],
                  "asynchronous copy of " + Twine(unsigned(inst.bytes)) +
                      " bytes");
      return;
    }
    // The bytes that are read may be fewer, and then no power of two.
    const uint8_t *source = nullptr;
    unsigned step = size & -size;
    for (unsigned i = 0; i < size; i += step) {
      const uint8_t *byte = warp.access(
          inst, lane, Space::Global, sources[lane] + i, step, AccessKind::Load);
      if (!byte)
        return;
      if (i == 0)
        source = byte;
    }
    if (block.launch.options.sanitize) {
      Access access{warp.getClusterThread(lane), warp.pc, warp.knowledge,
                    false};
      if (std::optional<Conflict> conflict =
              block.shadow.startCopy(access, place->offset, inst.bytes))
        warp.report(FindingKind::Race, inst, lane, destination + conflict->byte,
                    Twine("asynchronous copy without order after a ") +
                        (conflict->earlierIsWrite ? "write" : "read") +
                        " in line " +
                        Twine(warp.kernel.code[conflict->pc].line));
    }
    warp.copies.push_back({uint8_t(lane), inst.bytes, uint8_t(size),
                           warp.committed[lane], warp.pc, place->offset, source,
                           warp.numCopies++});
  });
}

static void runCommit(Warp &warp, const Inst &, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { ++warp.committed[lane]; });
}

static void runWait(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.finishCopies(lanes, uint32_t(inst.imm), inst.flag);
}

static void decodeCopy(Decoder &d) {
  d.inst.cls = InstClass::AsyncCopy;
  bool reduces = d.take("reduce");
  if (!d.take("async"))
    return;
  if (d.take("bulk"))
    return decodeBulk(d, reduces);
  if (reduces)
    return;
  if (d.take("mbarrier"))
    return decodeCopyArrive(d);
  if (d.take("commit_group")) {
    d.inst.run = runCommit;
    return;
  }
  if (d.take("wait_all")) {
    d.inst.flag = true;
    d.inst.run = runWait;
    return;
  }
  if (d.take("wait_group")) {
    d.inst.imm = d.constant();
    d.inst.run = runWait;
    return;
  }
  bool hasPolicy = takeCacheHints(d);
  if (!d.take("shared"))
    d.take("shared::cta");
  d.take("global");
  if (d.hasModifiers())
    return;
  d.address();
  d.inst.imm = d.inst.displacement;
  d.address();
  d.inst.bytes = d.constant();
  // An operand more than the policy is the size or "ignore-src".
  if (d.countOperands() > (hasPolicy ? 1u : 0u)) {
    d.inst.flag2 = d.isPredicate(*d.peek());
    d.inst.flag = !d.inst.flag2;
    d.src(d.inst.flag ? Type::B32 : Type::Pred);
  }
  if (hasPolicy)
    d.src(Type::B64);
  if (is_contained({4, 8, 16}, int(d.inst.bytes)))
    d.inst.run = runCopy;
}

void addAsyncCopyInstructions(DecodeTable &table) { table["cp"] = decodeCopy; }

} // namespace mamba::sim
