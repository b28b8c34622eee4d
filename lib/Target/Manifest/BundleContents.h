//===- BundleContents.h - What a bundle consists of -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_MANIFEST_BUNDLECONTENTS_H
#define MAMBA_LIB_TARGET_MANIFEST_BUNDLECONTENTS_H

#include "mamba/Target/Targets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mamba {

/// Names the PTX file of every kernel module that some function launches.
class PtxFiles {
public:
  /// The file of `kernelModule` (a gpu.module or gpu.binary), which `function`
  /// launches. The first module of a function is `<function>.ptx`; any further
  /// one has its own name.
  std::string getName(mlir::Operation *kernelModule,
                      mlir::func::FuncOp function);

  /// Pairs of module and file name in the order of their first launch.
  auto begin() const { return names.begin(); }
  auto end() const { return names.end(); }

private:
  llvm::MapVector<mlir::Operation *, std::string> names;
};

/// The manifest's name of an element type; empty if it has none.
std::string getDtype(mlir::Type type);

/// The array "operations" of a function, from `mamba.operations`.
llvm::json::Array describeOperations(mlir::ArrayAttr operations);

/// The object of one function in the manifest's array "functions".
mlir::FailureOr<llvm::json::Value> describeFunction(mlir::func::FuncOp function,
                                                    const Target &target,
                                                    PtxFiles &files);

/// The same without workspace and launches.
mlir::FailureOr<llvm::json::Value>
describeInterface(mlir::func::FuncOp function, const Target &target);

/// The manifest, and through `files` what it refers to.
mlir::FailureOr<llvm::json::Value>
describeModule(mlir::ModuleOp module, const Target &target, PtxFiles &files);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_MANIFEST_BUNDLECONTENTS_H
