//===- Fragments.cpp - Tiles as instructions hold them --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/Fragments.h"

#include "mamba/Layout/Distributed.h"
#include "llvm/Support/MathExtras.h"

namespace mamba {

/// A tile of rank 2 from its bases.
static LinearLayout
fromBases(llvm::ArrayRef<std::pair<std::string, Bases>> bases, uint32_t rows,
          uint32_t columns) {
  return llvm::cantFail(LinearLayout::get(
      bases, {{tensorDim(0), rows}, {tensorDim(1), columns}}));
}

LinearLayout mmaFragment(MmaOperand operand, unsigned elementBits) {
  assert((elementBits == 16 || elementBits == 32) && "expected 16 or 32 bits");
  bool half = elementBits == 16;
  switch (operand) {
  case MmaOperand::A:
    if (half)
      return fromBases({{"register", {{0, 1}, {8, 0}, {0, 8}}},
                        {"lane", {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
                       16, 16);
    return fromBases({{"register", {{8, 0}, {0, 4}}},
                      {"lane", {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}}},
                     16, 8);
  case MmaOperand::B:
    if (half)
      return fromBases({{"register", {{1, 0}, {8, 0}}},
                        {"lane", {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}}},
                       16, 8);
    return fromBases({{"register", {{4, 0}}},
                      {"lane", {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}}},
                     8, 8);
  case MmaOperand::C:
    break;
  }
  return fromBases({{"register", {{0, 1}, {8, 0}}},
                    {"lane", {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
                   16, 8);
}

LinearLayout mmaLayout(MmaOperand operand, unsigned elementBits,
                       llvm::ArrayRef<uint32_t> shape, uint32_t warpsM,
                       uint32_t warpsN) {
  return coverShape(mmaFragment(operand, elementBits), shape,
                    {{operand == MmaOperand::B ? -1 : 0, warpsM},
                     {operand == MmaOperand::A ? -1 : 1, warpsN}});
}

/// A warpgroup holds 64 rows, 16 in each warp; further warpgroups follow.
static LinearLayout stackWarps(const LinearLayout &fragment, uint32_t m,
                               uint32_t columns) {
  assert(m >= 64 && llvm::isPowerOf2_32(m) && "expected whole warpgroups");
  return coverShape(fragment, {m, columns}, {{0, m / 16}});
}

LinearLayout wgmmaAccumulator(uint32_t m, uint32_t n) {
  assert(n >= 8 && n % 8 == 0 && n <= 256 && "expected a size wgmma has");
  return stackWarps(mmaFragment(MmaOperand::C, 32), m, llvm::PowerOf2Ceil(n));
}

LinearLayout wgmmaOperandA(unsigned elementBits, uint32_t m, uint32_t k) {
  return stackWarps(mmaFragment(MmaOperand::A, elementBits), m, k);
}

LinearLayout ldmatrixFragment(unsigned count, bool transposed) {
  assert((count == 1 || count == 2 || count == 4) && "expected x1, x2 or x4");
  LinearLayout matrix =
      transposed
          ? fromBases({{"register", {{1, 0}}},
                       {"lane", {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}}},
                      8, 8)
          : fromBases({{"register", {{0, 1}}},
                       {"lane", {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
                      8, 8);
  return matrix * LinearLayout::identity(kRegister, tensorDim(0), count);
}

LinearLayout ldmatrixRows(unsigned count) {
  assert((count == 1 || count == 2 || count == 4) && "expected x1, x2 or x4");
  return LinearLayout::identity(kLane, tensorDim(0), 8 * count) *
         LinearLayout::broadcast(kLane, 4 / count);
}

LinearLayout tensorMemoryRows(uint32_t columns) {
  return LinearLayout::identity(kLane, tensorDim(0), 32) *
         LinearLayout::identity(kWarp, tensorDim(0), 4) *
         LinearLayout::identity(kRegister, tensorDim(1), columns);
}

LinearLayout tensorMemoryLayout(uint32_t columns) {
  return LinearLayout::identity(kTensorRow, tensorDim(0), 128) *
         LinearLayout::identity(kTensorColumn, tensorDim(1), columns);
}

} // namespace mamba
