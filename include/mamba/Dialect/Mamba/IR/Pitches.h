//===- Pitches.h - Arguments whose strides the caller chooses ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_PITCHES_H
#define MAMBA_DIALECT_MAMBA_IR_PITCHES_H

#include "mlir/IR/BuiltinTypes.h"

namespace mamba {

/// The memref of a tensor whose first `pitches` strides the caller chooses; the
/// rest is dense. Null if a stride behind them is not known.
mlir::MemRefType getPitchedType(mlir::RankedTensorType tensor,
                                unsigned pitches);

/// The number of leading strides that the caller chooses; nothing if the memref
/// is neither dense nor of such a type.
std::optional<unsigned> getNumPitches(mlir::MemRefType type);

/// What pitches on a GPU are multiples of, in elements: 16 bytes where dense
/// rows always are, else 1.
int64_t getPitchUnit(mlir::MemRefType type);

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_PITCHES_H
