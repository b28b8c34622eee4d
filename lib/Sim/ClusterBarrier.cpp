//===- ClusterBarrier.cpp - Instructions of clusters ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "barrier.cluster", "mapa" and "getctarank". The barrier waits for
// all threads of the cluster that have not exited.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "LoadStore.h"
#include "Select.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

void ClusterBarrier::start(unsigned numWarps) {
  arrived.assign(numWarps, 0);
  owesWait.assign(numWarps, 0);
  arriving.reset(numWarps + 1, 0);
  visible.reset(numWarps + 1, 0);
}

void Cluster::arriveAtBarrier(Warp &warp, const Inst &inst, LaneMask lanes,
                              bool isRelaxed) {
  unsigned id = warp.clusterWarp;
  if (LaneMask again = lanes & barrier.owesWait[id])
    warp.report(FindingKind::BarrierMisuse, inst, countr_zero(again),
                std::nullopt,
                "the thread arrives at the cluster's barrier again before it "
                "waits");
  if (isRelaxed) {
    fences.releaseTo(barrier.arriving, warp, lanes);
  } else {
    uint32_t time = clock.advance();
    if (lanes == warp.getLive())
      barrier.arriving.set(id, time);
    else
      forLanes(lanes, [&](unsigned lane) {
        barrier.arriving.setThread(warp.getClusterThread(lane), time);
      });
    barrier.arriving.join(warp.knowledge);
  }
  barrier.arrived[id] |= lanes;
  barrier.owesWait[id] |= lanes;
  notify();
  checkBarrier();
}

void Cluster::checkBarrier() {
  bool any = false;
  for (Warp *warp : warps) {
    LaneMask arrived = barrier.arrived[warp->clusterWarp];
    if (warp->getLive() & ~arrived)
      return;
    any |= arrived != 0;
  }
  if (!any)
    return;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  barrier.visible.join(barrier.arriving);
  notify();
}

/// Whether the threads may go on behind `barrier.cluster.wait`.
static bool mayPass(const Warp &warp, LaneMask lanes) {
  return !(warp.block.cluster.barrier.arrived[warp.clusterWarp] & lanes);
}

void Warp::passClusterBarrier(LaneMask passing) {
  ClusterBarrier &barrier = block.cluster.barrier;
  barrier.owesWait[clusterWarp] &= ~passing;
  knowledge.join(barrier.visible);
}

bool Warp::waitCluster(const Inst &inst, LaneMask active) {
  if (!splitOff(active))
    return false;
  if (LaneMask without = lanes & ~block.cluster.barrier.owesWait[clusterWarp])
    report(FindingKind::BarrierMisuse, inst, countr_zero(without), std::nullopt,
           "the thread waits at the cluster's barrier without arriving");
  if (!mayPass(*this, lanes)) {
    putBack(Group::AtCluster);
    return false;
  }
  passClusterBarrier(lanes);
  ++pc;
  if (groups.empty())
    return true;
  putBack();
  return false;
}

void Warp::resumeClusterWaits() {
  for (Group &group : groups) {
    if (group.state != Group::AtCluster || !mayPass(*this, group.lanes))
      continue;
    passClusterBarrier(group.lanes);
    group.state = Group::Ready;
    ++group.pc;
  }
}

static void runArrive(Warp &warp, const Inst &inst, LaneMask lanes) {
  warp.block.cluster.arriveAtBarrier(warp, inst, lanes, inst.flag);
}

void decodeClusterBarrier(Decoder &d) {
  d.take("aligned");
  if (d.take("wait")) {
    d.take("acquire");
    d.inst.flow = Flow::ClusterWait;
    return;
  }
  if (!d.take("arrive"))
    return;
  d.inst.flag = d.take("relaxed");
  if (!d.inst.flag)
    d.take("release");
  d.inst.run = runArrive;
}

namespace {

constexpr uint64_t kRankMask = 0xff;

/// The address of the same variable in another block.
template <typename T>
void runMap(Warp &warp, const Inst &inst, LaneMask lanes) {
  unsigned size = warp.block.cluster.blocks.size();
  forLanes(lanes, [&](unsigned lane) {
    uint64_t address = warp.get(inst.ops[1], lane);
    uint64_t rank = warp.get(inst.ops[2], lane);
    uint64_t window = address & ~(kWindowBytes - 1);
    if (rank >= size ||
        (inst.space == Space::Generic && window != kSharedWindow)) {
      warp.report(FindingKind::OutOfBounds, inst, lane, address,
                  rank >= size ? "there is no block " + Twine(rank) +
                                     " in a cluster of " + Twine(size)
                               : Twine("no address of shared memory"));
      rank = 0;
    }
    address &= ~(kRankMask << kSharedBits);
    warp.set(inst.ops[0], lane, address | rank << kSharedBits);
  });
}

void runGetRank(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) {
    uint64_t address = warp.get(inst.ops[1], lane);
    warp.set(inst.ops[0], lane, address >> kSharedBits & kRankMask);
  });
}

} // namespace

static void decodeMap(Decoder &d) {
  d.inst.cls = InstClass::Move;
  d.inst.space = takeSpace(d).value_or(Space::Generic);
  Type type = d.takeType();
  d.dst(type);
  d.src(type);
  d.src(Type::U32);
  d.inst.run = getSize(type) == 8 ? runMap<uint64_t> : runMap<uint32_t>;
}

static void decodeGetRank(Decoder &d) {
  d.inst.cls = InstClass::Move;
  takeSpace(d);
  Type type = d.takeType();
  d.dst(Type::U32);
  d.src(type);
  d.inst.run = runGetRank;
}

void addClusterInstructions(DecodeTable &table) {
  table["mapa"] = decodeMap;
  table["getctarank"] = decodeGetRank;
}

} // namespace mamba::sim
