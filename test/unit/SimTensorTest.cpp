//===- SimTensorTest.cpp - Tensor memory: ld, st, cp, shift ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By PTX ISA, "Data Movement Shape", "tcgen05.cp", "tcgen05.shift". No hardware
// was there to compare with.
//
//===----------------------------------------------------------------------===//

#include "TensorProgram.h"

using namespace mamba::sim;

namespace {

/// Text: cell (lane, column) gets lane << 16 | column, 32 columns.
std::string storeCells() {
  std::string text = "mov.u32 %r8, %laneid;\nand.b32 %r9, %r0, 0x60;\n"
                     "add.u32 %r8, %r8, %r9;\nshl.b32 %r8, %r8, 16;\n";
  for (unsigned i = 0; i != 32; ++i)
    text += "add.u32 %d" + std::to_string(i) + ", %r8, " + std::to_string(i) +
            ";\n";
  return text + "tcgen05.st.sync.aligned.32x32b.x32.b32 [%own], " +
         listRegisters("%d", 32) + ";\ntcgen05.wait::st.sync.aligned;\n";
}

struct ShapeRow {
  const char *name;
  unsigned registers;
  /// Lane << 16 | column of register r of a thread.
  uint32_t (*locate)(unsigned thread, unsigned r);
};

// Each row is what the figure of the shape shows.
const ShapeRow kShapes[] = {
    {"32x32b.x8", 8, [](unsigned t, unsigned r) { return t << 16 | r; }},
    {"16x64b.x4", 4,
     [](unsigned t, unsigned r) {
       return (t / 4 + t % 2 * 8) << 16 | (2 * r + (t & 2) / 2);
     }},
    {"16x128b.x4", 8,
     [](unsigned t, unsigned r) {
       return (t / 4 + (r & 1) * 8) << 16 | (r / 2 * 4 + t % 4);
     }},
    {"16x256b.x2", 8, [](unsigned t, unsigned r) {
       return (t / 4 + (r & 2) * 4) << 16 | (r / 4 * 8 + t % 4 * 2 + (r & 1));
     }}};

TEST(SimTensorTest, Loads) {
  for (const ShapeRow &shape : kShapes) {
    SCOPED_TRACE(shape.name);
    TensorProgram program;
    program.results = shape.registers;
    program.body = storeCells() + "tcgen05.ld.sync.aligned." + shape.name +
                   ".b32 " + listRegisters("%d", shape.registers) +
                   ", [%own+3];\ntcgen05.wait::ld.sync.aligned;\n";
    TestRun run = program.run();
    ASSERT_EQ(run.text(), "");
    for (unsigned thread = 0; thread != 128; ++thread)
      for (unsigned r = 0; r != shape.registers; ++r)
        ASSERT_EQ(run.out[thread * shape.registers + r],
                  (thread / 32 << 21) + shape.locate(thread % 32, r) + 3);
  }
}

TEST(SimTensorTest, Stores) {
  // Stored in one shape and loaded in it: the upper 16 lanes too.
  for (const ShapeRow &shape : kShapes) {
    SCOPED_TRACE(shape.name);
    std::string half = shape.name[0] == '1' ? "+1048576" : "";
    TensorProgram program;
    program.results = shape.registers;
    program.body = storeCells();
    for (unsigned r = 0; r != shape.registers; ++r)
      program.body += "mad.lo.u32 %d" + std::to_string(r) + ", %r0, 100, " +
                      std::to_string(r) + ";\n";
    std::string registers = listRegisters("%d", shape.registers);
    program.body += std::string("tcgen05.st.sync.aligned.") + shape.name +
                    ".b32 [%own" + half + "], " + registers +
                    ";\ntcgen05.wait::st.sync.aligned;\n"
                    "tcgen05.ld.sync.aligned." +
                    shape.name + ".b32 " + registers + ", [%own" + half +
                    "];\ntcgen05.wait::ld.sync.aligned;\n";
    TestRun run = program.run();
    ASSERT_EQ(run.text(), "");
    for (unsigned i = 0; i != run.out.size(); ++i)
      ASSERT_EQ(run.out[i], i / shape.registers * 100 + i % shape.registers);
  }
}

TEST(SimTensorTest, SplitHalves) {
  TensorProgram program;
  program.results = 2;
  program.body = storeCells() +
                 "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%d0, %d1}, [%own], "
                 "16;\ntcgen05.wait::ld.sync.aligned;\n";
  TestRun run = program.run();
  ASSERT_EQ(run.text(), "");
  for (unsigned thread = 0; thread != 128; ++thread)
    for (unsigned r = 0; r != 2; ++r)
      ASSERT_EQ(run.out[2 * thread + r], (thread / 32 << 21) +
                                             (thread % 16 << 16) +
                                             (thread % 32 / 16 * 16) + r);
}

TEST(SimTensorTest, Packing) {
  TensorProgram program;
  program.results = 4;
  program.body =
      storeCells() + "tcgen05.ld.sync.aligned.16x128b.x2.pack::16b.b32 " +
      listRegisters("%d", 4) + ", [%own];\ntcgen05.wait::ld.sync.aligned;\n";
  TestRun run = program.run();
  ASSERT_EQ(run.text(), "");
  for (unsigned r = 0; r != 4; ++r) {
    uint32_t column = 2 * (r / 2 * 4 + 5 % 4);
    EXPECT_EQ(run.out[5 * 4 + r], column | (column + 1) << 16);
  }
  program.results = 2;
  program.body = storeCells() +
                 "mov.b32 %r10, 0x22221111;\n"
                 "tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%own], "
                 "{%r10};\ntcgen05.wait::st.sync.aligned;\n" +
                 loadColumns(2);
  run = program.run();
  ASSERT_EQ(run.text(), "");
  EXPECT_EQ(run.out[0], 0x1111u);
  EXPECT_EQ(run.out[1], 0x2222u);
}

/// Copies a matrix at the start of shared memory and loads 8 columns.
TensorProgram makeCopy(const char *shape, const Tile &tile) {
  TensorProgram program;
  program.data.type = kWgmmaS8;
  program.results = 8;
  program.body = storeCells() +
                 "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                 "tcgen05.fence::after_thread_sync;\n"
                 "@%p0 tcgen05.cp.cta_group::1." +
                 shape + " [%taddr], " + std::to_string(encodeTcgen05(tile)) +
                 ";\n" + kCommitAndWait + loadColumns(8);
  return program;
}

TEST(SimTensorTest, Copies) {
  struct Row {
    const char *shape;
    unsigned bytes;
    unsigned (*row)(unsigned lane);
  };
  const Row rows[] = {
      {"128x256b", 32, [](unsigned lane) { return lane; }},
      {"128x128b", 16, [](unsigned lane) { return lane; }},
      {"64x128b.warpx2::02_13", 16, [](unsigned lane) { return lane % 64; }},
      {"64x128b.warpx2::01_23", 16,
       [](unsigned lane) { return lane / 64 * 32 + lane % 32; }},
      {"32x128b.warpx4", 16, [](unsigned lane) { return lane % 32; }}};
  for (const Row &row : rows)
    for (unsigned span : {16, 128}) {
      SCOPED_TRACE(row.shape);
      Tile tile = span == 16 ? Tile{kTileStart, 128, 256, 16}
                             : Tile{kTileStart, 0, 1024, 128};
      TensorProgram program = makeCopy(row.shape, tile);
      TestRun run = program.run();
      ASSERT_EQ(run.text(), "");
      for (unsigned lane = 0; lane != 128; ++lane)
        for (unsigned i = 0; i != 8; ++i) {
          uint32_t expected = lane << 16 | i;
          if (4 * i < row.bytes)
            expected =
                program.data.getWord(tile.locate(row.row(lane), 4 * i, 1));
          ASSERT_EQ(run.out[8 * lane + i], expected);
        }
    }
}

TEST(SimTensorTest, Decompression) {
  Tile tile{kTileStart, 128, 256, 16};
  for (unsigned bits : {4, 6}) {
    std::string shape =
        bits == 4 ? "128x256b.b8x16.b4x16_p64" : "128x256b.b8x16.b6x16_p32";
    TensorProgram program = makeCopy(shape.c_str(), tile);
    TestRun run = program.run();
    ASSERT_EQ(run.text(), "");
    for (unsigned lane = 0; lane != 128; ++lane)
      for (unsigned k = 0; k != 32; ++k) {
        uint32_t at = tile.locate(lane, k / 16 * 16, 1);
        uint64_t low = program.data.getWord(at), high;
        unsigned from = k % 16 * bits;
        low |= uint64_t(program.data.getWord(at + 4)) << 32;
        high = program.data.getWord(at + 8);
        uint64_t value = low >> from;
        if (from >= 64)
          value = high >> (from - 64);
        else if (from + bits > 64)
          value |= high << (64 - from);
        value &= (1u << bits) - 1;
        uint32_t got = run.out[8 * lane + k / 4] >> (k % 4 * 8) & 0xff;
        ASSERT_EQ(got, bits == 4 ? value << 2 : value) << k;
      }
  }
}

TEST(SimTensorTest, Shift) {
  TensorProgram program;
  program.results = 16;
  program.body = storeCells() +
                 "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                 "tcgen05.fence::after_thread_sync;\n"
                 "@%p0 tcgen05.shift.cta_group::1.down [%taddr+2097152];\n" +
                 kCommitAndWait + loadColumns(16);
  TestRun run = program.run();
  ASSERT_EQ(run.text(), "");
  for (unsigned lane = 0; lane != 128; ++lane)
    for (unsigned i = 0; i != 16; ++i) {
      bool moves = lane > 32 && lane < 64 && i < 8;
      ASSERT_EQ(run.out[16 * lane + i], (lane - moves) << 16 | i);
    }
}

TEST(SimTensorTest, Errors) {
  auto error = [](const char *text) { return runBody(text).error; };
  EXPECT_EQ(error("tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r2}, [%r1];"),
            "k.ptx:20: 'tcgen05.ld.sync.aligned.16x256b.x64.b32' does not "
            "exist");
  EXPECT_EQ(error("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r2}, [%r1];"),
            "k.ptx:20: expected 4 registers of "
            "'tcgen05.ld.sync.aligned.32x32b.x4.b32', got 1");
  EXPECT_EQ(error("tcgen05.cp.cta_group::1.4x256b [%r1], %rd0;"),
            "k.ptx:20: shape of 'tcgen05.cp.cta_group::1.4x256b' is not "
            "modelled");
  EXPECT_EQ(error("tcgen05.shift.cta_group::2.down [%r1];"),
            "k.ptx:20: '.cta_group::2' of 'tcgen05.shift.cta_group::2.down' "
            "is not modelled");
  EXPECT_EQ(error("tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd0, %rd0, "
                  "%r2, %p0;"),
            "k.ptx:20: modifier '.ws' of "
            "'tcgen05.mma.ws.cta_group::1.kind::f16' is not modelled");
}

} // namespace
