//===- TensorMemory.h - Tensor memory of a block ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensor Memory": 128 lanes of 512 columns of 32 bits, allocated by
// columns. Each cell remembers who touched it last and which instructions in
// flight use it.
//
// Between warps accesses are ordered by a barrier with
// tcgen05.fence::before_thread_sync before it and ::after_thread_sync behind.
// Instructions of one thread that go through the tensor core, mma, cp and
// shift, follow each other in order.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_TENSORMEMORY_H
#define MAMBA_LIB_SIM_TENSORMEMORY_H

#include "RegisterUses.h"
#include "Shadow.h"
#include "SharedMatrix.h"

#include "llvm/ADT/FunctionExtras.h"

#include <deque>
#include <map>
#include <memory>

namespace mamba::sim {

class Block;

constexpr unsigned kTensorLanes = 128, kTensorColumns = 512;

/// A cell by lane and column, as addresses have them.
constexpr unsigned makeCell(unsigned lane, unsigned column) {
  return lane * kTensorColumns + column;
}
constexpr uint32_t getTensorAddress(unsigned cell) {
  return cell / kTensorColumns << 16 | cell % kTensorColumns;
}

/// What an instruction in flight does to cells and shared memory.
struct TensorOperation {
  Warp *warp;
  const Inst *inst;
  uint32_t pc;
  unsigned lane;   // of the warp
  bool isPipeline; // goes through the tensor core
  /// Between warps it takes tcgen05.fence and not only a barrier.
  bool needsFences = true;
  std::vector<unsigned> reads, writes;
  ChunkReads a, b;
  /// Reads operands and writes results; or, for a commit, arrives.
  llvm::unique_function<void(TensorOperation &)> run;
  bool isCommit = false;

  unsigned getThread() const;
};

/// An operation of the tensor core that `lane` issues with the instruction.
std::unique_ptr<TensorOperation> makeOperation(Warp &warp, const Inst &inst,
                                               unsigned lane);

/// What a warp did with tensor memory, and what it knows of others.
struct TensorOrder {
  /// Accesses so far; and at every fence::before_thread_sync their number and
  /// the time.
  uint32_t sequence = 0;
  std::vector<std::pair<uint32_t, uint32_t>> published;
  /// At the last fence::after_thread_sync.
  Knowledge known;
};

/// Loads and stores of a warp that it has not waited for.
class TensorTransfers {
public:
  struct Transfer : AsyncInstruction {
    TensorOperation operation;
    uint32_t address;
    /// Of stores: 32 lanes for each register.
    std::vector<uint32_t> values;
  };

  void start() { pending[0].clear(), pending[1].clear(); }
  Transfer &add(bool isLoad) {
    pending[isLoad].push_back(std::make_unique<Transfer>());
    return *pending[isLoad].back();
  }
  void wait(Warp &warp, bool isLoad);

private:
  std::vector<std::unique_ptr<Transfer>> pending[2];
};

class TensorMemory {
public:
  void start(Block &block);
  /// Leaked columns. Instructions in flight are forgotten.
  void finish(Block &block);

  // Allocation by columns.
  /// The first column, or nothing if there is no room.
  std::optional<unsigned> allocate(const Inst &inst, unsigned thread,
                                   unsigned columns);
  /// Whether an allocation of this size starts there.
  bool hasAllocation(unsigned column, unsigned columns) const {
    auto it = allocations.find(column);
    return it != allocations.end() && it->second.columns == columns;
  }
  void free(unsigned column);
  bool hasPermit = true; // to allocate

  uint32_t &operator[](unsigned cell) { return cells[cell]; }

  /// Adds a cell to what the operation reads or writes; finds faults. Returns
  /// false for a cell that does not exist.
  bool read(TensorOperation &operation, uint32_t lane, uint32_t column);
  bool write(TensorOperation &operation, uint32_t lane, uint32_t column,
             bool alsoReads = false);
  /// The operation does not use its cells and operands any more. `writer` is
  /// the warp whose waiting orders the accesses.
  void release(Block &block, TensorOperation &operation, unsigned writer);

  /// Puts an instruction into the pipeline of its thread.
  void enqueue(std::unique_ptr<TensorOperation> operation);
  /// Completes what the oldest commit waits for. Returns whether there was one.
  bool completeNext(Block &block);

private:
  struct Cell {
    uint32_t writeTime, writePc, writeSequence, readTime, readPc, readSequence;
    uint16_t writer, reader;
    // In flight, the last one of them, and whether all are of one pipeline.
    uint16_t reads, writes, thread;
    bool isPipeline;
    uint32_t pc;
    bool isWritten;
  };
  struct Allocation {
    unsigned columns;
    const Inst *inst;
    unsigned thread;
  };

  bool checkPlace(TensorOperation &operation, uint32_t lane, uint32_t column,
                  llvm::StringRef verb);
  void checkOrder(TensorOperation &operation, unsigned cell,
                  llvm::StringRef verb, llvm::StringRef earlier, unsigned other,
                  uint32_t time, uint32_t sequence, uint32_t pc);
  void checkFlight(TensorOperation &operation, unsigned cell, bool isWrite);
  void checkRead(TensorOperation &operation, unsigned cell);
  void hold(TensorOperation &operation, Cell &cell);

  std::vector<uint32_t> cells;
  std::vector<Cell> shadow;
  std::vector<bool> allocated; // by column
  std::map<unsigned, Allocation> allocations;
  std::deque<std::unique_ptr<TensorOperation>> pipeline;
  uint32_t startTime = 0;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_TENSORMEMORY_H
