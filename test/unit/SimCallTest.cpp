//===- SimCallTest.cpp - Calls of device functions ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

/// The functions stand before the kernel.
TestRun run(const std::string &functions, const std::string &body,
            TestOptions options = {}) {
  std::string module = makeKernel(body);
  module.insert(module.find(".extern"), functions + "\n");
  return runModule(module, options);
}

/// As LLVM and nvcc write them.
constexpr char kSquare[] =
    ".visible .func (.param .b32 func_retval0) square(.param .b32 square_0)\n"
    "{ .reg .b32 %r<3>;\n"
    "ld.param.b32 %r0, [square_0];\n"
    "mul.lo.u32 %r1, %r0, %r0;\n"
    "st.param.b32 [func_retval0], %r1;\n"
    "ret; }";

std::string callSquare(const char *from, const char *to) {
  return std::string("{ .param .b32 param0; .param .b32 retval0;\n"
                     "st.param.b32 [param0], ") +
         from +
         ";\n"
         "call.uni (retval0), square, (param0);\n"
         "ld.param.b32 " +
         to + ", [retval0]; }\n";
}

TEST(SimCallTest, Values) {
  TestRun result =
      run(kSquare, callSquare("%r0", "%r2") + callSquare("%r2", "%r3") +
                       "st.global.b32 [%rd1], %r3;");
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.out[3], 81u);
}

TEST(SimCallTest, NestedWithVariablesAndLabels) {
  std::string functions =
      std::string(kSquare) +
      "\n.func (.param .b32 func_retval0) sum(.param .b32 n)\n"
      "{ .reg .b32 %r<8>; .reg .pred %p;\n"
      ".local .align 4 .b8 stack[4];\n"
      "ld.param.b32 %r0, [n];\n"
      "mov.u32 %r1, 0;\n"
      "st.local.b32 [stack], %r1;\n"
      "loop:\n"
      "setp.eq.u32 %p, %r0, 0;\n"
      "@%p bra done;\n" +
      callSquare("%r0", "%r2") +
      "ld.local.b32 %r1, [stack];\n"
      "add.u32 %r1, %r1, %r2;\n"
      "st.local.b32 [stack], %r1;\n"
      "sub.u32 %r0, %r0, 1;\n"
      "bra loop;\n"
      "done:\n"
      "ld.local.b32 %r1, [stack];\n"
      "st.param.b32 [func_retval0], %r1;\n"
      "ret; }";
  // Twice, for lanes with different numbers of iterations.
  auto callSum = [](const char *to) {
    return std::string("{ .param .b32 param0; .param .b32 retval0;\n"
                       "st.param.b32 [param0], %r0;\n"
                       "call (retval0), sum, (param0);\n"
                       "ld.param.b32 ") +
           to + ", [retval0]; }\n";
  };
  TestRun result = run(functions, callSum("%r2") + callSum("%r3") +
                                      "loop: add.u32 %r2, %r2, %r3;\n"
                                      "activemask.b32 %r4;\n"
                                      "setp.ne.u32 %p0, %r4, -1;\n"
                                      "@%p0 trap;\n"
                                      "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.text(), "");
  for (unsigned i : {0u, 1u, 5u, 31u})
    EXPECT_EQ(result.out[i], 2 * (i * (i + 1) * (2 * i + 1) / 6)) << i;
}

TEST(SimCallTest, RegistersAndConstants) {
  std::string functions = ".func (.reg .b32 r) add3(.reg .b32 a, .reg .b32 b)\n"
                          "{ add.u32 r, a, b; add.u32 r, r, 3; ret; }";
  TestRun result = run(functions, "call (%r2), add3, (%r0, 10);\n"
                                  "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.out[4], 17u);
  // Constants and registers for `.param` variables.
  result = run(kSquare, "call (%r2), square, (7);\n"
                        "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.out[4], 49u);
}

TEST(SimCallTest, Guards) {
  TestRun result = run(kSquare, "mov.u32 %r2, 1;\n"
                                "setp.lt.u32 %p0, %r0, 4;\n"
                                "@!%p0 call (%r2), square, (%r0);\n"
                                "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.out[3], 1u);
  EXPECT_EQ(result.out[5], 25u);
}

TEST(SimCallTest, ReturnOfSomeThreads) {
  std::string functions =
      ".func (.param .b32 func_retval0) low(.param .b32 n)\n"
      "{ .reg .b32 %r<3>; .reg .pred %p;\n"
      "st.param.b32 [func_retval0], 7;\n"
      "ld.param.b32 %r0, [n];\n"
      "setp.lt.u32 %p, %r0, 9;\n"
      "@%p ret;\n"
      "st.param.b32 [func_retval0], %r0; }";
  TestRun result = run(functions, "call (%r2), low, (%r0);\n"
                                  "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.text(), "");
  EXPECT_EQ(result.out[8], 7u);
  EXPECT_EQ(result.out[9], 9u);
}

TEST(SimCallTest, NoReturn) {
  std::string functions = ".func fail() .noreturn\n{ trap; }";
  TestRun result = run(functions, "setp.eq.u32 %p0, %r0, 99;\n"
                                  "@%p0 call.uni fail;\n");
  EXPECT_EQ(result.text(), "");
  result = run(functions, "setp.eq.u32 %p0, %r0, 9;\n"
                          "@%p0 call.uni fail, ();\n");
  ASSERT_EQ(result.kinds(), std::vector<FindingKind>{FindingKind::Trap});
  EXPECT_EQ(result.result.findings[0].line, 5u); // in the function
  EXPECT_EQ(result.result.findings[0].thread[0], 9u);
}

TEST(SimCallTest, ResultThatIsNotWritten) {
  std::string functions = ".func (.param .b32 func_retval0) none()\n{ ret; }\n";
  TestRun result = run(functions, "call (%r2), none;\n"
                                  "st.global.b32 [%rd1], %r2;");
  EXPECT_EQ(result.kinds(),
            std::vector<FindingKind>{FindingKind::UninitializedRead});
}

TEST(SimCallTest, Errors) {
  EXPECT_EQ(run(".extern .func (.param .b32 r) vprintf(.param .b64 a);",
                "call (%r2), vprintf, (%rd0);")
                .error,
            "k.ptx:21: function 'vprintf' has no body");
  EXPECT_EQ(run("", "call nothing;").error,
            "k.ptx:21: there is no function 'nothing'");
  EXPECT_EQ(run(kSquare, "call square;").error,
            "k.ptx:26: function 'square' has 1 parameters and 1 results, the "
            "call 0 and 0");
  EXPECT_EQ(run(".func again()\n{ call again; ret; }", "call again;").error,
            "k.ptx:5: function 'again' calls itself; recursion is not "
            "modelled");
  EXPECT_EQ(run("", "proto: .callprototype _ ();\ncall %rd0, proto;").error,
            "k.ptx:22: a call through a register is not modelled");
  // A function that nothing calls may do what it wants.
  EXPECT_EQ(run(".func again()\n{ call again; ret; }", "").text(), "");
}

} // namespace
