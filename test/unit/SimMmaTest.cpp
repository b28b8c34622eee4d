//===- SimMmaTest.cpp - Further shapes of mma.sync ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Matrix Fragments for mma.*": each element is found by going over
// all registers. Block scaling needs sm_120a and was compared with no hardware.
//
//===----------------------------------------------------------------------===//

#include "SimTest.h"

#include <cmath>
#include <cstring>

using namespace mamba::sim;

namespace {

uint32_t hashOf(unsigned thread, char matrix, unsigned r) {
  uint32_t hash = (thread * 13 + matrix * 16 + r) * 0x9e3779b1u;
  return hash ^ hash >> 15;
}

/// Text that fills registers %A0 on with hashes.
std::string fill(char matrix, unsigned count, const char *extra = "") {
  std::string text;
  for (unsigned r = 0; r != count; ++r) {
    std::string name = std::string("%") + matrix + std::to_string(r);
    text += "mad.lo.u32 %r2, %r0, 13, " + std::to_string(matrix * 16 + r) +
            ";\nmul.lo.u32 %r2, %r2, 0x9E3779B1;\nshr.u32 %r3, %r2, 15;\n"
            "xor.b32 " +
            name + ", %r2, %r3;\n";
    if (*extra)
      text += std::string(extra) + " " + name + ", " + name + ", 7;\n";
  }
  return text;
}

std::string list(char matrix, unsigned count) {
  std::string text = "{";
  for (unsigned r = 0; r != count; ++r)
    text += std::string(r ? ", %" : "%") + matrix + std::to_string(r);
  return text + "}";
}

/// A warp with one instruction on 32-bit registers; C is zero.
TestRun runMma(const std::string &opcode, unsigned a, unsigned b, unsigned c,
               const std::string &more = "", const std::string &before = "") {
  std::string text = ".reg .b32 %A<8>, %B<8>, %C<8>, %D<8>;\n" + fill('A', a) +
                     fill('B', b) + before;
  for (unsigned i = 0; i != c; ++i)
    text += "mov.b32 %C" + std::to_string(i) + ", 0;\n";
  text += opcode + " " + list('D', c) + ", " + list('A', a) + ", " +
          list('B', b) + ", " + list('C', c) + more +
          ";\nld.param.u64 %rd5, [k_out];\nmul.wide.u32 %rd6, %r0, " +
          std::to_string(4 * c) + ";\nadd.s64 %rd5, %rd5, %rd6;\n";
  for (unsigned i = 0; i != c; ++i)
    text += "st.global.b32 [%rd5+" + std::to_string(4 * i) + "], %D" +
            std::to_string(i) + ";\n";
  TestOptions options;
  options.outputWords = c;
  return runBody(text, options);
}

/// Element (row, k) of a matrix with `bits` for each and groups of 8 rows.
uint32_t getElement(char matrix, unsigned row, unsigned k, unsigned bits,
                    unsigned rowGroups) {
  unsigned perRegister = 32 / bits;
  unsigned lane = row % 8 * 4 + k / perRegister % 4;
  unsigned r = k / perRegister / 4 * rowGroups + row / 8;
  uint32_t word = hashOf(lane, matrix, r) >> k % perRegister * bits;
  return word & ((uint64_t(1) << bits) - 1);
}

template <typename Product>
void check(const TestRun &run, unsigned rows, unsigned depth, bool isFloat,
           Product product) {
  ASSERT_EQ(run.text(), "");
  for (unsigned row = 0; row != rows; ++row)
    for (unsigned column = 0; column != 8; ++column) {
      double sum = 0;
      for (unsigned k = 0; k != depth; ++k)
        sum += product(row, column, k);
      unsigned lane = row % 8 * 4 + column / 2;
      unsigned i = row / 8 * 2 + column % 2;
      uint32_t word = run.out[lane * (rows / 4) + i];
      float value;
      std::memcpy(&value, &word, 4);
      ASSERT_EQ(isFloat ? double(value) : double(int32_t(word)), sum)
          << row << " " << column;
    }
}

int toSigned(uint32_t bits, unsigned width) {
  return int32_t(bits << (32 - width)) >> (32 - width);
}

TEST(SimMmaTest, Integers) {
  struct Row {
    const char *opcode;
    unsigned rows, depth, bits;
  };
  for (const Row &row :
       {Row{"m8n8k16.row.col.s32.s8.u8.s32", 8, 16, 8},
        Row{"m8n8k32.row.col.s32.s4.u4.s32", 8, 32, 4},
        Row{"m16n8k32.row.col.s32.s4.u4.s32", 16, 32, 4},
        Row{"m16n8k64.row.col.satfinite.s32.s4.u4.s32", 16, 64, 4}}) {
    SCOPED_TRACE(row.opcode);
    unsigned groups = row.rows / 8;
    unsigned b = 8 * row.depth * row.bits / 1024;
    TestRun run = runMma(std::string("mma.sync.aligned.") + row.opcode,
                         b * groups, b, row.rows / 4);
    check(run, row.rows, row.depth, false,
          [&](unsigned i, unsigned j, unsigned k) {
            return toSigned(getElement('A', i, k, row.bits, groups), row.bits) *
                   double(getElement('B', j, k, row.bits, 1));
          });
  }
}

TEST(SimMmaTest, Bits) {
  for (unsigned rows : {8, 16})
    for (unsigned depth : {128, 256})
      for (bool isAnd : {false, true}) {
        if (rows == 8 && depth == 256)
          continue;
        unsigned b = depth / 128;
        TestRun run =
            runMma("mma.sync.aligned.m" + std::to_string(rows) + "n8k" +
                       std::to_string(depth) + ".row.col.s32.b1.b1.s32." +
                       (isAnd ? "and" : "xor") + ".popc",
                   b * rows / 8, b, rows / 4);
        check(run, rows, depth, false, [&](unsigned i, unsigned j, unsigned k) {
          unsigned left = getElement('A', i, k, 1, rows / 8),
                   right = getElement('B', j, k, 1, 1);
          return isAnd ? left & right : left ^ right;
        });
      }
}

double decodeE2M1(unsigned bits) {
  static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return bits & 8 ? -values[bits & 7] : values[bits & 7];
}

double decodeE3M2(unsigned bits) {
  int e = bits >> 2 & 7, m = bits & 3;
  double value = e ? std::ldexp(4 + m, e - 5) : std::ldexp(m, -4);
  return bits & 32 ? -value : value;
}

TEST(SimMmaTest, SparseIntegers) {
  // Metadata 0x9 in every nibble: the second and the third of four are there.
  for (unsigned depth : {32, 64}) {
    TestRun run = runMma("mma.sp::ordered_metadata.sync.aligned.m16n8k" +
                             std::to_string(depth) + ".row.col.s32.s8.u8.s32",
                         depth / 16, depth / 16, 4, ", %r4, 0",
                         "mov.b32 %r4, 0x99999999;\n");
    check(run, 16, depth / 2, false, [&](unsigned i, unsigned j, unsigned k) {
      return toSigned(getElement('A', i, k, 8, 2), 8) *
             double(getElement('B', j, k / 2 * 4 + 1 + k % 2, 8, 1));
    });
  }
}

TEST(SimMmaTest, SmallFloats) {
  TestRun run =
      runMma("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
             4, 2, 4);
  check(run, 16, 32, true, [&](unsigned i, unsigned j, unsigned k) {
    return decodeE2M1(getElement('A', i, k, 8, 2) >> 2 & 15) *
           decodeE3M2(getElement('B', j, k, 8, 1) & 63);
  });
}

/// Factors by lane: bytes 2^(lane % 3), 2^(lane % 4), ... around 1.
const char kScales[] = "rem.u32 %r4, %r0, 3;\n"
                       "mad.lo.u32 %r4, %r4, 0x01010101, 0x7f7e807f;\n"
                       "mov.b16 %h0, 2;\nmov.b16 %h1, 1;\nmov.b16 %h2, 0;\n"
                       "mov.b16 %h3, 3;\n";

TEST(SimMmaTest, ScalesOfBytes) {
  // Byte 2 of the threads 2 and 3 for A, byte 0 of thread 3 for B.
  TestRun run =
      runMma("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4."
             "block_scale.scale_vec::1X.f32.e3m2.e2m1.f32.ue8m0",
             4, 2, 4, ", {%r4}, {%h0, %h1}, {%r4}, {%h2, %h3}", kScales);
  check(run, 16, 32, true, [&](unsigned i, unsigned j, unsigned k) {
    unsigned a = i % 8 * 4 + 2 + i / 8, b = j * 4 + 3;
    return std::ldexp(decodeE3M2(getElement('A', i, k, 8, 2) & 63),
                      int(a % 3) - 1) *
           std::ldexp(decodeE2M1(getElement('B', j, k, 8, 1) >> 2 & 15), b % 3);
  });
}

TEST(SimMmaTest, ScalesOfFourBits) {
  TestRun run =
      runMma("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4."
             "block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
             4, 2, 4, ", {%r4}, {%h0, %h1}, {%r4}, {%h2, %h3}", kScales);
  check(run, 16, 64, true, [&](unsigned i, unsigned j, unsigned k) {
    unsigned a = i % 8 * 4 + 2 + i / 8, b = j * 4 + 3;
    return std::ldexp(decodeE2M1(getElement('A', i, k, 4, 2)),
                      int(a % 3) + (k < 32 ? -1 : 0)) *
           std::ldexp(decodeE2M1(getElement('B', j, k, 4, 1)),
                      int(b % 3) + (k < 32 ? 0 : 1));
  });
  // Four factors of e4m3: 0x38 is 1, each bit more an eighth.
  std::string scales = "and.b32 %r4, %r0, 3;\n"
                       "mad.lo.u32 %r4, %r4, 0x01010101, 0x38403038;\n"
                       "mov.b16 %h0, 0;\nmov.b16 %h1, 1;\nmov.b16 %h2, 2;\n";
  run = runMma("mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4."
               "block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
               4, 2, 4, ", {%r4}, {%h0, %h1}, {%r4}, {%h0, %h2}", scales);
  static const int exponents[] = {0, -1, 1, 0};
  check(run, 16, 64, true, [&](unsigned i, unsigned j, unsigned k) {
    double left = 1 + (2 + i / 8) / 8.0, right = 1 + 2 / 8.0;
    return decodeE2M1(getElement('A', i, k, 4, 2)) *
           decodeE2M1(getElement('B', j, k, 4, 1)) *
           std::ldexp(left * right, 2 * exponents[k / 16]);
  });
}

TEST(SimMmaTest, Faults) {
  std::string scales = kScales;
  scales.replace(scales.find("%h1, 1"), 6, "%h1, 2");
  TestRun run =
      runMma("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4."
             "block_scale.f32.e4m3.e4m3.f32.ue8m0",
             4, 2, 4, ", {%r4}, {%h0, %h1}, {%r4}, {%h2, %h3}", scales);
  ASSERT_EQ(run.kinds(), std::vector<FindingKind>{FindingKind::Descriptor})
      << run.text();
  EXPECT_EQ(run.result.findings[0].message,
            "scale factors in byte 2 of thread 2, which do not exist");
}

TEST(SimMmaTest, Errors) {
  auto error = [](const char *opcode) { return runMma(opcode, 2, 1, 4).error; };
  EXPECT_NE(error("mma.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32")
                .find("are not modelled"),
            std::string::npos);
  EXPECT_NE(error("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
                .find("wrong number of registers"),
            std::string::npos);
  EXPECT_NE(error("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor")
                .find("are not modelled"),
            std::string::npos);
  EXPECT_NE(error("mma.sp.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32")
                .find("are not modelled"),
            std::string::npos);
}

} // namespace
