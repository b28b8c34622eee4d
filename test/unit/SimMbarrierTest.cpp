//===- SimMbarrierTest.cpp - Barrier objects in the simulator -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

void expectFinding(const TestRun &run, FindingKind kind, unsigned line) {
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{kind}) << run.text();
  EXPECT_EQ(run.result.findings[0].line, kBodyLine + line) << run.text();
}

/// One finding whose message has `part`.
void expectMessage(const TestRun &run, FindingKind kind, unsigned line,
                   const char *part) {
  expectFinding(run, kind, line);
  ASSERT_FALSE(run.result.findings.empty());
  EXPECT_NE(run.result.findings[0].message.find(part), std::string::npos)
      << run.text();
}

/// Thread 0 initializes the barrier at %r1 for `count` arrivals.
std::string init(const char *count) {
  return std::string("setp.eq.u32 %p0, %r0, 0;\n"
                     "@%p0 mbarrier.init.shared::cta.b64 [%r1], ") +
         count + ";\nbar.sync 0;\n";
}

const char *const kStore = "st.global.b32 [%rd1], %r2;";

TEST(SimMbarrierTest, ParityOfANewBarrier) {
  TestRun run = runBody(init("1") +
                        "mbarrier.test_wait.parity.shared.b64 "
                        "%p1, [%r1], 1;\n"
                        "mbarrier.test_wait.parity.shared.b64 "
                        "%p2, [%r1], 0;\n"
                        "selp.b32 %r2, 1, 0, %p1;\n"
                        "@%p2 add.u32 %r2, %r2, 2;\n" +
                        kStore);
  expectClean(run);
  EXPECT_EQ(run.out[5], 1u);
}

TEST(SimMbarrierTest, PhasesFlip) {
  // After each phase the parity that is complete is the other one.
  TestRun run = runBody(init("32") + R"(mov.u32 %r2, 0;
mbarrier.arrive.shared::cta.b64 _, [%r1];
mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;
@%p1 add.u32 %r2, %r2, 1;
mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 1;
@%p1 add.u32 %r2, %r2, 2;
bar.warp.sync -1;
mbarrier.arrive.shared::cta.b64 _, [%r1];
mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0;
@%p1 add.u32 %r2, %r2, 4;
mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 1;
@%p1 add.u32 %r2, %r2, 8;
)" + kStore);
  expectClean(run);
  EXPECT_EQ(run.out[31], 1u + 8u);
}

TEST(SimMbarrierTest, StatesAndPendingCounts) {
  TestRun run = runBody(init("40") + R"(
mbarrier.arrive.shared.b64 %rd3, [%r1];
mbarrier.pending_count.b64 %r2, %rd3;
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd3;
@%p1 add.u32 %r2, %r2, 100;
bar.warp.sync -1;
setp.eq.u32 %p2, %r0, 3;
@%p2 mbarrier.arrive.shared.b64 %rd4, [%r1], 8;
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd3;
@%p1 add.u32 %r2, %r2, 1000;
)" + kStore);
  expectClean(run);
  EXPECT_EQ(run.out[0], 1040u);
  EXPECT_EQ(run.out[31], 1009u);
}

TEST(SimMbarrierTest, DropLowersTheCount) {
  // One of two threads drops: the next phase waits for one arrival only.
  TestRun run = runBody(init("2") + R"(
setp.eq.u32 %p1, %r0, 1;
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
@%p1 mbarrier.arrive_drop.shared.b64 _, [%r1];
mov.u32 %r2, 0;
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 add.u32 %r2, %r2, 1;
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 1;
@%p2 add.u32 %r2, %r2, 2;
)" + kStore);
  expectClean(run);
  EXPECT_EQ(run.out[7], 3u);
}

TEST(SimMbarrierTest, TransactionBytes) {
  TestRun run = runBody(init("1") + R"(
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;
mov.u32 %r2, 0;
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 add.u32 %r2, %r2, 1;
@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 48;
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 add.u32 %r2, %r2, 2;
@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 16;
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 add.u32 %r2, %r2, 4;
)" + kStore);
  expectClean(run);
  EXPECT_EQ(run.out[0], 4u);
}

TEST(SimMbarrierTest, BytesBeforeTheyAreExpected) {
  TestRun run = runBody(init("1") + R"(
@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 64;
@%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
selp.b32 %r2, 1, 0, %p2;
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 add.u32 %r2, %r2, 2;
)" + kStore);
  expectClean(run);
  EXPECT_EQ(run.out[0], 2u);
}

/// Two warps hand a word of shared memory back and forth.
const char *const kHandOver = R"(
setp.lt.u32 %p1, %r0, 32;
@!%p1 bra RECEIVE;
shl.b32 %r3, %r0, 2;
add.u32 %r3, %r3, %r1;
st.shared.b32 [%r3+64], %r0;
mbarrier.arrive.shared.b64 _, [%r1];
bra END;
RECEIVE:
mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
@!%p2 bra RECEIVE;
shl.b32 %r3, %r0, 2;
add.u32 %r3, %r3, %r1;
ld.shared.b32 %r2, [%r3+-64];
st.global.b32 [%rd1], %r2;
END:
)";

TEST(SimMbarrierTest, WaitOrdersAccesses) {
  for (uint64_t seed = 0; seed != 4; ++seed) {
    TestRun run = runBody(init("32") + kHandOver, threads(64, seed));
    expectClean(run);
    EXPECT_EQ(run.out[40], 8u);
  }
  // A relaxed arrival orders nothing.
  std::string body = kHandOver;
  body.replace(body.find(".arrive.shared"), 14, ".arrive.relaxed.cta.shared");
  expectFinding(runBody(init("32") + body, threads(64)), FindingKind::Race, 16);
}

TEST(SimMbarrierTest, ArrivalOfOneThreadIsForItself) {
  // Thread 0 arrives for the warp, which has to meet before.
  std::string body = kHandOver;
  body.replace(body.find("mbarrier.arrive"), 8, "@%p0 mbarrier");
  expectFinding(runBody(init("1") + body, threads(64)), FindingKind::Race, 16);
  std::string good = body;
  good.insert(good.find("@%p0 mbarrier"), "bar.warp.sync -1;\n");
  expectClean(runBody(init("1") + good, threads(64)));
}

TEST(SimMbarrierTest, InvalidatedBarriersLeaveMemory) {
  expectClean(runBody(init("1") + "bar.warp.sync -1;\n"
                                  "@%p0 mbarrier.inval.shared.b64 [%r1];\n"
                                  "@%p0 st.shared.b32 [%r1], %r0;\n"
                                  "@%p0 mbarrier.init.shared.b64 [%r1], 3;"));
  expectFinding(runBody(init("1") + "@%p0 st.shared.b32 [%r1+4], %r0;"),
                FindingKind::BarrierMisuse, 3);
  expectFinding(runBody(init("1") + "@%p0 mbarrier.init.shared.b64 [%r1], 3;"),
                FindingKind::BarrierMisuse, 3);
}

TEST(SimMbarrierTest, Uninitialized) {
  expectMessage(runBody("mbarrier.arrive.shared.b64 _, [%r1];"),
                FindingKind::BarrierMisuse, 0, "not initialized");
  expectMessage(runBody("mbarrier.try_wait.parity.shared.b64 %p0, [%r1], 0;"),
                FindingKind::BarrierMisuse, 0, "not initialized");
  expectFinding(runBody("mbarrier.init.shared.b64 [%r1+4], 1;"),
                FindingKind::Misaligned, 0);
  expectMessage(runBody("mbarrier.init.shared.b64 [%r1], 0;", threads(1)),
                FindingKind::BarrierMisuse, 0, "0 arrivals");
}

TEST(SimMbarrierTest, InitializationNeedsOrder) {
  std::string body = init("32") + "mbarrier.arrive.shared.b64 _, [%r1];";
  expectClean(runBody(body));
  body.erase(body.find("bar.sync 0;\n"), 12);
  expectFinding(runBody(body), FindingKind::Race, 2);
}

TEST(SimMbarrierTest, TooManyArrivals) {
  expectMessage(runBody(init("4") + "@%p0 mbarrier.arrive.shared.b64 _, [%r1], "
                                    "5;"),
                FindingKind::BarrierMisuse, 3,
                "5 arrivals, but the phase waits for 4");
  expectMessage(runBody(init("1") + "@%p0 mbarrier.arrive.noComplete.release."
                                    "cta.shared.b64 %rd3, [%r1], 1;"),
                FindingKind::BarrierMisuse, 3, "completes the phase");
  expectMessage(runBody(init("1") + "@%p0 mbarrier.expect_tx.relaxed.cta."
                                    "shared::cta.b64 [%r1], 1048576;"),
                FindingKind::BarrierMisuse, 3, "leaves its range");
}

TEST(SimMbarrierTest, PhasesLongGone) {
  expectMessage(
      runBody(init("1") + R"(@%p0 mbarrier.arrive.shared.b64 %rd3, [%r1];
@%p0 mbarrier.arrive.shared.b64 %rd4, [%r1];
@%p0 mbarrier.test_wait.shared.b64 %p1, [%r1], %rd3;)"),
      FindingKind::BarrierMisuse, 5,
      "phase 0 of an mbarrier whose current phase is 2");
}

TEST(SimMbarrierTest, ParitiesLongGone) {
  // Three phases complete between two waits of the warp.
  std::string body = init("1") + R"(@%p0 mbarrier.arrive.shared.b64 _, [%r1];
mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;)";
  TestRun run = runBody(body);
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{FindingKind::BarrierMisuse})
      << run.text();
  EXPECT_NE(run.text().find("phase 1 of an mbarrier whose current phase is 4"),
            std::string::npos)
      << run.text();
  // After the first of them it is the last one.
  body.erase(body.find("@%p0 mbarrier.arrive", body.find("try_wait")), 84);
  expectClean(runBody(body));
}

TEST(SimMbarrierTest, Deadlock) {
  std::string loop = init("2") + R"(@%p0 mbarrier.arrive.shared.b64 _, [%r1];
LOOP:
mbarrier.TEST_wait.parity.shared.b64 %p2, [%r1], 0;
@!%p2 bra LOOP;)";
  for (const char *kind : {"try", "test"}) {
    std::string body = loop;
    body.replace(body.find("TEST"), 4, kind);
    TestRun run = runBody(body, threads(64));
    ASSERT_EQ(run.kinds(), std::vector<FindingKind>{FindingKind::Deadlock})
        << run.text();
    for (const char *part :
         {"warp 0 lanes 0xffffffff in line", "warp 1 lanes 0xffffffff in line",
          "parity 0 of the mbarrier at 0x400",
          "waits for 1 of 2 arrivals and 0 bytes"})
      EXPECT_NE(run.text().find(part), std::string::npos) << run.text();
  }
}

TEST(SimMbarrierTest, DeadlockOfSleepers) {
  TestRun run = runBody(init("2") + R"(LOOP:
mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;
@%p2 bra END;
nanosleep.u32 20;
bra LOOP;
END:)");
  EXPECT_EQ(run.kinds(), std::vector<FindingKind>{FindingKind::Deadlock})
      << run.text();
}

TEST(SimMbarrierTest, TestsWhileOthersAreSuspended) {
  // Warp 0 gives up its wait and arrives where warp 1 tests.
  expectClean(runBody(init("1") + R"(
@%p0 mbarrier.init.shared.b64 [%r1+8], 1;
bar.sync 0;
setp.ge.u32 %p1, %r0, 32;
@%p1 bra LOOP;
mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;
@%p0 mbarrier.arrive.shared.b64 _, [%r1+8];
bra END;
LOOP:
mbarrier.test_wait.parity.shared.b64 %p2, [%r1+8], 0;
@!%p2 bra LOOP;
END:)",
                      threads(64)));
}

TEST(SimMbarrierTest, WaitsThatGiveUp) {
  // A wait outside of a loop: it fails, and the thread goes on.
  TestRun run = runBody(init("1") + R"(
mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0, 1000;
selp.b32 %r2, 7, 9, %p2;
@%p0 mbarrier.arrive.shared.b64 _, [%r1];
)" + kStore,
                        threads(64));
  expectClean(run);
  EXPECT_EQ(run.out[63], 9u);
}

} // namespace
