//===- SimClusterTest.cpp - Clusters in the simulator ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

TestOptions cluster(unsigned blocks, unsigned size, uint64_t seed = 0,
                    unsigned threads = 32) {
  TestOptions options;
  options.threads = threads;
  options.blocks = blocks;
  options.cluster = size;
  options.seed = seed;
  return options;
}

/// Words of the output of the thread's own block.
const char *const kPlace = R"(mov.u32 %r20, %ctaid.x;
shl.b32 %r20, %r20, 7;
cvt.u64.u32 %rd3, %r20;
add.s64 %rd0, %rd0, %rd3;
add.s64 %rd1, %rd1, %rd3;
)";

TEST(SimClusterTest, SpecialRegisters) {
  TestRun run = runBody(std::string(kPlace) + R"(mov.u32 %r2, %cluster_ctarank;
mov.u32 %r3, %cluster_nctarank;
mov.u32 %r4, %clusterid.x;
mov.u32 %r5, %nclusterid.x;
mov.u32 %r6, %cluster_ctaid.x;
mov.u32 %r7, %cluster_nctaid.x;
mad.lo.u32 %r2, %r2, 10, %r3;
mad.lo.u32 %r2, %r2, 10, %r4;
mad.lo.u32 %r2, %r2, 10, %r5;
mad.lo.u32 %r2, %r2, 10, %r6;
mad.lo.u32 %r2, %r2, 10, %r7;
mov.pred %p1, %is_explicit_cluster;
selp.b32 %r3, 1, 0, %p1;
mad.lo.u32 %r2, %r2, 10, %r3;
st.global.b32 [%rd1], %r2;)",
                        cluster(6, 3));
  expectClean(run);
  EXPECT_EQ(run.out[4 * 32], 1312131u);
  EXPECT_EQ(run.out[2 * 32], 2302231u);
}

TEST(SimClusterTest, LaunchesThatDoNotFit) {
  EXPECT_EQ(runBody("", cluster(5, 2)).error,
            "kernel 'k': a grid of 5 blocks and a cluster of 2 along one axis");
  EXPECT_EQ(runBody("", cluster(32, 32)).error,
            "kernel 'k': a cluster of 32 blocks");
  std::string text = makeKernel("");
  text = replace(text, "k_out)\n", "k_out)\n.reqnctapercluster 2, 1, 1\n");
  EXPECT_EQ(runModule(text, cluster(4, 4)).error,
            "kernel 'k': the cluster differs from its .reqnctapercluster");
  expectClean(runModule(text, cluster(4, 2)));
  EXPECT_EQ(runModule(text, cluster(3, 1)).error,
            "kernel 'k': a grid of 3 blocks and a cluster of 2 along one axis");
}

/// Every thread writes a word to the next block of the cluster, and reads what
/// it got.
const char *const kExchange = R"(mov.u32 %r2, %cluster_ctarank;
xor.b32 %r3, %r2, 1;
shl.b32 %r4, %r0, 2;
add.u32 %r4, %r4, %r1;
mapa.shared::cluster.u32 %r5, %r4, %r3;
mad.lo.u32 %r6, %r2, 100, %r0;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
st.shared::cluster.b32 [%r5], %r6;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
ld.shared.b32 %r7, [%r4];
st.global.b32 [%rd1], %r7;
)";

TEST(SimClusterTest, Exchange) {
  for (uint64_t seed = 0; seed != 4; ++seed) {
    TestRun run =
        runBody(std::string(kPlace) + kExchange, cluster(4, 2, seed, 32));
    expectClean(run);
    EXPECT_EQ(run.out[5], 105u);
    EXPECT_EQ(run.out[32 + 5], 5u);
    EXPECT_EQ(run.out[64 + 5], 105u);
  }
  // Without the second barrier the read has no order.
  std::string body = replace(kExchange,
                             "barrier.cluster.arrive.release.aligned;\n"
                             "barrier.cluster.wait.acquire.aligned;\n",
                             "");
  TestRun run = runBody(std::string(kPlace) + body, cluster(2, 2));
  ASSERT_FALSE(run.kinds().empty());
  // A relaxed arrival passes nothing on.
  body = replace(kExchange, "arrive.release", "arrive.relaxed");
  expectMessage(runBody(std::string(kPlace) + body, cluster(2, 2)),
                FindingKind::Race, "of block");
  // With a fence before it does.
  body = replace(body, "barrier.cluster.arrive.relaxed",
                 "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed");
  expectClean(runBody(std::string(kPlace) + body, cluster(2, 2)));
}

TEST(SimClusterTest, GenericAddressesAndAtomics) {
  TestRun run = runBody(std::string(kPlace) + R"(setp.eq.u32 %p0, %r0, 0;
@%p0 st.shared.b32 [%r1], 0;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
cvt.u64.u32 %rd4, %r1;
cvta.shared.u64 %rd4, %rd4;
mapa.u64 %rd5, %rd4, 1;
atom.add.u32 %r2, [%rd5], 1;
getctarank.u64 %r3, %rd5;
mapa.shared::cluster.u32 %r4, %r1, 0;
getctarank.shared::cluster.u32 %r5, %r4;
red.shared::cluster.add.u32 [%r4], 2;
isspacep.shared::cta %p1, %rd5;
isspacep.shared::cluster %p2, %rd5;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ld.shared.b32 %r6, [%r1];
mad.lo.u32 %r6, %r3, 1000, %r6;
mad.lo.u32 %r6, %r5, 10000, %r6;
@%p1 add.u32 %r6, %r6, 100000;
@%p2 add.u32 %r6, %r6, 1000000;
st.global.b32 [%rd1], %r6;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;)",
                        cluster(2, 2));
  expectClean(run);
  EXPECT_EQ(run.out[0], 1001128u);
  EXPECT_EQ(run.out[32], 1101064u);
}

TEST(SimClusterTest, Faults) {
  expectMessage(runBody("mapa.shared::cluster.u32 %r2, %r1, 2;", cluster(2, 2)),
                FindingKind::OutOfBounds,
                "there is no block 2 in a cluster of 2");
  // An instruction for the own block does not reach another one.
  TestRun run = runBody("mov.u32 %r3, %cluster_ctarank;\n"
                        "xor.b32 %r3, %r3, 1;\n"
                        "mapa.shared::cluster.u32 %r2, %r1, %r3;\n"
                        "st.shared::cta.b32 [%r2], %r0;",
                        cluster(2, 2));
  expectMessage(run, FindingKind::OutOfBounds, "not the block's");
  expectMessage(runBody("barrier.cluster.wait.aligned;", cluster(2, 2)),
                FindingKind::BarrierMisuse, "without arriving");
  expectMessage(runBody("barrier.cluster.arrive.aligned;\n"
                        "barrier.cluster.arrive.aligned;\n"
                        "barrier.cluster.wait.aligned;",
                        cluster(1, 1)),
                FindingKind::BarrierMisuse, "again before it waits");
  run = runBody("mov.u32 %r3, %cluster_ctarank;\n"
                "setp.eq.u32 %p0, %r3, 0;\n"
                "@%p0 bra OTHER;\n"
                "barrier.cluster.arrive.aligned;\n"
                "barrier.cluster.wait.aligned;\n"
                "OTHER:\n"
                "@%p0 bar.sync 1, 64;",
                cluster(2, 2));
  expectMessage(run, FindingKind::Deadlock, "at the barrier of the cluster");
  // A block that has exited has no memory.
  run = runBody("mov.u32 %r3, %cluster_ctarank;\n"
                "setp.eq.u32 %p0, %r3, 0;\n"
                "@%p0 ret;\n"
                "barrier.cluster.arrive.aligned;\n"
                "barrier.cluster.wait.aligned;\n"
                "mapa.shared::cluster.u32 %r2, %r1, 0;\n"
                "st.shared::cluster.b32 [%r2], %r0;",
                cluster(2, 2));
  expectMessage(run, FindingKind::OutOfBounds, "which has exited");
  // Threads that exit are not waited for.
  expectClean(runBody("mov.u32 %r3, %cluster_ctarank;\n"
                      "setp.eq.u32 %p0, %r3, 0;\n"
                      "@%p0 ret;\n"
                      "barrier.cluster.arrive.aligned;\n"
                      "barrier.cluster.wait.aligned;",
                      cluster(2, 2)));
}

/// Block 1 of a cluster sends a word of each thread to block 0.
std::string makeSend(const char *send) {
  return std::string(kPlace) + R"(mov.u32 %r2, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r2, 0;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
@%p0 fence.mbarrier_init.release.cluster;
shl.b32 %r4, %r0, 2;
add.u32 %r4, %r4, %r1;
add.u32 %r4, %r4, 128;
@!%p1 st.shared.b32 [%r4], %r0;
@%p1 st.shared.b32 [%r4+128], 5;
fence.proxy.async;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
@%p1 bra RECEIVE;
mapa.shared::cluster.u32 %r5, %r4, 0;
mapa.shared::cluster.u32 %r6, %r1, 0;
add.u32 %r7, %r0, 700;
)" + send +
         R"(
bra END;
RECEIVE:
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], 0;
@!%p2 bra WAIT;
ld.shared.b32 %r8, [%r4+128];
st.global.b32 [%rd1], %r8;
END:
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
)";
}

TEST(SimClusterTest, AsynchronousStores) {
  for (uint64_t seed = 0; seed != 3; ++seed) {
    TestRun run = runBody(
        makeSend("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 "
                 "[%r5+128], %r7, [%r6];"),
        cluster(2, 2, seed));
    expectClean(run);
    EXPECT_EQ(run.out[9], 709u);
    run = runBody(makeSend("red.async.relaxed.cluster.shared::cluster."
                           "mbarrier::complete_tx::bytes.add.u32 [%r5+128], "
                           "%r7, [%r6];"),
                  cluster(2, 2, seed));
    expectClean(run);
    EXPECT_EQ(run.out[9], 714u);
  }
}

TEST(SimClusterTest, BulkCopyToAnotherBlock) {
  std::string copy = makeSend(
      "@%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::"
      "bytes [%r5+128], [%r4], 128, [%r6];");
  for (uint64_t seed = 0; seed != 3; ++seed) {
    TestRun run = runBody(copy, cluster(2, 2, seed));
    expectClean(run);
    EXPECT_EQ(run.out[9], 9u);
  }
  TestRun run =
      runBody(replace(copy, "fence.proxy.async;\n", ""), cluster(2, 2));
  expectMessage(run, FindingKind::Proxy, "without fence.proxy.async");
}

TEST(SimClusterTest, RemoteArrivals) {
  // Both blocks arrive at the barrier of block 0, which waits for 64 threads.
  std::string body = std::string(kPlace) + R"(mov.u32 %r2, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r2, 0;
shl.b32 %r4, %r0, 2;
add.u32 %r4, %r4, %r1;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 64;
@%p0 fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed.aligned;
barrier.cluster.wait.acquire.aligned;
mapa.shared::cluster.u32 %r5, %r1, 0;
mapa.shared::cluster.u32 %r6, %r4, 0;
@!%p1 st.shared::cluster.b32 [%r6+128], %r0;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
@!%p1 bra END;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], 0;
@!%p2 bra WAIT;
ld.shared.b32 %r8, [%r4+128];
st.global.b32 [%rd1], %r8;
END:
)";
  for (uint64_t seed = 0; seed != 3; ++seed) {
    TestRun run = runBody(body, cluster(2, 2, seed));
    expectClean(run);
    EXPECT_EQ(run.out[9], 9u);
  }
}

TEST(SimClusterTest, Multicast) {
  std::string body = std::string(kPlace) + R"(mov.u32 %r2, %cluster_ctarank;
setp.eq.u32 %p0, %r0, 0;
setp.eq.and.u32 %p1, %r2, 1, %p0;
@%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
@%p0 fence.mbarrier_init.release.cluster;
@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
mov.b16 %h0, 13;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1+128], [%rd0], 128, [%r1], %h0;
setp.eq.u32 %p3, %r2, 1;
@%p3 bra END;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
@!%p2 bra WAIT;
shl.b32 %r4, %r0, 2;
add.u32 %r4, %r4, %r1;
ld.shared.b32 %r8, [%r4+128];
st.global.b32 [%rd1], %r8;
END:
)";
  for (uint64_t seed = 0; seed != 3; ++seed) {
    TestRun run = runBody(body, cluster(4, 4, seed));
    expectClean(run);
    // The input of block 1, in the blocks 0, 2 and 3.
    EXPECT_EQ(run.out[9], 41u);
    EXPECT_EQ(run.out[64 + 9], 41u);
    EXPECT_EQ(run.out[96 + 9], 41u);
  }
  expectMessage(runBody(body, cluster(2, 2)), FindingKind::OutOfBounds,
                "a copy to block 2 of a cluster of 2");
  // Only the block that starts the copy has a fence for its mbarrier.
  TestRun run =
      runBody(replace(body, "@%p0 fence", "@%p1 fence"), cluster(4, 4));
  expectMessage(run, FindingKind::Proxy,
                "thread (0, 0, 0) of block 0 of the cluster initialized");
}

} // namespace
