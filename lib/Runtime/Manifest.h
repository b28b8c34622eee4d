//===- Manifest.h - What a bundle holds -------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_MANIFEST_H
#define MAMBA_LIB_RUNTIME_MANIFEST_H

#include "Expression.h"
#include "TensorMap.h"
#include "mamba-c/Runtime.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace mamba::runtime {

/// Of workspace, and of arguments unless the manifest says another.
constexpr uint64_t kDeviceAlignment = 16;

struct Argument {
  std::string name, dtype;
  mamba_role role;
  /// Of outputs and updated arguments.
  std::string result;
  std::vector<Expression> shape;
  /// In elements: constants, and size symbols that the array itself gives;
  /// empty if it is dense.
  std::vector<Expression> strides;
  size_t elementBytes;
  /// Of the address on a device, in bytes.
  uint64_t alignment;

  /// The same for C; set once the argument has its final place.
  std::vector<const char *> shapeTexts, strideTexts;
  mamba_argument_info info;
};

/// The argument and axis whose size or stride is the value of a size symbol.
struct SizeSource {
  size_t argument, axis;
  bool isStride;
};

struct Workspace {
  std::string name;
  Expression bytes;
};

struct Parameter {
  enum Kind { Argument, Workspace, Value } kind;
  /// Of the argument or workspace.
  size_t index = 0;
  Expression value = Expression::constant(0);
  /// If not the address of an argument or workspace is passed, but a tensor map
  /// with this base.
  std::optional<TensorMap> map;
};

/// An entry point of a PTX file, with what it needs in any launch.
struct Kernel {
  std::string name;
  size_t ptx;
  uint32_t sharedBytes = 0;
  uint32_t clusterBlocks = 1;
};

struct Launch {
  size_t kernel;
  std::array<Expression, 3> grid;
  std::array<uint32_t, 3> block, cluster;
  uint32_t sharedBytes;
  std::vector<Parameter> parameters;
};

/// What the address of an argument must be a multiple of.
struct Demand {
  size_t argument;
  uint64_t alignment;
};

/// A way to run a function.
struct Variant {
  std::vector<Demand> demands;
  std::vector<Workspace> workspace;
  std::vector<Launch> launches;
};

struct Function {
  /// Its place in the manifest.
  size_t index;
  std::string name;
  std::vector<Argument> arguments;
  std::vector<std::string> symbols;
  /// One for each symbol.
  std::vector<SizeSource> sources;
  std::vector<Constraint> constraints;
  /// The best first; none if the function runs on the CPU.
  std::vector<Variant> variants;
  /// JSON text.
  std::string operations;

  const Argument *findArgument(const std::string &name) const;
};

struct PtxFile {
  std::string name, text;
};

struct Manifest {
  std::string target;
  /// Of a bundle for the CPU: the path of its shared library, which exports the
  /// functions. There are no launches then.
  std::string library;
  std::vector<Function> functions;
  std::vector<Kernel> kernels;
  std::vector<PtxFile> ptxFiles;
};

/// Reads manifest.json and the PTX files of `folder`; throws Error.
Manifest readManifest(const std::string &folder);

/// Sets what C sees of arguments. The manifest must not move afterwards.
void setInfos(Manifest &manifest);

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_MANIFEST_H
