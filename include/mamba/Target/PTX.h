//===- PTX.h - From NVVM to PTX ---------------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_PTX_H
#define MAMBA_TARGET_PTX_H

#include "mamba/Target/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <string>

namespace mamba {

/// Makes the translations that `translateToPTX` needs known to contexts that
/// are made from `registry`. The pass `mamba-serialize` does so itself.
void registerPTXTranslations(mlir::DialectRegistry &registry);

/// PTX of a gpu.module of llvm and nvvm operations, optimized at O3 with
/// multiplications and additions contracted. Needs no device library and no
/// CUDA toolkit. A comment at its head names the compiler's version, the target
/// and the `mamba.` attributes of every kernel; equal modules give equal bytes.
/// On failure an error has been emitted at an operation or at the module: a
/// kernel that wants more shared memory than the target has, an operation or a
/// call without an implementation, or what the code generator reports.
mlir::FailureOr<std::string> translateToPTX(mlir::gpu::GPUModuleOp module,
                                            const Target &target);

/// The PTX in `binary` that was compiled for `target`. Emits an error if there
/// is none.
mlir::FailureOr<llvm::StringRef> getPTX(mlir::gpu::BinaryOp binary,
                                        const Target &target);

} // namespace mamba

#endif // MAMBA_TARGET_PTX_H
