//===- LayoutRandom.h - Random layouts for tests ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TEST_UNIT_LAYOUTRANDOM_H
#define MAMBA_TEST_UNIT_LAYOUTRANDOM_H

#include "mamba/Layout/LinearLayout.h"

#include <random>

namespace mamba {

/// The same sequence of layouts on every machine.
class LayoutRandom {
public:
  explicit LayoutRandom(unsigned seed) : engine(seed) {}

  uint32_t below(uint32_t size) { return engine() % size; }

  LinearLayout layout(LayoutDims ins, LayoutDims outs) {
    unsigned inBits = 0, outBits = 0;
    for (const LayoutDim &dim : ins)
      inBits += dim.bits;
    for (const LayoutDim &dim : outs)
      outBits += dim.bits;
    BinaryVectors columns;
    for (unsigned i = 0; i < inBits; ++i)
      columns.push_back(engine() & ((uint64_t(1) << outBits) - 1));
    return LinearLayout::fromColumns(std::move(ins), std::move(outs),
                                     std::move(columns));
  }

  LinearLayout surjective(const LayoutDims &ins, const LayoutDims &outs) {
    while (true) {
      LinearLayout candidate = layout(ins, outs);
      if (candidate.isSurjective())
        return candidate;
    }
  }

  LinearLayout injective(const LayoutDims &ins, const LayoutDims &outs) {
    while (true) {
      LinearLayout candidate = layout(ins, outs);
      if (candidate.isInjective())
        return candidate;
    }
  }

private:
  std::mt19937 engine;
};

} // namespace mamba

#endif // MAMBA_TEST_UNIT_LAYOUTRANDOM_H
