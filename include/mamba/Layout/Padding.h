//===- Padding.h - Sizes that are no powers of two --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout has sizes that are powers of two. A tile of another size (an
// *extent*), such as 80, takes the layout of the next power of two, 128; what
// lies past the extent is masked. Often the mask falls on whole registers,
// which then need not exist: the wgmma accumulator with n = 80 has its first 40
// registers of 64 per thread.
//
// The other way is to split the extent, 80 = 64 + 16, into tiles that have
// layouts of their own.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_PADDING_H
#define MAMBA_LAYOUT_PADDING_H

#include "mamba/Layout/LinearLayout.h"

namespace mamba {

/// The next power of two of each extent.
llvm::SmallVector<uint32_t, 4> getPaddedShape(llvm::ArrayRef<uint32_t> extents);

/// Whether a register holds elements within the extents.
enum class Presence {
  /// In no thread: the register need not exist.
  None,
  /// In some threads: it needs a mask.
  Some,
  /// In all threads: no mask.
  All,
};

/// `extents` has one entry for each output of `layout`.
Presence getPresence(const LinearLayout &layout,
                     llvm::ArrayRef<uint32_t> extents, uint32_t registerIndex);

/// The registers that are present in some or all threads, in order.
llvm::SmallVector<uint32_t, 64>
getPresentRegisters(const LinearLayout &layout,
                    llvm::ArrayRef<uint32_t> extents);

/// Whether the coordinates of `index` are below the extents.
bool isWithin(const LinearLayout &layout, llvm::ArrayRef<uint32_t> extents,
              llvm::ArrayRef<uint32_t> index);

struct ExtentPiece {
  uint32_t start;
  uint32_t size;
};

/// Powers of two, from large to small: 80 is {0, 64}, {64, 16}. Each piece
/// starts at a multiple of its size.
llvm::SmallVector<ExtentPiece, 4> splitExtent(uint32_t extent);

} // namespace mamba

#endif // MAMBA_LAYOUT_PADDING_H
