//===- mamba-opt.cpp - Runs passes on MLIR files --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/ToNVVM/Passes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Pipelines/Pipelines.h"
#include "mamba/Target/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mamba::registerMambaTransformsPasses();
  mamba::registerMambaConversionPasses();
  mamba::registerMambaToNVVMPasses();
  mamba::registerMambaTargetPasses();
  mamba::registerMambaPipelines();

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  registry.insert<mamba::MambaDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Optimizer driver of the mamba compiler\n", registry));
}
