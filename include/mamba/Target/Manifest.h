//===- Manifest.h - Bundles of compiled kernels -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is a folder with PTX files and a `manifest.json`, which says how to
// run functions with them: see the description of `mamba-write-bundle` for the
// form of the module that it is made from. A bundle for the CPU has a shared
// library instead of PTX.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_MANIFEST_H
#define MAMBA_TARGET_MANIFEST_H

#include "mamba/Target/Targets.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace mamba {

/// The manifest of `module`, whose kernels are in gpu.modules or gpu.binaries.
/// Fails with an error at the operation that cannot be expressed, or at the
/// launch that asks for more than `target` has.
mlir::FailureOr<llvm::json::Value> buildManifest(mlir::ModuleOp module,
                                                 const Target &target);

/// Writes the bundle of `module`, whose kernels are in gpu.binaries compiled
/// for `target`, to `folder`. It is written beside it and then renamed, so that
/// there never is half a bundle. What is at `folder` is replaced if it holds a
/// `manifest.json`; anything else is an error. Equal modules give equal bytes.
mlir::LogicalResult writeBundle(mlir::ModuleOp module, const Target &target,
                                llvm::StringRef folder);

/// The manifest of a bundle for the CPU, `target`, before it is lowered from
/// buffers to the LLVM dialect. `library` is the name of the shared library in
/// the bundle that exports the functions.
mlir::FailureOr<llvm::json::Value> buildCpuManifest(mlir::ModuleOp module,
                                                    const Target &target,
                                                    llvm::StringRef library);

/// A file of a bundle beside its manifest.
struct BundleFile {
  llvm::StringRef name, contents;
};

/// Writes a bundle as `writeBundle` does, from its parts. Errors are reported
/// at `module`.
mlir::LogicalResult writeBundleFolder(mlir::ModuleOp module,
                                      const llvm::json::Value &manifest,
                                      llvm::ArrayRef<BundleFile> files,
                                      llvm::StringRef folder);

} // namespace mamba

#endif // MAMBA_TARGET_MANIFEST_H
