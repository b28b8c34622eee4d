//===- SimFaultsTest.cpp - A planted fault for each class of findings -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row is a kernel with one place "@@" where the faulty text or the right
// one stands. The fault must be the only finding, of its kind, in its line, and
// name its thread; without the fault there must be none. Details of each check
// are in the other files.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

#include "llvm/ADT/StringRef.h"

#include <set>

using namespace mamba::sim;

namespace {

struct Fault {
  const char *name;
  FindingKind kind;
  /// Lines from 0 on; "@@" is `faulty` or `right`.
  const char *body, *faulty, *right;
  /// Where the finding is.
  unsigned line, thread, block = 0;
  unsigned threads = 32, blocks = 1;
};

using Kind = FindingKind;

/// In front of rows that exchange words: %r2 is the own one's place in shared
/// memory, %r3 that of the thread in the other warp, %r4 of the neighbor.
#define PLACES                                                                 \
  "shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1;\n"                              \
  "xor.b32 %r3, %r2, 128; xor.b32 %r4, %r2, 4;\n"

const Fault kFaults[] = {
    {"OutOfBoundsGlobalRead", Kind::OutOfBounds, "ld.global.b32 %r2, [@@];",
     "%rd0+4", "%rd0", 0, 31},
    {"OutOfBoundsGlobalWrite", Kind::OutOfBounds, "st.global.b32 [@@], %r0;",
     "%rd1+-4", "%rd1", 0, 0},
    {"OutOfBoundsNoBuffer", Kind::OutOfBounds,
     "mov.u64 %rd3, @@;\nld.global.b32 %r2, [%rd3];", "64", "%rd0", 1, 0},
    {"OutOfBoundsAtomic", Kind::OutOfBounds,
     "red.global.add.u32 [%rd12+@@], 1;", "8", "4", 0, 0},
    {"OutOfBoundsShared", Kind::OutOfBounds, "st.shared.b32 [@@], 7;",
     "%r1+1024", "%r1+1020", 0, 0},
    {"OutOfBoundsSharedBelow", Kind::OutOfBounds, "st.shared.b32 [@@], 7;",
     "%r1+-4", "%r1", 0, 0},
    {"OutOfBoundsLocal", Kind::OutOfBounds,
     "{ .local .align 4 .b8 stack[8];\nst.local.b32 [@@], %r0; }", "stack+8",
     "stack+4", 1, 0},
    {"OutOfBoundsGeneric", Kind::OutOfBounds,
     "cvt.u64.u32 %rd3, %r1;\ncvta.shared.u64 %rd3, %rd3;\n"
     "st.b32 [%rd3+@@], 7;",
     "1024", "512", 2, 0},
    {"OutOfBoundsCopy", Kind::OutOfBounds,
     PLACES "cp.async.ca.shared.global [%r2+@@], [%rd0], 4;\n"
            "cp.async.wait_all;",
     "900", "896", 2, 31},
    {"OutOfBoundsParameter", Kind::OutOfBounds, "ld.param.b64 %rd3, [k_in+@@];",
     "16", "8", 0, 0},
    {"OutOfBoundsBranchTable", Kind::OutOfBounds,
     "mov.u32 %r2, @@;\n"
     "table: .branchtargets first, second;\n"
     "brx.idx %r2, table;\n"
     "first:\nsecond:\n",
     "2", "1", 2, 0},

    {"MisalignedGlobal", Kind::Misaligned, "ld.global.b16 %h0, [%rd0+@@];", "1",
     "2", 0, 0},
    {"MisalignedShared", Kind::Misaligned, "st.shared.v2.b32 [%r1+@@], {7, 7};",
     "4", "8", 0, 0},
    {"MisalignedLocal", Kind::Misaligned,
     "{ .local .align 8 .b8 stack[16];\nst.local.b64 [stack+@@], %rd0; }", "4",
     "8", 1, 0},
    {"MisalignedCopy", Kind::Misaligned,
     "shl.b32 %r2, %r0, 3; add.u32 %r2, %r2, %r1;\n"
     "setp.eq.u32 %p0, %r0, 2;\n"
     "@%p0 cp.async.ca.shared.global [%r2], [%rd0+@@], 8;\n"
     "cp.async.wait_all;",
     "4", "8", 2, 2},

    {"ReadOnlyInput", Kind::ReadOnly, "st.global.b32 [@@], %r0;", "%rd0",
     "%rd1", 0, 0},
    {"ReadOnlyAtomic", Kind::ReadOnly,
     "st.global.b32 [%rd1], 0;\nred.global.add.u32 [@@], 1;", "%rd0", "%rd1", 1,
     0},

    {"UnwrittenShared", Kind::UninitializedRead,
     PLACES "st.shared.b32 [%r2], %r0;\nld.shared.b32 %r5, [@@];", "%r2+128",
     "%r2", 3, 0},
    {"UnwrittenSharedInPart", Kind::UninitializedRead,
     PLACES "st.shared.@@ [%r2], %r0;\nld.shared.b32 %r5, [%r2];", "b16", "b32",
     3, 0},
    {"UnwrittenOutput", Kind::UninitializedRead,
     "setp.ne.u32 %p0, %r0, @@;\n@%p0 st.global.b32 [%rd1], 1;\n"
     "ld.global.b32 %r2, [%rd1];",
     "5", "99", 2, 5},
    {"UnwrittenLocal", Kind::UninitializedRead,
     "{ .local .align 4 .b8 stack[8];\nst.local.b32 [stack], %r0;\n"
     "ld.local.b32 %r2, [@@]; }",
     "stack+4", "stack", 2, 0},

    {"UnwrittenRegister", Kind::UninitializedValue,
     "setp.lt.u32 %p0, %r0, @@;\n@%p0 mov.u32 %r2, 1;\nadd.u32 %r3, %r2, 1;",
     "16", "32", 2, 16},
    {"UnwrittenHalf", Kind::UninitializedValue,
     "mov.b16 %h0, 1;\nmov.b32 %r2, {%h0, @@};\nst.global.b32 [%rd1], %r2;",
     "%h1", "%h0", 2, 0},
    {"UnwrittenPredicate", Kind::UninitializedValue,
     "setp.eq.u32 @@, %r0, 3;\n@%p0 mov.u32 %r2, 1;", "%p1", "%p0", 1, 0},
    {"UnwrittenShuffle", Kind::UninitializedValue,
     "setp.ge.u32 %p0, %r0, 16;\n@%p0 ret;\n"
     "shfl.sync.idx.b32 %r2, %r0, @@, 31, 0xffff;",
     "16", "15", 2, 0},

    {"RaceOfWarps", Kind::Race,
     PLACES "st.shared.b32 [%r2], %r0;\n@@\n"
            "setp.ge.u32 %p0, %r0, 32;\n"
            "@%p0 ld.shared.b32 %r5, [%r3];",
     "", "bar.sync 0;", 5, 32, 0, 64},
    {"RaceOfLanes", Kind::Race,
     PLACES "st.shared.b32 [%r2], %r0;\n@@\nld.shared.b32 %r5, [%r4];", "",
     "bar.warp.sync -1;", 4, 0},
    {"RaceOfPartsOfAWarp", Kind::Race,
     PLACES "st.shared.b32 [%r2], %r0;\n"
            "setp.ge.u32 %p0, %r0, 16;\n"
            "selp.b32 %r6, 0xffff0000, 0xffff, %p0;\n"
            "bar.warp.sync %r6;\n"
            "xor.b32 %r7, %r2, @@;\n"
            "ld.shared.b32 %r5, [%r7];",
     "64", "32", 7, 0},
    {"RaceWithCopy", Kind::Race,
     PLACES "st.shared.b32 [%r2], 7;\n@@\n"
            "cp.async.ca.shared.global [%r4], [%rd0], 4;\ncp.async.wait_all;",
     "", "bar.warp.sync -1;", 4, 0},
    {"RaceInGlobalMemoryOfBlocks", Kind::Race, "st.global.b32 [%rd1], @@;",
     "%r10", "7", 0, 0, 1, 32, 2},
    {"RaceInGlobalMemoryOfWarps", Kind::Race,
     "ld.param.u64 %rd3, [k_out];\nst.global.b32 [%rd1], 7;\n@@\n"
     "setp.eq.u32 %p0, %r0, 32;\n"
     "@%p0 st.global.b32 [%rd3], 8;",
     "", "bar.sync 0;", 4, 32, 0, 64},
    {"RaceOfAtomicsWithinABlock", Kind::Race,
     "setp.lt.u32 %p0, %r0, 1;\n"
     "@%p0 atom.relaxed.@@.global.exch.b32 %r3, [%rd12], %r10;",
     "cta", "gpu", 1, 0, 1, 32, 2},

    {"InFlight", Kind::InFlight,
     PLACES "cp.async.ca.shared.global [%r2], [%rd0], 4;\n"
            "cp.async.commit_group;\n"
            "cp.async.wait_group @@;\n"
            "ld.shared.b32 %r5, [%r2];",
     "1", "0", 5, 0},
    {"InFlightWrite", Kind::InFlight,
     PLACES "cp.async.ca.shared.global [%r2], [%rd0], 4;\n@@\n"
            "st.shared.b32 [%r2], %r0;",
     "", "cp.async.wait_all;", 4, 0},

    {"Proxy", Kind::Proxy,
     PLACES "st.shared.b32 [%r2], %r0;\n@@\nbar.warp.sync -1;\n"
            "setp.eq.u32 %p0, %r0, 0;\n"
            "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], "
            "16;\n"
            "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
     "", "fence.proxy.async.shared::cta;", 6, 0},

    {"BarrierCount", Kind::BarrierMisuse, "bar.sync 0, @@;", "33", "32", 0, 0},
    {"BarrierNumber", Kind::BarrierMisuse, "mov.u32 %r2, @@;\nbar.sync %r2;",
     "16", "15", 1, 0},
    {"BarrierCountsDiffer", Kind::BarrierMisuse,
     "setp.lt.u32 %p0, %r0, 32;\n@%p0 bra low;\nbar.sync 1, @@;\nbra end;\n"
     "low:\nbar.sync 1, 64;\nend:",
     "96", "64", 2, 32, 0, 64},
    {"BarrierOfHalfWarps", Kind::BarrierMisuse,
     "setp.lt.u32 %p0, %r0, @@;\n@%p0 bra low;\nbar.sync 0;\nbra end;\n"
     "low:\nbar.sync 0;\nend:",
     "16", "32", 5, 0},
    {"BarrierWithoutExitedThreads", Kind::BarrierMisuse,
     "setp.ge.u32 %p0, %r0, @@;\n@%p0 ret;\nbar.sync 0;", "31", "32", 2, 31},
    {"BarrierMaskWithoutTheThread", Kind::BarrierMisuse,
     "vote.sync.ballot.b32 %r2, 1, @@;", "0x7fffffff", "-1", 0, 31},
    {"BarrierMaskWithExitedThread", Kind::BarrierMisuse,
     "setp.eq.u32 %p0, %r0, 9;\n@%p0 ret;\nbar.warp.sync @@;", "-1",
     "0xfffffdff", 2, 9},
    {"BarrierMatrixOfHalfWarp", Kind::BarrierMisuse,
     PLACES "st.shared.b32 [%r2], 0;\nbar.warp.sync -1;\n"
            "setp.ge.u32 %p0, %r0, @@;\n@%p0 ret;\n"
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];",
     "16", "32", 6, 0},

    {"Deadlock", Kind::Deadlock,
     "setp.lt.u32 %p0, %r0, 32;\n@%p0 bra low;\nbar.sync @@;\nbra end;\n"
     "low:\nbar.sync 2;\nend:",
     "1", "2", 5, 0, 0, 64},
    {"DeadlockOfLanes", Kind::Deadlock,
     "setp.lt.u32 %p0, %r0, 16;\n@%p0 bra low;\nbar.warp.sync @@;\nlow:\n"
     "bar.sync 0;",
     "-1", "0xffff0000", 2, 16},
    {"Limit", Kind::Limit,
     "mov.u32 %r2, 0;\nagain:\nadd.u32 %r2, %r2, @@;\n"
     "setp.lt.u32 %p0, %r2, 100;\n@%p0 bra again;",
     "0", "1", 3, 0},
    {"Trap", Kind::Trap, "setp.eq.u32 %p0, %r0, @@;\n@%p0 trap;", "3", "77", 1,
     3},
};

/// %r10 is the block, [%rd12] two words of global memory that are zero.
TestRun runFault(const Fault &fault, const char *text, TestOptions options) {
  std::string body = fault.body;
  for (size_t at; (at = body.find("@@")) != std::string::npos;)
    body.replace(at, 2, text);
  std::string module =
      makeKernel("mov.u32 %r10, %ctaid.x; mov.u64 %rd12, words; " + body);
  module.insert(module.find(".extern"), ".global .align 4 .b32 words[2]; ");
  return runModule(module, options);
}

class SimFaultsTest : public testing::TestWithParam<Fault> {};

TEST_P(SimFaultsTest, IsFound) {
  const Fault &fault = GetParam();
  TestOptions options;
  options.threads = fault.threads;
  options.blocks = fault.blocks;
  options.maxInstructions = 1 << 16;
  TestRun run = runFault(fault, fault.faulty, options);
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{fault.kind}) << run.text();
  const Finding &finding = run.result.findings[0];
  EXPECT_EQ(finding.line, kBodyLine + fault.line) << run.text();
  EXPECT_EQ(finding.thread[0], fault.thread) << run.text();
  EXPECT_EQ(finding.block[0], fault.block) << run.text();
  EXPECT_EQ(finding.file, "k.ptx");
}

TEST_P(SimFaultsTest, IsNotFoundWithoutIt) {
  const Fault &fault = GetParam();
  for (uint64_t seed : {0, 3}) {
    TestOptions options;
    options.threads = fault.threads;
    options.blocks = fault.blocks;
    options.seed = seed;
    EXPECT_EQ(runFault(fault, fault.right, options).text(), "")
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(, SimFaultsTest, testing::ValuesIn(kFaults),
                         [](const auto &info) { return info.param.name; });

TEST(SimFaultsTableTest, HasAllKinds) {
  std::set<FindingKind> planted;
  for (const Fault &fault : kFaults)
    planted.insert(fault.kind);
  // Tensor maps are parameters: SimTensorCopyTest.cpp. Those of matrices:
  // SimWgmmaFaultTest.cpp and SimTensorFaultTest.cpp.
  planted.insert({Kind::TensorMap, Kind::MissingFence, Kind::TensorMemory,
                  Kind::Descriptor});
  // What is about the arrays of a function is in Integration/Sim/test_tool.py.
  for (unsigned kind = 0; kind != unsigned(Kind::UnwrittenResult); ++kind)
    EXPECT_TRUE(planted.count(FindingKind(kind)))
        << getName(FindingKind(kind)).str();
}

} // namespace
