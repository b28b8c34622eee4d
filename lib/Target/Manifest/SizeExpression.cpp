//===- SizeExpression.cpp - Integers known when a bundle is run -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeExpression.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace mamba {

SizeExpression SizeExpression::constant(int64_t value) {
  SizeExpression result("", Atom, value >= 0);
  result.value = value;
  return result;
}

SizeExpression SizeExpression::symbol(StringRef name) {
  return SizeExpression(name.str(), Atom, /*nonNegative=*/true);
}

/// Folds two constants unless the result overflows.
static std::optional<int64_t>
fold(const SizeExpression &x, const SizeExpression &y,
     int64_t (*function)(int64_t, int64_t, int64_t &)) {
  std::optional<int64_t> left = x.getConstant(), right = y.getConstant();
  int64_t result;
  if (!left || !right || function(*left, *right, result))
    return std::nullopt;
  return result;
}

static int64_t addOverflows(int64_t x, int64_t y, int64_t &z) {
  return AddOverflow(x, y, z);
}
static int64_t mulOverflows(int64_t x, int64_t y, int64_t &z) {
  return MulOverflow(x, y, z);
}

SizeExpression operator+(const SizeExpression &x, const SizeExpression &y) {
  if (std::optional<int64_t> sum = fold(x, y, addOverflows))
    return SizeExpression::constant(*sum);
  if (x.getConstant() == 0)
    return y;
  if (y.getConstant() == 0)
    return x;
  bool isMinus =
      y.negated || (y.value && *y.value < 0 && *y.value != INT64_MIN);
  // A constant comes last, and what is subtracted after what is not.
  if ((x.value && !y.negated && !y.value) || (x.negated && !isMinus))
    return y + x;
  if (isMinus) {
    SizeExpression minus = y.value ? SizeExpression::constant(-*y.value) : y;
    minus.negated = false;
    return SizeExpression(x.strAtLeast(SizeExpression::Sum) + " - " +
                              minus.strAtLeast(SizeExpression::Product),
                          SizeExpression::Sum, /*nonNegative=*/false);
  }
  return SizeExpression(x.strAtLeast(SizeExpression::Sum) + " + " +
                            y.strAtLeast(SizeExpression::Sum),
                        SizeExpression::Sum, x.nonNegative && y.nonNegative);
}

SizeExpression operator-(const SizeExpression &x, const SizeExpression &y) {
  return x + y * SizeExpression::constant(-1);
}

SizeExpression operator*(const SizeExpression &x, const SizeExpression &y) {
  if (std::optional<int64_t> product = fold(x, y, mulOverflows))
    return SizeExpression::constant(*product);
  if (x.value)
    return y * x;
  if (y.value == 0)
    return y;
  if (y.value == 1)
    return x;
  if (y.value && *y.value < 0 && *y.value != INT64_MIN) {
    SizeExpression result = x * SizeExpression::constant(-*y.value);
    result.negated = !result.negated;
    result.nonNegative = false;
    return result;
  }
  return SizeExpression(x.strAtLeast(SizeExpression::Product) + " * " +
                            y.strAtLeast(SizeExpression::Product),
                        SizeExpression::Product,
                        x.nonNegative && y.nonNegative);
}

SizeExpression SizeExpression::call(StringRef function, const SizeExpression &x,
                                    const SizeExpression &y, bool nonNegative) {
  return SizeExpression((function + "(" + x.str() + ", " + y.str() + ")").str(),
                        Atom, nonNegative);
}

SizeExpression SizeExpression::ceilDiv(const SizeExpression &x,
                                       const SizeExpression &y) {
  if (y.value == 1)
    return x;
  if (x.value && y.value && *y.value > 0)
    return constant(divideCeilSigned(*x.value, *y.value));
  return call("ceildiv", x, y, x.nonNegative && y.nonNegative);
}

SizeExpression SizeExpression::floorDiv(const SizeExpression &x,
                                        const SizeExpression &y) {
  if (y.value == 1)
    return x;
  if (x.value && y.value && *y.value > 0)
    return constant(divideFloorSigned(*x.value, *y.value));
  return call("floordiv", x, y, x.nonNegative && y.nonNegative);
}

SizeExpression SizeExpression::mod(const SizeExpression &x,
                                   const SizeExpression &y) {
  if (y.value == 1)
    return constant(0);
  if (x.value && y.value && *y.value > 0)
    return constant(llvm::mod(*x.value, *y.value));
  return call("mod", x, y, y.nonNegative);
}

SizeExpression SizeExpression::min(const SizeExpression &x,
                                   const SizeExpression &y) {
  if (x.value && y.value)
    return constant(std::min(*x.value, *y.value));
  if (x.str() == y.str())
    return x;
  return call("min", x, y, x.nonNegative && y.nonNegative);
}

SizeExpression SizeExpression::max(const SizeExpression &x,
                                   const SizeExpression &y) {
  if (x.value && y.value)
    return constant(std::max(*x.value, *y.value));
  if (x.str() == y.str())
    return x;
  return call("max", x, y, x.nonNegative || y.nonNegative);
}

std::string SizeExpression::str() const { return strAtLeast(Sum); }

std::string SizeExpression::strAtLeast(Form least) const {
  std::string result = text;
  Form resultForm = form;
  if (value) {
    result = std::to_string(*value);
    if (*value < 0) { // The grammar has no signed literals.
      result = "0 - " + result.substr(1);
      resultForm = Sum;
    }
  } else if (negated) {
    result = "0 - " + (form < Product ? "(" + text + ")" : text);
    resultForm = Sum;
  }
  return resultForm < least ? "(" + result + ")" : result;
}

} // namespace mamba
