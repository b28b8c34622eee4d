//===- Tcgen05.cpp - Allocation and order of tensor memory ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "TensorCore 5th Generation Family Instructions": alloc, dealloc,
// relinquish_alloc_permit, fence and commit, for one block (.cta_group::1).
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Cluster.h"
#include "Decoder.h"
#include "LoadStore.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

static bool isAllocationSize(uint64_t columns) {
  return isPowerOf2_64(columns) && columns >= 32 && columns <= kTensorColumns;
}

static void checkWarp(Warp &warp, const Inst &inst, LaneMask lanes) {
  if (lanes != warp.getLive())
    warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
                std::nullopt, "not all threads of the warp take part");
}

bool Warp::allocateTensor(const Inst &inst, LaneMask active) {
  if (!splitOff(active))
    return false;
  if (block.launch.options.sanitize)
    reportUnwritten(inst, lanes);
  checkWarp(*this, inst, lanes);
  TensorMemory &tensor = block.tensor;
  unsigned lane = countr_zero(lanes);
  uint64_t columns = get(inst.ops[inst.address + 1], lane);
  if (!isAllocationSize(columns)) {
    report(FindingKind::TensorMemory, inst, lane, std::nullopt,
           "an allocation of " + Twine(columns) +
               " columns, expected a power of two from 32 to 512");
    columns = 32;
  }
  if (!tensor.hasPermit)
    report(FindingKind::TensorMemory, inst, lane, std::nullopt,
           "an allocation after the permit was relinquished");
  std::optional<unsigned> first =
      tensor.allocate(inst, id * kLanes + lane, columns);
  if (!first) {
    putBack(Group::AtAllocation);
    return false;
  }
  uint64_t addresses[kLanes];
  getAddresses(inst, lanes, addresses);
  uint32_t address = *first;
  if (uint8_t *place = access(inst, lane, inst.space, addresses[lane],
                              sizeof(address), AccessKind::Store))
    std::memcpy(place, &address, sizeof(address));
  block.cluster.notify();
  ++pc;
  putBack();
  return false;
}

static void runDeallocate(Warp &warp, const Inst &inst, LaneMask lanes) {
  checkWarp(warp, inst, lanes);
  TensorMemory &tensor = warp.block.tensor;
  unsigned lane = countr_zero(lanes);
  uint32_t address = warp.get(inst.ops[0], lane);
  uint64_t columns = warp.get(inst.ops[1], lane);
  if (address >= kTensorColumns || !tensor.hasAllocation(address, columns)) {
    warp.report(FindingKind::TensorMemory, inst, lane, address,
                "there is no allocation of " + Twine(columns) + " columns");
    return;
  }
  // All accesses have to come before.
  TensorOperation operation;
  operation.warp = &warp;
  operation.inst = &inst;
  operation.pc = warp.pc;
  operation.lane = lane;
  operation.isPipeline = operation.needsFences = false;
  for (unsigned i = 0; i != kTensorLanes; ++i)
    for (unsigned column = address; column != address + columns; ++column)
      tensor.write(operation, i, column);
  tensor.release(warp.block, operation, warp.clusterWarp);
  tensor.free(address);
  for (Warp &other : warp.block.warps)
    for (Warp::Group &group : other.groups)
      if (group.state == Warp::Group::AtAllocation)
        group.state = Warp::Group::Ready;
  warp.block.cluster.notify();
}

static void runRelinquish(Warp &warp, const Inst &inst, LaneMask lanes) {
  checkWarp(warp, inst, lanes);
  warp.block.tensor.hasPermit = false;
}

static void runFenceBefore(Warp &warp, const Inst &, LaneMask) {
  TensorOrder &order = warp.tensorOrder;
  uint32_t time = warp.block.cluster.clock.time;
  order.published.push_back({++order.sequence, time});
}

static void runFenceAfter(Warp &warp, const Inst &, LaneMask) {
  warp.tensorOrder.known = warp.knowledge;
}

static void runCommit(Warp &warp, const Inst &inst, LaneMask lanes) {
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  forLanes(lanes, [&](unsigned lane) {
    if (!getMbarrier(warp, inst, lane, inst.space, addresses[lane]))
      return;
    std::optional<SharedPlace> place =
        warp.resolveShared(inst, lane, inst.space, addresses[lane],
                           Mbarrier::kBytes, Mbarrier::kBytes, "commit");
    if (!place)
      return;
    auto operation = makeOperation(warp, inst, lane);
    operation->isCommit = true;
    operation->run = [place = *place,
                      address = addresses[lane]](TensorOperation &operation) {
      Mbarrier *barrier = place.block->mbarriers.lookup(place.offset);
      if (!barrier)
        return;
      Cluster &cluster = place.block->cluster;
      barrier->arriving.set(cluster.getCopyWarp(), cluster.clock.advance());
      if (!arriveAt(cluster, *barrier, 1))
        operation.warp->report(
            FindingKind::BarrierMisuse, *operation.inst, operation.lane,
            address, "more arrivals than the mbarrier's phase waits for");
    };
    warp.block.tensor.enqueue(std::move(operation));
  });
}

static void decodeAllocate(Decoder &d) {
  d.take("sync");
  d.take("aligned");
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b32");
  d.address();
  d.src(Type::B32);
  d.inst.flow = Flow::TensorAllocation;
}

static void decodeDeallocate(Decoder &d) {
  d.inst.flow = Flow::WarpSync;
  d.take("sync");
  d.take("aligned");
  d.take("b32");
  d.src(Type::B32);
  d.src(Type::B32);
  d.inst.run = runDeallocate;
}

static void decodeCommit(Decoder &d) {
  d.inst.cls = InstClass::Barrier;
  d.take("mbarrier::arrive::one");
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  d.take("b64");
  d.address();
  d.inst.run = runCommit;
}

static void decodeTcgen05(Decoder &d) {
  d.inst.cls = InstClass::Other;
  if (d.take("cta_group::2"))
    return d.fail("'.cta_group::2' of '" + d.opcode + "' is not modelled");
  d.take("cta_group::1");
  if (d.take("alloc"))
    return decodeAllocate(d);
  if (d.take("dealloc"))
    return decodeDeallocate(d);
  if (d.take("commit"))
    return decodeCommit(d);
  if (d.take("ld"))
    return decodeTensorLoad(d);
  if (d.take("st"))
    return decodeTensorStore(d);
  if (d.take("wait::ld"))
    return decodeTensorWait(d, true);
  if (d.take("wait::st"))
    return decodeTensorWait(d, false);
  if (d.take("cp"))
    return decodeTensorCopy(d);
  if (d.take("shift"))
    return decodeTensorShift(d);
  if (d.take("mma"))
    return decodeTensorMma(d);
  if (d.take("relinquish_alloc_permit")) {
    d.inst.flow = Flow::WarpSync;
    d.take("sync");
    d.take("aligned");
    d.inst.run = runRelinquish;
  } else if (d.take("fence::before_thread_sync")) {
    d.inst.run = runFenceBefore;
  } else if (d.take("fence::after_thread_sync")) {
    d.inst.run = runFenceAfter;
  }
}

void addTcgen05Instructions(DecodeTable &table) {
  table["tcgen05"] = decodeTcgen05;
}

} // namespace mamba::sim
