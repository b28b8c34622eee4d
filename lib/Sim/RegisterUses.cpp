//===- RegisterUses.cpp - Registers of asynchronous instructions ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisterUses.h"

#include "Block.h"
#include "Definedness.h"

using namespace llvm;

namespace mamba::sim {

void RegisterUses::start(const Kernel &kernel) {
  tracks = kernel.usesAsyncRegisters;
  epoch = 0;
  if (!tracks)
    return;
  writeEpochs.assign(kernel.written.size(), 0);
  uses.assign(kernel.written.size(), {});
}

void RegisterUses::report(Warp &warp, const Inst &inst, LaneMask lanes,
                          const Opnd &row, StringRef verb) {
  if (!warp.block.launch.options.sanitize)
    return;
  const Use &use = get(row);
  warp.report(FindingKind::InFlight, inst, countr_zero(lanes), std::nullopt,
              verb + " of register " + warp.kernel.slotNames[row.slot] +
                  ", which the asynchronous instruction in line " +
                  Twine(use.user->inst->line) +
                  (use.isInput ? " still reads" : " still writes"));
}

void RegisterUses::noteInstruction(Warp &warp, const Inst &inst,
                                   LaneMask lanes) {
  if (inst.isAsync)
    return; // looks at its registers itself
  bool copies =
      inst.propagate == propagateMove && inst.numDsts == 1 && inst.numOps == 2;
  if (copies && lanes == kAllLanes) {
    const Opnd &to = inst.ops[0], &from = inst.ops[1];
    Use use = uses[from.slot];
    const Use &old = uses[to.slot];
    bool isSame = old.user == use.user && old.index == use.index;
    if (old.user && !isSame)
      report(warp, inst, lanes, to, "write");
    bool isConstant = warp.kernel.slotNames[from.slot].empty();
    writeEpochs[to.slot] = isConstant ? epoch : writeEpochs[from.slot];
    if (use.user && !use.isInput)
      claim(to, *use.user, use.index, false);
    return;
  }
  for (unsigned i = inst.numDsts; i != inst.numOps; ++i)
    if (get(inst.ops[i]).user)
      report(warp, inst, lanes, inst.ops[i], "read");
  for (unsigned i = 0; i != inst.numDsts; ++i) {
    if (get(inst.ops[i]).user)
      report(warp, inst, lanes, inst.ops[i], "write");
    writeEpochs[inst.ops[i].slot] = epoch;
  }
}

void RegisterUses::claim(const Opnd &row, AsyncInstruction &user,
                         unsigned index, bool isInput) {
  uses[row.slot] = {&user, uint16_t(index), isInput};
  user.registers.push_back(row);
}

void RegisterUses::release(AsyncInstruction &user,
                           function_ref<void(const Opnd &, unsigned)> fn) {
  for (const Opnd &row : user.registers) {
    Use &use = uses[row.slot];
    if (use.user != &user)
      continue;
    if (!use.isInput)
      fn(row, use.index);
    use = {};
  }
}

} // namespace mamba::sim
