//===- SimExecutionTest.cpp - Scheduling, errors and counters -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What single instructions compute is compared with a GPU's record, in
// test/Integration/Sim.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

#include "mamba/Sim/Bundle.h"

using namespace llvm;
using namespace mamba::sim;

namespace {

TEST(SimParserTest, UnknownInstructions) {
  EXPECT_EQ(runBody("add.u32 %r2, %r0, 1;\nfrob.u32 %r2, %r0;").error,
            "k.ptx:21: instruction 'frob.u32' is not modelled");
  EXPECT_EQ(runBody("add.fast.u32 %r2, %r0, %r0;").error,
            "k.ptx:20: modifier '.fast' of 'add.fast.u32' is not modelled");
  EXPECT_EQ(runBody("multimem.red.add.u32;").error,
            "k.ptx:20: instruction 'multimem.red.add.u32' is not modelled: "
            "there is one device only");
  EXPECT_EQ(runBody("call.uni foo, (%r1);").error,
            "k.ptx:20: there is no function 'foo'");
}

TEST(SimParserTest, Operands) {
  EXPECT_EQ(runBody("add.u32 %r2, %r0;").error,
            "k.ptx:20: too few operands of 'add.u32'");
  EXPECT_EQ(runBody("add.u32 %r2, %r0, 1, 2;").error,
            "k.ptx:20: too many operands of 'add.u32'");
  EXPECT_EQ(runBody("add.u64 %rd3, %rd3, %r0;").error,
            "k.ptx:20: register '%r0' of 'add.u64' has type .b32, expected "
            ".u64");
  EXPECT_EQ(runBody("mov.u32 %r2, %nonsense;").error,
            "k.ptx:20: '%nonsense' is no register, or one that is not "
            "modelled");
  EXPECT_EQ(runBody("mov.u32 %r2, nothing;").error,
            "k.ptx:20: unknown name 'nothing'");
  EXPECT_EQ(runBody("bra nowhere;").error, "k.ptx:20: unknown label 'nowhere'");
}

TEST(SimParserTest, Syntax) {
  EXPECT_EQ(runBody("add.u32 %r2, %r0, 1").error, "k.ptx:21: expected ';'");
  EXPECT_EQ(runModule(".version 8.0\n.frob 1\n").error,
            "k.ptx:2: unknown directive '.frob'");
  EXPECT_EQ(runModule(".visible .entry k()\n{\n").error,
            "k.ptx:3: expected '}'");
}

TEST(SimParserTest, ScopesAndLiterals) {
  TestRun run = runBody("{ .reg .b32 %r2; mov.u32 %r2, 0x10; // inner\n"
                        "  /* a\n comment */ add.u32 %r3, %r2, -1; }\n"
                        "mov.f32 %f0, 0f40000000; cvt.rzi.u32.f32 %r4, %f0;\n"
                        "mov.f32 %f1, 1.5e1; cvt.rzi.u32.f32 %r5, %f1;\n"
                        "mad.lo.u32 %r6, %r3, 1000, %r4;\n"
                        "mad.lo.u32 %r6, %r5, 100, %r6;\n"
                        "st.global.b32 [%rd1], %r6;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[3], 15u * 1000 + 2 + 15 * 100);
}

TEST(SimParserTest, Variables) {
  TestRun run =
      runModule(".version 8.0\n.target sm_90a\n.address_size 64\n"
                ".global .align 4 .b32 table[4] = {7, 8};\n"
                ".const .align 4 .b8 bytes[4] = {1, 2, 3};\n"
                ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
                ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
                ".local .align 8 .b8 stack[16];\n"
                "ld.param.u64 %rd0, [b];\n"
                "mov.u64 %rd1, stack; cvta.local.u64 %rd2, %rd1;\n"
                "ld.global.b32 %r0, [table+4]; st.b32 [%rd2+8], %r0;\n"
                "ld.const.b32 %r1, [bytes]; ld.local.b32 %r2, [stack+8];\n"
                "add.u32 %r2, %r2, %r1; st.global.b32 [%rd0], %r2;\n}\n",
                {1});
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 8u + 0x00030201);
}

TEST(SimExecutionTest, ThreadsMeetAgain) {
  // Behind nested branches and a loop all 32 threads are together.
  TestRun run = runBody("and.b32 %r2, %r0, 3;\n"
                        "setp.eq.u32 %p0, %r2, 0;\n"
                        "@%p0 bra skip;\n"
                        "loop:\n"
                        "add.s32 %r2, %r2, -1;\n"
                        "setp.eq.s32 %p1, %r2, 1;\n"
                        "@%p1 bra rare;\n"
                        "back:\n"
                        "setp.gt.s32 %p1, %r2, 0;\n"
                        "@%p1 bra loop;\n"
                        "bra skip;\n"
                        "rare:\n"
                        "add.s32 %r3, %r0, 1;\n"
                        "bra back;\n"
                        "skip:\n"
                        "activemask.b32 %r4;\n"
                        "st.global.b32 [%rd1], %r4;");
  EXPECT_EQ(run.text(), "");
  for (uint32_t mask : run.out)
    EXPECT_EQ(mask, 0xffffffffu);
}

TEST(SimExecutionTest, ThreadsThatWaitForOthersOfTheirWarp) {
  // A lock that each thread takes in turn: needs threads to go on separately.
  std::string body = "setp.eq.u32 %p0, %r0, 0;\n"
                     "@%p0 st.shared.v2.b32 [%r1], {0, 0};\n"
                     "bar.sync 0;\n"
                     "spin:\n"
                     "atom.shared.cas.b32 %r2, [%r1], 0, 1;\n"
                     "setp.ne.u32 %p1, %r2, 0;\n"
                     "@%p1 bra spin;\n"
                     "ld.volatile.shared.b32 %r3, [%r1+4];\n"
                     "add.u32 %r3, %r3, 1;\n"
                     "st.volatile.shared.b32 [%r1+4], %r3;\n"
                     "atom.shared.exch.b32 %r2, [%r1], 0;\n"
                     "bar.sync 0;\n"
                     "ld.shared.b32 %r4, [%r1+4];\n"
                     "st.global.b32 [%rd1], %r4;";
  TestOptions options;
  options.threads = 64;
  options.maxInstructions = 1 << 24;
  TestRun run = runBody(body, options);
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[63], 64u);
}

TEST(SimExecutionTest, SeedsKeepResults) {
  std::string body = "shl.b32 %r2, %r0, 2;\n"
                     "add.u32 %r2, %r2, %r1;\n"
                     "st.shared.b32 [%r2], %r0;\n"
                     "bar.sync 0;\n"
                     "ld.shared.b32 %r3, [%r1+508];\n"
                     "st.global.b32 [%rd1], %r3;";
  for (uint64_t seed = 0; seed != 5; ++seed) {
    TestOptions options;
    options.threads = 128;
    options.seed = seed;
    TestRun run = runBody(body, options);
    EXPECT_EQ(run.text(), "");
    EXPECT_EQ(run.out[0], 127u);
  }
}

TEST(SimExecutionTest, Counters) {
  TestOptions options;
  options.countMemory = true;
  // A stride of two words: two passes. Every word of 128 bytes: four sectors.
  TestRun run = runBody("shl.b32 %r2, %r0, 3;\n"
                        "add.u32 %r2, %r2, %r1;\n"
                        "st.shared.b32 [%r2], %r0;\n"
                        "ld.global.b32 %r3, [%rd0];\n"
                        "st.global.b32 [%rd1], %r3;",
                        options);
  EXPECT_EQ(run.text(), "");
  const Counters &counters = run.result.counters;
  EXPECT_EQ(counters.sharedRequests, 1u);
  EXPECT_EQ(counters.sharedPasses, 2u);
  EXPECT_EQ(counters.sharedIdealPasses, 1u);
  EXPECT_EQ(counters.globalLoadSectors, 4u);
  EXPECT_EQ(counters.globalLoadIdealSectors, 4u);
  EXPECT_EQ(counters.globalStoreBytes, 128u);
  EXPECT_EQ(counters.warpInstructions[unsigned(InstClass::SharedStore)], 1u);
  EXPECT_EQ(counters.threadInstructions[unsigned(InstClass::GlobalLoad)], 32u);
}

TEST(SimExecutionTest, LaunchErrors) {
  TestOptions options;
  options.threads = 2048;
  EXPECT_EQ(runBody("", options).error, "kernel 'k': a block of 2048 threads");
  options.threads = 32;
  options.dynamicSharedBytes = 300000;
  EXPECT_NE(runBody("mov.u32 %r2, dynamic;", options)
                .error.find("bytes of shared memory, more than 232448"),
            std::string::npos);
  EXPECT_EQ(runModule(".version 8.0\n.target sm_90a\n.address_size 64\n"
                      ".visible .entry k(.param .u64 a)\n{\nret;\n}\n")
                .error,
            "kernel 'k': it has 1 parameters, got 2");
}

/// 2.0 and 3.0 in one register.
static constexpr char kPair[] = "mov.b32 %r2, 0f40000000;\n"
                                "mov.b32 %r3, 0f40400000;\n"
                                "mov.b64 %rd3, {%r2, %r3};\n";

TEST(SimArithmeticTest, PackedSingles) {
  TestRun run =
      runBody(std::string(kPair) + "fma.rn.f32x2 %rd4, %rd3, %rd3, %rd3;\n"
                                   "add.rn.f32x2 %rd4, %rd4, %rd3;\n"
                                   "mov.b64 {%r4, %r5}, %rd4;\n"
                                   "cvt.rzi.u32.f32 %r4, %r4;\n"
                                   "cvt.rzi.u32.f32 %r5, %r5;\n"
                                   "mad.lo.u32 %r4, %r4, 100, %r5;\n"
                                   "st.global.b32 [%rd1], %r4;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 8u * 100 + 15);
}

TEST(SimArithmeticTest, MixedPrecision) {
  // 1.5 (bf16) * 2.0 (bf16) + 0.25; 0.5 (f16) + that; 0.5 (f16) - that.
  TestRun run = runBody("mov.b16 %h0, 0x3FC0;\nmov.b16 %h1, 0x4000;\n"
                        "mov.b16 %h2, 0x3800;\n"
                        "fma.rn.f32.bf16 %f0, %h0, %h1, 0f3E800000;\n"
                        "add.rn.f32.f16 %f1, %h2, %f0;\n"
                        "sub.f32.f16 %f2, %h2, %f1;\n"
                        "st.global.f32 [%rd1], %f2;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0xc0500000u); // 0.5 - (3.25 + 0.5)
}

TEST(SimArithmeticTest, PackedIntegers) {
  TestRun run = runBody("mov.s32 %r2, 300;\nmov.s32 %r3, -300;\n"
                        "cvt.pack.sat.s8.s32.b32 %r4, %r2, %r3, %r0;\n"
                        "st.global.b32 [%rd1], %r4;");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[5], 0x00057f80u);
}

TEST(SimArithmeticTest, AtomicVectors) {
  TestRun run = runBody("st.global.b32 [%rd1], 0;\n"
                        "bar.sync 0;\n"
                        "ld.param.u64 %rd5, [k_out];\n"
                        "mov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f40000000;\n"
                        "red.global.add.v2.f32 [%rd5], {%f0, %f1};");
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0x42000000u); // 32 times 1
  EXPECT_EQ(run.out[1], 0x42800000u);
}

TEST(SimExpressionTest, Values) {
  StringMap<int64_t> sizes;
  sizes["batch"] = 3;
  sizes["length"] = 37;
  auto value = [&](StringRef text) -> int64_t {
    Expected<int64_t> result = evaluate(text, sizes);
    if (result)
      return *result;
    ADD_FAILURE() << toString(result.takeError());
    return 0;
  };
  EXPECT_EQ(value("batch * ceildiv(length, 16) * 64"), 576);
  EXPECT_EQ(value("-(batch - 5) * 2 + mod(length, 16)"), 9);
  EXPECT_EQ(value("min(floordiv(length, 16), max(1, batch))"), 2);
  EXPECT_EQ(value("mod(length, batch) == 1"), 1);
  EXPECT_EQ(value("batch >= 4"), 0);
}

TEST(SimExpressionTest, Errors) {
  StringMap<int64_t> sizes;
  auto error = [&](StringRef text) {
    Expected<int64_t> result = evaluate(text, sizes);
    return result ? "" : toString(result.takeError());
  };
  EXPECT_EQ(error("batch + 1"),
            "size expression 'batch + 1': there is no size 'batch'");
  EXPECT_EQ(error("ceildiv(1, 0)"),
            "size expression 'ceildiv(1, 0)': a division by 0");
  EXPECT_EQ(error("1 +"), "size expression '1 +': expected a value");
  EXPECT_EQ(error("1 2"), "size expression '1 2': unexpected text");
  EXPECT_EQ(error("9223372036854775807 + 1"),
            "size expression '9223372036854775807 + 1': the value is too "
            "large");
}

} // namespace
