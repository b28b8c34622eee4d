//===- Warp.cpp - Scheduling the threads of a warp ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Warp.h"

#include "Block.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

/// Threads that spin on what others of their warp have to do would keep them
/// from it; after this many instructions the others get a turn.
static constexpr uint64_t kStagnation = 1 << 13;

Warp::Warp(Block &block, unsigned id)
    : block(block), kernel(block.kernel), id(id),
      clusterWarp(block.rank * block.numWarps + id),
      tracksOrder(block.launch.globalShadow && block.kernel.ordersThreads) {
  storage.resize(kernel.file.size() + 64);
  file = reinterpret_cast<char *>(
      alignTo(reinterpret_cast<uintptr_t>(storage.data()), Align(64)));
  local.resize(kernel.localBytes * kLanes);
  localWritten.resize(local.size());
}

void Warp::start(LaneMask startLanes) {
  std::memcpy(file, kernel.file.data(), kernel.file.size());
  written = kernel.written;
  partlyWritten.clear();
  std::fill(localWritten.begin(), localWritten.end(), 0);
  copies.clear();
  std::fill(std::begin(committed), std::end(committed), 0);
  registerUses.start(kernel);
  wgmma.start();
  tensorOrder = {};
  tensorTransfers.start();
  exists = startLanes;
  exited = 0;
  lanes = 0;
  groups.clear();
  if (startLanes)
    groups.push_back({Group::Ready, 0, 0, startLanes});
}

void Warp::report(FindingKind kind, const Inst &inst, unsigned lane,
                  std::optional<uint64_t> address, const Twine &message) {
  block.report(kind, inst, id * kLanes + lane, address, message);
}

void Warp::getAddresses(const Inst &inst, LaneMask active,
                        uint64_t *addresses) {
  const Opnd &base = inst.ops[inst.address];
  if (base.bytes == 8) {
    const uint64_t *row = this->row<uint64_t>(base);
    forLanes(active, [&](unsigned lane) {
      addresses[lane] = row[lane] + inst.displacement;
    });
    return;
  }
  const uint32_t *row = this->row<uint32_t>(base);
  forLanes(active, [&](unsigned lane) {
    addresses[lane] = uint32_t(row[lane] + inst.displacement);
  });
}

void Warp::execute(const Inst &inst, LaneMask active) {
  LaneMask ready = kAllLanes;
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i)
    ready &= written[inst.ops[i].slot];
  if (registerUses.isTracking())
    registerUses.noteInstruction(*this, inst, active);
  LaneMask missing = active & ~ready;
  if (missing && block.launch.options.sanitize)
    return executeUnwritten(inst, active, missing);
  inst.run(*this, inst, active);
  for (unsigned i = 0; i != inst.numDsts; ++i)
    written[inst.ops[i].slot] |= active;
}

/// Makes the ready group that is furthest behind the running one. `limit` is
/// where the next one waits.
bool Warp::select(uint32_t &limit) {
  int best = -1;
  unsigned numReady = 0;
  for (auto [index, group] : enumerate(groups)) {
    if (group.state != Group::Ready)
      continue;
    ++numReady;
    // The oldest group comes first when it is the others' turn.
    if (best < 0 || (stagnation < kStagnation && group.pc < groups[best].pc))
      best = index;
  }
  if (best < 0)
    return false;
  if (numReady == 1 || stagnation >= kStagnation)
    stagnation = 0;
  pc = groups[best].pc;
  lanes = 0;
  limit = ~uint32_t(0);
  erase_if(groups, [&](const Group &group) {
    if (group.state != Group::Ready)
      return false;
    if (group.pc == pc) {
      lanes |= group.lanes;
      return true;
    }
    if (group.pc > pc)
      limit = std::min(limit, group.pc);
    return false;
  });
  return true;
}

void Warp::putBack(Group::State state, unsigned barrier) {
  if (lanes)
    groups.push_back({state, uint8_t(barrier), pc, lanes});
  lanes = 0;
}

Warp::Status Warp::run(uint64_t budget) {
  uint32_t limit;
  wasPolling = isPolling;
  isPolling = false;
  resumeWaits();
  resumeClusterWaits();
  while (!block.stopped && select(limit)) {
    for (;;) {
      if (pc >= limit || (!groups.empty() && ++stagnation % kStagnation == 0)) {
        putBack();
        break;
      }
      if (!budget) {
        putBack();
        return Status::Yielded;
      }
      --budget;
      const Inst &inst = kernel.code[pc];
      LaneMask active = lanes;
      if (inst.hasGuard) {
        LaneMask mask = predicate(inst.guard);
        active &= inst.guardNegated ? ~mask : mask;
        LaneMask unknown = lanes & ~written[inst.guard.slot];
        if (unknown && block.launch.options.sanitize)
          report(FindingKind::UninitializedValue, inst, countr_zero(unknown),
                 std::nullopt,
                 "predicate " + kernel.slotNames[inst.guard.slot] +
                     " was not written");
      }
      ++block.warpExecutions[pc];
      block.threadExecutions[pc] += llvm::popcount(active);
      ++block.executed;
      if (inst.flow == Flow::None) {
        if (active)
          execute(inst, active);
        ++pc;
        continue;
      }
      if (!step(inst, active, budget))
        break;
    }
  }
  return groups.empty() ? Status::Done : Status::Blocked;
}

bool Warp::step(const Inst &inst, LaneMask active, uint64_t &budget) {
  switch (inst.flow) {
  case Flow::None:
    break;
  case Flow::Branch:
    return branch(active, inst.target);
  case Flow::BranchIndexed:
    return branchIndexed(inst, active);
  case Flow::Exit:
    return exitThreads(active);
  case Flow::BlockBarrier:
    return arrive(inst, active);
  case Flow::WarpSync:
    return synchronize(inst, active);
  case Flow::TensorAllocation:
    return allocateTensor(inst, active);
  case Flow::MbarrierWait:
    return waitMbarrier(inst, active, budget);
  case Flow::ClusterWait:
    return waitCluster(inst, active);
  case Flow::Yield:
    if (active)
      execute(inst, active);
    ++pc;
    budget = 0;
    // A thread that sleeps between its tests still only waits.
    isPolling = wasPolling;
    return true;
  }
  ++pc;
  return true;
}

bool Warp::branch(LaneMask taken, uint32_t target) {
  LaneMask others = lanes & ~taken;
  if (!taken) {
    ++pc;
    return true;
  }
  if (!others) {
    pc = target;
    // Groups that wait between here and there may be met, or be behind.
    if (groups.empty())
      return true;
    putBack();
    return false;
  }
  groups.push_back({Group::Ready, 0, pc + 1, others});
  lanes = taken;
  pc = target;
  putBack();
  return false;
}

bool Warp::branchIndexed(const Inst &inst, LaneMask active) {
  LaneMask others = lanes & ~active;
  if (others)
    groups.push_back({Group::Ready, 0, pc + 1, others});
  const Opnd &index = inst.ops[0];
  uint32_t at = pc;
  forLanes(active, [&](unsigned lane) {
    uint64_t choice = get(index, lane);
    if (choice >= inst.targets->size()) {
      report(FindingKind::OutOfBounds, inst, lane, std::nullopt,
             "index " + Twine(choice) + " into a table of " +
                 Twine(inst.targets->size()) + " labels");
      choice = 0;
    }
    pc = (*inst.targets)[choice];
    lanes = LaneMask(1) << lane;
    putBack();
  });
  pc = at;
  lanes = 0;
  return false;
}

bool Warp::exitThreads(LaneMask active) {
  exited |= active;
  lanes &= ~active;
  if (active)
    block.threadsExited(*this);
  ++pc;
  if (lanes)
    return true;
  return false;
}

/// Leaves the other threads behind an instruction that only `active` ones
/// execute.
bool Warp::splitOff(LaneMask active) {
  if (LaneMask others = lanes & ~active) {
    groups.push_back({Group::Ready, 0, pc + 1, others});
    lanes = active;
  }
  if (lanes)
    return true;
  return false;
}

bool Warp::arrive(const Inst &inst, LaneMask active) {
  if (!splitOff(active))
    return false;
  if (block.launch.options.sanitize)
    reportUnwritten(inst, active);
  if (std::optional<unsigned> barrier = block.arrive(*this, inst, lanes)) {
    putBack(Group::AtBarrier, *barrier);
    block.checkComplete(*barrier, inst);
  } else {
    ++pc;
    putBack();
  }
  return false;
}

/// An instruction that runs for all lanes of its member mask together. The mask
/// is its last operand, or stands for all threads.
bool Warp::synchronize(const Inst &inst, LaneMask active) {
  if (!splitOff(active))
    return false;
  LaneMask members = getLive();
  if (inst.hasMembers) {
    const uint32_t *masks = row<uint32_t>(inst.ops[inst.numOps - 1]);
    unsigned first = countr_zero(lanes);
    members = masks[first];
    // Threads with another mask go on separately.
    LaneMask same = 0;
    forLanes(lanes, [&](unsigned lane) {
      same |= LaneMask(masks[lane] == members) << lane;
    });
    if (LaneMask others = lanes & ~same) {
      groups.push_back({Group::Ready, 0, pc, others});
      lanes = same;
    }
    if (lanes & ~members)
      report(FindingKind::BarrierMisuse, inst, countr_zero(lanes & ~members),
             std::nullopt,
             "the thread is not in its own member mask 0x" +
                 Twine::utohexstr(members));
    if (members & exists & exited)
      report(FindingKind::BarrierMisuse, inst,
             countr_zero(members & exists & exited), std::nullopt,
             "the member mask 0x" + Twine::utohexstr(members) +
                 " names a thread that has exited");
    members = (members & getLive()) | lanes;
  }
  // `bar.warp.sync` may be reached at several places, others at one.
  bool anywhere = inst.mode2 == 1;
  auto isPeer = [&](const Group &group) {
    return group.state == Group::AtSync && (group.lanes & members) &&
           (group.pc == pc ||
            (anywhere && kernel.code[group.pc].run == inst.run));
  };
  LaneMask arrived = lanes;
  for (const Group &group : groups)
    if (isPeer(group))
      arrived |= group.lanes;
  if (members & ~arrived) {
    putBack(Group::AtSync);
    return false;
  }
  for (Group &group : groups) {
    if (!isPeer(group))
      continue;
    group.state = Group::Ready;
    ++group.pc;
  }
  execute(inst, arrived);
  ++pc;
  putBack();
  return false;
}

} // namespace mamba::sim
