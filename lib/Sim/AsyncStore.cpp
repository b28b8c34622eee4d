//===- AsyncStore.cpp - st.async and red.async ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "st.async" and "red.async" with an mbarrier: registers that go to
// shared memory of the cluster like a copy.
//
//===----------------------------------------------------------------------===//

#include "AtomicOperations.h"
#include "Cluster.h"
#include "LoadStore.h"

using namespace llvm;

namespace mamba::sim {

/// Sources are the destination, the mbarrier and `count` values of `bytes`.
/// `flag` says that there is a reduction, by `imm` on elements of type `mode`.
static void runAsyncStore(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    BulkCopy copy;
    copy.warp = &warp;
    copy.lane = lane;
    copy.pc = warp.pc;
    copy.wasRead = true;
    copy.isAsyncProxy = false;
    for (unsigned i = 0; i != inst.count; ++i) {
      const Opnd &row = inst.ops[4 + i];
      const char *value = warp.row<char>(row) + lane * row.bytes;
      copy.data.insert(copy.data.end(), value, value + inst.bytes);
    }
    if (inst.flag)
      copy.reduction = getReduction(uint8_t(inst.imm), Type(inst.mode));
    uint32_t bytes = copy.data.size();
    uint64_t address = getAddress(warp, inst, 0, lane);
    std::optional<SharedPlace> place =
        warp.resolveShared(inst, lane, Space::SharedCluster, address, bytes,
                           bytes, "asynchronous store");
    if (!place || !setBarrier(warp, inst, lane, Space::SharedCluster,
                              getAddress(warp, inst, 2, lane), bytes, copy))
      return;
    copy.toBlock = place->block;
    if (copy.barrierBlock != copy.toBlock)
      warp.report(FindingKind::BarrierMisuse, inst, lane, address,
                  "the mbarrier object is in another block than the bytes");
    copy.add({place->block->shared.data() + place->offset, nullptr, bytes,
              uint32_t(place->offset), 0});
    // Reductions by different threads do not exclude each other.
    if (!inst.flag)
      checkBulkWrite(warp, inst, lane, *place, bytes);
    else if (warp.block.launch.options.sanitize)
      warp.noteShared(inst, lane, *place, address, bytes, AccessKind::Atomic);
    warp.block.cluster.copies.start(std::move(copy));
  });
}

void decodeAsyncStore(Decoder &d, bool reduces) {
  d.inst.cls = InstClass::AsyncCopy;
  d.takeOneOf({"weak", "relaxed"});
  d.take("cluster");
  d.take("shared::cluster");
  if (!d.take("mbarrier::complete_tx::bytes"))
    return;
  std::optional<unsigned> vector = d.takeOneOf({"v2", "v4"});
  if (reduces && !takeReduction(d))
    return;
  Type type = d.takeType();
  d.inst.mode = uint8_t(type);
  if (d.failed() || (reduces && !getReduction(uint8_t(d.inst.imm), type)) ||
      getSize(type) < 4 || getSize(type) > 8)
    return;
  d.inst.bytes = getSize(type);
  d.inst.count = vector ? 2u << *vector : 1;
  takeAddress(d);
  const ptx::Operand *value = d.takeOperand();
  takeAddress(d);
  if (!value || d.failed())
    return;
  if (value->kind == ptx::Operand::Vector) {
    if (value->parts.size() != d.inst.count)
      return d.fail("expected " + Twine(unsigned(d.inst.count)) +
                    " registers of '" + d.opcode + "'");
    for (const ptx::Operand &part : value->parts)
      d.pushSource(d.getRow(part, type, false, false));
  } else {
    d.pushSource(d.getRow(*value, type, false, false));
    if (d.inst.count != 1)
      return d.fail("expected registers in braces in '" + d.opcode + "'");
  }
  d.inst.run = runAsyncStore;
}

} // namespace mamba::sim
