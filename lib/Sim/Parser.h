//===- Parser.h - Statements of PTX -----------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_PARSER_H
#define MAMBA_LIB_SIM_PARSER_H

#include "Lexer.h"
#include "mamba/Sim/Ptx.h"

#include "llvm/ADT/StringMap.h"

namespace mamba::ptx {

/// Parsing functions return false after the first problem, which `message`
/// describes.
class Parser {
public:
  explicit Parser(Module &module)
      : module(module), lexer(module.text->getBuffer()) {}

  bool parseModule();
  std::string message;

protected:
  bool fail(unsigned line, const llvm::Twine &text);
  bool fail(const llvm::Twine &text) { return fail(lexer.getLine(), text); }
  bool expect(char c);

  // Parser.cpp: declarations.
  bool parseDirective(llvm::StringRef directive);
  bool parseVariable(Space space, bool isParameter,
                     std::vector<Variable> &variables);
  bool parseVector(unsigned &count);
  bool parseInitializer(Type type, Variable &variable);
  bool parseEntry();
  bool parseParameters(Entry &entry);
  bool parseEntryDirectives(Entry &entry);
  bool parseFunction();
  bool parseFormals(Function &function, std::vector<Function::Formal> &list);

  // Body.cpp: what stands between the braces of a kernel.
  bool parseBody(Entry &entry, bool hasScope = false);
  bool parseBodyDirective(Entry &entry);
  bool parseRegisters(Entry &entry);
  bool parseStatement(Entry &entry);
  bool parseInstruction(Entry &entry, llvm::StringRef opcode, unsigned line,
                        Instruction instruction);
  bool parseCall(Instruction &instruction);
  bool parseLocalVariable(Entry &entry, Space space);
  bool parseOperand(Operand &operand);
  bool parsePrimary(Operand &operand);
  bool parseNamed(Operand &operand);
  bool parseOffset(Operand &operand);
  bool parseList(Operand &operand, char close);
  std::optional<unsigned> lookupRegister(llvm::StringRef name) const;

  Module &module;
  Lexer lexer;
  /// Registers by name in each open block of the body, outermost first.
  std::vector<llvm::StringMap<unsigned>> scopes;
  /// Variables likewise: names that are unique in the module, where others
  /// have the same one.
  std::vector<llvm::StringMap<llvm::StringRef>> variableScopes;
};

} // namespace mamba::ptx

#endif // MAMBA_LIB_SIM_PARSER_H
