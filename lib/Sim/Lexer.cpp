//===- Lexer.cpp - Characters of PTX --------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace llvm;

namespace mamba::ptx {

static bool isNameCharacter(char c) {
  return isAlnum(c) || c == '_' || c == '$' || c == '%';
}

void Lexer::advance(size_t count) {
  line += rest.take_front(count).count('\n');
  rest = rest.drop_front(count);
}

StringRef Lexer::take(size_t count) {
  StringRef text = rest.take_front(count);
  rest = rest.drop_front(count);
  return text;
}

void Lexer::skip() {
  for (;;) {
    size_t blanks = rest.find_first_not_of(" \t\r\n");
    advance(std::min(blanks, rest.size()));
    if (rest.starts_with("//"))
      skipLine();
    else if (rest.starts_with("/*"))
      advance(std::min(rest.find("*/", 2), rest.size() - 2) + 2);
    else
      return;
  }
}

void Lexer::skipLine() { advance(std::min(rest.find('\n'), rest.size())); }

bool Lexer::consume(char c) {
  skip();
  return rest.consume_front(StringRef(&c, 1));
}

bool Lexer::consumeWord(StringRef word) {
  skip();
  if (!rest.starts_with(word) ||
      (rest.size() > word.size() && isNameCharacter(rest[word.size()])))
    return false;
  take(word.size());
  return true;
}

StringRef Lexer::takeName() {
  skip();
  if (rest.empty() || isDigit(rest.front()))
    return {};
  size_t count = 0;
  while (count < rest.size() && isNameCharacter(rest[count]))
    ++count;
  return take(count);
}

StringRef Lexer::takeOpcode() {
  skip();
  size_t count = 0;
  while (count < rest.size()) {
    if (isNameCharacter(rest[count]) || rest[count] == '.')
      ++count;
    else if (rest.substr(count, 2) == "::")
      count += 2;
    else
      break;
  }
  return take(count);
}

StringRef Lexer::takeDirective() {
  skip();
  if (!rest.starts_with("."))
    return {};
  size_t count = 1;
  while (count < rest.size() && isNameCharacter(rest[count]))
    ++count;
  return take(count).drop_front();
}

std::optional<Number> Lexer::takeNumber() {
  skip();
  StringRef start = rest;
  bool negative = rest.consume_front("-");
  if (!negative)
    rest.consume_front("+");
  rest = rest.ltrim(" \t");
  uint64_t bits;
  for (auto [prefix, digits, kind] : {std::tuple("0f", 8, Number::Single),
                                      {"0F", 8, Number::Single},
                                      {"0d", 16, Number::Double},
                                      {"0D", 16, Number::Double}}) {
    if (!rest.starts_with(prefix))
      continue;
    if (rest.substr(2, digits).getAsInteger(16, bits) ||
        rest.size() < size_t(digits) + 2)
      break;
    take(2 + digits);
    if (negative)
      bits ^= uint64_t(1) << (digits * 4 - 1);
    return Number{kind, bits};
  }
  size_t count = 0;
  while (count < rest.size() && isAlnum(rest[count]))
    ++count;
  bool isHex = rest.starts_with_insensitive("0x");
  bool isDecimalFloat =
      !isHex && ((count < rest.size() && rest[count] == '.') ||
                 rest.take_front(count).contains_insensitive('e'));
  if (count && isDigit(rest.front()) && isDecimalFloat) {
    while (count < rest.size() &&
           (isAlnum(rest[count]) || rest[count] == '.' ||
            ((rest[count] == '-' || rest[count] == '+') &&
             toLower(rest[count - 1]) == 'e')))
      ++count;
    double value;
    if (!rest.take_front(count).getAsDouble(value)) {
      take(count);
      value = negative ? -value : value;
      std::memcpy(&bits, &value, sizeof(bits));
      return Number{Number::Double, bits};
    }
  }
  StringRef digits = rest.take_front(count);
  digits.consume_back("U");
  if (count && isDigit(rest.front()) && !digits.getAsInteger(0, bits)) {
    take(count);
    return Number{Number::Integer, negative ? -bits : bits};
  }
  rest = start;
  return std::nullopt;
}

StringRef Lexer::takeString() {
  skip();
  size_t end = rest.find('"', 1);
  if (!rest.starts_with("\"") || end == StringRef::npos)
    return {};
  return take(end + 1).drop_front().drop_back();
}

bool Lexer::skipBraces() {
  if (!consume('{'))
    return false;
  for (unsigned depth = 1; depth;) {
    if (atEnd())
      return false;
    depth += rest.front() == '{';
    depth -= rest.front() == '}';
    advance(1);
  }
  return true;
}

bool Lexer::skipPast(char c) {
  while (!atEnd()) {
    bool found = rest.front() == c;
    advance(1);
    if (found)
      return true;
  }
  return false;
}

} // namespace mamba::ptx
