//===- Lexer.h - Characters of PTX ------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_LEXER_H
#define MAMBA_LIB_SIM_LEXER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <optional>

namespace mamba::ptx {

/// A literal of an instruction.
struct Number {
  enum Kind { Integer, Single, Double } kind;
  uint64_t bits;
};

/// A place in the text. What the next token is depends on where it stands
/// (dots join an opcode but separate directives), so the parser asks for it.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : rest(text) {}

  /// Skips blanks and comments.
  void skip();
  bool atEnd() {
    skip();
    return rest.empty();
  }
  /// The line of the next token.
  unsigned getLine() {
    skip();
    return line;
  }
  /// The next character, or 0 at the end.
  char peek() {
    skip();
    return rest.empty() ? 0 : rest.front();
  }
  bool consume(char c);
  /// Consumes `word` unless a longer name starts there.
  bool consumeWord(llvm::StringRef word);

  /// A name: letters, digits, "_", "$" and "%". Empty if there is none.
  llvm::StringRef takeName();
  /// An opcode with its modifiers, which are joined by "." and "::".
  llvm::StringRef takeOpcode();
  /// ".name" without the dot. Empty if there is none.
  llvm::StringRef takeDirective();
  /// A number with an optional sign.
  std::optional<Number> takeNumber();
  llvm::StringRef takeString();
  /// Everything up to the end of the line.
  void skipLine();
  /// Everything behind the brace that closes the next one.
  bool skipBraces();
  /// Everything behind the next `c`.
  bool skipPast(char c);

private:
  void advance(size_t count);
  llvm::StringRef take(size_t count);

  llvm::StringRef rest;
  unsigned line = 1;
};

} // namespace mamba::ptx

#endif // MAMBA_LIB_SIM_LEXER_H
