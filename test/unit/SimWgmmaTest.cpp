//===- SimWgmmaTest.cpp - What wgmma computes -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of D against sums over elements that are found by the formulas
// of single elements; the simulator goes by chunks of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "WgmmaProgram.h"

using namespace mamba::sim;

namespace {

/// A tile with rows along K and dense groups of 8 rows.
Tile tile(uint32_t offset, unsigned span) {
  if (span == 16)
    return {kTileStart + offset, 128, 256, 16};
  return {kTileStart + offset, 0, 8 * span, span};
}

/// A tile with columns of `rows` elements of two bytes.
Tile transposed(uint32_t offset, unsigned span) {
  Tile result = span == 16
                    ? Tile{kTileStart + offset, 128, 256, 16}
                    : Tile{kTileStart + offset, 16 * span, 8 * span, span};
  result.isTransposed = true;
  return result;
}

WgmmaProgram make(const WgmmaType &type, unsigned columns, unsigned span) {
  WgmmaProgram program;
  program.type = type;
  program.columns = columns;
  program.a = tile(0, span);
  program.b = tile(8192, span);
  program.sharedBytes = 65536;
  return program;
}

void check(const WgmmaProgram &program) { program.check(program.run()); }

TEST(SimWgmmaTest, Types) {
  for (const WgmmaType &type :
       {kWgmmaF16, kWgmmaF16Half, kWgmmaBF16, kWgmmaTF32, kWgmmaE4M3,
        kWgmmaE5M2, kWgmmaS8, kWgmmaU8}) {
    SCOPED_TRACE(type.name);
    WgmmaProgram program = make(type, 32, 128);
    check(program);
    program.accumulates = true;
    check(program);
    program.aInRegisters = true;
    check(program);
  }
}

TEST(SimWgmmaTest, Columns) {
  for (unsigned columns : {8, 24, 64, 136, 256})
    check(make(kWgmmaBF16, columns, 64));
}

TEST(SimWgmmaTest, LayoutsAlongK) {
  for (const WgmmaType &type : {kWgmmaF16, kWgmmaTF32, kWgmmaS8})
    for (unsigned span : {16, 32, 64, 128}) {
      SCOPED_TRACE(span);
      check(make(type, 64, span));
    }
}

TEST(SimWgmmaTest, TransposedLayouts) {
  for (unsigned span : {16, 32, 64, 128})
    for (unsigned which = 1; which != 4; ++which) {
      SCOPED_TRACE(span);
      WgmmaProgram program = make(kWgmmaBF16, 64, span);
      if (which & 1)
        program.a = transposed(0, span);
      if (which & 2)
        program.b = transposed(8192, span);
      check(program);
    }
}

TEST(SimWgmmaTest, StepsAndStrides) {
  WgmmaProgram program = make(kWgmmaBF16, 64, 128);
  // The second step of a tile, groups of rows apart, and any row as start.
  program.a.start += 32;
  program.a.stride = 1152;
  program.b.start += 3 * 128;
  check(program);
  program.b.baseOffset = 5;
  check(program);
}

TEST(SimWgmmaTest, Signs) {
  WgmmaProgram program = make(kWgmmaF16, 16, 32);
  program.accumulates = true;
  program.signB = -1;
  check(program);
  program.aInRegisters = true;
  program.signA = -1;
  check(program);
  program.signB = 1;
  check(program);
}

TEST(SimWgmmaTest, Saturation) {
  // 7 + sums of products of the largest numbers, near the end of s32.
  WgmmaProgram program = make(kWgmmaU8, 8, 32);
  program.type.mask = 0;
  program.type.base = 0xffffffff;
  program.accumulates = true;
  program.beforeFence = "mov.b32 %acc0, 0x7FFFFFFF; mov.b32 %acc1, 5;";
  std::string text = program.getText();
  EXPECT_EQ(program.run().out[0], 0x7fffffffu + 32 * 255 * 255);
  std::string plain = "m64n8k32.s32";
  text.replace(text.find(plain), plain.size(), "m64n8k32.satfinite.s32");
  TestOptions options;
  options.threads = 128;
  options.outputWords = 4;
  TestRun run = runModule(text, options);
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0x7fffffffu);
  EXPECT_EQ(run.out[1], 5u + 32 * 255 * 255);
}

TEST(SimWgmmaTest, Chains) {
  // Two steps in one group, the accumulators in flight between them; the copy
  // is what compilers write for tied registers.
  WgmmaProgram program = make(kWgmmaE4M3, 8, 32);
  TestRun once = program.run();
  program.afterIssue = "setp.eq.u32 %p0, 0, 0;\n"
                       "mov.b32 %r10, %acc0;\n mov.b32 %acc0, %r10;\n" +
                       program.getInstruction();
  for (uint64_t seed = 0; seed != 6; ++seed) {
    program.seed = seed;
    TestRun twice = program.run();
    ASSERT_EQ(twice.text(), "");
    for (unsigned i = 0; i != once.out.size(); ++i) {
      float first, both;
      std::memcpy(&first, &once.out[i], 4);
      std::memcpy(&both, &twice.out[i], 4);
      ASSERT_EQ(both, 2 * first);
    }
  }
}

TEST(SimWgmmaTest, ResultsAppearAtTheWait) {
  // Of two groups the first is waited for: its copy has the result of one
  // step, read before the second group is done.
  WgmmaProgram program = make(kWgmmaBF16, 8, 32);
  TestRun once = program.run();
  std::string second = program.getInstruction();
  size_t place = second.find("{%acc0, %acc1, %acc2, %acc3}");
  second.replace(place, 28, "{%r20, %r21, %r22, %r23}");
  program.afterIssue = "wgmma.commit_group.sync.aligned;\n" + second;
  program.wait = "wgmma.wait_group.sync.aligned 1;";
  program.afterWait = "add.u32 %r24, %acc0, 0;\n"
                      "wgmma.wait_group.sync.aligned 0;\n"
                      "setp.ne.u32 %p2, %r24, %r20;\n"
                      "@%p2 trap;";
  TestRun run = program.run();
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out, once.out);
}

TEST(SimWgmmaTest, Counters) {
  TestRun run = make(kWgmmaBF16, 256, 128).run();
  EXPECT_EQ(run.result.counters.matrixOperations, 2u * 64 * 256 * 16);
}

TEST(SimWgmmaTest, Errors) {
  auto error = [](const char *opcode, const char *operands) {
    return runBody(std::string(opcode) + " " + operands + ";").error;
  };
  EXPECT_EQ(error("wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16", ""),
            "k.ptx:20: 'wgmma.mma_async.sync.aligned.m64n12k16.f32.bf16.bf16' "
            "does not exist");
  EXPECT_EQ(error("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8", ""),
            "k.ptx:20: 'wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8' does "
            "not exist");
  EXPECT_EQ(error("wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16", ""),
            "k.ptx:20: types of "
            "'wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16' are not "
            "modelled");
  EXPECT_EQ(error("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
                  "{%f0, %f1}, %rd3, %rd4, %p0, 1, 1, 0, 0"),
            "k.ptx:20: expected 4 accumulators of "
            "'wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16', got 2");
  EXPECT_EQ(error("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16",
                  "{%f0, %f1, %f2, %f3}, %rd3, %rd4, %p0, 2, 1, 0, 0"),
            "k.ptx:20: expected 1 or -1 as sign of a matrix of "
            "'wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16'");
  EXPECT_EQ(error("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16", ""),
            "k.ptx:20: shape of "
            "'wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16' is not "
            "modelled");
  EXPECT_EQ(error("wgmma.frob.sync.aligned", ""),
            "k.ptx:20: instruction 'wgmma.frob.sync.aligned' is not modelled");
}

} // namespace
