//===- HostLibrary.h - Functions that run on the CPU ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_HOSTLIBRARY_H
#define MAMBA_LIB_RUNTIME_HOSTLIBRARY_H

#include "Manifest.h"

#include <vector>

namespace mamba::runtime {

/// The shared library of a bundle for the CPU; nothing for other bundles.
/// Thread-safe.
class HostLibrary {
public:
  /// Opens the library and finds every function; throws Error.
  explicit HostLibrary(const Manifest &manifest);
  ~HostLibrary();
  HostLibrary(const HostLibrary &) = delete;

  explicit operator bool() const { return handle; }

  /// Runs a function with a descriptor for each argument (docs/abi.md).
  void call(const Function &function,
            const std::vector<void *> &descriptors) const;

private:
  void *handle = nullptr;
  /// One for each function of the manifest.
  std::vector<void *> addresses;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_HOSTLIBRARY_H
