//===- Fragments.h - Tiles as instructions hold them ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which element each register of each thread holds in the operands of matrix
// instructions. A *register* here is one element: two 16-bit elements share one
// register of the machine, the one with the even number in the low half.
//
// Sources: PTX ISA, "Warp-level matrix instructions" (Matrix fragments for
// mma.m16n8k16 and mma.m16n8k8; ldmatrix; stmatrix), "Asynchronous warpgroup
// level matrix instructions" (Register fragments and shared memory matrix
// layouts, wgmma.mma_async.m64nNk16 and m64nNk8), "TensorCore 5th generation
// family instructions" (Data movement shape .32x32b). All but the last are
// also checked on an H200.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_FRAGMENTS_H
#define MAMBA_LAYOUT_FRAGMENTS_H

#include "mamba/Layout/LinearLayout.h"

namespace mamba {

/// C stands for the accumulator and the result, both 32 bits wide.
enum class MmaOperand { A, B, C };

/// One warp of mma.sync. `elementBits` 16 is m16n8k16 (bf16, f16), 32 is
/// m16n8k8 (tf32); C does not depend on it. (register, lane) -> A (16, k), B
/// (k, 8), C (16, 8).
LinearLayout mmaFragment(MmaOperand operand, unsigned elementBits);

/// A whole tile, (m, k), (k, n) or (m, n), over warpsM * warpsN warps; the
/// warps along m have the low bits. A is the same in all warps along n, B along
/// m.
LinearLayout mmaLayout(MmaOperand operand, unsigned elementBits,
                       llvm::ArrayRef<uint32_t> shape, uint32_t warpsM,
                       uint32_t warpsN);

/// The accumulator of wgmma m64nN, (m, n), m = 64, 128, ..: each 64 rows are
/// one warpgroup (four warps). `n` is a multiple of 8; if it is no power of two
/// the layout is that of the next one, and its registers past n do not exist
/// (Padding.h).
LinearLayout wgmmaAccumulator(uint32_t m, uint32_t n);

/// A of wgmma in registers, (m, k): k-steps of 16 for 16-bit elements, of 8 for
/// tf32, follow each other in registers.
LinearLayout wgmmaOperandA(unsigned elementBits, uint32_t m, uint32_t k);

/// ldmatrix/stmatrix .m8n8.x`count` of 16-bit elements, `count` 1, 2 or 4:
/// (register, lane) -> (row, column) of `count` matrices of 8 rows of 8,
/// stacked. A row is 16 contiguous bytes in shared memory.
LinearLayout ldmatrixFragment(unsigned count, bool transposed);

/// Which row's address each lane passes: lane -> row. Lanes past 8 * count
/// repeat; the hardware ignores them.
LinearLayout ldmatrixRows(unsigned count);

/// tcgen05.ld/st .32x32b by the four warps of a warpgroup: (register, lane,
/// warp)
/// -> (row, column) of 32-bit elements in 128 rows.
LinearLayout tensorMemoryRows(uint32_t columns);

/// The same tile in tensor memory: (row, column) -> (dim0, dim1).
LinearLayout tensorMemoryLayout(uint32_t columns);

} // namespace mamba

#endif // MAMBA_LAYOUT_FRAGMENTS_H
