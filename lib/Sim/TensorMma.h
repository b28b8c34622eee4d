//===- TensorMma.h - tcgen05.mma as decoded ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_TENSORMMA_H
#define MAMBA_LIB_SIM_TENSORMMA_H

#include "MatrixElements.h"

#include "llvm/Support/Error.h"

namespace mamba::sim {

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MxF8F6F4,
  MxF4,
  MxF4NvF4,
};
inline bool hasScales(MmaKind kind) { return kind >= MmaKind::MxF8F6F4; }

/// PTX ISA, "Instruction descriptor", and what follows from it.
struct TensorMmaShape {
  enum Result : uint8_t { F16, F32, S32 };

  MmaKind kind;
  Element a, b;
  Result result;
  unsigned rows, columns, depth;
  bool negatesA, negatesB, transposesA, transposesB, saturates;
  // With scale factors.
  Element scale;
  unsigned scaleA, scaleB; // first byte of the words with factors
  unsigned perRow;         // factors of a row

  /// Fails for what does not exist or is not modelled.
  static llvm::Expected<TensorMmaShape> parse(MmaKind kind, unsigned perRow,
                                              uint32_t descriptor);

  /// Elements in 16 bytes of shared memory. Those of six and four bits are
  /// padded, except where all have four bits.
  unsigned getPerChunk() const;
  /// The lane, from the first one on, that holds a row of A or D.
  unsigned getLane(unsigned row) const {
    return rows == 64 ? row / 16 * 32 + row % 16 : row;
  }
  /// An element of A as it lies in a row of tensor memory.
  double decodeTensorElement(const uint8_t *row, unsigned k) const;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_TENSORMMA_H
