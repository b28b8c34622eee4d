//===- WgmmaProgram.cpp - Kernels with one wgmma --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>

using namespace llvm;

namespace mamba::sim {

static double fromF32(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// A normal number of any format.
template <unsigned exponentBits, unsigned mantissaBits>
static double fromBits(uint32_t bits) {
  int exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
  double significand =
      1 + std::ldexp(bits & ((1u << mantissaBits) - 1), -int(mantissaBits));
  double value =
      std::ldexp(significand, exponent - ((1 << (exponentBits - 1)) - 1));
  return bits >> (exponentBits + mantissaBits) & 1 ? -value : value;
}

const WgmmaType kWgmmaF16 = {"f16",      "f32",      2,
                             0x83f083f0, 0x3c003c00, fromBits<5, 10>};
const WgmmaType kWgmmaF16Half = {"f16",      "f16",      2,
                                 0x83008300, 0x3c003c00, fromBits<5, 10>};
const WgmmaType kWgmmaBF16 = {"bf16",     "f32",      2,
                              0x807f807f, 0x3f803f80, fromBits<8, 7>};
const WgmmaType kWgmmaTF32 = {"tf32",     "f32",      4,
                              0x807f0000, 0x3f800000, fromBits<8, 23>};
const WgmmaType kWgmmaE4M3 = {"e4m3",     "f32",      1,
                              0x87878787, 0x38383838, fromBits<4, 3>};
const WgmmaType kWgmmaE5M2 = {"e5m2",     "f32",      1,
                              0x83838383, 0x3c3c3c3c, fromBits<5, 2>};
const WgmmaType kWgmmaS8 = {"s8", "s32",
                            1,    0xffffffff,
                            0,    [](uint32_t b) { return double(int8_t(b)); }};
const WgmmaType kWgmmaU8 = {
    "u8", "s32", 1, 0xffffffff, 0, [](uint32_t b) { return double(b); }};

uint64_t Tile::encode() const {
  uint64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
  auto field = [](uint32_t bytes) { return uint64_t(bytes & 0x3ffff) >> 4; };
  return field(start) | field(leading) << 16 | field(stride) << 32 |
         uint64_t(baseOffset) << 49 | mode << 62;
}

uint32_t Tile::locate(unsigned r, unsigned k, unsigned bytes) const {
  unsigned kb = k * bytes, mask = span / 16 - 1, half = span / 2;
  uint32_t at = start;
  if (!isTransposed && span > 16)
    at += r % 8 * span + r / 8 * stride + kb;
  else if (!isTransposed)
    at += r % 8 * 16 + r / 8 * stride + kb % 16 + kb / 16 * leading;
  else if (span > 16)
    at += r % half * 2 + r / half * leading + k % 8 * span + k / 8 * stride;
  else
    at += r % 8 * 2 + r / 8 * stride + k % 8 * 16 + k / 8 * leading;
  return at ^ (((at >> 7) - baseOffset) & mask) << 4;
}

unsigned WgmmaProgram::getAccumulators() const {
  return columns / (StringRef(type.result) == "f16" ? 4 : 2);
}

static std::string list(StringRef prefix, unsigned count) {
  std::string text;
  for (unsigned i = 0; i != count; ++i)
    text += (i ? ", " : "") + (prefix + Twine(i)).str();
  return text;
}

std::string WgmmaProgram::getInstruction() const {
  std::string text =
      ("wgmma.mma_async.sync.aligned.m64n" + Twine(columns) + "k" +
       Twine(32 / type.bytes) + "." + type.result + "." + type.name + "." +
       type.name + " {" + list("%acc", getAccumulators()) + "}, " +
       (aInRegisters ? "{%a0, %a1, %a2, %a3}" : "%descA") + ", %descB, %p0")
          .str();
  if (StringRef(type.result) != "s32") {
    text += (", " + Twine(signA) + ", " + Twine(signB)).str();
    if (type.bytes == 2 && !aInRegisters)
      text += a.isTransposed ? ", 1" : ", 0";
    if (type.bytes == 2)
      text += b.isTransposed ? ", 1" : ", 0";
  }
  return guard + text + ";";
}

std::string WgmmaProgram::getText() const {
  unsigned count = getAccumulators();
  std::string text;
  raw_string_ostream os(text);
  os << ".version 8.0\n.target sm_90a\n.address_size 64\n"
     << ".visible .entry k(.param .u64 k_in, .param .u64 k_out)\n{\n"
     << " .reg .pred %p<8>; .reg .b32 %r<32>, %acc<128>, %a<4>;\n"
     << " .reg .b64 %rd<16>, %descA, %descB;\n"
     << " .shared .align 1024 .b8 data[" << sharedBytes << "];\n"
     << " ld.param.u64 %rd1, [k_out];\n mov.u32 %r0, %tid.x;\n"
     << " mov.u32 %r1, data;\n"
     // Shared memory: a number of its own for every word.
     << " mov.u32 %r2, %r0;\nfill:\n mul.lo.u32 %r3, %r2, 0x9E3779B1;\n"
     << " shr.u32 %r4, %r3, 15;\n xor.b32 %r3, %r3, %r4;\n and.b32 %r3, %r3, "
     << type.mask << ";\n or.b32 %r3, %r3, " << type.base << ";\n"
     << " shl.b32 %r4, %r2, 2;\n add.u32 %r4, %r4, %r1;\n"
     << " st.shared.b32 [%r4], %r3;\n add.u32 %r2, %r2, " << threads << ";\n"
     << " setp.lt.u32 %p1, %r2, " << sharedBytes / 4 << ";\n @%p1 bra fill;\n"
     << " fence.proxy.async;\n bar.sync 0;\n";
  for (unsigned i = 0; i != count; ++i)
    os << " mov.b32 %acc" << i << ", "
       << (StringRef(type.result) == "s32" ? "7" : "0x40004000") << ";\n";
  if (aInRegisters) {
    // Register r of thread t is word 4 t + r of the tile.
    os << " shl.b32 %r5, %r0, 4;\n add.u32 %r5, %r5, " << a.start << ";\n";
    for (unsigned i = 0; i != 4; ++i)
      os << " ld.shared.b32 %a" << i << ", [%r5+" << 4 * i << "];\n";
  }
  os << " mov.b64 %descA, " << a.encode() << ";\n mov.b64 %descB, "
     << b.encode() << ";\n setp.eq.u32 %p0, " << unsigned(accumulates)
     << ", 1;\n"
     << beforeFence << "\n " << fence << "\n " << afterFence << "\n "
     << getInstruction() << "\n " << afterIssue << "\n " << commit << "\n "
     << wait << "\n " << afterWait << "\n mul.lo.u32 %r6, %r0, " << 4 * count
     << ";\n cvt.u64.u32 %rd2, %r6;\n add.s64 %rd1, %rd1, %rd2;\n";
  for (unsigned i = 0; i != count; ++i)
    os << " st.global.b32 [%rd1+" << 4 * i << "], %acc" << i << ";\n";
  os << " ret;\n}\n";
  return text;
}

TestRun WgmmaProgram::run() const {
  TestOptions options;
  options.threads = threads;
  options.outputWords = getAccumulators();
  options.seed = seed;
  return runModule(getText(), options);
}

uint32_t WgmmaProgram::getWord(uint32_t address) const {
  uint32_t hash = (address - kTileStart) / 4 * 0x9e3779b1u;
  return ((hash ^ hash >> 15) & type.mask) | type.base;
}

double WgmmaProgram::getElement(const Tile &tile, unsigned row,
                                unsigned k) const {
  uint32_t at = tile.locate(row, k, type.bytes);
  uint64_t mask = (uint64_t(1) << 8 * type.bytes) - 1;
  return type.decode(getWord(at & ~3u) >> 8 * (at & 3) & mask);
}

double WgmmaProgram::getElementOfA(unsigned row, unsigned k) const {
  if (!aInRegisters)
    return getElement(a, row, k);
  // Found by going over all registers of the fragment.
  unsigned count = 4 / type.bytes;
  for (unsigned r = 0; r != 4; ++r)
    for (unsigned lane = 0; lane != 32; ++lane)
      for (unsigned e = 0; e != count; ++e) {
        if (row % 16 != lane / 4 + 8 * (r % 2) ||
            k != lane % 4 * count + e + 4 * count * (r / 2))
          continue;
        unsigned thread = row / 16 * 32 + lane;
        uint64_t mask = (uint64_t(1) << 8 * type.bytes) - 1;
        return type.decode(getWord(a.start + 16 * thread + 4 * r) >>
                               (8 * type.bytes * e) &
                           mask);
      }
  return NAN;
}

void WgmmaProgram::check(const TestRun &run) const {
  ASSERT_EQ(run.text(), "");
  StringRef result = type.result;
  unsigned count = getAccumulators();
  for (unsigned thread = 0; thread != 128; ++thread)
    for (unsigned i = 0; i != columns / 2; ++i) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
      unsigned column = 8 * (i / 4) + 2 * (thread % 4) + i % 2;
      double sum = 0;
      for (unsigned k = 0; k != 32 / type.bytes; ++k)
        sum += signA * signB * getElementOfA(row, k) * getElement(b, column, k);
      double got;
      if (result == "s32") {
        sum += accumulates ? 7 : 0;
        got = int32_t(run.out[thread * count + i]);
      } else if (result == "f16") {
        sum += accumulates ? 2 : 0;
        uint32_t half = run.out[thread * count + i / 2] >> 16 * (i % 2);
        got = half & 0x7fff ? fromBits<5, 10>(half & 0xffff) : 0;
      } else {
        sum += accumulates ? fromF32(0x40004000) : 0;
        got = fromF32(run.out[thread * count + i]);
      }
      ASSERT_EQ(got, sum) << "row " << row << " column " << column;
    }
}

} // namespace mamba::sim
