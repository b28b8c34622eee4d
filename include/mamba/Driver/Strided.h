//===- Strided.h - Arguments that are slices of longer rows -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_STRIDED_H
#define MAMBA_DRIVER_STRIDED_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mamba {

/// Lets callers choose the strides of the batch and the tokens of the arguments
/// called `names`, in every public function that has them: `mamba.pitches`.
/// Fails if an argument has no such axes, or a name is of no argument.
llvm::Error markStrided(mlir::ModuleOp module,
                        llvm::ArrayRef<std::string> names);

} // namespace mamba

#endif // MAMBA_DRIVER_STRIDED_H
