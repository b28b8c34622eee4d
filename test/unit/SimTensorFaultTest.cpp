//===- SimTensorFaultTest.cpp - Faults around tensor memory ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorProgram.h"

using namespace mamba::sim;

namespace {

const char kStore[] = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%own], {%r0};\n";
const char kWaitStore[] = "tcgen05.wait::st.sync.aligned;\n";
const char kLoad[] = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%d0}, [%own];\n";
const char kWaitLoad[] = "tcgen05.wait::ld.sync.aligned;\n";

TensorProgram make(const std::string &body, unsigned results = 1) {
  TensorProgram program;
  program.body = body;
  program.results = results;
  return program;
}

std::string usual() {
  return std::string(kStore) + kWaitStore + kLoad + kWaitLoad;
}

TEST(SimTensorFaultTest, Clean) {
  TestRun run = make(usual()).run();
  EXPECT_EQ(run.text(), "");
  EXPECT_EQ(run.out[77], 77u);
}

TEST(SimTensorFaultTest, Unwritten) {
  expectAmong(make(std::string(kLoad) + kWaitLoad).run(),
              FindingKind::UninitializedRead,
              ", column 0 of tensor memory was not written");
}

TEST(SimTensorFaultTest, InFlight) {
  expectAmong(
      make(std::string(kStore) + kLoad + kWaitLoad).run(),
      FindingKind::InFlight,
      "read of tensor memory that the asynchronous instruction in line");
  expectAmong(make(std::string(kStore) + kWaitStore + kLoad).run(),
              FindingKind::InFlight, "read of register %d0");
  expectAmong(make(std::string(kStore) + kWaitStore + kLoad + kStore +
                   kWaitStore + kWaitLoad)
                  .run(),
              FindingKind::InFlight, "write of tensor memory that");
}

TEST(SimTensorFaultTest, OtherQuarter) {
  std::string body = usual();
  body.replace(body.find("[%own]"), 6, "[%taddr]");
  expectAmong(make(body).run(), FindingKind::TensorMemory,
              "access to lanes 0 to 31 of tensor memory by warp 3, which has "
              "lanes 96 to 127");
}

TEST(SimTensorFaultTest, Allocation) {
  TensorProgram program = make(usual());
  program.deallocates = false;
  expectAmong(program.run(), FindingKind::TensorMemory,
              "64 columns of tensor memory are not deallocated");
  program = make(usual());
  program.columns = 48;
  expectAmong(program.run(), FindingKind::TensorMemory,
              "an allocation of 48 columns, expected a power of two");
  program = make(usual());
  size_t place = program.body.find("[%own]");
  program.body.replace(place, 6, "[%own+64]");
  expectAmong(program.run(), FindingKind::TensorMemory,
              ", column 64 of tensor memory, which is not allocated");
  program = make(usual() +
                 "@%p2 bra skip;\n"
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, 32;\n"
                 "skip:\n");
  expectAmong(program.run(), FindingKind::TensorMemory,
              "there is no allocation of 32 columns");
}

TEST(SimTensorFaultTest, AllocationsWait) {
  // Warp 1 wants all columns and gets them when warp 0 has freed its own.
  std::string second =
      "setp.lt.u32 %p5, %r0, 32;\n@%p5 bra other;\n"
      "setp.ge.u32 %p5, %r0, 64;\n@%p5 bra other;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+0], 512;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 512;\n"
      "other:\n";
  TensorProgram program = make("mov.b32 %d0, 0;\nbar.sync 0;\n" + second);
  program.relinquish = "";
  expectAmong(program.run(), FindingKind::Deadlock,
              "for columns of tensor memory");
  program.body = "mov.b32 %d0, 0;\nbar.sync 0;\n@%p2 bra early;\n"
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, 64;\n"
                 "early:\n" +
                 second;
  program.deallocates = false;
  EXPECT_EQ(program.run().text(), "");
  program.relinquish =
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
  expectAmong(program.run(), FindingKind::TensorMemory,
              "an allocation after the permit was relinquished");
}

TEST(SimTensorFaultTest, OrderBetweenWarps) {
  // Thread 0 copies over what all warps have stored.
  auto body = [](const std::string &order) {
    return kStore + std::string(kWaitStore) + order +
           "@%p0 tcgen05.cp.cta_group::1.128x128b [%taddr], " +
           std::to_string(encodeTcgen05({kTileStart, 128, 128})) + ";\n" +
           kCommitAndWait + kLoad + kWaitLoad;
  };
  std::string before = "tcgen05.fence::before_thread_sync;\n",
              barrier = "bar.sync 0;\n",
              after = "tcgen05.fence::after_thread_sync;\n";
  EXPECT_EQ(make(body(before + barrier + after)).run().text(), "");
  expectAmong(make(body("bar.warp.sync -1;\n")).run(), FindingKind::Race,
              "write of tensor memory after a write");
  expectAmong(make(body(barrier + after)).run(), FindingKind::MissingFence,
              "without tcgen05.fence::before_thread_sync there");
  expectAmong(make(body(before + barrier)).run(), FindingKind::MissingFence,
              "without tcgen05.fence::after_thread_sync here");
}

TEST(SimTensorFaultTest, OrderOfDeallocation) {
  // A barrier is needed, fences are not.
  TensorProgram program = make(usual());
  program.fenceBefore = program.fenceAfter = "";
  EXPECT_EQ(program.run().text(), "");
  program = make(usual() +
                 "@%p2 bra skip;\n"
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, 64;\n"
                 "skip:\n");
  program.deallocates = false;
  expectAmong(program.run(), FindingKind::Race,
              "write of tensor memory after a");
}

TEST(SimTensorFaultTest, PipelineInFlight) {
  std::string copy = "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                     "tcgen05.fence::after_thread_sync;\n"
                     "@%p0 tcgen05.cp.cta_group::1.128x128b [%taddr], " +
                     std::to_string(encodeTcgen05({kTileStart, 128, 128})) +
                     ";\n";
  expectAmong(make(kStore + std::string(kWaitStore) + copy + kLoad + kWaitLoad +
                   kCommitAndWait)
                  .run(),
              FindingKind::InFlight, "read of tensor memory that");
  // The source is overwritten before the copy has read it.
  TestRun run = make(kStore + std::string(kWaitStore) + copy +
                     "@%p0 st.shared.b32 [%r1+64], %r0;\n" + kCommitAndWait +
                     kLoad + kWaitLoad)
                    .run();
  expectAmong(run, FindingKind::InFlight,
              "write of bytes that an asynchronous instruction still reads");
}

} // namespace
