//===- TensorProgram.h - Kernels with tensor memory -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_UNIT_TENSORPROGRAM_H
#define MAMBA_TEST_UNIT_TENSORPROGRAM_H

#include "WgmmaProgram.h"

namespace mamba::sim {

/// A block of 128 threads with columns of tensor memory at %taddr, the warp's
/// own lanes at %own, shared memory filled as `data` says, and an mbarrier
/// `bar` for one arrival. %p0 is true in thread 0, %p1 nowhere.
struct TensorProgram {
  WgmmaProgram data;
  unsigned columns = 64;
  std::string body;
  /// What each thread stores: registers %d0 on.
  unsigned results = 0;
  // Parts that faults leave out.
  std::string relinquish =
      "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
  std::string fenceBefore = "tcgen05.fence::before_thread_sync;",
              fenceAfter = "tcgen05.fence::after_thread_sync;";
  bool deallocates = true;
  uint64_t seed = 0;

  std::string getText() const;
  TestRun run() const;
};

/// "{%d0, %d1}".
std::string listRegisters(llvm::StringRef prefix, unsigned count);

/// The descriptor as tcgen05 has it.
uint64_t encodeTcgen05(const Tile &tile);

/// Text: the leader commits, all threads wait.
extern const char kCommitAndWait[];
/// Text: loads `count` columns of the own lanes into %d0 on.
std::string loadColumns(unsigned count);

/// One finding among others of the same fault.
void expectAmong(const TestRun &run, FindingKind kind, const char *part);

} // namespace mamba::sim

#endif // MAMBA_TEST_UNIT_TENSORPROGRAM_H
