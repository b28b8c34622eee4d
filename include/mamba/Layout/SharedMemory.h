//===- SharedMemory.h - Swizzled tiles and bank conflicts -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets count elements; address bits count bytes. Every formula here assumes
// that a tile starts at a multiple of 1024 bytes: the hardware's swizzle takes
// bits of the address itself. Shared memory has 32 banks of 4 bytes.
//
// Sources: PTX ISA, "Tensors: Swizzling modes", "Asynchronous warpgroup level
// matrix instructions: Matrix layouts in shared memory"; checked on an H200.
// The order in which an access is split into phases is in no manual; it is the
// known behaviour since compute capability 5.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_SHAREDMEMORY_H
#define MAMBA_LAYOUT_SHAREDMEMORY_H

#include "mamba/Layout/LinearLayout.h"

namespace mamba {

/// Where such a tile starts, in bytes.
constexpr int64_t kSwizzledAlignment = 1024;

/// The swizzle XORs address bits 4.. with bits 7.., as many as the mode has:
/// 0, 1, 2, 3. Its *span* is the width of a row: 32, 64, 128 bytes.
enum class Swizzle { None, Bytes32, Bytes64, Bytes128 };

/// 32, 64, 128; 0 without swizzle.
uint32_t getSwizzleSpan(Swizzle swizzle);

/// A tile in shared memory as one or several TMA boxes, back to back.
struct SharedTile {
  /// Size in the direction of rows, and along the contiguous dimension.
  uint32_t rows = 1;
  uint32_t columns = 1;
  unsigned elementBytes = 2;
  Swizzle swizzle = Swizzle::None;
  /// Columns of a box. 0: as many as the span holds; without swizzle, all. A
  /// box narrower than the span leaves the rest of each row unused.
  uint32_t boxColumns = 0;
  /// False: rows are dim0, columns dim1. True (for example MN-major A): rows
  /// are dim1, columns dim0.
  bool transposed = false;
};

/// (dim0, dim1) -> offset. Injective; not surjective if there are unused bytes.
LinearLayout sharedOffsets(const SharedTile &tile);

/// offset -> (dim0, dim1): the inverse. There must be no unused bytes.
LinearLayout sharedLayout(const SharedTile &tile);

/// How a warp touches shared memory.
enum class SharedAccessKind {
  /// ld.shared/st.shared, vectors of 1 to 16 bytes per thread.
  Vector,
  /// ldmatrix/stmatrix of 16-bit elements: eight rows of 16 bytes a matrix.
  Matrix,
  MatrixTransposed,
};

/// A warp-wide access of a distributed value.
struct SharedAccess {
  SharedAccessKind kind = SharedAccessKind::Vector;
  /// (register, lane, warp) -> offset: where each element is. Vector: the low
  /// `vectorBits` of register and offset coincide and are one access. Matrix:
  /// register bit 0 and lanes are as in `ldmatrixFragment`; each pair of
  /// registers is one matrix.
  LinearLayout offsets;
  unsigned elementBytes = 4;
  unsigned vectorBits = 0;
  /// Threads with any of these bits set take no part (stores of copies).
  uint32_t idleLanes = 0;
  uint32_t idleWarps = 0;
};

/// Where the rows of a matrix access start: (matrix, row, warp) -> offset. Lane
/// 8j + r of ldmatrix.x4 passes the address of row r of its j-th matrix.
LinearLayout getMatrixRows(const SharedAccess &access);

struct BankConflicts {
  /// Accesses of up to 128 bytes that the hardware makes without conflicts:
  /// 32 lanes of up to 4 bytes, 16 of 8, 8 of 16, 8 rows of a matrix.
  uint64_t phases = 0;
  /// What it needs: in each phase, the most 4-byte words in one bank.
  uint64_t wavefronts = 0;

  uint64_t conflicts() const { return wavefronts - phases; }
};

/// Wavefronts of one phase: byte addresses and bytes (at most 16) per lane.
unsigned countWavefronts(llvm::ArrayRef<uint32_t> addresses, unsigned bytes);

/// The whole value: all registers of all warps, by enumeration.
BankConflicts countBankConflicts(const SharedAccess &access);

} // namespace mamba

#endif // MAMBA_LAYOUT_SHAREDMEMORY_H
