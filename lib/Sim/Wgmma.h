//===- Wgmma.h - wgmma.mma_async as decoded ---------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_WGMMA_H
#define MAMBA_LIB_SIM_WGMMA_H

#include "MatrixElements.h"
#include "Program.h"

namespace mamba::sim {

/// What the opcode and the immediate operands say; kept in `Inst::imm`.
/// Operands: accumulators, A (registers or a descriptor), B's descriptor, and
/// whether the accumulators are added.
struct WgmmaShape {
  static constexpr unsigned kWarpRows = 16, kMaxColumns = 256, kMaxDepth = 32,
                            kRowBytes = 32, kWarps = 4;
  enum Result : uint8_t { F32, F16, S32 };

  Element a, b;
  Result result;
  uint8_t columnGroups; // of 8
  uint8_t aRegisters;   // 0 with a descriptor
  bool negates, saturates;
  uint8_t transposed; // bit 0: A, bit 1: B

  unsigned getColumns() const { return columnGroups * 8; }
  unsigned getDepth() const { return kRowBytes * 8 / getBits(a); }
  bool isTransposedA() const { return transposed & 1; }
  bool isTransposedB() const { return transposed & 2; }

  int64_t pack() const;
  static WgmmaShape unpack(int64_t bits);
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_WGMMA_H
