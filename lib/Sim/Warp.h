//===- Warp.h - 32 threads --------------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_WARP_H
#define MAMBA_LIB_SIM_WARP_H

#include "Definedness.h"
#include "Program.h"
#include "RegisterUses.h"
#include "Shadow.h"
#include "TensorMemory.h"
#include "WgmmaState.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <cstring>

namespace mamba::sim {

class Block;

/// Calls `fn` for each lane of the mask.
template <typename Fn> inline void forLanes(LaneMask mask, Fn fn) {
  // Without a test in the loop the compiler can use vectors.
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane != kLanes; ++lane)
      fn(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    fn(unsigned(llvm::countr_zero(mask)));
}

enum class AccessKind : uint8_t { Load, Store, Atomic };

/// A place in the shared memory of a block of the cluster.
struct SharedPlace {
  Block *block;
  uint64_t offset; // behind the system's part
};

/// A copy that the thread has not waited for.
struct PendingCopy {
  uint8_t lane, bytes, sourceBytes;
  uint32_t group;
  uint32_t pc;
  uint64_t destination; // place in the block's shared memory
  const uint8_t *source;
  uint32_t serial;
};

/// Threads that have not exited are in groups of the same place in the code.
/// One group runs at a time.
class Warp {
public:
  Warp(Block &block, unsigned id);

  /// Places the threads at the kernel's start.
  void start(LaneMask lanes);

  enum class Status { Yielded, Blocked, Done };
  /// Runs until nothing can go on or `budget` instructions were executed.
  Status run(uint64_t budget);

  // For instructions.

  template <typename T> T *row(const Opnd &operand) {
    return reinterpret_cast<T *>(file + operand.offset);
  }
  /// The lanes where a predicate is true.
  LaneMask predicate(const Opnd &operand) const {
    assert(operand.isPredicate);
    LaneMask mask = *reinterpret_cast<const LaneMask *>(file + operand.offset);
    return operand.negated ? ~mask : mask;
  }
  void setPredicate(const Opnd &operand, LaneMask lanes, LaneMask value) {
    LaneMask &mask = *reinterpret_cast<LaneMask *>(file + operand.offset);
    mask = (mask & ~lanes) | (value & lanes);
  }
  /// A value of any size, extended with zeros.
  uint64_t get(const Opnd &operand, unsigned lane) const {
    uint64_t value = 0;
    std::memcpy(&value, file + operand.offset + lane * operand.bytes,
                operand.bytes < 8 ? operand.bytes : 8);
    return value;
  }
  /// Truncates to the row's size; rows of 16 bytes get zeros above.
  void set(const Opnd &operand, unsigned lane, uint64_t value) {
    char *place = file + operand.offset + lane * operand.bytes;
    std::memcpy(place, &value, operand.bytes < 8 ? operand.bytes : 8);
    if (operand.bytes == 16)
      std::memset(place + 8, 0, 8);
  }

  /// Addresses of a memory instruction by lane.
  void getAddresses(const Inst &inst, LaneMask lanes, uint64_t *addresses);
  /// The memory of `bytes` at `address` in `space`, or null after a finding.
  /// `value` is what a store will write, if known.
  uint8_t *access(const Inst &inst, unsigned lane, Space space,
                  uint64_t address, unsigned bytes, AccessKind kind,
                  const uint8_t *value = nullptr);
  /// As `access` of global memory, of any number of bytes without alignment.
  uint8_t *accessBulk(const Inst &inst, unsigned lane, uint64_t address,
                      uint64_t bytes, AccessKind kind) {
    return accessGlobal(inst, lane, address, bytes, kind, /*alignment=*/1);
  }
  /// Where [address, address + bytes) lies in shared memory, or nothing after
  /// a finding. `what` names the access.
  std::optional<SharedPlace> resolveShared(const Inst &inst, unsigned lane,
                                           Space space, uint64_t address,
                                           uint64_t bytes, unsigned alignment,
                                           llvm::StringRef what);
  /// Looks for races of an access to shared memory.
  void noteShared(const Inst &inst, unsigned lane, const SharedPlace &place,
                  uint64_t address, unsigned bytes, AccessKind kind,
                  const uint8_t *value = nullptr);
  void report(FindingKind kind, const Inst &inst, unsigned lane,
              std::optional<uint64_t> address, const llvm::Twine &message);

  /// Asynchronous copies: AsyncCopy.cpp.
  void finishCopies(LaneMask lanes, uint32_t keepGroups, bool uncommitted);
  /// Those of a lane before the one with this number.
  void finishCopiesUpTo(unsigned lane, uint32_t serial);
  llvm::SmallVector<PendingCopy, 0> copies;
  uint32_t numCopies = 0;
  uint32_t committed[kLanes];

  RegisterUses registerUses;
  WgmmaState wgmma;
  TensorOrder tensorOrder;
  TensorTransfers tensorTransfers;

  // Order.cpp. What the warp and those it knows of have done so far, and its
  // counterpart.
  View release();
  void acquire(const View &view);
  /// fence and membar.
  void fence(MemoryScope scope);
  View restrict(const View &view, MemoryScope from, MemoryScope to) const;
  /// Strong accesses, after they took place.
  void orderAccesses(const Inst &inst, LaneMask active,
                     const uint64_t *addresses, bool reads, bool writes);

  /// For results that are written after the instruction.
  void markWritten(const Opnd &operand, LaneMask lanes) {
    written[operand.slot] |= lanes;
  }
  /// The lanes where a register has a value.
  LaneMask getWritten(const Opnd &operand) const {
    return written[operand.slot];
  }
  LaneMask getLive() const { return exists & ~exited; }
  uint32_t getClusterThread(unsigned lane) const {
    return clusterWarp * kLanes + lane;
  }

  /// Ends the waits of suspended threads without success. Returns whether there
  /// were any.
  bool giveUpWaits();

  struct Group {
    enum State : uint8_t {
      Ready,
      AtBarrier,
      AtSync,
      AtMbarrier,
      AtAllocation,
      AtCluster
    } state;
    uint8_t barrier;
    uint32_t pc;
    LaneMask lanes;
  };

  Block &block;
  const Kernel &kernel;
  unsigned id;
  /// Its number in the cluster.
  unsigned clusterWarp;
  LaneMask exists = 0, exited = 0;
  /// The instruction that runs, and the threads that are there.
  uint32_t pc = 0;
  LaneMask lanes = 0;
  llvm::SmallVector<Group, 4> groups;
  /// The carry flag of each lane.
  LaneMask carry = 0;
  Knowledge knowledge;
  FenceOrder fenceOrder;
  /// Whether acquires and releases have to be looked at.
  const bool tracksOrder;
  /// Its last turn ended with a test of an mbarrier that failed, and the one
  /// before.
  bool isPolling = false, wasPolling = false;

private:
  void finishCopy(const PendingCopy &copy);
  bool select(uint32_t &limit);
  void putBack(Group::State state = Group::Ready, unsigned barrier = 0);
  void execute(const Inst &inst, LaneMask active);
  // Definedness.cpp: an instruction that reads what was not written in the
  // lanes `missing`.
  void executeUnwritten(const Inst &inst, LaneMask active, LaneMask missing);
  void reportUnwritten(const Inst &inst, LaneMask active);
  ByteMask getWritten(const Opnd &operand, unsigned lane) const;
  /// Returns false if another group has to be selected.
  bool step(const Inst &inst, LaneMask active, uint64_t &budget);
  bool branch(LaneMask taken, uint32_t target);
  bool branchIndexed(const Inst &inst, LaneMask active);
  bool exitThreads(LaneMask active);
  bool synchronize(const Inst &inst, LaneMask active);
  bool arrive(const Inst &inst, LaneMask active);
  bool splitOff(LaneMask active);
  // MbarrierWait.cpp
  bool allocateTensor(const Inst &inst, LaneMask active);
  bool waitMbarrier(const Inst &inst, LaneMask active, uint64_t &budget);
  void resumeWaits();
  // ClusterBarrier.cpp
  bool waitCluster(const Inst &inst, LaneMask active);
  void passClusterBarrier(LaneMask passing);
  void resumeClusterWaits();

  uint8_t *accessShared(const Inst &inst, unsigned lane, Space space,
                        uint64_t address, unsigned bytes, AccessKind kind,
                        const uint8_t *value);
  uint8_t *accessGlobal(const Inst &inst, unsigned lane, uint64_t address,
                        uint64_t bytes, AccessKind kind, unsigned alignment,
                        const uint8_t *value = nullptr);
  void checkGlobalRace(const Inst &inst, unsigned lane, uint64_t address,
                       uint64_t bytes, AccessKind kind, const uint8_t *value,
                       const uint8_t *place);
  uint8_t *accessLocal(const Inst &inst, unsigned lane, uint64_t address,
                       unsigned bytes, AccessKind kind);
  uint8_t *accessParam(const Inst &inst, unsigned lane, uint64_t address,
                       unsigned bytes, AccessKind kind);

  std::vector<char> storage;
  char *file = nullptr;
  /// By slot: the lanes in which the whole register was written.
  std::vector<LaneMask> written;
  /// By slot: the bytes that were written in other lanes, if any were.
  llvm::DenseMap<uint32_t, std::array<ByteMask, kLanes>> partlyWritten;
  std::vector<uint8_t> local, localWritten;
  /// Instructions since groups met, and whose turn it is if they do not.
  uint64_t stagnation = 0;
};

/// Sets the lanes of a row to what `fn` gives for them.
template <typename T, typename Fn>
inline void mapRow(Warp &warp, const Opnd &destination, LaneMask mask, Fn fn) {
  T *row = warp.row<T>(destination);
  forLanes(mask, [&](unsigned lane) { row[lane] = fn(lane); });
}

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_WARP_H
