//===- SimNarrowTest.cpp - Floats of four and six bits, random rounding ---===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions that sm_90 does not have, so that no record of a GPU covers them.
// The reference is a search among all values of the narrow format.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

#include <cmath>
#include <cstring>

using namespace mamba::sim;

namespace {

struct Format {
  const char *name;
  unsigned exponentBits, fractionBits;
  int bias;
};
constexpr Format kFormats[] = {
    {"e2m1", 2, 1, 1}, {"e2m3", 2, 3, 1}, {"e3m2", 3, 2, 3}};

double getValue(const Format &format, unsigned code) {
  unsigned fraction = code & ((1u << format.fractionBits) - 1);
  unsigned exponent =
      code >> format.fractionBits & ((1u << format.exponentBits) - 1);
  double value = double(fraction) / (1u << format.fractionBits);
  value = exponent ? std::ldexp(1 + value, int(exponent) - format.bias)
                   : std::ldexp(value, 1 - format.bias);
  bool negative = code >> (format.exponentBits + format.fractionBits) & 1;
  return negative ? -value : value;
}

/// The nearest value, an even code if there are two.
unsigned findNearest(const Format &format, double value) {
  unsigned best = 0, count = 1u << (format.exponentBits + format.fractionBits);
  for (unsigned code = 1; code != count; ++code) {
    double distance = std::fabs(getValue(format, code) - std::fabs(value));
    double least = std::fabs(getValue(format, best) - std::fabs(value));
    if (distance < least || (distance == least && code % 2 == 0))
      best = code;
  }
  return best | (std::signbit(value) ? count : 0);
}

double decodeHalf(uint32_t bits) {
  unsigned fraction = bits & 0x3ff, exponent = bits >> 10 & 31;
  double value = exponent ? std::ldexp(1024 + fraction, int(exponent) - 25)
                          : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

TEST(SimNarrowTest, ToHalf) {
  for (const Format &format : kFormats) {
    bool isByte = format.name == std::string("e2m1");
    unsigned bits = 1 + format.exponentBits + format.fractionBits;
    // The upper element has the code of the thread, the lower one its
    // complement.
    std::string body =
        "not.b32 %r2, %r0;\nand.b32 %r2, %r2, " +
        std::to_string((1u << bits) - 1) +
        ";\n"
        "shl.b32 %r3, %r0, " +
        (isByte ? "4" : "8") +
        ";\nor.b32 %r2, %r2, %r3;\n"
        "{ .reg .b8 %b; cvt.u8.u32 %b, %r2; cvt.u16.u32 %h0, %r2;\n"
        "cvt.rn.f16x2." +
        format.name + "x2 %r4, " + (isByte ? "%b" : "%h0") +
        "; }\nst.global.b32 [%rd1], %r4;";
    TestRun run = runBody(body, threads(1u << bits));
    ASSERT_EQ(run.text(), "");
    for (unsigned code = 0; code != 1u << bits; ++code) {
      EXPECT_EQ(decodeHalf(run.out[code] >> 16), getValue(format, code));
      EXPECT_EQ(decodeHalf(run.out[code]),
                getValue(format, ~code & ((1u << bits) - 1)));
    }
  }
}

TEST(SimNarrowTest, FromSingles) {
  for (const Format &format : kFormats) {
    bool isByte = format.name == std::string("e2m1");
    unsigned shift = isByte ? 4 : 8;
    // Sixteenths from -16 on, and their negatives with .relu.
    std::string body =
        "cvt.rn.f32.u32 %f0, %r0;\n"
        "fma.rn.f32 %f0, %f0, 0f3D800000, 0fC1800000;\n"
        "neg.f32 %f1, %f0;\n"
        "{ .reg .b8 %b<2>; .reg .b16 %n<2>;\n" +
        std::string(isByte ? "" : "//") +
        "cvt.rn.satfinite.e2m1x2.f32 %b0, %f0, %f1; "
        "cvt.rn.satfinite.relu.e2m1x2.f32 %b1, %f0, %f1;"
        "cvt.u16.u8 %n0, %b0; cvt.u16.u8 %n1, %b1;\n" +
        (isByte ? "//" : "") + "cvt.rn.satfinite." + format.name +
        "x2.f32 %n0, %f0, %f1; cvt.rn.satfinite.relu." + format.name +
        "x2.f32 %n1, %f0, %f1;\n"
        "mov.b32 %r2, {%n0, %n1}; }\nst.global.b32 [%rd1], %r2;";
    TestRun run = runBody(body, threads(512));
    ASSERT_EQ(run.text(), "");
    for (unsigned i = 0; i != 512; ++i) {
      double value = i / 16.0 - 16;
      EXPECT_EQ(run.out[i] & 0xffff, findNearest(format, value) << shift |
                                         findNearest(format, -value))
          << format.name << " " << value;
      EXPECT_EQ(run.out[i] >> 16,
                findNearest(format, value > 0 ? value : 0.0) << shift |
                    findNearest(format, value < 0 ? -value : 0.0))
          << format.name << " " << value;
    }
  }
}

TEST(SimNarrowTest, FromHalvesAndSpecials) {
  // f16x2 of {1.0, infinity} and bf16x2 of {-NaN, -3.0}.
  TestRun run = runBody("{ .reg .b8 %b<2>; .reg .b16 %n<2>;\n"
                        "mov.b32 %r2, 0x7C003C00;\n"
                        "mov.b32 %r3, 0xC040FFC0;\n"
                        "cvt.rn.satfinite.e2m1x2.f16x2 %b0, %r2;\n"
                        "cvt.rn.satfinite.e2m1x2.bf16x2 %b1, %r3;\n"
                        "cvt.u16.u8 %n0, %b0; cvt.u16.u8 %n1, %b1;\n"
                        "mov.b32 %r4, {%n0, %n1}; }\n"
                        "st.global.b32 [%rd1], %r4;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0x00d70072u);
}

uint32_t getBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

/// The results of `opcode` of two f32, packed, in each thread the same.
uint32_t convertPair(const std::string &opcode, float high, float low,
                     const char *type = "b16", const char *more = "") {
  bool isHalf = type == std::string("b16");
  TestRun run = runBody(
      "mov.b32 %f0, " + std::to_string(getBits(high)) + ";\nmov.b32 %f1, " +
      std::to_string(getBits(low)) + ";\n" + opcode +
      (isHalf ? " %h0, %f0, %f1" : " %r2, %f0, %f1") + more + ";\n" +
      (isHalf ? "cvt.u32.u16 %r2, %h0;\n" : "") + "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(run.text(), "") << opcode;
  return run.out[0];
}

TEST(SimNarrowTest, Exponents) {
  std::string down = "cvt.rz.ue8m0x2.f32", up = "cvt.rp.ue8m0x2.f32";
  EXPECT_EQ(convertPair(down, 1.0f, 0.75f), 0x7f7eu);
  EXPECT_EQ(convertPair(up, 1.0f, 0.75f), 0x7f7fu);
  EXPECT_EQ(convertPair(down, -3.0f, 0.0f), 0x8000u);
  EXPECT_EQ(convertPair(up, 0x1.8p-127f, 0x1p-140f), 0x0100u);
  EXPECT_EQ(convertPair(up, 0x1.8p127f, NAN), 0xffffu);
  EXPECT_EQ(convertPair("cvt.rp.satfinite.ue8m0x2.f32", 0x1.8p127f, INFINITY),
            0xfefeu);
  TestRun run = runBody("mov.b16 %h0, 0x80FF;\n"
                        "cvt.rn.bf16x2.ue8m0x2 %r2, %h0;\n"
                        "cvt.rz.ue8m0x2.bf16x2 %h1, %r2;\n"
                        "setp.ne.b16 %p0, %h0, %h1;\n@%p0 trap;\n"
                        "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0x40007fffu);
}

TEST(SimNarrowTest, StochasticHalves) {
  // A quarter of the last place above 1: up if the random bits are at least
  // three quarters of their range.
  auto f16 = [](const char *random) {
    return convertPair("cvt.rs.f16x2.f32", 1 + 0x1p-12f, -1 - 0x1p-12f, "b32",
                       random);
  };
  EXPECT_EQ(f16(", 0x17ff17ff"), 0x3c00bc00u);
  EXPECT_EQ(f16(", 0x180017ff"), 0x3c01bc00u);
  EXPECT_EQ(f16(", 0x17ff1800"), 0x3c00bc01u);
  EXPECT_EQ(f16(", 0xe000e000"), 0x3c00bc00u); // bits that are not used
  auto bf16 = [](const char *random) {
    return convertPair("cvt.rs.bf16x2.f32", 1 + 0x1p-9f, 2.0f, "b32", random);
  };
  EXPECT_EQ(bf16(", 0xbfffffff"), 0x3f804000u);
  EXPECT_EQ(bf16(", 0xc000ffff"), 0x3f814000u);
  EXPECT_EQ(convertPair("cvt.rs.relu.f16x2.f32", NAN, -1.0f, "b32", ", 0"),
            0x7fff0000u);
  EXPECT_EQ(convertPair("cvt.rs.f16x2.f32", 65519.0f, INFINITY, "b32",
                        ", 0x1fff1fff"),
            0x7c007c00u);
  EXPECT_EQ(convertPair("cvt.rs.satfinite.f16x2.f32", 65519.0f, -INFINITY,
                        "b32", ", 0x1fff1fff"),
            0x7bfffbffu);
  // Half of the smallest subnormal number.
  EXPECT_EQ(convertPair("cvt.rs.f16x2.f32", 0x1p-25f, 0x1p-25f, "b32",
                        ", 0x10000fff"),
            0x00010000u);
}

/// Four times `value` with stochastic rounding.
uint32_t convertFour(const std::string &opcode, float value,
                     const std::string &random) {
  bool isHalf = opcode.find("e2m1") != std::string::npos;
  TestRun run = runBody(
      "mov.b32 %f0, " + std::to_string(getBits(value)) + ";\n" + opcode +
      (isHalf ? " %h0" : " %r2") + ", {%f0, %f0, %f0, %f0}, " + random + ";\n" +
      (isHalf ? "cvt.u32.u16 %r2, %h0;\n" : "") + "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(run.text(), "") << opcode;
  return run.out[0];
}

TEST(SimNarrowTest, StochasticQuadruples) {
  // Half of the last place above 1: the first of a pair looks at the lowest bit
  // of its field, the second at the highest one.
  std::string e4m3 = "cvt.rs.satfinite.e4m3x4.f32";
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0"), 0x38383838u);
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0x00010000"), 0x39383838u);
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0x80000000"), 0x38393838u);
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0x00000001"), 0x38383938u);
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0x00008000"), 0x38383839u);
  EXPECT_EQ(convertFour(e4m3, 1.0625f, "0x7ffe7ffe"), 0x38383838u);
  EXPECT_EQ(convertFour(e4m3, 1.0f, "-1"), 0x38383838u);
  EXPECT_EQ(convertFour(e4m3, 1e9f, "-1"), 0x7e7e7e7eu);
  EXPECT_EQ(convertFour("cvt.rs.satfinite.e5m2x4.f32", 1.125f, "0x80008000"),
            0x3c3d3c3du);
  EXPECT_EQ(convertFour("cvt.rs.relu.satfinite.e3m2x4.f32", -1.f, "-1"), 0u);
  EXPECT_EQ(convertFour("cvt.rs.satfinite.e2m3x4.f32", -1.0625f, "0x80008000"),
            0x28292829u);
  // Of e2m1 a pair's field are bytes of both halves.
  std::string e2m1 = "cvt.rs.satfinite.e2m1x4.f32";
  EXPECT_EQ(convertFour(e2m1, 1.25f, "0x00000100"), 0x3222u);
  EXPECT_EQ(convertFour(e2m1, 1.25f, "0x80000000"), 0x2322u);
  EXPECT_EQ(convertFour(e2m1, 1.25f, "0x00000001"), 0x2232u);
  EXPECT_EQ(convertFour(e2m1, 1.25f, "0x00800000"), 0x2223u);
}

TEST(SimNarrowTest, NotModelled) {
  auto error = [](const char *text) { return runBody(text).error; };
  EXPECT_EQ(error("cvt.rn.e2m3x2.f32 %h0, %f0, %f1;"),
            "k.ptx:20: modifier '.f32' of 'cvt.rn.e2m3x2.f32' is not modelled");
  EXPECT_EQ(error("cvt.rs.e4m3x2.f32 %h0, %f0, %f1, %r0;"),
            "k.ptx:20: modifier '.f32' of 'cvt.rs.e4m3x2.f32' is not modelled");
  EXPECT_EQ(error("multimem.red.add.f32 [%rd0], %f0;"),
            "k.ptx:20: instruction 'multimem.red.add.f32' is not modelled: "
            "there is one device only");
  EXPECT_EQ(error("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}];"),
            "k.ptx:20: instruction 'tex.1d.v4.f32.s32' is not modelled: there "
            "are no textures and surfaces");
}

} // namespace
