//===- Call.h - A function with arrays --------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_CALL_H
#define MAMBA_LIB_RUNTIME_CALL_H

#include "Array.h"
#include "HostLibrary.h"
#include "Modules.h"

#include <optional>
#include <string>
#include <vector>

namespace mamba::runtime {

/// The parameters of a launch as the driver copies them.
struct Cells {
  std::vector<uint64_t> words;
  std::vector<CUtensorMap> maps;
};

/// The methods throw Error.
class Call {
public:
  /// `library` is null if the function runs on a GPU.
  Call(const Function &function, const HostLibrary *library)
      : function(function), library(library),
        arrays(function.arguments.size()) {}

  void bind(const std::string &name, void *address, const std::string &dtype,
            const std::vector<int64_t> &sizes,
            const std::optional<std::vector<int64_t>> &strides);
  std::vector<int64_t> getShape(const std::string &name);
  uint64_t getWorkspaceBytes() { return getPlan().workspaceBytes; }
  void check();
  void launch(Modules &modules, void *workspace, uint64_t workspaceBytes,
              CUstream stream);

  const Function &getFunction() const { return function; }

private:
  const Plan &getPlan();
  std::vector<int64_t> getSizes(Mistakes &mistakes) const;
  /// Compares every array's sizes with those that follow from `sizes`.
  void checkSizes(const std::vector<int64_t> &sizes, Mistakes &mistakes) const;
  void checkAddresses(Mistakes &mistakes) const;
  /// The first variant whose demands hold.
  const VariantPlan &chooseVariant() const;
  void checkWorkspace(const Plan &plan, uint64_t address, uint64_t bytes) const;
  Cells makeCells(const Driver &driver, ContextModules &modules,
                  const PreparedLaunch &launch, uint64_t workspace) const;
  void queue(const Driver &driver, const ContextModules &modules,
             const PreparedLaunch &launch, Cells &cells, CUstream stream) const;

  void runOnHost() const;

  const Function &function;
  const HostLibrary *library;
  /// One for each argument.
  std::vector<Array> arrays;
  std::optional<Plan> plan;
  bool areAddressesChecked = false;
  /// The variant for the arrays' addresses, once these are checked; null on the
  /// CPU.
  const VariantPlan *chosen = nullptr;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_CALL_H
