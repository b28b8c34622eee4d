//===- LayoutText.cpp - The text form of layouts --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mamba {

using llvm::StringRef;

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const LinearLayout &layout) {
  llvm::ListSeparator betweenIns;
  for (const LayoutDim &dim : layout.getIns()) {
    os << betweenIns << dim.name << '[';
    llvm::ListSeparator betweenBases(",");
    for (unsigned bit = 0; bit < dim.bits; ++bit) {
      Coordinates basis = layout.getBasis(dim.name, bit);
      os << betweenBases;
      if (basis.size() == 1) {
        os << basis.front();
        continue;
      }
      os << '(';
      llvm::interleave(basis, os, ",");
      os << ')';
    }
    os << ']';
  }
  os << (layout.getIns().empty() ? "->" : " ->");
  llvm::ListSeparator betweenOuts(", ");
  for (const LayoutDim &dim : layout.getOuts()) {
    StringRef separator = betweenOuts;
    os << (separator.empty() ? StringRef(" ") : separator) << dim.name << '['
       << dim.size() << ']';
  }
  return os;
}

std::string LinearLayout::str() const {
  std::string text;
  llvm::raw_string_ostream(text) << *this;
  return text;
}

namespace {

/// Recursive descent over
///   layout ::= inputs? '->' outputs?
///   inputs ::= name '[' (basis (',' basis)*)? ']' (',' ..)*
///   basis  ::= integer | '(' (integer (',' integer)*)? ')'
///   outputs ::= name '[' integer ']' (',' ..)*
class LayoutParser {
public:
  explicit LayoutParser(StringRef text) : text(text), rest(text) {}

  llvm::Expected<LinearLayout> run() {
    if (!consume("->")) {
      do {
        if (!input())
          return fail();
      } while (consume(","));
      if (!expect("->"))
        return fail();
    }
    rest = rest.ltrim();
    if (!rest.empty()) {
      do {
        if (!output())
          return fail();
      } while (consume(","));
    }
    rest = rest.ltrim();
    if (!rest.empty()) {
      wanted = "the end";
      return fail();
    }
    return LinearLayout::get(ins, outs);
  }

private:
  llvm::Error fail() {
    return llvm::createStringError("expected " + wanted + " at column " +
                                   llvm::Twine(text.size() - rest.size() + 1) +
                                   " of a layout");
  }

  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  bool expect(StringRef token) {
    if (consume(token))
      return true;
    wanted = ("'" + token + "'").str();
    return false;
  }

  bool name(std::string &result) {
    rest = rest.ltrim();
    StringRef found =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (found.empty() || llvm::isDigit(found.front())) {
      wanted = "a name";
      return false;
    }
    rest = rest.drop_front(found.size());
    result = found.str();
    return true;
  }

  bool integer(uint32_t &result) {
    rest = rest.ltrim();
    StringRef digits = rest.take_while(llvm::isDigit);
    if (digits.getAsInteger(10, result)) {
      wanted = "a 32-bit integer";
      return false;
    }
    rest = rest.drop_front(digits.size());
    return true;
  }

  bool basis(std::vector<uint32_t> &result) {
    uint32_t value;
    if (!consume("(")) {
      if (!integer(value))
        return false;
      result = {value};
      return true;
    }
    if (consume(")"))
      return true;
    do {
      if (!integer(value))
        return false;
      result.push_back(value);
    } while (consume(","));
    return expect(")");
  }

  bool input() {
    auto &[in, bases] = ins.emplace_back();
    if (!name(in) || !expect("["))
      return false;
    if (consume("]"))
      return true;
    do {
      if (!basis(bases.emplace_back()))
        return false;
    } while (consume(","));
    return expect("]");
  }

  bool output() {
    auto &[out, size] = outs.emplace_back();
    return name(out) && expect("[") && integer(size) && expect("]");
  }

  StringRef text, rest;
  std::string wanted;
  std::vector<std::pair<std::string, Bases>> ins;
  std::vector<std::pair<std::string, uint32_t>> outs;
};

} // namespace

llvm::Expected<LinearLayout> LinearLayout::parse(StringRef text) {
  return LayoutParser(text).run();
}

} // namespace mamba
