//===- TensorMemory.cpp - Tensor memory of a block ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "Block.h"
#include "Cluster.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

/// Allocations are multiples of this many columns and start at one.
static constexpr unsigned kAllocationUnit = 32;

std::unique_ptr<TensorOperation> makeOperation(Warp &warp, const Inst &inst,
                                               unsigned lane) {
  auto operation = std::make_unique<TensorOperation>();
  operation->warp = &warp;
  operation->inst = &inst;
  operation->pc = warp.pc;
  operation->lane = lane;
  operation->isPipeline = true;
  return operation;
}

unsigned TensorOperation::getThread() const { return warp->id * kLanes + lane; }

void TensorMemory::start(Block &block) {
  pipeline.clear();
  hasPermit = true;
  if (!block.kernel.usesTensorMemory)
    return;
  // Values that differ from run to run would hide what nobody wrote.
  cells.assign(kTensorLanes * kTensorColumns, ~uint32_t(0));
  shadow.assign(cells.size(), {});
  allocated.assign(kTensorColumns, false);
  allocations.clear();
  startTime = block.cluster.clock.time;
}

void TensorMemory::finish(Block &block) {
  if (!block.stopped)
    for (auto &[column, allocation] : allocations)
      block.report(FindingKind::TensorMemory, *allocation.inst,
                   allocation.thread, column,
                   Twine(allocation.columns) +
                       " columns of tensor memory are not deallocated");
  allocations.clear();
  pipeline.clear();
}

std::optional<unsigned>
TensorMemory::allocate(const Inst &inst, unsigned thread, unsigned columns) {
  for (unsigned first = 0; first + columns <= kTensorColumns;
       first += kAllocationUnit) {
    auto begin = allocated.begin() + first, end = begin + columns;
    if (std::find(begin, end, true) != end)
      continue;
    std::fill(begin, end, true);
    allocations[first] = {columns, &inst, thread};
    // What was there is gone.
    for (unsigned lane = 0; lane != kTensorLanes; ++lane)
      for (unsigned i = 0; i != columns; ++i)
        shadow[makeCell(lane, first + i)].isWritten = false;
    return first;
  }
  return std::nullopt;
}

void TensorMemory::free(unsigned column) {
  auto it = allocations.find(column);
  std::fill_n(allocated.begin() + column, it->second.columns, false);
  allocations.erase(it);
}

bool TensorMemory::checkPlace(TensorOperation &operation, uint32_t lane,
                              uint32_t column, StringRef verb) {
  if (lane < kTensorLanes && column < kTensorColumns && allocated[column])
    return true;
  operation.warp->report(FindingKind::TensorMemory, *operation.inst,
                         operation.lane, lane << 16 | column,
                         verb + " of lane " + Twine(lane) + ", column " +
                             Twine(column) +
                             " of tensor memory, which is not allocated");
  return lane < kTensorLanes && column < kTensorColumns;
}

void TensorMemory::checkOrder(TensorOperation &operation, unsigned cell,
                              StringRef verb, StringRef earlier, unsigned other,
                              uint32_t time, uint32_t sequence, uint32_t pc) {
  Warp &warp = *operation.warp;
  if (time < startTime || other == warp.clusterWarp)
    return;
  auto report = [&](FindingKind kind, const Twine &message) {
    warp.report(kind, *operation.inst, operation.lane, getTensorAddress(cell),
                message);
  };
  std::string place = (verb + " of tensor memory after a " + earlier +
                       " in line " + Twine(warp.kernel.code[pc].line))
                          .str();
  // The pipeline of a thread is in order.
  bool isPipeline = other == warp.block.cluster.getCopyWarp();
  if (isPipeline && operation.isPipeline && sequence == operation.getThread())
    return;
  if (warp.knowledge.seen[other] < time)
    return report(FindingKind::Race, place + " without order");
  // What went through the tensor core is published by its commit.
  if (isPipeline || !operation.needsFences)
    return;
  Warp &otherWarp = warp.block.warps[other % warp.block.numWarps];
  const auto &published = otherWarp.tensorOrder.published;
  auto fence = llvm::find_if(
      published, [&](const auto &entry) { return entry.first > sequence; });
  if (fence == published.end() || fence->second > warp.knowledge.seen[other])
    return report(FindingKind::MissingFence,
                  place + ", without tcgen05.fence::before_thread_sync there");
  const std::vector<uint32_t> &known = warp.tensorOrder.known.seen;
  if (known.empty() || known[other] < time)
    report(FindingKind::MissingFence,
           place + ", without tcgen05.fence::after_thread_sync here");
}

void TensorMemory::checkFlight(TensorOperation &operation, unsigned cell,
                               bool isWrite) {
  const Cell &state = shadow[cell];
  if (!state.writes && !(isWrite && state.reads))
    return;
  // The pipeline of a thread is in order.
  if (operation.isPipeline && state.isPipeline &&
      state.thread == operation.getThread())
    return;
  Warp &warp = *operation.warp;
  warp.report(FindingKind::InFlight, *operation.inst, operation.lane,
              getTensorAddress(cell),
              Twine(isWrite ? "write" : "read") +
                  " of tensor memory that the asynchronous instruction in "
                  "line " +
                  Twine(warp.kernel.code[state.pc].line) + " still " +
                  (state.writes ? "writes" : "reads"));
}

void TensorMemory::hold(TensorOperation &operation, Cell &cell) {
  bool isFirst = !cell.reads && !cell.writes;
  unsigned thread = operation.getThread();
  cell.isPipeline = operation.isPipeline &&
                    (isFirst || (cell.isPipeline && cell.thread == thread));
  cell.thread = thread;
  cell.pc = operation.pc;
}

void TensorMemory::checkRead(TensorOperation &operation, unsigned index) {
  const Cell &cell = shadow[index];
  if (cell.isWritten)
    return checkOrder(operation, index, "read", "write", cell.writer,
                      cell.writeTime, cell.writeSequence, cell.writePc);
  unsigned lane = index / kTensorColumns, column = index % kTensorColumns;
  if (!cell.writes && allocated[column])
    operation.warp->report(FindingKind::UninitializedRead, *operation.inst,
                           operation.lane, getTensorAddress(index),
                           "lane " + Twine(lane) + ", column " + Twine(column) +
                               " of tensor memory was not written");
}

bool TensorMemory::read(TensorOperation &operation, uint32_t lane,
                        uint32_t column) {
  if (!checkPlace(operation, lane, column, "read"))
    return false;
  unsigned index = makeCell(lane, column);
  if (!operation.warp->block.launch.options.sanitize)
    return true;
  operation.reads.push_back(index);
  Cell &cell = shadow[index];
  checkFlight(operation, index, /*isWrite=*/false);
  checkRead(operation, index);
  hold(operation, cell);
  ++cell.reads;
  return true;
}

bool TensorMemory::write(TensorOperation &operation, uint32_t lane,
                         uint32_t column, bool alsoReads) {
  if (!checkPlace(operation, lane, column, "write"))
    return false;
  unsigned index = makeCell(lane, column);
  if (!operation.warp->block.launch.options.sanitize)
    return true;
  operation.writes.push_back(index);
  Cell &cell = shadow[index];
  checkFlight(operation, index, /*isWrite=*/true);
  if (alsoReads)
    checkRead(operation, index);
  else if (cell.isWritten)
    checkOrder(operation, index, "write", "write", cell.writer, cell.writeTime,
               cell.writeSequence, cell.writePc);
  checkOrder(operation, index, "write", "read", cell.reader, cell.readTime,
             cell.readSequence, cell.readPc);
  hold(operation, cell);
  ++cell.writes;
  return true;
}

void TensorMemory::release(Block &block, TensorOperation &operation,
                           unsigned writer) {
  if (!block.launch.options.sanitize)
    return;
  uint32_t time = block.cluster.clock.time;
  uint32_t sequence = operation.isPipeline
                          ? operation.getThread()
                          : operation.warp->tensorOrder.sequence++;
  for (unsigned index : operation.reads) {
    Cell &cell = shadow[index];
    --cell.reads;
    cell.readTime = time;
    cell.reader = writer;
    cell.readPc = operation.pc;
    cell.readSequence = sequence;
  }
  for (unsigned index : operation.writes) {
    Cell &cell = shadow[index];
    --cell.writes;
    cell.isWritten = true;
    cell.writeTime = time;
    cell.writer = writer;
    cell.writePc = operation.pc;
    cell.writeSequence = sequence;
  }
}

void TensorMemory::enqueue(std::unique_ptr<TensorOperation> operation) {
  pipeline.push_back(std::move(operation));
}

bool TensorMemory::completeNext(Block &block) {
  auto commit = llvm::find_if(
      pipeline, [](const auto &operation) { return operation->isCommit; });
  if (commit == pipeline.end())
    return false;
  // All that the thread issued before.
  unsigned thread = (*commit)->getThread(),
           count = commit - pipeline.begin() + 1;
  std::deque<std::unique_ptr<TensorOperation>> rest;
  for (unsigned i = 0; i != count; ++i) {
    std::unique_ptr<TensorOperation> operation = std::move(pipeline.front());
    pipeline.pop_front();
    if (operation->getThread() != thread) {
      rest.push_back(std::move(operation));
      continue;
    }
    operation->run(*operation);
    if (operation->isCommit)
      continue;
    unsigned copies = block.cluster.getCopyWarp();
    operation->a.release(*operation->warp, operation->pc, copies);
    operation->b.release(*operation->warp, operation->pc, copies);
    release(block, *operation, copies);
  }
  for (auto &operation : reverse(rest))
    pipeline.push_front(std::move(operation));
  return true;
}

} // namespace mamba::sim
