//===- SimSanitizerTest.cpp - Planted faults ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each class of findings a kernel with the fault, and one like it without.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

/// One finding of `kind` in the line `line` of the body (from 0).
void expectFinding(const TestRun &run, FindingKind kind, unsigned line) {
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{kind}) << run.text();
  EXPECT_EQ(run.result.findings[0].line, kBodyLine + line) << run.text();
}

TEST(SimSanitizerTest, OutOfBoundsGlobal) {
  TestRun run = runBody("ld.global.b32 %r2, [%rd0+4];\n"
                        "st.global.b32 [%rd1], %r2;");
  expectFinding(run, FindingKind::OutOfBounds, 0);
  // The last thread reads behind the end.
  const Finding &finding = run.result.findings[0];
  EXPECT_EQ(finding.thread[0], 31u);
  EXPECT_TRUE(finding.address.has_value());
  EXPECT_NE(finding.message.find("byte 128 of 'in', which has 128"),
            std::string::npos);
  expectFinding(runBody("st.global.b32 [%rd1+-4], %r0;"),
                FindingKind::OutOfBounds, 0);
  expectClean(runBody("ld.global.b32 %r2, [%rd0];\n"
                      "st.global.b32 [%rd1], %r2;"));
}

TEST(SimSanitizerTest, OutOfBoundsShared) {
  expectFinding(runBody("st.shared.b32 [%r1+1024], %r0;"),
                FindingKind::OutOfBounds, 0);
  // Below the first variable is the system's memory.
  expectFinding(runBody("st.shared.b32 [%r1+-4], %r0;"),
                FindingKind::OutOfBounds, 0);
  std::string dynamic = "mov.u32 %r2, dynamic;\n"
                        "shl.b32 %r3, %r0, 2;\n"
                        "add.u32 %r2, %r2, %r3;\n"
                        "st.shared.b32 [%r2], %r0;\n";
  TestOptions options;
  options.dynamicSharedBytes = 124;
  expectFinding(runBody(dynamic, options), FindingKind::OutOfBounds, 3);
  options.dynamicSharedBytes = 128;
  expectClean(runBody(dynamic, options));
}

TEST(SimSanitizerTest, OutOfBoundsNoBuffer) {
  expectFinding(runBody("mov.u64 %rd3, 64;\nld.global.b32 %r2, [%rd3];"),
                FindingKind::OutOfBounds, 1);
}

TEST(SimSanitizerTest, Misaligned) {
  expectFinding(runBody("ld.global.b16 %h0, [%rd0+1];"),
                FindingKind::Misaligned, 0);
  TestOptions one = threads(4);
  std::string vector = "setp.eq.u32 %p0, %r0, 1;\n"
                       "@%p0 ld.global.v2.b32 {%r2, %r3}, [%rd0{0}];";
  auto at = [&](const char *offset) {
    std::string text = vector;
    return text.replace(text.find("{0}"), 3, offset);
  };
  expectFinding(runBody(at("+0"), one), FindingKind::Misaligned, 1);
  expectClean(runBody(at("+4"), one));
}

TEST(SimSanitizerTest, ReadOnly) {
  expectFinding(runBody("st.global.b32 [%rd0], %r0;"), FindingKind::ReadOnly,
                0);
  expectClean(runBody("st.global.b32 [%rd1], %r0;"));
}

TEST(SimSanitizerTest, UnwrittenShared) {
  TestRun run = runBody("setp.ne.u32 %p0, %r0, 0;\n"
                        "shl.b32 %r2, %r0, 2;\n"
                        "add.u32 %r2, %r2, %r1;\n"
                        "@%p0 st.shared.b32 [%r2], %r0;\n"
                        "ld.shared.b32 %r3, [%r2];");
  expectFinding(run, FindingKind::UninitializedRead, 4);
  EXPECT_EQ(run.result.findings[0].thread[0], 0u);
  expectClean(runBody("shl.b32 %r2, %r0, 2;\n"
                      "add.u32 %r2, %r2, %r1;\n"
                      "st.shared.b32 [%r2], %r0;\n"
                      "ld.shared.b32 %r3, [%r2];"));
}

TEST(SimSanitizerTest, UnwrittenOutput) {
  expectFinding(runBody("ld.global.b32 %r2, [%rd1];"),
                FindingKind::UninitializedRead, 0);
  expectClean(runBody("st.global.b32 [%rd1], %r0;\n"
                      "ld.global.b32 %r2, [%rd1];"));
}

TEST(SimSanitizerTest, SharedIsUnwrittenInEveryBlock) {
  TestOptions options;
  options.blocks = 3;
  std::string body = "mov.u32 %r2, %ctaid.x;\n"
                     "setp.eq.u32 %p0, %r2, 0;\n"
                     "shl.b32 %r2, %r0, 2;\n"
                     "add.u32 %r2, %r2, %r1;\n"
                     "@%p0 st.shared.b32 [%r2], %r0;\n"
                     "ld.shared.b32 %r3, [%r2];";
  TestRun run = runBody(body, options);
  expectFinding(run, FindingKind::UninitializedRead, 5);
  EXPECT_EQ(run.result.findings[0].block[0], 1u);
  EXPECT_EQ(run.result.findings[0].count, 64u);
}

TEST(SimSanitizerTest, UnwrittenRegister) {
  TestRun run = runBody("setp.lt.u32 %p0, %r0, 16;\n"
                        "@%p0 mov.u32 %r2, 1;\n"
                        "add.u32 %r3, %r2, 1;");
  expectFinding(run, FindingKind::UninitializedValue, 2);
  EXPECT_EQ(run.result.findings[0].thread[0], 16u);
  EXPECT_NE(run.text().find("%r2"), std::string::npos);
  // A copy is no use yet, but its use is.
  expectFinding(runBody("mov.u32 %r3, %r2;\nadd.u32 %r4, %r3, 1;"),
                FindingKind::UninitializedValue, 1);
  expectClean(runBody("mov.u32 %r3, %r2;\nmov.u32 %r4, %r3;"));
  expectFinding(runBody("@%p0 mov.u32 %r2, 1;"),
                FindingKind::UninitializedValue, 0);
}

/// Thread i writes word i and reads word i ^ distance; `between` orders them.
std::string exchange(const char *distance, const char *between) {
  return std::string("shl.b32 %r2, %r0, 2;\n"
                     "add.u32 %r2, %r2, %r1;\n"
                     "xor.b32 %r3, %r0, ") +
         distance +
         ";\n"
         "shl.b32 %r3, %r3, 2;\n"
         "add.u32 %r3, %r3, %r1;\n"
         "st.shared.b32 [%r2], %r0;\n" +
         between + "\nld.shared.b32 %r4, [%r3];\nst.global.b32 [%rd1], %r4;";
}

TEST(SimSanitizerTest, RaceWriteRead) {
  // Warp 0 runs first: it reads what was not written yet, warp 1 writes what
  // was read and reads what was written, both without order.
  TestRun run = runBody(exchange("32", ""), threads(64));
  std::vector<FindingKind> expected = {
      FindingKind::Race, FindingKind::UninitializedRead, FindingKind::Race};
  EXPECT_EQ(run.kinds(), expected) << run.text();
  expectClean(runBody(exchange("32", "bar.sync 0;"), threads(64)));
  TestOptions seeded = threads(64);
  seeded.seed = 7;
  expectClean(runBody(exchange("32", "bar.sync 0;"), seeded));
}

TEST(SimSanitizerTest, RaceInsideOfWarp) {
  expectFinding(runBody(exchange("1", "")), FindingKind::Race, 7);
  expectClean(runBody(exchange("1", "bar.warp.sync -1;")));
  // A shuffle does not order memory.
  expectFinding(
      runBody(exchange("1", "shfl.sync.bfly.b32 %r5, %r0, 1, 31, -1;")),
      FindingKind::Race, 7);
}

TEST(SimSanitizerTest, RaceReadWrite) {
  std::string begin = exchange("32", "bar.sync 0;") + "\n";
  std::string end = "st.shared.b32 [%r2], 5;";
  TestRun run = runBody(begin + end, threads(64));
  std::vector<FindingKind> expected(2, FindingKind::Race);
  EXPECT_EQ(run.kinds(), expected) << run.text();
  expectClean(runBody(begin + "bar.sync 0;\n" + end, threads(64)));
}

TEST(SimSanitizerTest, RaceWriteWrite) {
  expectFinding(runBody("st.shared.b32 [%r1], %r0;"), FindingKind::Race, 0);
  // All write the same value: no race that matters.
  expectClean(runBody("st.shared.b32 [%r1], 7;", threads(64)));
  // Atomic operations do not race with each other.
  expectClean(runBody("setp.eq.u32 %p0, %r0, 0;\n"
                      "@%p0 st.shared.b32 [%r1], 0;\n"
                      "bar.sync 0;\n"
                      "red.shared.add.u32 [%r1], 1;\n"
                      "bar.sync 0;\n"
                      "ld.shared.b32 %r2, [%r1];\n"
                      "st.global.b32 [%rd1], %r2;",
                      threads(64)));
}

TEST(SimSanitizerTest, ProducerAndConsumerBarriers) {
  // Warp 0 produces, warp 1 consumes, both twice.
  auto body = [](const char *empty) {
    return std::string("and.b32 %r2, %r0, 31;\n"
                       "shl.b32 %r2, %r2, 2;\n"
                       "add.u32 %r2, %r2, %r1;\n"
                       "setp.ge.u32 %p0, %r0, 32;\n"
                       "@%p0 bra consumer;\n"
                       "st.shared.b32 [%r2], %r0;\n"
                       "bar.arrive 1, 64;\n") +
           "bar.sync " + empty +
           ", 64;\n"
           "st.shared.b32 [%r2], 9;\n"
           "bar.arrive 3, 64;\n"
           "bra end;\n"
           "consumer:\n"
           "bar.sync 1, 64;\n"
           "ld.shared.b32 %r3, [%r2];\n"
           "bar.arrive 2, 64;\n"
           "bar.sync 3, 64;\n"
           "ld.shared.b32 %r4, [%r2];\n"
           "end:\n"
           "st.global.b32 [%rd1], 0;";
  };
  expectClean(runBody(body("2"), threads(64)));
  // Of barrier 4 the consumer knows nothing.
  EXPECT_EQ(runBody(body("4"), threads(64)).kinds().back(),
            FindingKind::Deadlock);
}

std::string asyncCopy(const char *wait) {
  return std::string("shl.b32 %r2, %r0, 2;\n"
                     "add.u32 %r2, %r2, %r1;\n"
                     "cp.async.ca.shared.global [%r2], [%rd0], 4;\n"
                     "cp.async.commit_group;\n") +
         wait + "\nld.shared.b32 %r3, [%r2];\nst.global.b32 [%rd1], %r3;";
}

TEST(SimSanitizerTest, InFlight) {
  expectFinding(runBody(asyncCopy("")), FindingKind::InFlight, 5);
  expectFinding(runBody(asyncCopy("cp.async.wait_group 1;")),
                FindingKind::InFlight, 5);
  TestRun run = runBody(asyncCopy("cp.async.wait_group 0;"));
  expectClean(run);
  EXPECT_EQ(run.out[5], 5u);
  expectClean(runBody(asyncCopy("cp.async.wait_all;")));
}

TEST(SimSanitizerTest, BarrierMisuse) {
  expectFinding(runBody("bar.sync 0, 33;", threads(32)),
                FindingKind::BarrierMisuse, 0);
  // Both halves of a warp wait, at different instructions.
  expectFinding(runBody("setp.lt.u32 %p0, %r0, 16;\n"
                        "@%p0 bra low;\n"
                        "bar.sync 0;\n"
                        "bra end;\n"
                        "low:\n"
                        "bar.sync 0;\n"
                        "end:"),
                FindingKind::BarrierMisuse, 5);
  // Threads that exited do not arrive.
  expectFinding(runBody("setp.lt.u32 %p0, %r0, 16;\n@%p0 ret;\nbar.sync 0;"),
                FindingKind::BarrierMisuse, 2);
  // A thread outside of its own mask.
  expectFinding(runBody("vote.sync.ballot.b32 %r2, 1, 0x7fffffff;"),
                FindingKind::BarrierMisuse, 0);
  expectClean(runBody("bar.sync 0, 64;\nbar.sync 0;", threads(64)));
}

TEST(SimSanitizerTest, Deadlock) {
  TestRun run = runBody("setp.lt.u32 %p0, %r0, 32;\n"
                        "@%p0 bra low;\n"
                        "bar.sync 1;\n"
                        "bra end;\n"
                        "low:\n"
                        "bar.sync 2;\n"
                        "end:",
                        threads(64));
  expectFinding(run, FindingKind::Deadlock, 5);
  EXPECT_NE(run.text().find("warp 0 lanes 0xffffffff in line 25 at barrier 2 "
                            "(32 of 64 threads)"),
            std::string::npos)
      << run.text();
  EXPECT_NE(run.text().find("warp 1 lanes 0xffffffff in line 22"),
            std::string::npos);
  // Lanes wait for others of their mask that wait for them.
  EXPECT_EQ(runBody("setp.lt.u32 %p0, %r0, 16;\n"
                    "@%p0 bra low;\n"
                    "shfl.sync.idx.b32 %r2, %r0, 0, 31, -1;\n"
                    "low:\n"
                    "bar.sync 0;")
                .kinds(),
            std::vector<FindingKind>{FindingKind::Deadlock});
}

TEST(SimSanitizerTest, Limit) {
  EXPECT_EQ(runBody("again:\nbra again;").kinds(),
            std::vector<FindingKind>{FindingKind::Limit});
}

TEST(SimSanitizerTest, Trap) {
  expectFinding(runBody("setp.eq.u32 %p0, %r0, 3;\n@%p0 trap;"),
                FindingKind::Trap, 1);
  expectClean(runBody("setp.eq.u32 %p0, %r0, 77;\n@%p0 trap;"));
}

TEST(SimSanitizerTest, Off) {
  TestOptions options = threads(64);
  options.sanitize = false;
  expectClean(runBody(exchange("32", ""), options));
  expectFinding(runBody("ld.global.b32 %r2, [%rd0+4];", options),
                FindingKind::OutOfBounds, 0);
}

} // namespace
