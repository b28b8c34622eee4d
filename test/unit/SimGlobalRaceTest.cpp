//===- SimGlobalRaceTest.cpp - Order between blocks, warps and lanes ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Races in global memory, and what acquire, release, fences and barriers of a
// part of a warp order.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace mamba::sim;

namespace {

TestOptions grid(unsigned blocks, unsigned threads = 32) {
  TestOptions options;
  options.blocks = blocks;
  options.threads = threads;
  options.maxInstructions = 1 << 16;
  return options;
}

/// %r10 is the block, %r11 the thread of the grid, [%rd10] its word of the
/// output, [%rd11] the word 0 of it, and `flag` a zero of global memory.
std::string body(const std::string &text) {
  return "mov.u32 %r10, %ctaid.x;\n"
         "mov.u32 %r12, %ntid.x;\n"
         "mad.lo.u32 %r11, %r10, %r12, %r0;\n"
         "ld.param.u64 %rd11, [k_out];\n"
         "mul.wide.u32 %rd10, %r11, 4;\n"
         "add.s64 %rd10, %rd10, %rd11;\n"
         "mov.u64 %rd12, flag;\n"
         "setp.eq.u32 %p7, %r10, 0;\n"
         "setp.eq.u32 %p6, %r0, 0;\n" +
         text;
}
constexpr unsigned kLine = kBodyLine + 10;

TestRun run(const std::string &text, TestOptions options) {
  std::string module = makeKernel(body(text));
  size_t place = module.find(".extern");
  module.insert(place, ".global .align 4 .b32 flag[2];\n");
  return runModule(module, options);
}

void expectClean(const std::string &text, TestOptions options) {
  EXPECT_EQ(run(text, options).text(), "") << text;
}

/// A race in the line `line` of the text (from 0); `earlier` is part of its
/// message.
void expectRace(const std::string &text, TestOptions options, unsigned line,
                const char *earlier) {
  TestRun result = run(text, options);
  ASSERT_EQ(result.kinds(), std::vector<FindingKind>{FindingKind::Race})
      << text << result.text();
  EXPECT_EQ(result.result.findings[0].line, kLine + line) << result.text();
  EXPECT_NE(result.text().find(earlier), std::string::npos) << result.text();
}

TEST(SimGlobalRaceTest, BlocksThatWriteTheSame) {
  expectRace("st.global.b32 [%rd1], %r10;", grid(2), 0,
             "write of global memory without order after a write by thread "
             "(0, 0, 0) of block (0, 0, 0) in line 30");
  expectClean("st.global.b32 [%rd10], %r10;", grid(2));
  // Equal values do not race.
  expectClean("st.global.b32 [%rd1], 7;", grid(2));
}

TEST(SimGlobalRaceTest, FindingsDoNotDependOnHostThreads) {
  std::string text = "st.global.b32 [%rd1], %r10;\n"
                     "ld.global.b32 %r2, [%rd1];\n"
                     "add.u32 %r2, %r2, 1;\n"
                     "st.global.b32 [%rd1], %r2;";
  TestOptions options = grid(64);
  options.jobs = 1;
  std::string expected = run(text, options).text();
  EXPECT_NE(expected, "");
  for (unsigned jobs : {2, 4}) {
    options.jobs = jobs;
    EXPECT_EQ(run(text, options).text(), expected);
  }
}

TEST(SimGlobalRaceTest, BlocksThatReadWhatOthersWrite) {
  // Block 1 reads the words of block 0.
  expectRace("@%p7 st.global.b32 [%rd10], %r0;\n"
             "@!%p7 ld.global.b32 %r2, [%rd1];\n",
             grid(2), 1, "read of global memory without order after a write");
  // The other way: block 0 reads first. The flag is no output, so it can be
  // read.
  expectRace("@%p7 ld.global.b32 %r2, [%rd12];\n"
             "@!%p7 st.global.b32 [%rd12], 7;\n",
             grid(2), 1, "write of global memory without order after a read");
}

TEST(SimGlobalRaceTest, Atomics) {
  expectClean("red.global.add.u32 [%rd12], 1;", grid(4));
  expectClean("red.relaxed.gpu.global.add.u32 [%rd12], 1;", grid(4));
  // Those of a block are none for other blocks.
  expectRace("red.relaxed.cta.global.add.u32 [%rd12], %r10;", grid(4), 0,
             "atomic operation of global memory without order");
  expectClean("red.relaxed.cta.global.add.u32 [%rd12], 1;", grid(1, 96));
  // An atomic operation and a plain access race.
  expectRace("@%p7 red.global.add.u32 [%rd12], 1;\n"
             "@!%p7 ld.global.b32 %r2, [%rd12];",
             grid(2), 1, "read of global memory without order after a write");
}

/// Through global memory: thread i writes its word, then reads word i ^
/// distance.
std::string exchange(const char *distance, const char *between) {
  return std::string("st.global.b32 [%rd10], %r0;\n"
                     "xor.b32 %r2, %r0, ") +
         distance +
         ";\n"
         "mul.wide.u32 %rd5, %r2, 4;\n"
         "add.s64 %rd5, %rd5, %rd11;\n" +
         between + "\nld.global.b32 %r3, [%rd5];";
}

TEST(SimGlobalRaceTest, WarpsAndLanes) {
  TestRun result = run(exchange("32", ""), grid(1, 64));
  // Warp 0 reads what nobody wrote yet, warp 1 overwrites what was read.
  std::vector<FindingKind> kinds = {
      FindingKind::Race, FindingKind::UninitializedRead, FindingKind::Race};
  EXPECT_EQ(result.kinds(), kinds) << result.text();
  expectClean(exchange("32", "bar.sync 0;"), grid(1, 64));
  expectRace(exchange("1", ""), grid(1), 5,
             "after a write by thread (1, 0, 0) in line 30");
  expectClean(exchange("1", "bar.warp.sync -1;"), grid(1));
  // A fence orders nothing by itself.
  EXPECT_EQ(run(exchange("1", "membar.gl;"), grid(1)).kinds(),
            std::vector<FindingKind>{FindingKind::Race});
}

TEST(SimGlobalRaceTest, NonCoherentReads) {
  // Of what the kernel wrote, whatever order there is.
  expectRace("st.global.b32 [%rd10], %r0;\n"
             "bar.sync 0;\n"
             "ld.global.nc.b32 %r3, [%rd10];",
             grid(2), 2,
             "non-coherent read of global memory after a write by thread "
             "(0, 0, 0) in line 30");
  expectClean("st.global.b32 [%rd10], %r0;\n"
              "bar.sync 0;\n"
              "ld.global.nc.b32 %r3, [%rd0];",
              grid(2));
}

TEST(SimGlobalRaceTest, WriteAfterReads) {
  std::string text = "st.global.b32 [%rd10], %r0;\n"
                     "bar.sync 0;\n"
                     "ld.global.b32 %r3, [%rd11];\n";
  expectRace(text + "@%p6 st.global.b32 [%rd11], 7;", grid(1), 3,
             "write of global memory without order after a read");
  expectClean(text + "bar.warp.sync -1;\n@%p6 st.global.b32 [%rd11], 7;",
              grid(1));
}

TEST(SimGlobalRaceTest, PartsOfAWarp) {
  // Lanes exchange with their neighbors in groups of four.
  auto text = [](const char *low, const char *high) {
    return exchange("1", (std::string("setp.ge.u32 %p0, %r0, 16;\n"
                                      "@%p0 bra high;\n"
                                      "bar.warp.sync ") +
                          low + ";\nbra join;\nhigh:\nbar.warp.sync " + high +
                          ";\njoin:")
                             .c_str());
  };
  expectClean(text("0x0000ffff", "0xffff0000"), grid(1));
  // Across the parts nothing is ordered.
  std::string across = text("0x0000ffff", "0xffff0000");
  across.replace(across.find("%r0, 1;"), 7, "%r0, 16;");
  expectRace(across, grid(1), 11, "read of global memory without order");
  // In shared memory likewise.
  auto shared = [](const char *distance) {
    return std::string("shl.b32 %r2, %r0, 2;\n"
                       "add.u32 %r2, %r2, %r1;\n"
                       "xor.b32 %r3, %r0, ") +
           distance +
           ";\n"
           "shl.b32 %r3, %r3, 2;\n"
           "add.u32 %r3, %r3, %r1;\n"
           "st.shared.b32 [%r2], %r0;\n"
           "setp.ge.u32 %p0, %r0, 16;\n"
           "selp.b32 %r4, 0xffff0000, 0xffff, %p0;\n"
           "bar.warp.sync %r4;\n"
           "ld.shared.b32 %r5, [%r3];\n"
           "bar.warp.sync %r4;\n"
           "st.shared.b32 [%r2], 9;";
  };
  expectClean(shared("3"), grid(1));
  TestRun result = run(shared("16"), grid(1));
  EXPECT_EQ(result.kinds(), std::vector<FindingKind>(2, FindingKind::Race))
      << result.text();
}

/// Thread 0 of block 0 publishes by `store`, threads of other blocks wait by
/// `load`, and read what block 0 wrote.
std::string publish(const char *before, const char *store, const char *load,
                    const char *after) {
  return std::string("@!%p7 bra wait;\n"
                     "st.global.b32 [%rd1], %r0;\n") +
         before + "\n@!%p6 bra end;\n" + store +
         "\nbra end;\n"
         "wait:\n" +
         load +
         "\nsetp.eq.u32 %p0, %r2, 0;\n"
         "@%p0 bra wait;\n" +
         after +
         "\nld.global.b32 %r3, [%rd1];\n"
         "st.global.b32 [%rd10], %r3;\n"
         "end:";
}

TEST(SimGlobalRaceTest, AcquireAndRelease) {
  expectClean(publish("bar.sync 0;", "st.release.gpu.global.b32 [%rd12], 1;",
                      "ld.acquire.gpu.global.b32 %r2, [%rd12];", ""),
              grid(3, 64));
  expectClean(publish("bar.sync 0;",
                      "atom.add.release.gpu.global.u32 %r4, [%rd12], 1;",
                      "atom.or.acquire.gpu.global.b32 %r2, [%rd12], 0;", ""),
              grid(3, 64));
  expectClean(publish("bar.sync 0;", "red.add.acq_rel.sys.u32 [%rd12], 1;",
                      "ld.acquire.sys.b32 %r2, [%rd12];", ""),
              grid(3, 64));
  // No barrier: of warp 1 nothing is released.
  expectRace(publish("", "st.release.gpu.global.b32 [%rd12], 1;",
                     "ld.acquire.gpu.global.b32 %r2, [%rd12];", ""),
             grid(2, 64), 11, "after a write by thread (32, 0, 0) of block");
  // Neither a relaxed store nor a relaxed load will do.
  expectRace(publish("bar.sync 0;", "st.relaxed.gpu.global.b32 [%rd12], 1;",
                     "ld.acquire.gpu.global.b32 %r2, [%rd12];", ""),
             grid(2, 64), 11, "after a write by thread (0, 0, 0) of block");
  expectRace(publish("bar.sync 0;", "st.release.gpu.global.b32 [%rd12], 1;",
                     "ld.relaxed.gpu.global.b32 %r2, [%rd12];", ""),
             grid(2, 64), 11, "after a write by thread");
}

TEST(SimGlobalRaceTest, ScopeOfABlock) {
  // The flag's accesses race too: each is none for the other block.
  TestRun result =
      run(publish("bar.sync 0;", "st.release.cta.global.b32 [%rd12], 1;",
                  "ld.acquire.gpu.global.b32 %r2, [%rd12];", ""),
          grid(2, 64));
  EXPECT_EQ(result.kinds(), std::vector<FindingKind>(2, FindingKind::Race))
      << result.text();
}

TEST(SimGlobalRaceTest, Fences) {
  expectClean(publish("bar.sync 0;",
                      "fence.acq_rel.gpu;\n"
                      "st.relaxed.gpu.global.b32 [%rd12], 1;",
                      "ld.relaxed.gpu.global.b32 %r2, [%rd12];",
                      "fence.acq_rel.gpu;"),
              grid(3, 64));
  expectClean(publish("bar.sync 0;",
                      "membar.gl;\nst.volatile.global.b32 [%rd12], 1;",
                      "ld.volatile.global.b32 %r2, [%rd12];", "membar.gl;"),
              grid(3, 64));
  // Either fence is missing.
  expectRace(publish("bar.sync 0;", "st.relaxed.gpu.global.b32 [%rd12], 1;",
                     "ld.relaxed.gpu.global.b32 %r2, [%rd12];",
                     "fence.acq_rel.gpu;"),
             grid(2, 64), 11, "after a write by thread");
  expectRace(publish("bar.sync 0;",
                     "fence.acq_rel.gpu;\n"
                     "st.relaxed.gpu.global.b32 [%rd12], 1;",
                     "ld.relaxed.gpu.global.b32 %r2, [%rd12];", ""),
             grid(2, 64), 12, "after a write by thread");
  // A fence for the threads of a block only.
  expectRace(publish("bar.sync 0;",
                     "membar.cta;\nst.relaxed.gpu.global.b32 [%rd12], 1;",
                     "ld.relaxed.gpu.global.b32 %r2, [%rd12];",
                     "fence.acq_rel.gpu;"),
             grid(2, 64), 12, "after a write by thread");
}

/// The block that comes last adds up what all wrote.
std::string reduce(const char *before, const char *after) {
  return std::string("st.global.b32 [%rd10], %r11;\n") + before +
         "\nbar.sync 0;\n"
         "atom.global.inc.u32 %r2, [%rd12], 99;\n"
         "mov.u32 %r3, %nctaid.x;\n"
         "mul.lo.u32 %r3, %r3, 32;\n"
         "sub.u32 %r3, %r3, 1;\n"
         "setp.ne.u32 %p0, %r2, %r3;\n"
         "@%p0 ret;\n" +
         after +
         "\nld.global.b32 %r4, [%rd11];\n"
         "ld.global.b32 %r5, [%rd11+128];\n"
         "ld.global.b32 %r6, [%rd11+256];\n"
         "add.u32 %r4, %r4, %r5;\n"
         "add.u32 %r4, %r4, %r6;\n"
         "st.global.b32 [%rd12+4], %r4;";
}

TEST(SimGlobalRaceTest, LastBlock) {
  expectClean(reduce("membar.gl;", "membar.gl;"), grid(3));
  for (const char *fence : {"", "membar.gl;"}) {
    // One of the two fences is missing.
    TestRun result = run(reduce(fence, *fence ? "" : "membar.gl;"), grid(3));
    EXPECT_EQ(result.kinds(), std::vector<FindingKind>(2, FindingKind::Race))
        << result.text();
  }
}

TEST(SimGlobalRaceTest, WarpsOfABlock) {
  // A flag in shared memory orders two warps.
  auto text = [](const char *store, const char *load) {
    return std::string("setp.ge.u32 %p0, %r0, 32;\n"
                       "@%p6 st.volatile.shared.b32 [%r1], 0;\n"
                       "bar.sync 0;\n"
                       "@%p0 bra wait;\n"
                       "st.global.b32 [%rd10], %r0;\n"
                       "bar.warp.sync -1;\n") +
           store +
           "\nbra end;\n"
           "wait:\n" +
           load +
           "\nsetp.eq.u32 %p1, %r2, 0;\n"
           "@%p1 bra wait;\n"
           "ld.global.b32 %r3, [%rd10+-128];\n"
           "end:";
  };
  expectClean(text("st.release.cta.shared.b32 [%r1], 1;",
                   "ld.acquire.cta.shared.b32 %r2, [%r1];"),
              grid(1, 64));
  expectRace(text("st.volatile.shared.b32 [%r1], 1;",
                  "ld.acquire.cta.shared.b32 %r2, [%r1];"),
             grid(1, 64), 12, "after a write by thread (0, 0, 0)");
}

} // namespace
