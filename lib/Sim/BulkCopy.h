//===- BulkCopy.h - Copies by the asynchronous proxy ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_BULKCOPY_H
#define MAMBA_LIB_SIM_BULKCOPY_H

#include "Decoder.h"
#include "Warp.h"

#include <functional>
#include <map>

namespace mamba::sim {

class Cluster;
struct TensorMap;

/// Combines elements at `to` with those at `from`.
using Reduction = void (*)(uint8_t *to, const uint8_t *from, unsigned bytes);

/// The function for an operation on elements of a type, or null. The operation
/// is an atomic::Operation.
Reduction getReduction(uint8_t operation, Type type);
/// Takes the operation of a reduction (.add, .min, ..), one of `atomic`, off
/// the opcode, and marks the instruction as one. False if there is none.
bool takeReduction(Decoder &d);

/// What an instruction asked for and has not been seen to happen.
struct BulkCopy {
  /// A run of bytes. Places in shared memory are also known by their offset.
  struct Piece {
    uint8_t *to;
    const uint8_t *from; // null: fill
    uint32_t bytes;
    uint32_t toOffset, fromOffset;
  };

  Warp *warp;
  unsigned lane;
  uint32_t pc;
  /// Blocks in whose shared memory it writes and reads; null for global.
  Block *toBlock = nullptr, *fromBlock = nullptr;
  std::vector<Piece> pieces;
  Reduction reduction = nullptr;
  /// An element of what is outside of a tensor.
  uint64_t fill = 0;
  unsigned fillBytes = 1;

  /// Completion: bytes of an mbarrier, or a bulk group of the thread.
  Block *barrierBlock = nullptr;
  uint64_t barrierOffset = 0;
  uint32_t barrierBytes = 0;
  uint32_t group = 0;

  /// No bytes but an arrival at the mbarrier, after `action`: what is complete
  /// by then.
  bool isArrival = false;
  std::function<void()> action;

  /// Not of st.async, nor of arrivals.
  bool isAsyncProxy = true;

  /// The source, read before it is written to its destination.
  bool wasRead = false;
  std::vector<uint8_t> data;

  /// Appends a run, or lengthens the last one.
  void add(const Piece &piece);
};

/// The copies of a cluster that are on their way. Those of an mbarrier take
/// place when somebody waits for it, those of a group when its thread waits:
/// as late as may be. With a seed, some do so earlier.
class BulkCopies {
public:
  explicit BulkCopies(Cluster &cluster) : cluster(cluster) {}

  /// Starts a copy after its accesses have been checked.
  void start(BulkCopy copy);
  void deliverTo(Block &block, uint64_t barrierOffset);
  void commit(uint32_t thread) { ++committed[thread]; }
  /// Waits until at most `keep` groups of the thread are left, or have not been
  /// read.
  void wait(uint32_t thread, uint32_t keep, bool onlyReads);
  /// One step of any copy, or none.
  void deliverRandom();
  /// The cluster has ended.
  void finish(bool reports);

private:
  void read(BulkCopy &copy);
  void complete(BulkCopy &copy);
  void land(BulkCopy &copy);
  void signal(BulkCopy &copy);
  uint32_t getGroup(uint32_t thread) {
    auto it = committed.find(thread);
    return it == committed.end() ? 0 : it->second;
  }

  Cluster &cluster;
  std::vector<BulkCopy> copies;
  /// Bulk groups by thread.
  std::map<uint32_t, uint32_t> committed;
};

/// Memory operands of bulk copies: a base and, as a constant, its displacement.
/// Returns the operand's place among the sources.
unsigned takeAddress(Decoder &d);
unsigned pushAddress(Decoder &d, const ptx::Operand &operand);
uint64_t getAddress(const Warp &warp, const Inst &inst, unsigned source,
                    unsigned lane);

/// Where a copy goes to, by its modifiers.
enum class BulkDirection : uint8_t { Load, Store, SharedToCluster };
std::optional<BulkDirection> takeDirection(Decoder &d, Space &destination);

/// Looks for faults of a copy's accesses to shared memory and marks what it
/// will write. `base` is the address of offset 0.
void checkBulkWrite(Warp &warp, const Inst &inst, unsigned lane,
                    const SharedPlace &place, uint64_t bytes);
void checkBulkRead(Warp &warp, const Inst &inst, unsigned lane,
                   const SharedPlace &place, uint64_t bytes);
/// One request of global memory.
void countBulk(Warp &warp, const BulkCopy &copy, bool isStore);

/// Starts a copy for each block of the mask: `copy` with its places moved from
/// the block of its destination.
void startMulticast(Warp &warp, const Inst &inst, unsigned lane,
                    const BulkCopy &copy, uint16_t mask);

/// Signals the bytes of a copy that cannot be made, so that who waits for it
/// goes on.
void dropCopy(Warp &warp, const Inst &inst, unsigned lane, Space space,
              uint64_t barrierAddress, uint64_t bytes);

/// The object that `copy` signals. Returns false after a finding.
bool setBarrier(Warp &warp, const Inst &inst, unsigned lane, Space space,
                uint64_t address, uint32_t bytes, BulkCopy &copy);

// Behind "cp.async.bulk", "cp.reduce.async.bulk" and the same with ".tensor".
void decodeBulk(Decoder &d, bool reduces);
void decodeTensor(Decoder &d, BulkDirection direction, Space destination,
                  bool reduces);
void decodeTensorPrefetch(Decoder &d);
/// cp.async.mbarrier.arrive
void decodeCopyArrive(Decoder &d);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_BULKCOPY_H
