//===- Expression.cpp - Sizes as the manifest writes them -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"
#include "Error.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace mamba::runtime {

/// A parser by recursive descent.
class Parser {
public:
  Parser(std::string_view text, const std::vector<std::string> &symbols)
      : text(text), symbols(symbols) {}

  Expression parse() {
    parseSum();
    skipSpaces();
    if (position != text.size())
      fail("unexpected '" + std::string(1, text[position]) + "'");
    result.text = text;
    return std::move(result);
  }

private:
  using Op = Expression::Op;

  [[noreturn]] void fail(const std::string &why) const {
    throw Error(MAMBA_STATUS_BUNDLE, "not a size expression: '" +
                                         std::string(text) + "' (" + why + ")");
  }

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }

  void skipSpaces() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  bool consume(char c) {
    skipSpaces();
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  void expect(char c) {
    if (!consume(c))
      fail(std::string("expected '") + c + "'");
  }

  void emit(Op op, int64_t value = 0) {
    bool isLeaf = op == Op::Constant || op == Op::Symbol;
    depth = isLeaf ? depth + 1 : depth - 1;
    if (depth > Expression::kMaxDepth)
      fail("too deep");
    result.code.push_back({op, value});
  }

  void parseSum() {
    parseProduct();
    while (true) {
      if (consume('+')) {
        parseProduct();
        emit(Op::Add);
      } else if (consume('-')) {
        parseProduct();
        emit(Op::Subtract);
      } else {
        return;
      }
    }
  }

  void parseProduct() {
    parseUnary();
    while (consume('*')) {
      parseUnary();
      emit(Op::Multiply);
    }
  }

  void parseUnary() {
    if (++nesting > Expression::kMaxDepth)
      fail("too deep");
    if (consume('-')) {
      emit(Op::Constant, 0);
      parseUnary();
      emit(Op::Subtract);
    } else {
      parsePrimary();
    }
    --nesting;
  }

  void parsePrimary() {
    if (consume('(')) {
      parseSum();
      return expect(')');
    }
    skipSpaces();
    if (position == text.size())
      fail("unexpected end");
    if (isDigit(text[position]))
      return parseNumber();
    if (!isLetter(text[position]))
      fail("unexpected '" + std::string(1, text[position]) + "'");
    size_t start = position;
    while (position < text.size() &&
           (isLetter(text[position]) || isDigit(text[position])))
      ++position;
    parseNamed(text.substr(start, position - start));
  }

  void parseNumber() {
    int64_t value;
    const char *end = text.data() + text.size();
    auto [next, error] = std::from_chars(text.data() + position, end, value);
    if (error != std::errc())
      fail("the number does not fit in 64 bits");
    position = next - text.data();
    emit(Op::Constant, value);
  }

  void parseNamed(std::string_view name) {
    static const std::pair<std::string_view, Op> functions[] = {
        {"ceildiv", Op::CeilDiv},
        {"floordiv", Op::FloorDiv},
        {"mod", Op::Mod},
        {"min", Op::Min},
        {"max", Op::Max}};
    if (consume('(')) {
      for (auto [function, op] : functions) {
        if (function != name)
          continue;
        parseSum();
        expect(',');
        parseSum();
        expect(')');
        return emit(op);
      }
      fail("unknown function '" + std::string(name) + "'");
    }
    auto it = std::find(symbols.begin(), symbols.end(), name);
    if (it == symbols.end())
      fail("unknown size '" + std::string(name) + "'");
    emit(Op::Symbol, it - symbols.begin());
  }

  std::string_view text;
  const std::vector<std::string> &symbols;
  size_t position = 0;
  unsigned depth = 0, nesting = 0;
  Expression result;
};

Expression Expression::constant(int64_t value) {
  Expression result;
  result.text = std::to_string(value);
  result.code = {{Op::Constant, value}};
  return result;
}

Expression Expression::parse(std::string_view text,
                             const std::vector<std::string> &symbols) {
  return Parser(text, symbols).parse();
}

std::optional<int64_t> Expression::getConstant() const {
  if (code.size() == 1 && code.front().op == Op::Constant)
    return code.front().value;
  return std::nullopt;
}

bool Expression::uses(size_t symbol) const {
  return std::any_of(code.begin(), code.end(), [&](const Instruction &i) {
    return i.op == Op::Symbol && i.value == static_cast<int64_t>(symbol);
  });
}

/// Division by y > 0.
static int64_t floorDiv(int64_t x, int64_t y) {
  return x / y - (x % y < 0 ? 1 : 0);
}
static int64_t ceilDiv(int64_t x, int64_t y) {
  return x / y + (x % y > 0 ? 1 : 0);
}
static int64_t mod(int64_t x, int64_t y) { return x % y + (x % y < 0 ? y : 0); }

std::optional<int64_t> Expression::evaluate(const std::vector<int64_t> &values,
                                            std::string &error) const {
  std::array<int64_t, kMaxDepth> stack;
  unsigned size = 0;
  for (const Instruction &instruction : code) {
    if (instruction.op == Op::Constant) {
      stack[size++] = instruction.value;
      continue;
    }
    if (instruction.op == Op::Symbol) {
      stack[size++] = values[instruction.value];
      continue;
    }
    int64_t y = stack[--size], x = stack[size - 1];
    int64_t &result = stack[size - 1];
    bool overflows = false;
    switch (instruction.op) {
    case Op::Add:
      overflows = __builtin_add_overflow(x, y, &result);
      break;
    case Op::Subtract:
      overflows = __builtin_sub_overflow(x, y, &result);
      break;
    case Op::Multiply:
      overflows = __builtin_mul_overflow(x, y, &result);
      break;
    case Op::Min:
      result = std::min(x, y);
      break;
    case Op::Max:
      result = std::max(x, y);
      break;
    default: // a division
      if (y <= 0) {
        error = "division by " + std::to_string(y) + " in '" + text + "'";
        return std::nullopt;
      }
      result = instruction.op == Op::Mod        ? mod(x, y)
               : instruction.op == Op::FloorDiv ? floorDiv(x, y)
                                                : ceilDiv(x, y);
    }
    if (overflows) {
      error = "'" + text + "' does not fit in 64 bits";
      return std::nullopt;
    }
  }
  return stack[0];
}

Constraint Constraint::parse(std::string_view text,
                             const std::vector<std::string> &symbols) {
  size_t start = text.find_first_of("=!<>");
  size_t length = start + 1 < text.size() && text[start + 1] == '=' ? 2 : 1;
  static const std::string_view comparisons[] = {"==", "!=", "<",
                                                 "<=", ">",  ">="};
  Constraint result;
  result.text = text;
  if (start != std::string_view::npos)
    result.comparison = text.substr(start, length);
  if (std::find(std::begin(comparisons), std::end(comparisons),
                result.comparison) == std::end(comparisons))
    throw Error(MAMBA_STATUS_BUNDLE, "not a condition on sizes: '" +
                                         std::string(text) +
                                         "' (expected a comparison)");
  std::string_view left = text.substr(0, start);
  left = left.substr(0, left.find_last_not_of(' ') + 1);
  result.left = Expression::parse(left, symbols);
  result.right = Expression::parse(text.substr(start + length), symbols);
  return result;
}

std::string
Constraint::explainViolation(const std::vector<int64_t> &values,
                             const std::vector<std::string> &symbols) const {
  std::string error, sizes;
  std::optional<int64_t> x = left.evaluate(values, error);
  std::optional<int64_t> y = x ? right.evaluate(values, error) : std::nullopt;
  bool holds = x && y &&
               (comparison == "=="   ? *x == *y
                : comparison == "!=" ? *x != *y
                : comparison == "<"  ? *x < *y
                : comparison == "<=" ? *x <= *y
                : comparison == ">"  ? *x > *y
                                     : *x >= *y);
  if (holds)
    return "";
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (left.uses(i) || right.uses(i))
      sizes += (sizes.empty() ? "" : ", ") + symbols[i] + " = " +
               std::to_string(values[i]);
  }
  return "expected " + text + (sizes.empty() ? "" : ", got " + sizes) +
         (error.empty() ? "" : ": " + error);
}

} // namespace mamba::runtime
