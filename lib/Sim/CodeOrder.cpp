//===- CodeOrder.cpp - The order of basic blocks --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp runs those of its threads first whose place in the code is smallest.
// If blocks stand in a topological order (back edges aside) in which loops are
// contiguous, then threads that took different ways wait for each other where
// the ways join, and threads that left a loop wait for those still in it.
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

struct Block {
  uint32_t begin, end;
  SmallVector<unsigned, 2> successors, predecessors;
  /// The block behind it, if control can reach that.
  std::optional<unsigned> next;
};

class CodeOrder {
public:
  explicit CodeOrder(Kernel &kernel) : kernel(kernel) {}
  void run();

private:
  void findBlocks();
  void findDominators();
  void findLoops();
  std::vector<unsigned> getOrder() const;
  void emit(ArrayRef<unsigned> order);
  unsigned countCommonLoops(unsigned a, unsigned b) const;

  Kernel &kernel;
  std::vector<Block> blocks;
  std::vector<unsigned> blockOf; // by instruction that starts one
  std::vector<BitVector> dominators;
  std::vector<BitVector> loops;
};

} // namespace

static bool isUnconditional(const Inst &inst) {
  return !inst.hasGuard && endsBlock(inst);
}

BitVector findBlockStarts(const std::vector<Inst> &code) {
  BitVector starts(code.size() + 1);
  starts.set(0);
  for (auto [index, inst] : enumerate(code)) {
    if (inst.flow == Flow::Branch)
      starts.set(inst.target);
    if (inst.flow == Flow::BranchIndexed)
      for (uint32_t target : *inst.targets)
        starts.set(target);
    if (endsBlock(inst))
      starts.set(index + 1);
  }
  return starts;
}

void CodeOrder::findBlocks() {
  const std::vector<Inst> &code = kernel.code;
  BitVector starts = findBlockStarts(code);
  blockOf.assign(code.size() + 1, 0);
  for (uint32_t i = 0; i != code.size(); ++i) {
    if (starts[i]) {
      blockOf[i] = blocks.size();
      blocks.push_back({i, i, {}, {}, std::nullopt});
    }
    blocks.back().end = i + 1;
  }
  for (unsigned b = 0; b != blocks.size(); ++b) {
    Block &block = blocks[b];
    const Inst &last = code[block.end - 1];
    if (!isUnconditional(last)) {
      block.next = b + 1;
      block.successors.push_back(b + 1);
    }
    if (last.flow == Flow::Branch)
      block.successors.push_back(blockOf[last.target]);
    if (last.flow == Flow::BranchIndexed)
      for (uint32_t target : *last.targets)
        block.successors.push_back(blockOf[target]);
    for (unsigned successor : block.successors)
      blocks[successor].predecessors.push_back(b);
  }
}

void CodeOrder::findDominators() {
  dominators.assign(blocks.size(), BitVector(blocks.size(), true));
  dominators[0].reset();
  dominators[0].set(0);
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned b = 1; b < blocks.size(); ++b) {
      BitVector set(blocks.size(), !blocks[b].predecessors.empty());
      for (unsigned predecessor : blocks[b].predecessors)
        set &= dominators[predecessor];
      set.set(b);
      if (set == dominators[b])
        continue;
      dominators[b] = std::move(set);
      changed = true;
    }
  }
}

void CodeOrder::findLoops() {
  for (unsigned header = 0; header != blocks.size(); ++header) {
    BitVector loop(blocks.size());
    SmallVector<unsigned> open;
    for (unsigned latch : blocks[header].predecessors)
      if (dominators[latch][header])
        open.push_back(latch);
    if (open.empty())
      continue;
    loop.set(header);
    while (!open.empty()) {
      unsigned block = open.pop_back_val();
      if (loop[block])
        continue;
      loop.set(block);
      append_range(open, blocks[block].predecessors);
    }
    loops.push_back(std::move(loop));
  }
}

unsigned CodeOrder::countCommonLoops(unsigned a, unsigned b) const {
  return count_if(loops,
                  [&](const BitVector &loop) { return loop[a] && loop[b]; });
}

std::vector<unsigned> CodeOrder::getOrder() const {
  // Reverse postorder. What is visited last comes next: so ways out of loops
  // are visited first, and else what is later in the text.
  struct Visit {
    unsigned block;
    SmallVector<unsigned, 2> successors;
  };
  std::vector<unsigned> order;
  BitVector seen(blocks.size());
  auto makeVisit = [&](unsigned block) {
    Visit visit{block, blocks[block].successors};
    llvm::sort(visit.successors, [&](unsigned a, unsigned b) {
      unsigned loopsA = countCommonLoops(block, a),
               loopsB = countCommonLoops(block, b);
      return loopsA != loopsB ? loopsA > loopsB : a < b;
    });
    seen.set(block);
    return visit;
  };
  std::vector<Visit> stack = {makeVisit(0)};
  while (!stack.empty()) {
    Visit &top = stack.back();
    if (top.successors.empty()) {
      order.push_back(top.block);
      stack.pop_back();
      continue;
    }
    unsigned successor = top.successors.pop_back_val();
    if (!seen[successor])
      stack.push_back(makeVisit(successor));
  }
  std::reverse(order.begin(), order.end());
  return order;
}

void CodeOrder::emit(ArrayRef<unsigned> order) {
  std::vector<Inst> code;
  std::vector<uint32_t> places(kernel.code.size() + 1, 0);
  for (auto [position, b] : enumerate(order)) {
    const Block &block = blocks[b];
    places[block.begin] = code.size();
    code.insert(code.end(), kernel.code.begin() + block.begin,
                kernel.code.begin() + block.end);
    if (!block.next ||
        (position + 1 != order.size() && order[position + 1] == *block.next))
      continue;
    Inst jump;
    jump.flow = Flow::Branch;
    jump.synthetic = true;
    jump.target = blocks[*block.next].begin;
    jump.line = code.back().line;
    code.push_back(jump);
  }
  for (Inst &inst : code)
    if (inst.flow == Flow::Branch)
      inst.target = places[inst.target];
  for (std::vector<uint32_t> &table : kernel.branchTables)
    for (uint32_t &target : table)
      target = places[target];
  kernel.code = std::move(code);
}

void CodeOrder::run() {
  findBlocks();
  findDominators();
  findLoops();
  emit(getOrder());
}

void orderCode(Kernel &kernel) { CodeOrder(kernel).run(); }

} // namespace mamba::sim
