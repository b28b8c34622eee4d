//===- SimTest.h - Small kernels in the simulator ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_UNIT_SIMTEST_H
#define MAMBA_TEST_UNIT_SIMTEST_H

#include "mamba/Sim/Simulator.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace mamba::sim {

/// A kernel `k(in, out)` of two buffers of 32-bit words. `body` finds its
/// thread in %r0, the addresses of the thread's words in %rd0 and %rd1, and
/// 1024 bytes of shared memory at %r1. Its first line is line 20.
std::string makeKernel(llvm::StringRef body);
constexpr unsigned kBodyLine = 20;

struct TestRun {
  std::vector<uint32_t> out;
  LaunchResult result;
  std::string error; // of loading or launching

  /// The findings' kinds, for comparison.
  std::vector<FindingKind> kinds() const;
  std::string text() const;
};

struct TestOptions {
  unsigned threads = 32, blocks = 1, cluster = 1;
  /// Words of the output for each thread.
  unsigned outputWords = 1;
  uint64_t seed = 0;
  uint64_t dynamicSharedBytes = 0;
  bool sanitize = true, countMemory = false;
  uint64_t maxInstructions = 1 << 20;
  unsigned jobs = 0;
};

/// Runs `makeKernel(body)`. Word i of the input is i; there is one word of both
/// buffers for each thread.
TestRun runBody(llvm::StringRef body, TestOptions options = {});

/// One block of so many threads.
TestOptions threads(unsigned count, uint64_t seed = 0);

/// Neither an error nor findings.
void expectClean(const TestRun &run);

/// One finding, whose text has `part`.
void expectMessage(const TestRun &run, FindingKind kind, const char *part);

/// The text with `to` instead of the first `from`, which must be there.
std::string replace(std::string text, const char *from, const char *to);

/// Runs the kernel `k` of a module.
TestRun runModule(llvm::StringRef text, TestOptions options = {});

} // namespace mamba::sim

#endif // MAMBA_TEST_UNIT_SIMTEST_H
