//===- FunctionCall.h - One function of a manifest, with arrays -*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_FUNCTIONCALL_H
#define MAMBA_LIB_SIM_FUNCTIONCALL_H

#include "mamba/Sim/Bundle.h"

#include <functional>
#include <map>

namespace mamba::sim {

/// Elements of an array in the manifest, none if it is missing.
llvm::ArrayRef<llvm::json::Value> getElements(const llvm::json::Object &object,
                                              llvm::StringRef key);

class FunctionCall {
public:
  struct Argument {
    std::string name, result;
    Dtype dtype;
    BufferRole role;
    std::vector<std::string> shape; // expressions
    /// Elements of an output that no kernel has to write.
    bool isPartial;
    std::optional<HostArray> array;
    uint64_t address = 0;
  };

  llvm::Error readArguments(const llvm::json::Object &function);
  /// Checks and places arrays and workspace.
  llvm::Error prepare(const llvm::json::Object &function,
                      std::vector<FunctionArray> arrays,
                      const llvm::StringMap<int64_t> &overrides);
  llvm::Expected<FunctionRun> run(const llvm::json::Object &function,
                                  const LaunchOptions &options);

  std::vector<Argument> arguments;
  std::function<llvm::Expected<Program>(llvm::StringRef ptx)> loadProgram;
  Device device;

private:
  llvm::Error bindArrays(std::vector<FunctionArray> arrays);
  llvm::Error computeSizes(const llvm::json::Object &function,
                           const llvm::StringMap<int64_t> &overrides);
  llvm::Error placeArguments();
  llvm::Error placeWorkspace(const llvm::json::Object &function);
  llvm::Error runLaunch(const llvm::json::Object &launch, LaunchOptions options,
                        FunctionRun &run);
  llvm::Expected<std::vector<uint8_t>>
  makeParameter(const llvm::json::Object &parameter);
  /// TensorParameter.cpp. `base` is the address of the argument.
  llvm::Expected<std::vector<uint8_t>>
  makeTensorMap(const llvm::json::Object &parameter, uint64_t base);
  /// The address of the argument or workspace that a parameter names.
  std::optional<uint64_t>
  findAddress(const llvm::json::Object &parameter) const;
  /// An integer or an expression.
  llvm::Expected<int64_t> getInteger(const llvm::json::Value *value,
                                     int64_t missing) const;
  void checkOutputs(FunctionRun &run, llvm::StringRef function);

  llvm::StringMap<int64_t> sizes;
  std::map<std::string, uint64_t> workspace;
  std::map<std::string, Program> programs;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_FUNCTIONCALL_H
