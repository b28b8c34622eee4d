//===- Jit.h - Running lowered functions in this process --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_JIT_H
#define MAMBA_DRIVER_JIT_H

#include "mamba/Driver/HostArray.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mlir {
class ExecutionEngine;
class ModuleOp;
} // namespace mlir

namespace mamba {

/// A module in the LLVM dialect, compiled for this machine.
class Jit {
public:
  /// The context must hold the translations of `registerCpuTranslations`.
  static llvm::Expected<Jit> create(mlir::ModuleOp module);
  Jit(Jit &&);
  ~Jit();

  /// Calls a function that was lowered with `llvm.emit_c_interface` and takes
  /// one memref with identity layout for each of `parameters`. Fails if there
  /// is no such function or it takes another number of parameters.
  llvm::Error call(llvm::StringRef function,
                   llvm::ArrayRef<HostArray *> parameters);

private:
  Jit(std::unique_ptr<mlir::ExecutionEngine> engine,
      llvm::StringMap<unsigned> numParameters);

  std::unique_ptr<mlir::ExecutionEngine> engine;
  /// Of each C interface function, by the function's name.
  llvm::StringMap<unsigned> numParameters;
};

} // namespace mamba

#endif // MAMBA_DRIVER_JIT_H
