//===- Manifest.h - Bundles of compiled kernels -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is a folder with PTX files and a `manifest.json`, which says how to
// run functions with them: see the description of `mamba-write-bundle` for the
// form of the module that it is made from.
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

} // namespace mamba

#endif // MAMBA_TARGET_MANIFEST_H
