//===- Liveness.cpp - How many registers a kernel needs at once -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The largest number of registers that are live at one place of the decoded
// code, in the order of the PTX text. An assembler orders instructions anew and
// may come out above or below.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

class Liveness {
public:
  explicit Liveness(const Kernel &kernel) : kernel(kernel) {}
  unsigned run();

private:
  struct Segment {
    uint32_t begin, end;
    BitVector used, defined, liveIn;
    SmallVector<uint32_t, 2> successors; // first instructions
  };

  bool isRegister(const Opnd &operand) const {
    return operand.slot < kernel.registerUnits.size() && !operand.isPredicate;
  }
  void findSegments();
  void propagate();
  BitVector getLiveOut(const Segment &segment) const;
  void count(Segment &segment, unsigned &peak) const;

  const Kernel &kernel;
  std::vector<Segment> segments;
  std::vector<uint32_t> segmentOf; // by instruction that starts one
};

} // namespace

void Liveness::findSegments() {
  const std::vector<Inst> &code = kernel.code;
  BitVector starts = findBlockStarts(code);
  segmentOf.resize(code.size() + 1);
  BitVector none(kernel.registerUnits.size());
  for (uint32_t i = 0; i != code.size(); ++i) {
    if (starts[i]) {
      segmentOf[i] = segments.size();
      segments.push_back({i, i, none, none, none, {}});
    }
    Segment &segment = segments.back();
    segment.end = i + 1;
    const Inst &inst = code[i];
    for (unsigned op = inst.numDsts; op != inst.numOps; ++op)
      if (isRegister(inst.ops[op]) && !segment.defined[inst.ops[op].slot])
        segment.used.set(inst.ops[op].slot);
    // What a guarded instruction does not write keeps its value.
    for (unsigned op = 0; op != inst.numDsts; ++op)
      if (isRegister(inst.ops[op]) && !inst.hasGuard)
        segment.defined.set(inst.ops[op].slot);
  }
  for (Segment &segment : segments) {
    const Inst &last = code[segment.end - 1];
    bool goesOn = !endsBlock(last) || last.hasGuard;
    if (goesOn && segment.end != code.size())
      segment.successors.push_back(segment.end);
    if (last.flow == Flow::Branch)
      segment.successors.push_back(last.target);
    if (last.flow == Flow::BranchIndexed)
      append_range(segment.successors, *last.targets);
  }
}

BitVector Liveness::getLiveOut(const Segment &segment) const {
  BitVector live(kernel.registerUnits.size());
  for (uint32_t successor : segment.successors)
    live |= segments[segmentOf[successor]].liveIn;
  return live;
}

void Liveness::propagate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Segment &segment : reverse(segments)) {
      BitVector live = getLiveOut(segment);
      live.reset(segment.defined);
      live |= segment.used;
      if (live == segment.liveIn)
        continue;
      segment.liveIn = std::move(live);
      changed = true;
    }
  }
}

void Liveness::count(Segment &segment, unsigned &peak) const {
  BitVector live = getLiveOut(segment);
  unsigned units = 0;
  for (unsigned slot : live.set_bits())
    units += kernel.registerUnits[slot];
  peak = std::max(peak, units);
  for (uint32_t i = segment.end; i-- != segment.begin;) {
    const Inst &inst = kernel.code[i];
    auto add = [&](const Opnd &operand) {
      if (!isRegister(operand) || live[operand.slot])
        return;
      live.set(operand.slot);
      units += kernel.registerUnits[operand.slot];
    };
    // Results that nothing reads need a place too.
    for (unsigned op = 0; op != inst.numDsts; ++op)
      add(inst.ops[op]);
    peak = std::max(peak, units);
    for (unsigned op = 0; op != inst.numDsts; ++op) {
      const Opnd &operand = inst.ops[op];
      if (!isRegister(operand) || inst.hasGuard || !live[operand.slot])
        continue;
      live.reset(operand.slot);
      units -= kernel.registerUnits[operand.slot];
    }
    for (unsigned op = inst.numDsts; op != inst.numOps; ++op)
      add(inst.ops[op]);
    peak = std::max(peak, units);
  }
}

unsigned Liveness::run() {
  findSegments();
  propagate();
  unsigned peak = 0;
  for (Segment &segment : segments)
    count(segment, peak);
  return peak;
}

unsigned countLiveRegisters(const Kernel &kernel) {
  return Liveness(kernel).run();
}

} // namespace mamba::sim
