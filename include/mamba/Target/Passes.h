//===- Passes.h - From NVVM to PTX and bundles ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_PASSES_H
#define MAMBA_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace mamba {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "mamba/Target/Passes.h.inc"

} // namespace mamba

#endif // MAMBA_TARGET_PASSES_H
