//===- Modules.h - Kernels loaded into contexts -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_MODULES_H
#define MAMBA_LIB_RUNTIME_MODULES_H

#include "Driver.h"
#include "Manifest.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mamba::runtime {

/// The kernels of a bundle in one context.
class ContextModules {
public:
  ContextModules(const Manifest &manifest, CUcontext context, uint64_t id);

  /// Loads the kernels of a function unless they are; the context is current.
  void load(const Driver &driver, const Function &function);
  /// A kernel of a function that was loaded.
  CUfunction getKernel(size_t index) const { return kernels[index]; }
  /// The address of 128 bytes of zeros, loaded if need be; the context is
  /// current.
  uint64_t getZeros(const Driver &driver);
  /// Unloads everything, whatever the driver says.
  void unload(const Driver &driver);

  uint64_t getId() const { return id; }

private:
  void checkDevice(const Driver &driver);
  CUmodule loadModule(const Driver &driver, const PtxFile &file);
  CUfunction loadKernel(const Driver &driver, const Kernel &kernel);

  const Manifest &manifest;
  CUcontext context;
  uint64_t id;

  std::mutex mutex;
  bool isDeviceChecked = false;
  std::vector<CUmodule> modules;
  CUmodule zerosModule = nullptr;
  /// Entries do not change once the function that needs them is loaded.
  std::vector<CUfunction> kernels;
  std::unique_ptr<std::atomic<bool>[]> isLoaded;
};

/// The kernels of a bundle in all contexts. Thread-safe.
class Modules {
public:
  explicit Modules(const Manifest &manifest) : manifest(manifest) {}
  ~Modules();

  /// The function's kernels in the current context, loaded if need be.
  std::shared_ptr<ContextModules> load(const Driver &driver, CUcontext context,
                                       const Function &function);

private:
  const Manifest &manifest;
  std::mutex mutex;
  std::map<CUcontext, std::shared_ptr<ContextModules>> byContext;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_MODULES_H
