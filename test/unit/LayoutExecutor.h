//===- LayoutExecutor.h - Runs conversion plans on all threads --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A simulation of a block: registers of every thread and shared memory hold the
// number of an element, its flat coordinates. Matrix accesses follow the tables
// of the hardware, not the layouts.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_UNIT_LAYOUTEXECUTOR_H
#define MAMBA_TEST_UNIT_LAYOUTEXECUTOR_H

#include "mamba/Layout/Conversion.h"

#include <string>
#include <vector>

namespace mamba {

class LayoutExecutor {
public:
  /// All threads hold what `layout` says.
  LayoutExecutor(const LinearLayout &layout, uint32_t warps);

  /// Empty, or what went wrong.
  std::string run(const ConversionPlan &plan);
  /// Empty, or which register of which thread does not hold what `layout` says.
  std::string compare(const LinearLayout &layout) const;

private:
  /// One register file per thread.
  using Files = std::vector<std::vector<int64_t>>;

  std::string moveRegisters(const LinearLayout &map);
  std::string shuffle(const ConversionStep &step);
  std::string access(const SharedAccess &access, bool load);
  std::string accessVectors(const SharedAccess &access, bool load);
  std::string accessMatrices(const SharedAccess &access, bool load);
  std::string touch(uint64_t offset, int64_t &value, bool load);

  uint32_t warps;
  Files files;
  std::vector<int64_t> memory;
};

} // namespace mamba

#endif // MAMBA_TEST_UNIT_LAYOUTEXECUTOR_H
