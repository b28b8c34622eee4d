//===- CpuObject.h - Object files and C headers -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_CPUOBJECT_H
#define MAMBA_DRIVER_CPUOBJECT_H

#include "mamba/Driver/Signature.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mamba {

/// Whether `name` can be the name of a C and C++ function.
bool isCIdentifier(llvm::StringRef name);

/// Writes an object file for `cpu` (see `createTargetMachine`) that exports one
/// C function for each of `functions`, under its own name, with one descriptor
/// pointer for each argument and each result that is not updated in place.
/// Their names are C identifiers.
/// `module` is in the LLVM dialect and the functions were lowered with
/// `llvm.emit_c_interface`.
llvm::Error writeObject(mlir::ModuleOp module,
                        llvm::ArrayRef<Signature> functions,
                        llvm::StringRef cpu, llvm::raw_pwrite_stream &os);

/// Writes the C header of these functions: descriptor structs and documented
/// prototypes. `stem` is the file's name without folder and extension.
void writeHeader(llvm::ArrayRef<Signature> functions, llvm::StringRef stem,
                 llvm::raw_ostream &os);

} // namespace mamba

#endif // MAMBA_DRIVER_CPUOBJECT_H
