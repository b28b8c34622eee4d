//===- SimBulkCopyTest.cpp - Bulk copies and proxies in the simulator -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

/// Thread 0 copies 128 bytes of the input to shared memory; each thread of the
/// warp waits and stores its word, turned around.
const char *const kLoad = R"(setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1+128], [%rd0], 128, [%r1];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
@!%p1 bra WAIT;
xor.b32 %r2, %r0, 31;
shl.b32 %r2, %r2, 2;
add.u32 %r2, %r2, %r1;
ld.shared.b32 %r3, [%r2+128];
st.global.b32 [%rd1], %r3;
)";

TEST(SimBulkCopyTest, Load) {
  for (uint64_t seed = 0; seed != 4; ++seed) {
    TestRun run = runBody(kLoad, threads(32, seed));
    expectClean(run);
    for (unsigned i = 0; i != 32; ++i)
      EXPECT_EQ(run.out[i], 31 - i);
  }
}

TEST(SimBulkCopyTest, LoadsOfSeveralPartsAndOneExpectation) {
  // The copies come before the bytes are expected.
  std::string body = kLoad;
  body = replace(body,
                 "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, "
                 "[%r1], 128;\n",
                 "");
  body = replace(
      body,
      "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1+128], [%rd0], 128, [%r1];",
      R"(mov.u32 %r4, 48;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+128], [%rd0], 80, [%r1];
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+208], [%rd0+80], %r4, [%r1];
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;)");
  TestRun run = runBody(body);
  expectClean(run);
  EXPECT_EQ(run.out[3], 28u);
}

TEST(SimBulkCopyTest, LoadFaults) {
  auto check = [](const char *from, const char *to, FindingKind kind,
                  const char *part) {
    // What follows from the fault may be found too.
    TestRun run = runBody(replace(kLoad, from, to));
    ASSERT_FALSE(run.kinds().empty());
    EXPECT_EQ(run.kinds()[0], kind) << run.text();
    EXPECT_NE(run.text().find(part), std::string::npos) << run.text();
  };
  check("[%r1+128], [%rd0], 128, [%r1];",
        "[%r1+128], [%rd0], 120, [%r1];\n"
        "@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 8;",
        FindingKind::Misaligned, "120 bytes, expected a multiple of 16");
  check("[%r1+128], [%rd0], 128", "[%r1+136], [%rd0], 128",
        FindingKind::Misaligned, "bulk copy of 128 bytes of shared memory");
  check("[%r1+128], [%rd0], 128", "[%r1+128], [%rd0+8], 128",
        FindingKind::Misaligned, "expected a multiple of 16");
  check("[%r1+128], [%rd0], 128", "[%r1+128], [%rd0+16], 128",
        FindingKind::OutOfBounds, "read of 128 bytes at byte 16 of 'in'");
  check("_, [%r1], 128", "_, [%r1], 144", FindingKind::Deadlock,
        "0 of 1 arrivals and 16 bytes");
  check("@%p0 fence.mbarrier_init.release.cluster;\n", "\n", FindingKind::Proxy,
        "without fence.mbarrier_init");
  check("128, [%r1];", "128, [%r1+8];", FindingKind::BarrierMisuse,
        "there is no mbarrier object");
}

TEST(SimBulkCopyTest, ReadsBeforeTheWait) {
  TestRun run = runBody(replace(kLoad, "@!%p1 bra WAIT;",
                                "@!%p1 bra WAIT;\n@%p0 mbarrier.arrive.expect_"
                                "tx.shared::cta.b64 _, [%r1], 128;\n@%p0 "
                                "cp.async.bulk.shared::cta.global.mbarrier::"
                                "complete_tx::bytes [%r1+128], [%rd0], 128, "
                                "[%r1];"));
  // The second copy is not ordered behind the reads either.
  ASSERT_FALSE(run.kinds().empty());
  EXPECT_NE(run.text().find("in-flight: read of bytes that an asynchronous "
                            "copy still writes"),
            std::string::npos)
      << run.text();
}

TEST(SimBulkCopyTest, OnlyWhoWaitsKnows) {
  // The other warp reads without having waited: a race, though the copy has
  // taken place.
  std::string body = replace(kLoad, "WAIT:\n",
                             "setp.ge.u32 %p2, %r0, 32;\n@%p2 bra READ;\n"
                             "WAIT:\n");
  body = replace(body, "xor.b32", "READ:\nxor.b32");
  body = replace(body, "xor.b32 %r2, %r0, 31;",
                 "and.b32 %r2, %r0, 31;\nxor.b32 %r2, %r2, 31;");
  TestRun run = runBody(body, threads(64));
  ASSERT_FALSE(run.kinds().empty());
  EXPECT_TRUE(run.kinds()[0] == FindingKind::Race ||
              run.kinds()[0] == FindingKind::InFlight)
      << run.text();
  expectClean(
      runBody(replace(body, "READ:\n", "READ:\nbar.sync 1;\n"), threads(64)));
}

/// Threads write their words to shared memory, from where thread 0 copies all
/// to the output.
const char *const kStore = R"(setp.eq.u32 %p0, %r0, 0;
shl.b32 %r2, %r0, 2;
add.u32 %r2, %r2, %r1;
mul.lo.u32 %r3, %r0, 3;
st.shared.b32 [%r2], %r3;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%p0 bra END;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 128;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
END:
bar.sync 0;
)";

TEST(SimBulkCopyTest, Store) {
  for (uint64_t seed = 0; seed != 4; ++seed) {
    TestRun run = runBody(kStore, threads(32, seed));
    expectClean(run);
    for (unsigned i = 0; i != 32; ++i)
      EXPECT_EQ(run.out[i], 3 * i);
  }
}

TEST(SimBulkCopyTest, ReusedBeforeItIsRead) {
  std::string reuse = std::string(kStore) + "st.shared.b32 [%r2], %r0;";
  TestRun good = runBody(reuse);
  expectClean(good);
  EXPECT_EQ(good.out[5], 15u);
  // Without the wait the copy reads what came later.
  TestRun bad =
      runBody(replace(reuse, "wait_group.read 0", "wait_group.read 1"));
  EXPECT_EQ(bad.out[5], 5u);
  ASSERT_FALSE(bad.kinds().empty());
  EXPECT_NE(bad.text().find("in-flight: write of bytes that an asynchronous "
                            "copy may still read"),
            std::string::npos)
      << bad.text();
  // Others have to be ordered behind the thread that waits.
  expectMessage(runBody(replace(reuse, "END:\nbar.sync 0;", "END:")),
                FindingKind::Race, "write without order after a read");
}

TEST(SimBulkCopyTest, BlockEndsBeforeItsCopies) {
  std::string body =
      replace(kStore, "cp.async.bulk.wait_group.read 0;\n", "\n");
  TestRun run = runBody(body);
  expectMessage(run, FindingKind::InFlight,
                "the block ended while the copy may still read");
  EXPECT_EQ(run.out[5], 15u);
}

TEST(SimBulkCopyTest, StoreNeedsAProxyFence) {
  expectMessage(runBody(replace(kStore, "fence.proxy.async.shared::cta;", "")),
                FindingKind::Proxy, "without fence.proxy.async");
  // By the thread that starts the copy, behind the barrier.
  std::string late = replace(kStore, "fence.proxy.async.shared::cta;", "");
  late = replace(late, "bar.sync 0;\n", "bar.sync 0;\nfence.proxy.async;\n");
  expectClean(runBody(late));
  // One thread's fence before the barrier is for its own writes only.
  expectMessage(runBody(replace(kStore, "fence.proxy", "@%p0 fence.proxy")),
                FindingKind::Proxy, "thread (1, 0, 0) wrote");
  // By a third one between.
  std::string third = replace(kStore, "fence.proxy.async.shared::cta;", "");
  third = replace(third, "bar.sync 0;\n",
                  "bar.sync 0;\nsetp.eq.u32 %p1, %r0, 40;\n"
                  "@%p1 fence.proxy.async.shared::cta;\nbar.sync 0;\n");
  expectClean(runBody(third, threads(64)));
  // A fence for another space is none.
  expectMessage(runBody(replace(kStore, "async.shared::cta", "async.global")),
                FindingKind::Proxy, "without fence.proxy.async");
  // An ordinary fence is none either.
  expectMessage(runBody(replace(kStore, "fence.proxy.async.shared::cta",
                                "fence.acq_rel.gpu")),
                FindingKind::Proxy, "without fence.proxy.async");
}

TEST(SimBulkCopyTest, Reduction) {
  std::string body = replace(kStore, "@!%p0 bra END;",
                             "st.global.b32 [%rd1], 1000;\nfence.proxy.async;\n"
                             "bar.sync 0;\n@!%p0 bra END;");
  body = replace(body, "cp.async.bulk.global.shared::cta.bulk_group",
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32");
  TestRun run = runBody(body);
  expectClean(run);
  EXPECT_EQ(run.out[7], 1021u);
  run = runBody(replace(body, ".add.u32", ".max.s32"));
  EXPECT_EQ(run.out[7], 1000u);
  // 1000 and the sources are subnormal as f32, whose sums are exact.
  run = runBody(replace(body, ".add.u32", ".add.f32"));
  EXPECT_EQ(run.out[7], 1021u);
}

TEST(SimBulkCopyTest, ArrivalsOfCopies) {
  // Each thread copies a word; the phase completes when all copies have landed.
  const char *body = R"(setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 32;
bar.sync 0;
shl.b32 %r2, %r0, 2;
add.u32 %r2, %r2, %r1;
cp.async.ca.shared.global [%r2+128], [%rd0], 4;
cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
@!%p1 bra WAIT;
xor.b32 %r2, %r0, 31;
shl.b32 %r2, %r2, 2;
add.u32 %r2, %r2, %r1;
ld.shared.b32 %r3, [%r2+128];
st.global.b32 [%rd1], %r3;
)";
  for (uint64_t seed = 0; seed != 3; ++seed) {
    TestRun run = runBody(body, threads(32, seed));
    expectClean(run);
    EXPECT_EQ(run.out[1], 30u);
  }
  // Without .noinc the thread's own arrival is still missing.
  std::string counted = replace(body, ".noinc", "");
  expectMessage(runBody(counted), FindingKind::Deadlock,
                "waits for 32 of 32 arrivals");
  TestRun run = runBody(replace(counted, "WAIT:\n",
                                "mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
                                "WAIT:\n"));
  expectClean(run);
  EXPECT_EQ(run.out[1], 30u);
}

/// A ring of two stages: thread 0 copies six pieces of the input, warp 1 moves
/// them to the output.
const char *const kRing = R"(setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r1+8], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r1+16], 1;
@%p0 mbarrier.init.shared::cta.b64 [%r1+24], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
mov.u32 %r2, 0;
shr.u32 %r3, %r0, 5;
setp.gt.u32 %p1, %r3, 1;
@%p1 ret;
setp.eq.u32 %p1, %r3, 1;
@%p1 bra CONSUMER;
@!%p0 ret;
PRODUCER:
and.b32 %r4, %r2, 1;
shl.b32 %r5, %r4, 3;
add.u32 %r5, %r5, %r1;
bfe.u32 %r6, %r2, 1, 1;
xor.b32 %r6, %r6, 1;
EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], %r6;
@!%p2 bra EMPTY;
shl.b32 %r7, %r4, 7;
add.u32 %r7, %r7, %r1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r7+128], [%rd0], 128, [%r5];
add.s64 %rd0, %rd0, 128;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p3, %r2, 6;
@%p3 bra PRODUCER;
ret;
CONSUMER:
and.b32 %r4, %r2, 1;
shl.b32 %r5, %r4, 3;
add.u32 %r5, %r5, %r1;
bfe.u32 %r6, %r2, 1, 1;
FULL:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r6;
@!%p2 bra FULL;
and.b32 %r7, %r0, 31;
shl.b32 %r7, %r7, 2;
shl.b32 %r8, %r4, 7;
add.u32 %r7, %r7, %r8;
add.u32 %r7, %r7, %r1;
ld.shared.b32 %r9, [%r7+128];
st.global.b32 [%rd1+-128], %r9;
bar.warp.sync -1;
and.b32 %r7, %r0, 31;
setp.eq.u32 %p4, %r7, 0;
@%p4 mbarrier.arrive.shared::cta.b64 _, [%r5+16];
add.s64 %rd1, %rd1, 128;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p3, %r2, 6;
@%p3 bra CONSUMER;
)";

TEST(SimBulkCopyTest, Ring) {
  for (uint64_t seed = 0; seed != 8; ++seed) {
    TestRun run = runBody(kRing, threads(192, seed));
    expectClean(run);
    for (unsigned i = 0; i != 192; ++i)
      EXPECT_EQ(run.out[i], i);
  }
}

TEST(SimBulkCopyTest, RingWithoutSanitizer) {
  TestOptions options = threads(192);
  options.sanitize = false;
  options.countMemory = true;
  for (options.seed = 0; options.seed != 3; ++options.seed) {
    TestRun run = runBody(kRing, options);
    expectClean(run);
    EXPECT_EQ(run.out[150], 150u);
    EXPECT_EQ(run.result.counters.globalLoadBytes, 768u);
    EXPECT_EQ(run.result.counters.globalLoadRequests, 6u);
    EXPECT_EQ(run.result.counters.globalLoadIdealSectors, 24u);
  }
}

TEST(SimBulkCopyTest, CachePolicies) {
  std::string body = replace(kLoad, "mbarrier::complete_tx::bytes [%r1+128]",
                             "mbarrier::complete_tx::bytes.L2::cache_hint "
                             "[%r1+128]");
  body = replace(body, "128, [%r1];\nWAIT", "128, [%r1], %rd5;\nWAIT");
  TestRun run = runBody(
      "createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;\n" + body);
  expectClean(run);
  EXPECT_EQ(run.out[0], 31u);
  body = replace(kStore, "bulk_group [%rd1], [%r1], 128;",
                 "bulk_group.L2::cache_hint [%rd1], [%r1], 128, %rd5;");
  run =
      runBody("createpolicy.fractional.L2::evict_last.b64 %rd5, 1.0;\n" + body);
  expectClean(run);
  EXPECT_EQ(run.out[3], 9u);
}

TEST(SimBulkCopyTest, RingsWithFaults) {
  auto check = [](const char *from, const char *to,
                  std::vector<const char *> parts) {
    std::string text = runBody(replace(kRing, from, to), threads(192)).text();
    for (const char *part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  // The consumer does not wait for the bytes.
  check("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r6;\n@!%p2 bra "
        "FULL;",
        "", {"still writes"});
  // The producer does not wait for the slot.
  check("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], "
        "%r6;\n@!%p2 bra EMPTY;",
        "", {"a copy to bytes that another copy still writes"});
  // It starts with the wrong parity.
  check("xor.b32 %r6, %r6, 1;", "",
        {"deadlock", "for parity 0 of the mbarrier at 0x410"});
  // The slot is free before all threads have read it.
  check("bar.warp.sync -1;", "", {"a copy without order after a read"});
  // A release that is missing.
  check("@%p4 mbarrier.arrive", "@!%p2 mbarrier.arrive",
        {"deadlock", "waits for 1 of 1 arrivals"});
  // Fewer bytes than expected.
  check("[%rd0], 128", "[%rd0], 112", {"deadlock", "and 16 bytes"});
}

TEST(SimBulkCopyTest, Prefetch) {
  expectClean(
      runBody("cp.async.bulk.prefetch.L2.global [%rd0], 64;", threads(1)));
  expectMessage(
      runBody("cp.async.bulk.prefetch.L2.global [%rd0], 60;", threads(1)),
      FindingKind::Misaligned, "60 bytes");
}

TEST(SimBulkCopyTest, UnknownForms) {
  EXPECT_EQ(runBody("cp.async.bulk.global.shared::cta.bulk_group.cp_mask "
                    "[%rd1], [%r1], 128, %h0;")
                .error,
            "k.ptx:20: modifier '.cp_mask' of "
            "'cp.async.bulk.global.shared::cta.bulk_group.cp_mask' is not "
            "modelled");
}

} // namespace
