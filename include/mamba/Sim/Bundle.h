//===- Bundle.h - Running functions of a bundle -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches that a bundle's manifest lists for a function, with arrays of
// the host, in the simulator. The same description, given separately, runs the
// kernels of a single PTX file.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_SIM_BUNDLE_H
#define MAMBA_SIM_BUNDLE_H

#include "mamba/Driver/HostArray.h"
#include "mamba/Sim/Simulator.h"

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mamba::sim {

/// Evaluates a size expression of a manifest: integers and symbols under + - *
/// and ceildiv, floordiv, mod, min and max of two operands, or a comparison of
/// two expressions (1 if it holds). Fails with one message that quotes it.
llvm::Expected<int64_t> evaluate(llvm::StringRef expression,
                                 const llvm::StringMap<int64_t> &sizes);

struct FunctionArray {
  std::string name;
  HostArray array;
};

struct LaunchCounters {
  std::string kernel;
  std::array<unsigned, 3> grid;
  Counters counters;
};

struct FunctionRun {
  /// Outputs by result name, in the order of the arguments.
  std::vector<FunctionArray> results;
  std::vector<Finding> findings;
  std::vector<LaunchCounters> launches;
};

class Bundle {
public:
  /// Opens a bundle's folder, or a PTX file described by `launchFile`: a
  /// manifest, or one function of a manifest, in which launches need no "ptx".
  static llvm::Expected<Bundle> open(llvm::StringRef path,
                                     llvm::StringRef launchFile);

  /// Runs a function; an empty name stands for the only one. `arrays` are the
  /// inputs by argument name; float32 serves bf16 and f16. `sizes` adds symbols
  /// and overrides those that come from shapes. Grid, block, dynamic shared
  /// memory of `options` are not used. Fails if arrays and function do not fit
  /// or a launch is not possible.
  llvm::Expected<FunctionRun> run(llvm::StringRef function,
                                  std::vector<FunctionArray> arrays,
                                  const llvm::StringMap<int64_t> &sizes,
                                  const LaunchOptions &options) const;

  /// Result names of a function, to check a request before running.
  llvm::Expected<std::vector<std::string>>
  getResultNames(llvm::StringRef function) const;

private:
  Bundle(llvm::json::Value manifest) : manifest(std::move(manifest)) {}
  llvm::Expected<const llvm::json::Object *>
  lookup(llvm::StringRef function) const;

  llvm::json::Value manifest;
  /// The folder, or the PTX file if launches name none.
  std::string folder, ptxFile;
};

} // namespace mamba::sim

#endif // MAMBA_SIM_BUNDLE_H
