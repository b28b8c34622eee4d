//===- ExpressionTest.cpp - Tests of the loader's size expressions --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/Expression.h"
#include "../../lib/Runtime/Error.h"

#include "gtest/gtest.h"

using namespace mamba::runtime;

namespace {

const std::vector<std::string> symbols = {"b", "H", "L", "big", "least"};
const std::vector<int64_t> values = {2, 3, 100, INT64_MAX, INT64_MIN};

TEST(Expression, Evaluates) {
  const std::pair<const char *, int64_t> cases[] = {
      {"7", 7},
      {" b*H ", 6},
      {"b + H * L", 302},
      {"(b + H) * L", 500},
      {"L - H - b", 95},
      {"L - (H - b)", 99},
      {"-b + (L - 1)*4", 394},
      {"--b", 2},
      {"ceildiv(L, 64)", 2},
      {"ceildiv(0 - 7, 2)", -3},
      {"ceildiv(0, 64)", 0},
      {"ceildiv(big, 2)", INT64_MAX / 2 + 1},
      {"floordiv(L,64)", 1},
      {"floordiv(0 - 7, 2)", -4},
      {"floordiv(least, 1)", INT64_MIN},
      {"mod(0 - 7, 2)", 1},
      {"mod(least, 3)", 1},
      {"mod(L, 64) + 1", 37},
      {"min(b, 3) - max(H, 9)", -7},
      {"b*H*ceildiv(L, 64)*64*128*4", 393216},
      {"2147483647*H", 6442450941},
      {"9223372036854775807", INT64_MAX},
  };
  for (auto [text, value] : cases) {
    std::string error;
    EXPECT_EQ(Expression::parse(text, symbols).evaluate(values, error), value)
        << text << " " << error;
  }
}

TEST(Expression, IsChecked) {
  const std::pair<const char *, const char *> cases[] = {
      {"big + 1", "'big + 1' does not fit in 64 bits"},
      {"least - 1", "'least - 1' does not fit in 64 bits"},
      {"-least", "'-least' does not fit in 64 bits"},
      {"big * b", "'big * b' does not fit in 64 bits"},
      {"min(big * b, 0)", "'min(big * b, 0)' does not fit in 64 bits"},
      {"ceildiv(b, 0)", "division by 0 in 'ceildiv(b, 0)'"},
      {"mod(b, 1 - b)", "division by -1 in 'mod(b, 1 - b)'"},
  };
  for (auto [text, message] : cases) {
    std::string error;
    EXPECT_EQ(Expression::parse(text, symbols).evaluate(values, error),
              std::nullopt);
    EXPECT_EQ(error, message);
  }
}

std::string parseError(const std::string &text) {
  try {
    Expression::parse(text, symbols);
    return "";
  } catch (const Error &error) {
    EXPECT_EQ(error.getStatus(), MAMBA_STATUS_BUNDLE);
    std::string what = error.what();
    return what.substr(what.rfind('(') + 1);
  }
}

TEST(Expression, RejectsOtherText) {
  EXPECT_EQ(parseError("q"), "unknown size 'q')");
  EXPECT_EQ(parseError("abs(b)"), "unknown function 'abs')");
  EXPECT_EQ(parseError("9223372036854775808"),
            "the number does not fit in 64 bits)");
  EXPECT_EQ(parseError(std::string(1000, '(')), "too deep)");
  EXPECT_EQ(parseError(std::string(1000, '-') + "b"), "too deep)");
  for (const char *text : {"", "b +", "min(b", "min(b, 1"})
    EXPECT_NE(parseError(text), "") << text;
  for (const char *text :
       {"b/2", "b**2", "b b", "b.real", "b[0]", "min(b)", "min(b, 1, 2)", "b <",
        "1.5", "'x'", "b, 1", "b & 1", "+b", "1b"})
    EXPECT_NE(parseError(text), "") << text;
}

TEST(Constraint, Compares) {
  const std::pair<const char *, bool> cases[] = {{"b == 2", true},
                                                 {"b != 2", false},
                                                 {"b < H", true},
                                                 {"H < b", false},
                                                 {"b <= 2", true},
                                                 {"b <= 1", false},
                                                 {"H > b", true},
                                                 {"b > b", false},
                                                 {"b >= 2", true},
                                                 {"b >= 3", false},
                                                 {"mod(L, H) == b - 1", true}};
  for (auto [text, holds] : cases)
    EXPECT_EQ(Constraint::parse(text, symbols)
                  .explainViolation(values, symbols)
                  .empty(),
              holds)
        << text;
  for (const char *text : {"b", "b = 2", "b == ", "", "b =! 2", "b == 2 == 2"})
    EXPECT_THROW(Constraint::parse(text, symbols), Error) << text;
}

} // namespace
