//===- Control.cpp - Control flow, barriers and fences --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Control Flow Instructions", "bar", "barrier", "membar", "fence" and
// "Miscellaneous Instructions".
//
//===----------------------------------------------------------------------===//

#include "Barriers.h"
#include "Cluster.h"
#include "LoadStore.h"
#include "Select.h"

using namespace llvm;

namespace mamba::sim {

static void runNothing(Warp &, const Inst &, LaneMask) {}

static void runTrap(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.report(FindingKind::Trap, inst, countr_zero(lanes), std::nullopt,
              "the thread executed a trap");
  warp.block.stopped = true;
}

static void decodeBranch(Decoder &d) {
  d.take("uni");
  d.inst.cls = InstClass::Control;
  d.inst.flow = Flow::Branch;
  d.inst.target = d.lookupLabel(d.name());
}

static void decodeIndexedBranch(Decoder &d) {
  d.inst.cls = InstClass::Control;
  if (!d.take("idx"))
    return;
  d.take("uni");
  d.src(Type::U32);
  d.inst.targets = d.makeTable(d.name());
  d.inst.flow = Flow::BranchIndexed;
}

static void decodeExit(Decoder &d) {
  d.take("uni");
  d.inst.cls = InstClass::Control;
  d.inst.flow = Flow::Exit;
}

/// bar and barrier. mode is a BarrierMode, flag2 says that all threads of a
/// warp must execute the same instruction.
static void decodeBarrier(Decoder &d) {
  d.inst.cls = InstClass::Barrier;
  if (d.take("warp")) {
    d.take("sync");
    return decodeWarpBarrier(d);
  }
  if (d.base == "barrier" && d.take("cluster"))
    return decodeClusterBarrier(d);
  d.take("cta");
  d.inst.flag2 = d.take("aligned") || d.base == "bar";
  BarrierMode mode = BarrierMode::Sync;
  bool reduces = false;
  if (d.take("arrive")) {
    mode = BarrierMode::Arrive;
  } else if (d.take("red")) {
    reduces = true;
    auto operation = d.takeOneOf({"popc", "and", "or"});
    if (!operation)
      return;
    mode = BarrierMode(unsigned(BarrierMode::ReducePopulation) + *operation);
    Type type = d.takeType();
    d.dst(type);
  } else if (!d.take("sync")) {
    return;
  }
  d.inst.mode = uint8_t(mode);
  d.src(Type::U32);
  // The count may be left out, a predicate comes last.
  if (d.countOperands() == (reduces ? 2u : 1u))
    d.src(Type::U32);
  if (reduces)
    d.src(Type::Pred);
  if (mode == BarrierMode::Arrive && d.countSources() != 2)
    d.fail("expected a count of threads in '" + d.opcode + "'");
  d.inst.flow = Flow::BlockBarrier;
}

static void runFence(Warp &warp, const Inst &inst, LaneMask lanes) {
  Cluster &cluster = warp.block.cluster;
  if (inst.releases && warp.tracksOrder)
    warp.fence(inst.scope);
  cluster.fences.add(warp, lanes, FenceKind(inst.mode), cluster.clock);
}

/// All accesses take effect in program order here, so fences only matter for
/// what the sanitizer finds. membar.cta is fence.sc.cta and so on.
static void decodeFence(Decoder &d) {
  d.inst.cls = InstClass::Barrier;
  FenceKind kind =
      d.take("mbarrier_init") ? FenceKind::MbarrierInit : FenceKind::Memory;
  bool isOther = false; // of no use for shared memory
  if (d.take("proxy")) {
    kind = FenceKind::AsyncProxy;
    isOther =
        d.take("alias") || d.opcode.contains("tensormap") || d.take("global");
  }
  if (kind == FenceKind::Memory) {
    d.inst.scope = d.take("gl") ? MemoryScope::Device : takeScope(d);
    d.inst.acquires = d.inst.releases = true;
  }
  d.inst.mode = uint8_t(kind);
  while (d.hasModifiers())
    d.takeAny();
  // fence.proxy.tensormap::generic.acquire has an address and a size.
  if (d.hasOperands()) {
    d.address();
    d.constant();
  }
  d.inst.run = isOther ? runNothing : runFence;
}

void decodeIgnored(Decoder &d) {
  while (d.hasModifiers())
    d.takeAny();
  while (d.hasOperands())
    d.takeOperand();
  d.inst.cls = InstClass::Other;
  d.inst.run = runNothing;
}

static void decodeNanosleep(Decoder &d) {
  d.takeType();
  d.src(Type::U32);
  d.inst.cls = InstClass::Other;
  d.inst.run = runNothing;
  d.inst.flow = Flow::Yield;
}

static void decodeTrap(Decoder &d) {
  d.inst.cls = InstClass::Control;
  d.inst.run = runTrap;
  d.inst.flow = Flow::Yield;
}

void addControlInstructions(DecodeTable &table) {
  table["bra"] = decodeBranch;
  table["brx"] = decodeIndexedBranch;
  table["ret"] = decodeExit;
  table["exit"] = decodeExit;
  table["bar"] = decodeBarrier;
  table["barrier"] = decodeBarrier;
  table["membar"] = decodeFence;
  table["fence"] = decodeFence;
  table["setmaxnreg"] = decodeIgnored;
  table["griddepcontrol"] = decodeIgnored;
  table["pmevent"] = decodeIgnored;
  table["nanosleep"] = decodeNanosleep;
  table["trap"] = decodeTrap;
  table["brkpt"] = decodeTrap;
}

} // namespace mamba::sim
