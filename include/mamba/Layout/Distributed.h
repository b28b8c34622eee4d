//===- Distributed.h - Tiles spread over threads ----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts (register, lane, warp) -> (dim0, dim1, ..) that follow from sizes
// alone. A warp has 32 lanes. Sizes are powers of two.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_DISTRIBUTED_H
#define MAMBA_LAYOUT_DISTRIBUTED_H

#include "mamba/Layout/LinearLayout.h"

namespace mamba {

/// One number per dimension of the tile in the first three.
struct BlockedShape {
  /// Neighbouring elements of one thread.
  llvm::SmallVector<uint32_t, 2> elements;
  /// Neighbouring threads of a warp; the product is 32.
  llvm::SmallVector<uint32_t, 2> lanes;
  llvm::SmallVector<uint32_t, 2> warps;
  /// Dimensions from the fastest to the slowest, at each of the levels.
  llvm::SmallVector<unsigned, 2> order;
};

/// The block of registers, lanes, warps, repeated in more registers until it
/// covers the tile. Lanes and warps that find no room hold copies.
LinearLayout blockedLayout(llvm::ArrayRef<uint32_t> shape,
                           const BlockedShape &block);

/// A blocked layout for memory whose last dimension is contiguous: each thread
/// holds `vectorBytes` of a row, neighbouring lanes hold neighbours.
LinearLayout coalescedLayout(llvm::ArrayRef<uint32_t> shape,
                             unsigned elementBytes, uint32_t warps,
                             unsigned vectorBytes = 16);

/// Where further warps go.
struct WarpShare {
  /// The dimension they split, or -1: they hold copies.
  int dim;
  /// How many. Those that find no room hold copies.
  uint32_t count;
};

/// Repeats a tile (of the same rank, no larger than `shape`): first over
/// further warps, then over further registers, the dimensions in the order
/// given (all of them; default: last to first).
LinearLayout coverShape(const LinearLayout &tile,
                        llvm::ArrayRef<uint32_t> shape,
                        llvm::ArrayRef<WarpShare> warps = {},
                        llvm::ArrayRef<unsigned> order = {});

/// The layout of a value that a reduction over `dim` leaves, or that is
/// broadcast along it: the coordinate is dropped, the dimensions after it move
/// down by one, registers that became copies go away. Lanes and warps that held
/// different elements along `dim` hold copies.
LinearLayout sliceLayout(const LinearLayout &layout, unsigned dim);

} // namespace mamba

#endif // MAMBA_LAYOUT_DISTRIBUTED_H
