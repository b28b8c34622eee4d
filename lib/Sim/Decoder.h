//===- Decoder.h - From instructions of PTX to functions --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family of instructions has a `decode` function: it takes modifiers and
// operands in any order and sets `inst.run`. What it leaves untaken is an error
// that names it, as is an instruction without a function.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_DECODER_H
#define MAMBA_LIB_SIM_DECODER_H

#include "Program.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

namespace mamba::sim {

class Decoder;
using DecodeFunction = void (*)(Decoder &);

/// Maps the first word of opcodes to decode functions.
using DecodeTable = llvm::StringMap<DecodeFunction>;
void addIntegerInstructions(DecodeTable &table);
void addBitInstructions(DecodeTable &table);
void addFloatInstructions(DecodeTable &table);
void addApproximateInstructions(DecodeTable &table);
void addCompareInstructions(DecodeTable &table);
void addConvertInstructions(DecodeTable &table);
void addMoveInstructions(DecodeTable &table);
void addMemoryInstructions(DecodeTable &table);
void addAtomicInstructions(DecodeTable &table);
void addAsyncCopyInstructions(DecodeTable &table);
void addMbarrierInstructions(DecodeTable &table);
void addClusterInstructions(DecodeTable &table);
void addWarpInstructions(DecodeTable &table);
void addControlInstructions(DecodeTable &table);
void addMatrixInstructions(DecodeTable &table);
void addWgmmaInstructions(DecodeTable &table);
void addTcgen05Instructions(DecodeTable &table);

/// Shapes of mma.sync that MmaShapes.cpp knows.
bool isOtherMma(llvm::StringRef opcode);
void decodeOtherMma(Decoder &d);

/// Parts of tcgen05, from behind the second word.
void decodeTensorLoad(Decoder &d);
void decodeTensorStore(Decoder &d);
void decodeTensorWait(Decoder &d, bool isLoad);
void decodeTensorCopy(Decoder &d);
void decodeTensorShift(Decoder &d);
void decodeTensorMma(Decoder &d);

/// An instruction that concerns timing, resources or caches only: its modifiers
/// and operands may be anything.
void decodeIgnored(Decoder &d);
/// barrier.cluster, from behind "cluster".
void decodeClusterBarrier(Decoder &d);
/// st.async and red.async, from behind "async".
void decodeAsyncStore(Decoder &d, bool reduces);
/// bar.warp.sync, from behind "warp".
void decodeWarpBarrier(Decoder &d);

class Decoder {
public:
  Decoder(const ptx::Module &module, const ptx::Entry &entry,
          const llvm::StringMap<uint64_t> &globals, Kernel &kernel);

  /// Fills in the kernel. Returns false after the first problem.
  bool decodeKernel();
  std::string message;

  // What decode functions use. After a failure everything is harmless.

  Inst inst;
  llvm::StringRef opcode, base;

  void fail(const llvm::Twine &text);
  bool failed() const { return !message.empty(); }

  /// Whether the modifier was there; it is taken.
  bool take(llvm::StringRef modifier);
  /// The index of the first of `modifiers` that is there, else nothing.
  std::optional<unsigned> takeOneOf(llvm::ArrayRef<llvm::StringRef> modifiers);
  /// The next modifier that is a type.
  Type takeType();
  std::optional<Type> tryTakeType();
  /// The next modifier, whatever it is.
  llvm::StringRef takeAny();
  bool hasModifiers() const { return !modifiers.empty(); }

  /// Operands in order. All are rows of a value's own size, except that "wide"
  /// ones may be registers with more bits.
  void dst(Type type);
  void dstWide(Type type);
  void src(Type type);
  void srcWide(Type type);
  /// A destination or source in braces, each a register of `type`, or a single
  /// one. Returns how many.
  unsigned dstVector(Type type, bool wide = false);
  unsigned srcVector(Type type, bool wide = false);
  /// "[base+offset]": the base becomes a source, inst.address its place.
  void address();
  void pushAddress(const ptx::Operand &operand);
  /// An integer that is known now.
  int64_t constant();
  /// "%p|%q" as two destinations of which the second may be missing.
  bool dstPair(Type first, Type second);
  /// The next operand, not taken.
  const ptx::Operand *peek() const;
  const ptx::Operand *takeOperand();
  unsigned countOperands() const {
    return current->operands.size() - nextOperand;
  }
  unsigned countSources() const { return sources.size(); }
  /// Whether an operand is a predicate register.
  /// Whether an address starts at a variable of the thread, as parameters of
  /// calls do.
  bool isLocal(const ptx::Operand &address) const;
  bool isPredicate(const ptx::Operand &operand) const {
    return operand.kind == ptx::Operand::Register &&
           registers[operand.reg].isPredicate;
  }
  bool hasOperands() const { return nextOperand < current->operands.size(); }
  /// A name: of a label or of a branch table.
  llvm::StringRef name();
  /// The instruction behind a label.
  uint32_t lookupLabel(llvm::StringRef name);
  /// The instructions that a `brx.idx` chooses from.
  const std::vector<uint32_t> *makeTable(llvm::StringRef name);
  /// A constant source that is not in the text.
  void constantSource(Type type, uint64_t bits);
  /// Whether the only destination and the first source have just these sizes.
  bool hasExactRows(Type to, Type from) const {
    return destinations.front().bytes == getSize(to) &&
           sources.front().bytes == getSize(from);
  }
  /// Rows for operands outside of the order above.
  Opnd getRow(const ptx::Operand &operand, Type type, bool wide,
              bool isDestination);
  void pushDestination(Opnd row);
  void pushSource(Opnd row);

private:
  bool decodeInstruction(const ptx::Instruction &instruction);
  void layoutVariables();
  Opnd makeRow(unsigned bytes, bool isPredicate, llvm::StringRef name,
               LaneMask written);
  Opnd getConstant(uint64_t bits, unsigned bytes, bool isPredicate);
  Opnd getSharedAddress(uint64_t address, unsigned bytes);
  Opnd getSpecial(llvm::StringRef name);
  std::optional<uint64_t> lookupSymbol(llvm::StringRef name) const;
  bool convertLiteral(const ptx::Operand &operand, Type type, uint64_t &bits);
  bool isShared(llvm::StringRef symbol) const {
    return sharedSymbols.contains(symbol);
  }

  const ptx::Module &module;
  const ptx::Entry &entry;
  const llvm::StringMap<uint64_t> &globals;
  Kernel &kernel;
  const ptx::Instruction *current = nullptr;
  unsigned nextOperand = 0;
  llvm::SmallVector<llvm::StringRef> modifiers;
  llvm::SmallVector<Opnd> destinations, sources;
  std::vector<Opnd> registers;
  std::vector<std::pair<std::pair<uint64_t, unsigned>, Opnd>> constants,
      sharedAddresses;
  /// Shared, local and parameter variables of this kernel.
  llvm::StringMap<uint64_t> symbols;
  llvm::StringSet<> sharedSymbols;
};

/// Orders the basic blocks of a kernel, so that threads of a warp meet again as
/// soon as control flow allows if those that are behind always run first.
void orderCode(Kernel &kernel);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_DECODER_H
