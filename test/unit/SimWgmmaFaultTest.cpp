//===- SimWgmmaFaultTest.cpp - Faults around wgmma ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel that is right, and planted faults, each with its finding.
//
//===----------------------------------------------------------------------===//

#include "TensorProgram.h"

using namespace mamba::sim;

namespace {

WgmmaProgram make() {
  WgmmaProgram program;
  program.type = kWgmmaBF16;
  program.columns = 16;
  program.a = {kTileStart, 0, 256, 32};
  program.b = {kTileStart + 8192, 0, 256, 32};
  return program;
}

/// Findings of one kind; `part` is in the first message.
void expect(const TestRun &run, FindingKind kind, const char *part) {
  ASSERT_FALSE(run.result.findings.empty()) << run.error;
  for (const Finding &finding : run.result.findings)
    EXPECT_EQ(finding.kind, kind) << run.text();
  EXPECT_NE(run.result.findings[0].message.find(part), std::string::npos)
      << run.text();
  EXPECT_GT(run.result.findings[0].line, 0u);
}

TEST(SimWgmmaFaultTest, Clean) {
  WgmmaProgram program = make();
  EXPECT_EQ(program.run().text(), "");
  program.aInRegisters = true;
  EXPECT_EQ(program.run().text(), "");
}

TEST(SimWgmmaFaultTest, AccumulatorReadInFlight) {
  WgmmaProgram program = make();
  program.wait = "";
  expect(program.run(), FindingKind::InFlight,
         "read of register %acc0, which the asynchronous instruction in line");
  program = make();
  program.commit = ""; // a wait for groups that do not have it
  expect(program.run(), FindingKind::InFlight, "read of register %acc0");
  program = make();
  program.wait = "wgmma.wait_group.sync.aligned 1;";
  expect(program.run(), FindingKind::InFlight, "read of register %acc0");
}

TEST(SimWgmmaFaultTest, AccumulatorWrittenInFlight) {
  WgmmaProgram program = make();
  program.afterIssue = "add.u32 %acc3, %r0, 1;";
  expect(program.run(), FindingKind::InFlight,
         "write of register %acc3, which the asynchronous instruction in line");
}

TEST(SimWgmmaFaultTest, CopyInFlight) {
  // The copy is the accumulator, so reading it is no better.
  WgmmaProgram program = make();
  program.afterIssue = "mov.b32 %r10, %acc3;\n add.u32 %r11, %r10, 1;";
  expect(program.run(), FindingKind::InFlight, "read of register %r10");
  program.afterIssue = "mov.b32 %r10, %acc3;";
  program.afterWait = "add.u32 %r11, %r10, 1;";
  EXPECT_EQ(program.run().text(), "");
}

TEST(SimWgmmaFaultTest, OperandWrittenInFlight) {
  WgmmaProgram program = make();
  program.aInRegisters = true;
  program.afterIssue = "add.u32 %a2, %a2, 1;";
  TestRun run = program.run();
  expect(run, FindingKind::InFlight, "read of register %a2");
  program.afterIssue = "";
  program.afterWait = "add.u32 %a2, %a2, 1;";
  EXPECT_EQ(program.run().text(), "");
}

TEST(SimWgmmaFaultTest, MissingFence) {
  WgmmaProgram program = make();
  program.fence = "";
  expect(program.run(), FindingKind::MissingFence, "no wgmma.fence precedes");
  program = make();
  program.afterFence = "add.u32 %acc1, %r0, 1;";
  expect(program.run(), FindingKind::MissingFence,
         "register %acc1 was written after the last wgmma.fence");
  program = make();
  program.aInRegisters = true;
  program.afterFence = "add.u32 %a1, %a1, 1;";
  expect(program.run(), FindingKind::MissingFence, "register %a1");
  // Copies that the assembler removes need none.
  program.afterFence = "mov.b32 %r9, %a1;\n mov.b32 %a1, %r9;";
  EXPECT_EQ(program.run().text(), "");
}

TEST(SimWgmmaFaultTest, OtherShapeNeedsFence) {
  WgmmaProgram program = make(), other = make();
  other.columns = 8;
  program.afterIssue = other.getInstruction();
  expect(program.run(), FindingKind::MissingFence, "which has another shape");
  program.afterIssue = "wgmma.fence.sync.aligned;\n" + other.getInstruction();
  EXPECT_EQ(program.run().text(), "");
}

TEST(SimWgmmaFaultTest, UnwrittenAccumulator) {
  WgmmaProgram program = make();
  std::string text = program.getInstruction();
  text.replace(text.find("%acc1,"), 6, "%r30,");
  program.afterIssue = text;
  EXPECT_EQ(program.run().text(), ""); // D = A B
  program.accumulates = true;
  expect(program.run(), FindingKind::UninitializedValue,
         "register %r30 was not written");
}

TEST(SimWgmmaFaultTest, SharedOverwrittenInFlight) {
  WgmmaProgram program = make();
  program.afterIssue = "st.shared.b32 [%r1+64], %r0;";
  expectAmong(program.run(), FindingKind::InFlight,
              "write of bytes that an asynchronous instruction still reads");
  // A barrier before the wait does not help the other warps.
  program.afterIssue = "bar.sync 0;\n setp.eq.u32 %p3, %r0, 127;\n"
                       "@%p3 st.shared.b32 [%r1+64], %r0;";
  expect(program.run(), FindingKind::InFlight,
         "write of bytes that an asynchronous instruction still reads");
  program.afterIssue = "";
  program.afterWait = "bar.sync 0;\n setp.eq.u32 %p3, %r0, 127;\n"
                      "@%p3 st.shared.b32 [%r1+64], %r0;";
  EXPECT_EQ(program.run().text(), "");
  // The own rows of A need none.
  program.afterWait = "setp.eq.u32 %p3, %r0, 8;\n"
                      "@%p3 st.shared.b32 [%r1+64], %r0;";
  EXPECT_EQ(program.run().text(), "");
  // Without it warps may still be at their wait.
  program.afterWait = "setp.eq.u32 %p3, %r0, 127;\n"
                      "@%p3 st.shared.b32 [%r1+8256], %r0;";
  expect(program.run(), FindingKind::Race, "without order after a ");
}

TEST(SimWgmmaFaultTest, OperandsInSharedMemory) {
  WgmmaProgram program = make();
  program.sharedBytes = 8192 + 256;
  expect(program.run(), FindingKind::OutOfBounds,
         "read of matrix B outside of shared memory");
  program = make();
  std::string barrier = " bar.sync 0;\n", text = program.getText();
  text.replace(text.find(barrier), barrier.size(), "");
  TestOptions options;
  options.threads = 128;
  options.outputWords = 8;
  expectAmong(runModule(text, options), FindingKind::Race,
              "read of matrix A without order after a write by thread (");
  text = program.getText();
  std::string bound = "%r2, 4096;";
  text.replace(text.find(bound), bound.size(), "%r2, 1024;");
  expect(runModule(text, options), FindingKind::UninitializedRead,
         "byte of matrix B was not written");
}

TEST(SimWgmmaFaultTest, ProxyFence) {
  WgmmaProgram program = make();
  std::string fence = " fence.proxy.async;\n", text = program.getText();
  text.replace(text.find(fence), fence.size(), "");
  TestOptions options;
  options.threads = 128;
  options.outputWords = 8;
  expect(runModule(text, options), FindingKind::Proxy,
         "wrote in line 21, without fence.proxy.async between");
}

TEST(SimWgmmaFaultTest, WarpsApart) {
  WgmmaProgram program = make();
  program.beforeFence = "setp.lt.u32 %p4, %r0, 96;\n@!%p4 bra skip;";
  program.wait += "\nskip:\n";
  expect(program.run(), FindingKind::BarrierMisuse,
         "the thread did not execute the wgmma");
  // Two places in the code.
  program = make();
  program.beforeFence = "setp.lt.u32 %p4, %r0, 96;\n@%p4 bra usual;\n"
                        "wgmma.fence.sync.aligned;\n" +
                        program.getInstruction() +
                        "\nbra.uni behind;\nusual:\n";
  program.afterIssue = "behind:\n";
  expect(program.run(), FindingKind::BarrierMisuse,
         "other warps of the warpgroup execute the wgmma in line");
  // Descriptors of their own.
  program = make();
  program.beforeFence = "setp.lt.u32 %p4, %r0, 96;\n"
                        "@%p4 add.u64 %descB, %descB, 16;";
  expect(program.run(), FindingKind::BarrierMisuse,
         "matrix descriptors differ between warps of the warpgroup");
  program.beforeFence = "setp.eq.u32 %p4, %r0, 5;\n"
                        "@%p4 add.u64 %descB, %descB, 16;";
  expect(program.run(), FindingKind::BarrierMisuse,
         "matrix descriptors differ between threads of the warp");
}

TEST(SimWgmmaFaultTest, ThreadsMissing) {
  WgmmaProgram program = make();
  program.threads = 96;
  expect(program.run(), FindingKind::BarrierMisuse,
         "the warpgroup has only 3 warps");
  program = make();
  program.beforeFence = "setp.ne.u32 %p4, %r0, 5;";
  program.guard = "@%p4 ";
  TestRun run = program.run();
  ASSERT_FALSE(run.result.findings.empty());
  EXPECT_EQ(run.result.findings[0].kind, FindingKind::Deadlock) << run.text();
}

} // namespace
