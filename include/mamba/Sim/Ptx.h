//===- Ptx.h - PTX text as a tree -------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of a PTX module that running its kernels needs: variables, kernels
// and their instructions, with names resolved to registers and labels. What an
// opcode means is not known here.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_SIM_PTX_H
#define MAMBA_SIM_PTX_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mamba::ptx {

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
};

/// The type that `name` ("f32", without the dot) stands for.
std::optional<Type> parseType(llvm::StringRef name);

/// "f32".
llvm::StringRef getName(Type type);

/// Bytes of a value; 4 for a predicate, which is kept as one bit of a word.
unsigned getSize(Type type);

/// Whether values are signed integers.
bool isSigned(Type type);

/// Whether the type is .bN, .uN or .sN.
bool isInteger(Type type);

enum class Space : uint8_t {
  Generic,
  Global,
  Shared, // of the own block
  SharedCluster,
  Local,
  Param,
  Const
};

struct Operand {
  enum Kind : uint8_t {
    Register, // reg
    Special,  // name, "%tid.x"
    Integer,  // bits
    Single,   // bits of an f32
    Double,   // bits of an f64
    Symbol,   // name, offset: the address of a variable, or a label
    Address,  // parts[0], offset: memory at it
    Vector,   // parts
    Pair,     // parts: two destinations, "%p1|%p2"
    Sink      // "_"
  };
  Kind kind;
  /// "!%p1".
  bool negated = false;
  unsigned reg = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  llvm::StringRef name;
  std::vector<Operand> parts;
};

struct Instruction {
  unsigned line;
  /// The opcode with all modifiers, "ld.global.v4.f32".
  llvm::StringRef opcode;
  /// The predicate register that guards it.
  std::optional<unsigned> guard;
  bool guardNegated = false;
  std::vector<Operand> operands;
};

struct Variable {
  llvm::StringRef name;
  Space space;
  /// Bytes; 0 for an array of unknown size.
  uint64_t size;
  unsigned alignment;
  unsigned line;
  /// Shorter than `size` if the rest is zero.
  std::vector<uint8_t> initializer;
};

struct Register {
  std::string name;
  Type type;
};

struct Label {
  llvm::StringRef name;
  /// The index of the instruction behind it.
  unsigned target;
};

/// The labels that a `brx.idx` chooses from.
struct BranchTable {
  llvm::StringRef name;
  std::vector<llvm::StringRef> targets;
};

struct Entry {
  llvm::StringRef name;
  unsigned line;
  /// Parameters in order; `offsets` are their places in the parameter space.
  std::vector<Variable> parameters;
  std::vector<uint64_t> offsets;
  uint64_t parameterBytes = 0;
  std::vector<Register> registers;
  /// Shared and local variables of the body.
  std::vector<Variable> variables;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<BranchTable> tables;
  /// `.reqntid` and `.maxntid`, if given.
  std::optional<std::vector<unsigned>> requiredBlock, maximumBlock;
  /// `.reqnctapercluster`.
  std::optional<std::vector<unsigned>> requiredCluster;
  /// `.maxnreg`, or 0.
  unsigned maxRegisters = 0;
};

/// A device function. Its parameters and results are variables of its body.
struct Function {
  Entry body;
  /// `.param` variables, or registers where `isRegister`.
  struct Formal {
    llvm::StringRef name;
    bool isRegister;
    unsigned reg;
    unsigned size; // bytes
  };
  std::vector<Formal> results, parameters;
  bool hasBody = false;
};

struct Module {
  /// Owns the characters of all names.
  std::unique_ptr<llvm::MemoryBuffer> text;
  /// For messages.
  std::string file;
  std::string target;
  std::vector<Variable> variables;
  std::vector<Entry> entries;
  std::vector<Function> functions;
  /// Owns names that are not in the text.
  std::deque<std::string> names;

  const Entry *lookup(llvm::StringRef name) const;
  const Function *lookupFunction(llvm::StringRef name) const;
  /// A name that occurs nowhere in the text: `name` and a number.
  llvm::StringRef makeName(llvm::StringRef name);
};

/// Parses a module. Fails with "FILE:LINE: message" at the first problem.
llvm::Expected<Module> parse(std::unique_ptr<llvm::MemoryBuffer> text,
                             llvm::StringRef file);

/// Puts the bodies of device functions in the place of their calls. Fails as
/// `parse` does, at a call of a function without a body, of one that calls
/// itself, or through a register.
llvm::Error inlineCalls(Module &module, Entry &entry);

} // namespace mamba::ptx

#endif // MAMBA_SIM_PTX_H
