//===- Plan.cpp - What follows from the sizes of a call -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "Error.h"

namespace mamba::runtime {
namespace {

template <typename Sizes> std::string print(const Sizes &sizes) {
  std::string text;
  for (auto size : sizes)
    text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void planWorkspace(const Function &function, const std::vector<int64_t> &sizes,
                   VariantPlan &plan) {
  const Variant &variant = *plan.variant;
  std::string ofVariant = describe(function, variant);
  constexpr int64_t alignment = 256; // as of cuMemAlloc
  int64_t offset = 0;
  for (const Workspace &space : variant.workspace) {
    std::string prefix = ofVariant + "workspace " + quote(space.name) + ": ",
                error;
    plan.workspaceOffsets.push_back(uint64_t(offset));
    std::optional<int64_t> bytes = space.bytes.evaluate(sizes, error);
    if (!bytes)
      plan.mistakes.add(prefix + error);
    else if (*bytes < 0)
      plan.mistakes.add(prefix + std::to_string(*bytes) + " bytes");
    else if (__builtin_add_overflow(offset, *bytes, &offset) ||
             __builtin_add_overflow(offset, alignment - 1, &offset))
      plan.mistakes.add(ofVariant +
                        "the bytes of workspace do not fit in 64 bits");
    else
      offset -= offset % alignment;
  }
  plan.workspaceBytes = uint64_t(offset);
}

void planLaunch(const Function &function, const Launch &launch,
                const std::vector<int64_t> &sizes, VariantPlan &plan) {
  static constexpr std::array<int64_t, 3> limits = {INT32_MAX, 65535, 65535};
  PreparedLaunch prepared{&launch, {}, {}, {}};
  Mistakes &mistakes = plan.mistakes;
  std::string prefix = describe(function, *plan.variant, launch) + ": ", error;
  std::array<int64_t, 3> grid;
  for (size_t i = 0; i < 3; ++i) {
    std::optional<int64_t> size = launch.grid[i].evaluate(sizes, error);
    if (!size)
      return mistakes.add(prefix + error);
    grid[i] = *size;
  }
  bool isEmpty = false;
  for (size_t i = 0; i < 3; ++i) {
    if (grid[i] < 0)
      return mistakes.add(prefix + "negative grid " + print(grid));
    isEmpty |= grid[i] == 0;
  }
  if (isEmpty)
    return;
  for (size_t i = 0; i < 3; ++i) {
    if (grid[i] > limits[i])
      return mistakes.add(prefix + "grid " + print(grid) +
                          " exceeds CUDA's limit of " + print(limits));
    if (grid[i] % launch.cluster[i])
      return mistakes.add(prefix + "grid " + print(grid) +
                          " is not a multiple of the cluster " +
                          print(launch.cluster));
    prepared.grid[i] = uint32_t(grid[i]);
  }
  for (const Parameter &parameter : launch.parameters) {
    std::optional<int64_t> value = parameter.value.evaluate(sizes, error);
    if (!value)
      return mistakes.add(prefix + error);
    prepared.parameters.push_back(uint64_t(*value));
    if (!parameter.map)
      continue;
    try {
      prepared.maps.emplace_back(*parameter.map, sizes);
    } catch (const Error &why) {
      const std::string &base =
          parameter.kind == Parameter::Argument
              ? function.arguments[parameter.index].name
              : plan.variant->workspace[parameter.index].name;
      return mistakes.add(prefix + "tensor map of " + quote(base) + ": " +
                          why.what());
    }
  }
  plan.launches.push_back(std::move(prepared));
}

} // namespace

void Mistakes::fail() const { throw Error(MAMBA_STATUS_ARGUMENT, text); }

std::string describe(const Function &function, const Variant &variant) {
  if (function.variants.size() == 1)
    return "";
  return "variant " + std::to_string(&variant - function.variants.data()) +
         ": ";
}

std::string describe(const Function &function, const Variant &variant,
                     const Launch &launch) {
  return describe(function, variant) + "launch " +
         std::to_string(&launch - variant.launches.data());
}

VariantPlan::VariantPlan(const Function &function, const Variant &variant,
                         const std::vector<int64_t> &sizes)
    : variant(&variant), mistakes(function) {
  planWorkspace(function, sizes, *this);
  for (const Launch &launch : variant.launches)
    planLaunch(function, launch, sizes, *this);
}

} // namespace mamba::runtime
