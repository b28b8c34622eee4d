//===- Expression.cpp - Size expressions of manifests ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/Bundle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// Functions return false after the first problem, which `problem` names.
class Evaluator {
public:
  Evaluator(StringRef text, const StringMap<int64_t> &sizes)
      : rest(text), sizes(sizes) {}

  bool parseAll(int64_t &value) {
    if (!parseSum(value))
      return false;
    if (atEnd())
      return true;
    for (StringRef symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!consume(symbol))
        continue;
      int64_t other;
      if (!parseSum(other))
        return false;
      value = symbol == "=="   ? value == other
              : symbol == "!=" ? value != other
              : symbol == "<=" ? value <= other
              : symbol == ">=" ? value >= other
              : symbol == "<"  ? value < other
                               : value > other;
      break;
    }
    return atEnd() || fail("unexpected text");
  }

  std::string problem;

private:
  bool fail(const Twine &text) {
    if (problem.empty())
      problem = text.str();
    return false;
  }
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool atEnd() { return rest.ltrim().empty(); }

  bool parseSum(int64_t &value) {
    if (!parseProduct(value))
      return false;
    for (;;) {
      bool plus = consume("+");
      if (!plus && !consume("-"))
        return true;
      int64_t other;
      if (!parseProduct(other))
        return false;
      if (plus ? AddOverflow(value, other, value)
               : SubOverflow(value, other, value))
        return fail("the value is too large");
    }
  }

  bool parseProduct(int64_t &value) {
    if (!parseFactor(value))
      return false;
    while (consume("*")) {
      int64_t other;
      if (!parseFactor(other))
        return false;
      if (MulOverflow(value, other, value))
        return fail("the value is too large");
    }
    return true;
  }

  bool parseFactor(int64_t &value) {
    if (consume("-")) {
      if (!parseFactor(value))
        return false;
      value = -value;
      return true;
    }
    if (consume("("))
      return parseSum(value) && (consume(")") || fail("expected ')'"));
    rest = rest.ltrim();
    if (!rest.empty() && isDigit(rest.front()))
      return !rest.consumeInteger(10, value) || fail("the value is too large");
    StringRef name =
        rest.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (name.empty())
      return fail("expected a value");
    rest = rest.drop_front(name.size());
    if (consume("("))
      return parseCall(name, value);
    auto it = sizes.find(name);
    if (it == sizes.end())
      return fail("there is no size '" + name + "'");
    value = it->second;
    return true;
  }

  bool parseCall(StringRef name, int64_t &value) {
    int64_t a, b;
    if (!parseSum(a) || !(consume(",") || fail("expected ','")) ||
        !parseSum(b) || !(consume(")") || fail("expected ')'")))
      return false;
    if (name == "min" || name == "max") {
      value = name == "min" ? std::min(a, b) : std::max(a, b);
      return true;
    }
    if (name != "ceildiv" && name != "floordiv" && name != "mod")
      return fail("there is no function '" + name + "'");
    if (b <= 0)
      return fail("a division by " + Twine(b));
    value =
        name == "ceildiv" ? divideCeilSigned(a, b) : divideFloorSigned(a, b);
    if (name == "mod")
      value = a - value * b;
    return true;
  }

  StringRef rest;
  const StringMap<int64_t> &sizes;
};

} // namespace

Expected<int64_t> evaluate(StringRef expression,
                           const StringMap<int64_t> &sizes) {
  Evaluator evaluator(expression, sizes);
  int64_t value;
  if (!evaluator.parseAll(value))
    return createStringError("size expression '" + expression +
                             "': " + evaluator.problem);
  return value;
}

} // namespace mamba::sim
