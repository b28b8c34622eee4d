//===- SizeExpression.h - Integers known when a bundle is run ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_MANIFEST_SIZEEXPRESSION_H
#define MAMBA_LIB_TARGET_MANIFEST_SIZEEXPRESSION_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mamba {

/// An integer as the manifest writes it: literals and size symbols under + - *
/// and the functions ceildiv, floordiv, mod, min and max. Constants are folded
/// on the way, and only brackets that matter are printed.
class SizeExpression {
public:
  static SizeExpression constant(int64_t value);
  /// A size, which is not negative.
  static SizeExpression symbol(llvm::StringRef name);

  friend SizeExpression operator+(const SizeExpression &x,
                                  const SizeExpression &y);
  friend SizeExpression operator-(const SizeExpression &x,
                                  const SizeExpression &y);
  friend SizeExpression operator*(const SizeExpression &x,
                                  const SizeExpression &y);
  /// Rounds towards positive infinity.
  static SizeExpression ceilDiv(const SizeExpression &x,
                                const SizeExpression &y);
  /// Rounds towards negative infinity.
  static SizeExpression floorDiv(const SizeExpression &x,
                                 const SizeExpression &y);
  /// The remainder of `floorDiv`.
  static SizeExpression mod(const SizeExpression &x, const SizeExpression &y);
  static SizeExpression min(const SizeExpression &x, const SizeExpression &y);
  static SizeExpression max(const SizeExpression &x, const SizeExpression &y);

  std::optional<int64_t> getConstant() const { return value; }
  /// False if it might be negative for some sizes.
  bool isNonNegative() const { return nonNegative; }
  std::string str() const;

private:
  enum Form { Sum, Product, Atom };
  SizeExpression(std::string text, Form form, bool nonNegative)
      : text(std::move(text)), form(form), nonNegative(nonNegative) {}

  static SizeExpression call(llvm::StringRef function, const SizeExpression &x,
                             const SizeExpression &y, bool nonNegative);
  /// The text, in brackets if it binds less than `least`.
  std::string strAtLeast(Form least) const;

  /// Set for constants, whose text is not used.
  std::optional<int64_t> value;
  std::string text;
  Form form;
  bool nonNegative;
  /// The expression is minus `text`.
  bool negated = false;
};

} // namespace mamba

#endif // MAMBA_LIB_TARGET_MANIFEST_SIZEEXPRESSION_H
