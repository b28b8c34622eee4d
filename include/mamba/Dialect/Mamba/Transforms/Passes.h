//===- Passes.h - Passes on tensors and tile programs -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_TRANSFORMS_PASSES_H
#define MAMBA_DIALECT_MAMBA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mamba {

#define GEN_PASS_DECL
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_TRANSFORMS_PASSES_H
