//===- Plan.h - What follows from the sizes of a call -----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_PLAN_H
#define MAMBA_LIB_RUNTIME_PLAN_H

#include "Manifest.h"

#include <string>
#include <vector>

namespace mamba::runtime {

/// All mistakes of a call, so that one message tells them together.
class Mistakes {
public:
  explicit Mistakes(const Function &function) : function(function) {}

  void add(const std::string &message) {
    text += (text.empty() ? "" : "\n") + function.name + ": " + message;
  }
  void add(const Mistakes &others) {
    text += (text.empty() || others.text.empty() ? "" : "\n") + others.text;
  }
  bool empty() const { return text.empty(); }
  /// Throws Error.
  [[noreturn]] void fail() const;
  void check() const {
    if (!empty())
      fail();
  }

private:
  const Function &function;
  std::string text;
};

/// A launch with every number known but the addresses.
struct PreparedLaunch {
  const Launch *launch;
  std::array<uint32_t, 3> grid;
  /// Of i64 parameters; 0 for pointers and tensor maps.
  std::vector<uint64_t> parameters;
  /// For each parameter with a tensor map, in order.
  std::vector<PreparedTensorMap> maps;
};

/// One way to run the function.
struct VariantPlan {
  VariantPlan(const Function &function, const Variant &variant,
              const std::vector<int64_t> &sizes);

  const Variant *variant;
  /// Where each workspace starts in the caller's.
  std::vector<uint64_t> workspaceOffsets;
  uint64_t workspaceBytes = 0;
  /// Without those of an empty grid.
  std::vector<PreparedLaunch> launches;
  /// Why it cannot be run with these sizes.
  Mistakes mistakes;
};

struct Plan {
  /// Of the size symbols.
  std::vector<int64_t> sizes;
  /// In the manifest's order; not all have mistakes.
  std::vector<VariantPlan> variants;
  /// Enough for each.
  uint64_t workspaceBytes = 0;
};

/// For messages: "variant 1: " if there are several, and "launch 2" of it.
std::string describe(const Function &function, const Variant &variant);
std::string describe(const Function &function, const Variant &variant,
                     const Launch &launch);

inline std::string quote(const std::string &name) { return "'" + name + "'"; }

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_PLAN_H
