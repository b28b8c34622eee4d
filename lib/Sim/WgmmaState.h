//===- WgmmaState.h - wgmma instructions of a warp in flight ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp of a warpgroup multiplies its own 16 rows. Operands in shared
// memory are read, and results appear, when the warp waits for them; until then
// the registers belong to the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_WGMMASTATE_H
#define MAMBA_LIB_SIM_WGMMASTATE_H

#include "Program.h"

#include <deque>
#include <memory>

namespace mamba::sim {

class Block;

class WgmmaState {
public:
  WgmmaState();
  ~WgmmaState();

  void start();
  void issue(Warp &warp, const Inst &inst);
  void commit() { ++group; }
  /// Waits for all but the last `keep` groups.
  void wait(Warp &warp, uint64_t keep);
  /// Lets a random number of instructions read and compute early.
  void completeSome(Warp &warp, uint64_t random);

private:
  struct Operation;
  void claimAccumulators(Warp &warp, const Inst &inst, Operation &operation);
  void claimInputs(Warp &warp, const Inst &inst, Operation &operation);
  void readDescriptors(Warp &warp, const Inst &inst, Operation &operation);
  void compute(Warp &warp, Operation &operation);
  void retire(Warp &warp, Operation &operation);
  void checkFence(Warp &warp, const Inst &inst, const Opnd &row);

  std::deque<std::unique_ptr<Operation>> operations;
  uint64_t group = 0;
};

/// The order in which the warps of a block's warpgroups execute wgmma; it has
/// to be the same in all four.
class WarpgroupOrder {
public:
  void start(unsigned numWarps);
  void note(Warp &warp, const Inst &inst, uint64_t a, uint64_t b);
  /// At the end of the block.
  void finish(Block &block);

private:
  struct Entry {
    uint32_t pc;
    uint64_t a, b; // descriptors
    unsigned warps;
  };
  struct Group {
    std::deque<Entry> entries;
    uint64_t first = 0; // number of the first entry
    uint64_t next[4] = {};
  };
  std::vector<Group> groups;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_WGMMASTATE_H
