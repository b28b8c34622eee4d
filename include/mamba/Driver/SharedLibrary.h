//===- SharedLibrary.h - Shared libraries from object files -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_SHAREDLIBRARY_H
#define MAMBA_DRIVER_SHAREDLIBRARY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mamba {

/// A linker of this machine: `ld.lld-22`, `ld.lld`, `ld`, `cc` or `clang`, the
/// first that is on PATH. Fails if there is none.
llvm::Expected<std::string> findLinker();

/// The bytes of the shared library that `linker` makes of an object file's.
/// Functions of the C library and of its mathematics stay undefined: the
/// process that loads the library has them.
llvm::Expected<std::string> linkSharedLibrary(llvm::StringRef linker,
                                              llvm::StringRef object);

} // namespace mamba

#endif // MAMBA_DRIVER_SHAREDLIBRARY_H
