//===- BlockLoops.h - Loops over the blocks of a grid -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DIALECT_MAMBA_IR_BLOCKLOOPS_H
#define MAMBA_DIALECT_MAMBA_IR_BLOCKLOOPS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mamba {

/// Whether the loop's iterations are the blocks of a kernel.
inline bool isMappedToBlocks(mlir::scf::ForallOp loop) {
  std::optional<mlir::ArrayAttr> mapping = loop.getMapping();
  return mapping && llvm::any_of(*mapping, [](mlir::Attribute attr) {
           return mlir::isa<mlir::gpu::GPUBlockMappingAttr>(attr);
         });
}

} // namespace mamba

#endif // MAMBA_DIALECT_MAMBA_IR_BLOCKLOOPS_H
