//===- CheckModule.h - What can become PTX ----------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_PTX_CHECKMODULE_H
#define MAMBA_LIB_TARGET_PTX_CHECKMODULE_H

#include "mamba/Target/Targets.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mamba {

/// Emits an error and fails if `module` holds something that LLVM would end the
/// process for, that ptxas would not resolve, or that the target has no room
/// for. What only the code generator can find out is not checked here.
mlir::LogicalResult checkModule(mlir::gpu::GPUModuleOp module,
                                const Target &target);

/// Upstream's description of the target. Its own check of operations against
/// targets is off: the lists of MLIR 22 miss sm_103a and others.
mlir::NVVM::NVVMTargetAttr getTargetAttr(mlir::MLIRContext *context,
                                         const Target &target);

bool isKernel(mlir::LLVM::LLVMFuncOp function);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_PTX_CHECKMODULE_H
