//===- JoinBlocks.h - Several copies of a program in one --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TRANSFORMS_JOINBLOCKS_H
#define MAMBA_TRANSFORMS_JOINBLOCKS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mamba {

/// The values in the body of `loop` that depend on those in `sources`, other
/// than through a value in `cuts`: what copies of the body for different values
/// of the sources do not have in common.
llvm::DenseSet<mlir::Value>
findDependent(mlir::scf::ForallOp loop, llvm::ArrayRef<mlir::Value> sources,
              const llvm::DenseSet<mlir::Value> &cuts);

/// Whether `op` reads a value in `dependent`, itself or in its regions.
bool readsAny(mlir::Operation *op,
              const llvm::DenseSet<mlir::Value> &dependent);

/// Writes a copy of `source`, up to its terminator, for each mapping at the
/// builder's place. What does not depend on the mappings is written once; a
/// loop whose bounds do not is one loop, which carries the values of all
/// copies. Operations that the copies do not share stand copy by copy.
void joinCopies(mlir::OpBuilder &builder, mlir::Block &source,
                llvm::MutableArrayRef<mlir::IRMapping> copies,
                const llvm::DenseSet<mlir::Value> &dependent);

} // namespace mamba

#endif // MAMBA_TRANSFORMS_JOINBLOCKS_H
