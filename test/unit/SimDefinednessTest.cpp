//===- SimDefinednessTest.cpp - Unwritten parts of registers --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register may hold a part that nothing wrote; using that part is the fault.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

/// %r2 is {1, unwritten}, %rd3 is {5, unwritten}, %h7 and %r9 are unwritten.
constexpr unsigned kLine = kBodyLine + 4;
TestRun run(const std::string &body) {
  return runBody("mov.b16 %h0, 1;\n"
                 "mov.b32 %r2, {%h0, %h7};\n"
                 "mov.b32 %r3, 5;\n"
                 "mov.b64 %rd3, {%r3, %r9};\n" +
                 body);
}

void expectClean(const std::string &body) {
  EXPECT_EQ(run(body).text(), "") << body;
}

/// A use of an unwritten part in the line `line` of the body (from 0).
void expectUse(const std::string &body, unsigned line, const char *text) {
  TestRun result = run(body);
  ASSERT_EQ(result.kinds(),
            std::vector<FindingKind>{FindingKind::UninitializedValue})
      << body << result.text();
  EXPECT_EQ(result.result.findings[0].line, kLine + line) << result.text();
  EXPECT_EQ(result.result.findings[0].message, text);
}

constexpr char kStore16[] = "\nst.global.b16 [%rd1], %h1;";
constexpr char kStore32[] = "\nst.global.b32 [%rd1], %r4;";

/// `instruction` gives %r4, whose lower half is written and whose upper one is
/// not.
void expectUpperUnwritten(const std::string &instruction) {
  expectClean(instruction + "\nmov.b32 {%h1, %h2}, %r4;" + kStore16);
  expectUse(instruction + "\nmov.b32 {%h2, %h1}, %r4;" + kStore16, 2,
            "register %h1 was not written");
  expectUse(instruction + kStore32, 1, "register %r4 was written only in part");
}

TEST(SimDefinednessTest, Moves) {
  expectUpperUnwritten("mov.b32 %r4, %r2;");
  expectUpperUnwritten("mov.b32 {%h3, %h4}, %r2; mov.b32 %r4, {%h3, %h4};");
  expectUpperUnwritten("mov.b32 {%h4, %h3}, %r2; mov.b32 %r4, {%h4, %h3};");
  expectUpperUnwritten("setp.eq.u32 %p0, 1, 1; selp.b32 %r4, %r2, %r9, %p0;");
  // Swapped, the lower half is the one that is not written.
  expectUse("mov.b32 {%h3, %h4}, %r2;\nmov.b32 %r4, {%h4, %h3};\n"
            "mov.b32 {%h1, %h2}, %r4;" +
                std::string(kStore16),
            3, "register %h1 was not written");
}

TEST(SimDefinednessTest, PackedArithmetic) {
  expectUpperUnwritten("fma.rn.bf16x2 %r4, %r2, %r2, %r2;");
  expectUpperUnwritten("mul.rn.f16x2 %r4, %r2, %r3;");
  expectUpperUnwritten("max.bf16x2 %r4, %r3, %r2;");
  expectUpperUnwritten("neg.f16x2 %r4, %r2;");
  expectUpperUnwritten("ex2.approx.ftz.bf16x2 %r4, %r2;");
  expectUpperUnwritten("add.u16x2 %r4, %r2, %r2;");
  // cvt of two f32: the second source is the lower half.
  expectUpperUnwritten("mov.f32 %f0, 0f3F800000; "
                       "cvt.rn.bf16x2.f32 %r4, %f9, %f0;");
}

TEST(SimDefinednessTest, PackedSingles) {
  std::string multiply = "fma.rn.f32x2 %rd4, %rd3, %rd3, %rd3;\n"
                         "mov.b64 {%r4, %r5}, %rd4;\n";
  expectClean(multiply + "st.global.b32 [%rd1], %r4;");
  expectUse(multiply + "st.global.b32 [%rd1], %r5;", 2,
            "register %r5 was not written");
}

TEST(SimDefinednessTest, LogicAndShifts) {
  expectUpperUnwritten("or.b32 %r4, %r2, %r3;");
  expectUpperUnwritten("xor.b32 %r4, %r2, %r3;");
  expectUpperUnwritten("not.b32 %r4, %r2;");
  expectUpperUnwritten("shl.b32 %r4, %r2, 16; shr.u32 %r5, %r4, 16;"
                       "or.b32 %r4, %r5, %r2;");
  // The part that is not written is masked or shifted away.
  expectClean("and.b32 %r4, %r2, 0xffff;" + std::string(kStore32));
  expectClean("or.b32 %r4, %r2, 0xffff0000;" + std::string(kStore32));
  expectClean("shl.b32 %r4, %r2, 16;" + std::string(kStore32));
  expectClean("prmt.b32 %r4, %r2, %r3, 0x5410;" + std::string(kStore32));
  expectUse("and.b32 %r4, %r2, 0x1ffff;" + std::string(kStore32), 1,
            "register %r4 was written only in part");
  expectUse("shr.u32 %r4, %r2, 16;" + std::string(kStore32), 1,
            "register %r4 was written only in part");
  expectUse("shr.s32 %r4, %r2, 24;" + std::string(kStore32), 1,
            "register %r4 was not written");
  // A byte of which one bit is not written.
  expectUse("shl.b32 %r4, %r2, 15;" + std::string(kStore32), 1,
            "register %r4 was written only in part");
  expectUse("prmt.b32 %r4, %r2, %r3, 0x5421;" + std::string(kStore32), 1,
            "register %r4 was written only in part");
}

TEST(SimDefinednessTest, Conversions) {
  expectClean("cvt.u16.u32 %h1, %r2;" + std::string(kStore16));
  expectClean("cvt.u32.u64 %r4, %rd3;" + std::string(kStore32));
  expectClean("cvt.u32.u16 %r4, %r2;" + std::string(kStore32));
  expectClean("st.global.b16 [%rd1], %r2;");
  expectUse("cvt.u64.u32 %rd4, %r2;\nst.global.b32 [%rd1], %rd4;", 1,
            "register %rd4 was written only in part");
  expectUse("cvt.rn.f32.u32 %f1, %r2;", 0,
            "register %r2 was written only in part");
}

TEST(SimDefinednessTest, Uses) {
  expectUse("add.u32 %r4, %r2, 1;", 0, "register %r2 was written only in part");
  expectUse("setp.eq.u32 %p0, %r2, 1;", 0,
            "register %r2 was written only in part");
  expectUse("shl.b32 %r4, 1, %r2;", 0, "register %r2 was written only in part");
  // Of an address all is used, of what is stored the lower part.
  expectUse("prmt.b32 %r5, %r1, %r2, 0x7610;\nst.shared.b32 [%r5], 7;", 1,
            "register %r5 was written only in part");
  expectUse("prmt.b32 %r5, %r1, %r2, 0x7610;\nst.shared.b16 [%r5], %r3;", 1,
            "register %r5 was written only in part");
}

TEST(SimDefinednessTest, Lanes) {
  // Written as a whole in the lower lanes, in part in the upper ones.
  std::string body = "setp.lt.u32 %p0, %r0, 16;\n"
                     "@%p0 mov.b32 %r2, 7;\n"
                     "mov.b32 %r4, %r2;\n"
                     "@%p0 st.global.b32 [%rd1], %r4;\n";
  expectClean(body);
  TestRun result = run(body + "st.global.b32 [%rd1], %r4;");
  ASSERT_EQ(result.kinds(),
            std::vector<FindingKind>{FindingKind::UninitializedValue});
  EXPECT_EQ(result.result.findings[0].thread[0], 16u);
  EXPECT_EQ(result.result.findings[0].line, kLine + 4);
}

} // namespace
