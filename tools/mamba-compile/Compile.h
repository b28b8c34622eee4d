//===- Compile.h - What mamba-compile does to a module ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TOOLS_MAMBA_COMPILE_COMPILE_H
#define MAMBA_TOOLS_MAMBA_COMPILE_COMPILE_H

#include "Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mamba {

/// Runs a pipeline under a timer of this name. Passes report their failures as
/// diagnostics.
llvm::Error runPipeline(mlir::ModuleOp module, llvm::StringRef name,
                        mlir::TimingScope &timing,
                        llvm::function_ref<void(mlir::PassManager &)> build);

/// Lowers `module` to the llvm dialect with C interfaces for the functions of
/// `signatures`, and completes these. `visitBuffers` is called on the way, when
/// the functions take buffers.
llvm::Error
lowerForCpu(mlir::ModuleOp module, std::vector<Signature> &signatures,
            mlir::TimingScope &timing,
            llvm::function_ref<llvm::Error(mlir::ModuleOp)> visitBuffers = {});

/// Lowers `module` to `options.stage` and writes the output.
llvm::Error emitModule(mlir::ModuleOp module, const Options &options,
                       mlir::TimingScope &timing);

/// Compiles a function for this machine and calls it with arrays from files.
llvm::Error runModule(mlir::ModuleOp module, const Options &options,
                      mlir::TimingScope &timing);

} // namespace mamba

#endif // MAMBA_TOOLS_MAMBA_COMPILE_COMPILE_H
