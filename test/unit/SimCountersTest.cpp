//===- SimCountersTest.cpp - Bytes by path and live registers -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

using namespace llvm;
using namespace mamba::sim;

namespace {

Counters count(StringRef body) {
  TestOptions options;
  options.countMemory = true;
  TestRun run = runBody(body, options);
  EXPECT_EQ(run.text(), "");
  return run.result.counters;
}

uint64_t getBytes(const Counters &counters, BytePath path) {
  return counters.bytes[unsigned(path)];
}

TEST(SimCountersTest, BytesByPath) {
  Counters counters = count("ld.global.b32 %r3, [%rd0];\n"
                            "st.shared.v2.b32 [%r1], {7, 7};\n"
                            "bar.warp.sync -1;\n"
                            "ld.shared.b16 %h0, [%r1];\n"
                            "st.global.b32 [%rd1], %r3;\n"
                            "atom.global.add.u32 %r4, [%rd1], 1;\n"
                            "red.global.add.u32 [%rd1], 1;\n");
  EXPECT_EQ(getBytes(counters, BytePath::Param), 16u); // once a warp
  EXPECT_EQ(getBytes(counters, BytePath::GlobalLoad), 128u);
  EXPECT_EQ(getBytes(counters, BytePath::GlobalStore), 128u);
  EXPECT_EQ(getBytes(counters, BytePath::SharedStore), 8u);
  EXPECT_EQ(getBytes(counters, BytePath::SharedLoad), 2u);
  EXPECT_EQ(getBytes(counters, BytePath::Atomic), 256u);
  EXPECT_EQ(getBytes(counters, BytePath::AsyncCopy), 0u);
  EXPECT_EQ(getBytes(counters, BytePath::BulkLoad), 0u);
}

TEST(SimCountersTest, BytesOfGenericAccesses) {
  Counters counters = count("cvt.u64.u32 %rd3, %r1;\n"
                            "cvta.shared.u64 %rd3, %rd3;\n"
                            "st.b32 [%rd3], 7;\n"
                            "bar.warp.sync -1;\n"
                            "ld.b32 %r2, [%rd3];\n"
                            "st.b32 [%rd1], %r2;");
  EXPECT_EQ(getBytes(counters, BytePath::SharedStore), 4u);
  EXPECT_EQ(getBytes(counters, BytePath::SharedLoad), 4u);
  EXPECT_EQ(getBytes(counters, BytePath::GlobalStore), 128u);
}

TEST(SimCountersTest, BytesOfLocalMemory) {
  Counters counters = count("{ .local .align 4 .b8 stack[8];\n"
                            "st.local.b32 [stack], %r0;\n"
                            "ld.local.b32 %r2, [stack]; }");
  EXPECT_EQ(getBytes(counters, BytePath::Local), 2u * 32 * 4);
}

TEST(SimCountersTest, BytesOfAsyncCopies) {
  // Lanes that copy nothing, but zeros, read nothing.
  Counters counters =
      count("shl.b32 %r2, %r0, 2;\n"
            "add.u32 %r2, %r2, %r1;\n"
            "cp.async.ca.shared.global [%r2], [%rd0], 4;\n"
            "setp.lt.u32 %p0, %r0, 8;\n"
            "selp.b32 %r3, 4, 0, %p0;\n"
            "cp.async.ca.shared.global [%r2+512], [%rd0], 4, %r3;\n"
            "cp.async.wait_all;\n");
  EXPECT_EQ(getBytes(counters, BytePath::AsyncCopy), 128u + 32);
  EXPECT_EQ(getBytes(counters, BytePath::SharedStore), 0u);
}

/// A kernel of just these registers and instructions.
Counters countModule(StringRef head, StringRef body) {
  TestOptions options;
  options.countMemory = true;
  TestRun run = runModule((".version 8.0\n.target sm_90a\n.address_size 64\n"
                           ".visible .entry k(.param .u64 a, .param .u64 b) " +
                           head + "\n{\n" + body + "\n}\n")
                              .str(),
                          options);
  EXPECT_EQ(run.text(), "");
  return run.result.counters;
}

TEST(SimCountersTest, LiveRegisters) {
  // %rd0 (2 units), %r0 and %r1, then %r2 in the place of one of them.
  Counters counters =
      countModule(".maxnreg 64", ".reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
                                 ".reg .b16 %h; .reg .pred %p;\n"
                                 "ld.param.u64 %rd0, [b];\n"
                                 "mov.u32 %r0, %tid.x;\n"
                                 "mul.lo.u32 %r1, %r0, 4;\n"
                                 "add.u32 %r2, %r0, %r1;\n"
                                 "setp.gt.u32 %p, %r2, 0;\n"
                                 "@%p ret;\n"
                                 "st.global.b32 [%rd0], %r2;\n");
  EXPECT_EQ(counters.liveRegisters, 4u);
  EXPECT_EQ(counters.declaredRegisters, 3u + 4 + 1);
  EXPECT_EQ(counters.maxRegisters, 64u);
}

TEST(SimCountersTest, RegistersLiveAroundALoop) {
  // %r3 is live in the loop, though it is read behind it only; the guarded
  // write to %r2 keeps the value before alive.
  Counters counters = countModule("", ".reg .b32 %r<8>; .reg .b64 %rd<2>;\n"
                                      ".reg .pred %p<2>;\n"
                                      "ld.param.u64 %rd0, [b];\n"
                                      "mov.u32 %r3, 5;\n"
                                      "mov.u32 %r2, 1;\n"
                                      "mov.u32 %r0, 0;\n"
                                      "loop:\n"
                                      "setp.eq.u32 %p0, %r0, 1;\n"
                                      "@%p0 mov.u32 %r2, 2;\n"
                                      "add.u32 %r0, %r0, 1;\n"
                                      "setp.lt.u32 %p1, %r0, 3;\n"
                                      "@%p1 bra loop;\n"
                                      "add.u32 %r4, %r2, %r3;\n"
                                      "st.global.b32 [%rd0], %r4;\n");
  EXPECT_EQ(counters.liveRegisters, 5u);
  EXPECT_EQ(counters.maxRegisters, 0u);
}

TEST(SimCountersTest, ExponentialsAndMatrixOperations) {
  Counters counters =
      count("cvt.rn.f32.u32 %f0, %r0;\n"
            "ex2.approx.f32 %f1, %f0;\n"
            "setp.lt.u32 %p0, %r0, 4;\n"
            "@%p0 ex2.approx.ftz.f32 %f1, %f0;\n"
            "mov.b32 %r4, 0;\n"
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%f2, %f3, %f4, %f5}, {%r4, %r4, %r4, %r4}, {%r4, %r4}, "
            "{%f0, %f0, %f0, %f0};");
  EXPECT_EQ(counters.exponentials, 36u);
  EXPECT_EQ(counters.matrixOperations, 2u * 16 * 8 * 16);
}

TEST(SimCountersTest, Text) {
  Counters counters = count("ld.global.b32 %r3, [%rd0];\n"
                            "st.global.b32 [%rd1], %r3;\n");
  std::string text;
  raw_string_ostream os(text);
  counters.print(os);
  EXPECT_NE(text.find("bytes of global-load"), std::string::npos);
  EXPECT_NE(text.find("live_registers"), std::string::npos);
  json::Object object = counters.toJSON();
  EXPECT_EQ(object.getObject("bytes")->getInteger("global-store"), 128);
  EXPECT_EQ(object.getInteger("max_registers"), 0);
}

} // namespace
