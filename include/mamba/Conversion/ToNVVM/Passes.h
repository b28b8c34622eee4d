//===- Passes.h - From per-thread kernels to NVVM ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CONVERSION_TONVVM_PASSES_H
#define MAMBA_CONVERSION_TONVVM_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace mamba {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "mamba/Conversion/ToNVVM/Passes.h.inc"

} // namespace mamba

#endif // MAMBA_CONVERSION_TONVVM_PASSES_H
