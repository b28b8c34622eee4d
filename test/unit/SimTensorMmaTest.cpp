//===- SimTensorMmaTest.cpp - What tcgen05.mma computes -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By PTX ISA, "Instruction descriptor", "Data Path Layout Organization",
// "Packing formats", "Block Scaling". No hardware was there to compare with.
//
//===----------------------------------------------------------------------===//

#include "TensorProgram.h"

#include <cmath>
#include <cstring>

using namespace mamba::sim;

namespace {

constexpr uint32_t kStartOfB = kTileStart + 16384;

struct MmaProgram {
  WgmmaType type = kWgmmaF16;
  std::string kind = "kind::f16";
  uint32_t types = 1 << 4; // of the instruction descriptor
  unsigned rows = 128, columns = 32;
  Tile a{kTileStart, 0, 256, 32}, b{kStartOfB, 0, 256, 32};
  bool accumulates = false, aInTensor = false;
  std::string masks, scaleD, scales, prepare;
  uint64_t seed = 0;

  uint32_t getDescriptor() const {
    uint32_t m = scales.empty() ? rows >> 4 << 24 : rows >> 7 << 27;
    return types | columns / 8 << 17 | m | a.isTransposed << 15 |
           b.isTransposed << 16;
  }
  std::string getInstruction() const {
    return "@%p0 tcgen05.mma.cta_group::1." + kind + " [%taddr], " +
           (aInTensor ? "[%taddr+32]" : std::to_string(encodeTcgen05(a))) +
           ", " + std::to_string(encodeTcgen05(b)) + ", " +
           std::to_string(getDescriptor()) + masks + scales +
           (accumulates ? ", %p0" : ", %p1") + scaleD + ";\n";
  }
  /// D starts as 2.0 (or 2^-13 as two halves) in 32 columns.
  TensorProgram getProgram() const {
    TensorProgram program;
    program.data.type = type;
    program.data.sharedBytes = 32768;
    program.results = 32;
    program.seed = seed;
    program.columns = 128;
    for (unsigned i = 0; i != 32; ++i)
      program.body += "mov.b32 %d" + std::to_string(i) + ", 0x40000000;\n";
    program.body += "tcgen05.st.sync.aligned.32x32b.x32.b32 [%own], " +
                    listRegisters("%d", 32) + ";\n";
    // Row r of A in tensor memory is that of a tile without swizzle.
    if (aInTensor)
      for (unsigned i = 0; i != 8; ++i)
        program.body += "shl.b32 %r8, %r0, 5;\nadd.u32 %r8, %r8, %r1;\n"
                        "ld.shared.b32 %r9, [%r8+" +
                        std::to_string(4 * i) +
                        "];\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%own+" +
                        std::to_string(32 + i) + "], {%r9};\n";
    program.body += prepare;
    program.body += "tcgen05.wait::st.sync.aligned;\n"
                    "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
                    "tcgen05.fence::after_thread_sync;\n" +
                    getInstruction() + kCommitAndWait + loadColumns(32);
    return program;
  }
  TestRun run() const { return getProgram().run(); }
};

float toFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// Compares D with sums of products of what `left` and `right` give.
template <typename Left, typename Right>
void compare(const MmaProgram &mma, const TestRun &run, unsigned depth,
             Left left, Right right, double addend = 0) {
  ASSERT_EQ(run.text(), "");
  for (unsigned row = 0; row != mma.rows; ++row) {
    unsigned lane = mma.rows == 64 ? row / 16 * 32 + row % 16 : row;
    for (unsigned column = 0; column != mma.columns; ++column) {
      double sum = addend;
      for (unsigned k = 0; k != depth; ++k)
        sum += left(row, k) * right(column, k);
      uint32_t word = run.out[32 * lane + column];
      double got =
          mma.kind == "kind::i8" ? double(int32_t(word)) : toFloat(word);
      ASSERT_EQ(got, sum) << "row " << row << ", column " << column;
    }
  }
}

void check(const MmaProgram &mma, double addend = 0, double sign = 1) {
  WgmmaProgram data;
  data.type = mma.type;
  // In tensor memory a lane holds its own 32 bytes.
  auto left = [&](unsigned row, unsigned k) {
    if (!mma.aInTensor)
      return data.getElement(mma.a, row, k);
    unsigned lane = mma.rows == 64 ? row / 16 * 32 + row % 16 : row;
    uint32_t at = kTileStart + 32 * lane + k * mma.type.bytes;
    uint64_t mask = (uint64_t(1) << 8 * mma.type.bytes) - 1;
    return mma.type.decode(data.getWord(at & ~3u) >> 8 * (at & 3) & mask);
  };
  compare(
      mma, mma.run(), 32 / mma.type.bytes, left,
      [&](unsigned column, unsigned k) {
        return sign * data.getElement(mma.b, column, k);
      },
      addend);
}

MmaProgram make(const WgmmaType &type, const char *kind, uint32_t types) {
  MmaProgram mma;
  mma.type = type;
  mma.kind = kind;
  mma.types = types;
  return mma;
}

std::vector<MmaProgram> makeAll() {
  return {make(kWgmmaF16, "kind::f16", 1 << 4),
          make(kWgmmaBF16, "kind::f16", 1 << 4 | 1 << 7 | 1 << 10),
          make(kWgmmaTF32, "kind::tf32", 1 << 4 | 2 << 7 | 2 << 10),
          make(kWgmmaE4M3, "kind::f8f6f4", 1 << 4),
          make(kWgmmaE5M2, "kind::f8f6f4", 1 << 4 | 1 << 7 | 1 << 10),
          make(kWgmmaS8, "kind::i8", 2 << 4 | 1 << 7 | 1 << 10),
          make(kWgmmaU8, "kind::i8", 2 << 4)};
}

TEST(SimTensorMmaTest, Types) {
  for (MmaProgram mma : makeAll())
    for (unsigned rows : {64, 128}) {
      SCOPED_TRACE(mma.type.name);
      mma.rows = rows;
      check(mma);
      mma.aInTensor = true;
      check(mma);
      mma.aInTensor = false;
    }
}

TEST(SimTensorMmaTest, Accumulation) {
  MmaProgram mma;
  mma.accumulates = true;
  check(mma, 2);
  mma.scaleD = ", 3";
  check(mma, 0.25);
  mma = make(kWgmmaS8, "kind::i8", 2 << 4 | 1 << 7 | 1 << 10);
  mma.accumulates = true;
  check(mma, 0x40000000);
}

TEST(SimTensorMmaTest, HalfResults) {
  // f16 in the lower half of each column; 0x4000 is 2.0.
  MmaProgram mma = make(kWgmmaF16Half, "kind::f16", 0);
  TestRun run = mma.run();
  ASSERT_EQ(run.text(), "");
  WgmmaProgram data;
  data.type = mma.type;
  double sum = 0;
  for (unsigned k = 0; k != 16; ++k)
    sum += data.getElement(mma.a, 5, k) * data.getElement(mma.b, 7, k);
  EXPECT_EQ(kWgmmaF16.decode(run.out[32 * 5 + 7]), sum);
  EXPECT_EQ(run.out[32 * 5 + 7] >> 16, 0u);
}

TEST(SimTensorMmaTest, Layouts) {
  for (unsigned span : {16, 32, 64, 128})
    for (unsigned transposed = 0; transposed != 4; ++transposed) {
      SCOPED_TRACE(span);
      MmaProgram mma;
      for (Tile *tile : {&mma.a, &mma.b}) {
        bool isTransposed = transposed >> (tile == &mma.b) & 1;
        uint32_t groups = isTransposed ? 16 * span : 128;
        *tile = {tile->start, span > 16 ? groups : 128,
                 span > 16 ? 8 * span : 256, span};
        tile->isTransposed = isTransposed;
      }
      check(mma);
    }
}

TEST(SimTensorMmaTest, Signs) {
  MmaProgram mma;
  mma.types |= 1 << 13;
  check(mma, 0, -1);
  mma.types |= 1 << 14;
  check(mma);
}

TEST(SimTensorMmaTest, DisabledLanes) {
  MmaProgram mma;
  mma.masks = ", {%r20, %r21, %r20, %r20}";
  mma.prepare = "mov.b32 %r20, 0;\nmov.b32 %r21, 0x80;\n";
  TestRun run = mma.run();
  ASSERT_EQ(run.text(), "");
  for (unsigned lane = 0; lane != 128; ++lane)
    EXPECT_EQ(run.out[32 * lane] == 0x40000000u, lane == 39) << lane;
}

TEST(SimTensorMmaTest, SmallElements) {
  // Sixteen elements of e2m1 or e2m3 from the start of each 16 bytes.
  auto decodeE2M1 = [](unsigned bits) {
    static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return bits & 8 ? -values[bits & 7] : values[bits & 7];
  };
  auto decodeE2M3 = [](unsigned bits) {
    unsigned e = bits >> 3 & 3, m = bits & 7;
    double value = e ? std::ldexp(8 + m, int(e) - 4) : m / 8.0;
    return bits & 32 ? -value : value;
  };
  MmaProgram mma = make(kWgmmaS8, "kind::f8f6f4", 1 << 4 | 5 << 7 | 3 << 10);
  WgmmaProgram data;
  data.type = mma.type;
  auto element = [&](const Tile &tile, unsigned row, unsigned k,
                     unsigned bits) {
    uint32_t at = tile.locate(row, k / 16 * 16, 1);
    unsigned from = k % 16 * bits, value = 0;
    for (unsigned bit = 0; bit != bits; ++bit)
      value |=
          (data.getWord(at + (from + bit) / 32 * 4) >> ((from + bit) % 32) & 1)
          << bit;
    return value;
  };
  compare(
      mma, mma.run(), 32,
      [&](unsigned row, unsigned k) {
        return decodeE2M1(element(mma.a, row, k, 4));
      },
      [&](unsigned column, unsigned k) {
        return decodeE2M3(element(mma.b, column, k, 6));
      });
}

/// Text: the words with factors of each row in four columns from `column` on:
/// lane l of every quarter, column c has `base` + 0x01010101 (l + 32 c) % 4.
std::string storeScales(unsigned column, uint32_t base) {
  std::string text;
  for (unsigned c = 0; c != 4; ++c)
    text += "mov.u32 %r10, %laneid;\nand.b32 %r10, %r10, 3;\n"
            "mad.lo.u32 %r10, %r10, 0x01010101, " +
            std::to_string(base) +
            ";\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%own+" +
            std::to_string(column + c) + "], {%r10};\n";
  return text;
}

TEST(SimTensorMmaTest, ScalesOfEightBits) {
  MmaProgram mma = make(kWgmmaE4M3, "kind::mxf8f6f4.block_scale.scale_vec::1X",
                        1 << 23 | 2 << 29 | 1 << 4);
  mma.scales = ", [%taddr+48], [%taddr+64]";
  // The factor of A is in byte 2, that of B in byte 1.
  mma.prepare = storeScales(48, 0x007f0000) + storeScales(64, 0x00008000);
  WgmmaProgram data;
  data.type = mma.type;
  compare(
      mma, mma.run(), 32,
      [&](unsigned row, unsigned k) {
        return std::ldexp(data.getElement(mma.a, row, k), row % 4);
      },
      [&](unsigned column, unsigned k) {
        return std::ldexp(data.getElement(mma.b, column, k), 1 + column % 4);
      });
}

TEST(SimTensorMmaTest, ScalesOfFourBits) {
  static const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  WgmmaProgram data;
  data.type = kWgmmaS8;
  auto element = [&](const Tile &tile, unsigned row, unsigned k) {
    unsigned bits =
        data.getWord(tile.locate(row, k / 8 * 4, 1)) >> (k % 8 * 4) & 15;
    return bits & 8 ? -values[bits & 7] : values[bits & 7];
  };
  // Two factors of 2^e; and four of e4m3: 1, 1.125, 1.25, 1.375.
  for (unsigned factors : {2, 4}) {
    MmaProgram mma =
        make(kWgmmaS8,
             factors == 2 ? "kind::mxf4.block_scale"
                          : "kind::mxf4nvf4.block_scale.scale_vec::4X",
             (factors == 2 ? 1 << 23 | 2 << 29 : 0) | 1 << 7 | 1 << 10);
    mma.scales = ", [%taddr+48], [%taddr+64]";
    mma.prepare =
        factors == 2
            ? storeScales(48, 0x7e7f0000) + storeScales(64, 0x807f)
            : storeScales(48, 0x38403830) + storeScales(64, 0x38383838);
    auto scale = [&](unsigned row, unsigned k, bool isB) {
      if (factors == 2)
        return std::ldexp(1, int(row % 4) + (k < 32 ? 0 : isB ? 1 : -1));
      static const int exponents[] = {-1, 0, 1, 0};
      return std::ldexp(1 + row % 4 / 8.0, isB ? 0 : exponents[k / 16]);
    };
    compare(
        mma, mma.run(), 64,
        [&](unsigned row, unsigned k) {
          return element(mma.a, row, k) * scale(row, k, false);
        },
        [&](unsigned column, unsigned k) {
          return element(mma.b, column, k) * scale(column, k, true);
        });
  }
}

TEST(SimTensorMmaTest, ChainsAndSeeds) {
  MmaProgram mma;
  TestRun once = mma.run();
  TensorProgram program = mma.getProgram();
  mma.accumulates = true;
  size_t place = program.body.find("@%p0 tcgen05.commit");
  program.body.insert(place, mma.getInstruction());
  for (uint64_t seed = 0; seed != 4; ++seed) {
    program.seed = seed;
    TestRun twice = program.run();
    ASSERT_EQ(twice.text(), "");
    for (unsigned i = 0; i != once.out.size(); ++i)
      ASSERT_EQ(toFloat(twice.out[i]), 2 * toFloat(once.out[i]));
  }
}

TEST(SimTensorMmaTest, Faults) {
  MmaProgram mma;
  mma.columns = 24; // a multiple of 16 for 128 rows
  expectAmong(mma.run(), FindingKind::Descriptor,
              "a shape of 128 x 24, which does not exist");
  mma = MmaProgram();
  mma.types |= 5 << 7;
  expectAmong(mma.run(), FindingKind::Descriptor, "types that do not exist");
  // Scale factors have to be in all quarters.
  mma = make(kWgmmaE4M3, "kind::mxf8f6f4.block_scale", 1 << 23);
  mma.scales = ", [%taddr+48], [%taddr+64]";
  mma.prepare = storeScales(48, 0x7f) +
                "setp.ge.u32 %p5, %r0, 96;\n@%p5 bra unscaled;\n" +
                storeScales(64, 0x7f) + "unscaled:\n";
  expectAmong(mma.run(), FindingKind::UninitializedRead,
              "lane 96, column 64 of tensor memory was not written");
  // D is in flight until the commit is waited for.
  mma = MmaProgram();
  TensorProgram program = mma.getProgram();
  program.body.insert(program.body.find("@%p0 tcgen05.commit"),
                      loadColumns(32));
  expectAmong(program.run(), FindingKind::InFlight,
              "read of tensor memory that the asynchronous instruction in "
              "line");
  // Nobody commits.
  program = mma.getProgram();
  {
    size_t from = program.body.find("@%p0 tcgen05.commit");
    program.body.erase(from, program.body.find(';', from) + 1 - from);
  }
  expectAmong(program.run(), FindingKind::Deadlock, "mbarrier");
}

} // namespace
