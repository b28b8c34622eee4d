//===- Passes.h - Passes between the stages of lowering ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CONVERSION_PASSES_H
#define MAMBA_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mamba {

#define GEN_PASS_DECL
#include "mamba/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mamba/Conversion/Passes.h.inc"

} // namespace mamba

#endif // MAMBA_CONVERSION_PASSES_H
