//===- Expression.h - Sizes as the manifest writes them ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_EXPRESSION_H
#define MAMBA_LIB_RUNTIME_EXPRESSION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mamba::runtime {

/// An integer expression of size symbols (docs/abi.md), in checked 64-bit
/// arithmetic.
class Expression {
public:
  static Expression constant(int64_t value);
  /// Throws Error if `text` is not an expression of `symbols`.
  static Expression parse(std::string_view text,
                          const std::vector<std::string> &symbols);

  /// `values` are those of the symbols, in order. Nothing after an overflow or
  /// a division by a number below 1; `error` says which then.
  std::optional<int64_t> evaluate(const std::vector<int64_t> &values,
                                  std::string &error) const;
  std::optional<int64_t> getConstant() const;
  bool uses(size_t symbol) const;
  const std::string &str() const { return text; }

private:
  friend class Parser;

  enum class Op {
    Constant,
    Symbol,
    Add,
    Subtract,
    Multiply,
    CeilDiv,
    FloorDiv,
    Mod,
    Min,
    Max
  };
  struct Instruction {
    Op op;
    /// A constant, or the index of a symbol.
    int64_t value;
  };
  static constexpr unsigned kMaxDepth = 64;

  std::string text;
  /// Operands come before their operation.
  std::vector<Instruction> code;
};

/// A condition on sizes: two expressions and ==, !=, <, <=, > or >= between.
class Constraint {
public:
  static Constraint parse(std::string_view text,
                          const std::vector<std::string> &symbols);

  /// Why the condition does not hold, or "".
  std::string explainViolation(const std::vector<int64_t> &values,
                               const std::vector<std::string> &symbols) const;
  const std::string &str() const { return text; }

private:
  std::string text, comparison;
  Expression left, right;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_EXPRESSION_H
