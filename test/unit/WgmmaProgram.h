//===- WgmmaProgram.h - Kernels with one wgmma ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_UNIT_WGMMAPROGRAM_H
#define MAMBA_TEST_UNIT_WGMMAPROGRAM_H

#include "SimTest.h"

namespace mamba::sim {

/// Types of operands as the tests need them: words of shared memory are
/// (hash & mask) | base, small numbers with exact sums.
struct WgmmaType {
  const char *name, *result;
  unsigned bytes;
  uint32_t mask, base;
  double (*decode)(uint32_t bits);
};
extern const WgmmaType kWgmmaF16, kWgmmaBF16, kWgmmaTF32, kWgmmaE4M3,
    kWgmmaE5M2, kWgmmaS8, kWgmmaU8, kWgmmaF16Half;

/// A descriptor's fields, in bytes; `span` is 16 without swizzle.
struct Tile {
  uint32_t start = 0, leading = 0, stride = 0;
  unsigned span = 16, baseOffset = 0;
  bool isTransposed = false;

  uint64_t encode() const;
  /// The address of element (row of A or column of B, k), by the formulas that
  /// were compared with an H200.
  uint32_t locate(unsigned row, unsigned k, unsigned bytes) const;
};

struct WgmmaProgram {
  WgmmaType type;
  unsigned columns = 8;
  Tile a = {}, b = {};
  bool aInRegisters = false;
  bool accumulates = false;
  int signA = 1, signB = 1;
  unsigned sharedBytes = 16384;
  // Text in several places, for faults.
  std::string beforeFence, afterFence, afterIssue, afterWait;
  std::string fence = "wgmma.fence.sync.aligned;",
              commit = "wgmma.commit_group.sync.aligned;",
              wait = "wgmma.wait_group.sync.aligned 0;";
  std::string guard;
  unsigned threads = 128;
  uint64_t seed = 0;

  unsigned getAccumulators() const;
  /// "wgmma.mma_async...;", for another one.
  std::string getInstruction() const;
  std::string getText() const;
  TestRun run() const;

  /// The word of shared memory at `address`, and an element of A or B.
  uint32_t getWord(uint32_t address) const;
  double getElement(const Tile &tile, unsigned row, unsigned k) const;
  double getElementOfA(unsigned row, unsigned k) const;
  /// Compares each element of D.
  void check(const TestRun &run) const;
};

constexpr uint32_t kTileStart = 1024;

} // namespace mamba::sim

#endif // MAMBA_TEST_UNIT_WGMMAPROGRAM_H
