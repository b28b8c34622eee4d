//===- CpuTarget.h - Code generation for CPUs -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module in the LLVM dialect to code of this machine's architecture:
// optimized at -O3, with multiplications and additions contracted to fused
// ones.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_CPUTARGET_H
#define MAMBA_DRIVER_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace mamba {

/// What translation from the LLVM dialect to LLVM IR needs.
void registerCpuTranslations(mlir::DialectRegistry &registry);

/// The processor that objects are made for when none is named: x86-64-v3 on
/// x86-64 (AVX2, FMA, F16C), else the architecture's baseline.
llvm::StringRef getDefaultCpu();

/// A target machine for `cpu`: a name that LLVM knows, or "native". Fails if
/// the name is unknown.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef cpu);

/// Removes the `mamba.` attributes of parameters, which translation to LLVM IR
/// would warn about.
void removeParameterAttributes(mlir::ModuleOp module);

/// Translates a module in the LLVM dialect. Diagnostics go to its context.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context);

} // namespace mamba

#endif // MAMBA_DRIVER_CPUTARGET_H
