//===- RegisterUses.h - Registers of asynchronous instructions --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which registers of a warp belong to instructions that it has not waited for.
//
// A copy of a register that will get a result is another name of it: the
// assembler removes the copies that compilers put between such instructions.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_REGISTERUSES_H
#define MAMBA_LIB_SIM_REGISTERUSES_H

#include "Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mamba::sim {

/// An instruction that uses registers until the warp waits for it.
struct AsyncInstruction {
  const Inst *inst = nullptr;
  std::vector<Opnd> registers;
};

class RegisterUses {
public:
  struct Use {
    AsyncInstruction *user = nullptr;
    uint16_t index = 0; // of the result
    bool isInput = false;
  };

  void start(const Kernel &kernel);
  bool isTracking() const { return tracks; }
  /// Called before every instruction of a kernel that needs it.
  void noteInstruction(Warp &warp, const Inst &inst, LaneMask lanes);

  const Use &get(const Opnd &row) const { return uses[row.slot]; }
  void claim(const Opnd &row, AsyncInstruction &user, unsigned index,
             bool isInput);
  /// Ends the uses by `user`; calls `fn` with the row and the index of each
  /// register that gets a result.
  void release(AsyncInstruction &user,
               llvm::function_ref<void(const Opnd &, unsigned)> fn);

  void report(Warp &warp, const Inst &inst, LaneMask lanes, const Opnd &row,
              llvm::StringRef verb);

  /// Fences separate epochs.
  void advanceEpoch() { ++epoch; }
  uint32_t getEpoch() const { return epoch; }
  /// When the register was written by something that was no copy.
  uint32_t getWriteEpoch(const Opnd &row) const {
    return writeEpochs[row.slot];
  }

private:
  bool tracks = false;
  uint32_t epoch = 0;
  std::vector<uint32_t> writeEpochs; // by slot
  std::vector<Use> uses;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_REGISTERUSES_H
