//===- SharedMatrix.h - Matrix descriptors of shared memory -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the 16-byte chunks of a matrix in shared memory are, by its descriptor.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_SHAREDMATRIX_H
#define MAMBA_LIB_SIM_SHAREDMATRIX_H

#include "MatrixElements.h"
#include "Program.h"

#include "llvm/ADT/DenseSet.h"

#include <vector>

namespace mamba::sim {

class Warp;

constexpr unsigned kChunkBytes = 16;

/// The descriptor's fields, in bytes.
struct SharedMatrix {
  uint32_t start, leading, stride;
  /// Added to the bits of the address that choose the swizzle's phase.
  uint32_t baseOffset;
  /// Bytes of a swizzled row; 16 without swizzle.
  unsigned span;
  /// Rows (of A) or columns (of B) follow each other, not elements of K.
  bool isTransposed;
  /// The swizzle exchanges units of 32 bytes instead of 16.
  bool hasWideUnits = false;

  /// PTX ISA, "Matrix Descriptor Format" of wgmma.
  static SharedMatrix parseWgmma(uint64_t descriptor, bool isTransposed);

  /// PTX ISA, "Shared memory descriptor" of tcgen05. Nothing if a field has a
  /// value that does not exist.
  static std::optional<SharedMatrix> parseTcgen05(uint64_t descriptor,
                                                  bool isTransposed);

  /// The address of a chunk. Chunks of a row `row` are along K; of a transposed
  /// matrix the chunks of `row`, which is then one of K, are along rows of A or
  /// columns of B.
  uint32_t getAddress(unsigned row, unsigned chunk) const;
};

/// Chunks of shared memory that an asynchronous instruction reads: offsets from
/// the start of shared memory.
class ChunkReads {
public:
  /// Adds a chunk; checks that it is in shared memory, written and ordered. A
  /// chunk outside of shared memory is read as zeros. `what` is for messages.
  void add(Warp &warp, const Inst &inst, uint32_t address, llvm::StringRef what,
           unsigned lane = 0);
  const uint8_t *get(const Warp &warp, unsigned index) const;
  /// All elements of a matrix whose chunks were added row by row, or, if it is
  /// transposed, by elements of K: to[row * rowStride + k * depthStride]. A
  /// chunk has `perChunk` elements, 0 for as many as fit.
  void decode(const Warp &warp, Element element, bool isTransposed,
              unsigned rows, unsigned depth, double *to, unsigned rowStride,
              unsigned depthStride, unsigned perChunk = 0) const;
  /// The instruction does not read them any more. `reader` is the warp whose
  /// waiting orders the reads.
  void release(Warp &warp, uint32_t pc, unsigned reader);

  size_t size() const { return offsets.size(); }

private:
  void checkFences(Warp &warp, const Inst &inst, uint32_t offset,
                   llvm::StringRef what, unsigned lane);

  /// Threads and times of writes behind which a fence was found.
  llvm::DenseSet<uint64_t> fenced;
  static constexpr uint32_t kOutside = ~uint32_t(0);
  std::vector<uint32_t> offsets;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_SHAREDMATRIX_H
