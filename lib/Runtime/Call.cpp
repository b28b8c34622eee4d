//===- Call.cpp - Binds arrays and launches -------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Error.h"

#include <algorithm>

namespace mamba::runtime {
void Call::bind(const std::string &name, void *address,
                const std::string &dtype, const std::vector<int64_t> &sizes,
                const std::optional<std::vector<int64_t>> &strides) {
  Mistakes mistakes(function);
  const Argument *argument = function.findArgument(name);
  if (!argument) {
    std::string names;
    for (const Argument &other : function.arguments)
      names += (names.empty() ? "" : ", ") + other.name;
    mistakes.add("no argument " + quote(name) + "; there are " + names);
    mistakes.fail();
  }
  Array array =
      Array::make(*argument, address, dtype, sizes, strides, mistakes);
  mistakes.check();

  Array &bound = arrays[argument - function.arguments.data()];
  if (!bound.isBound || bound.sizes != sizes || bound.strides != array.strides)
    plan.reset();
  areAddressesChecked = false;
  bound = std::move(array);
}

std::vector<int64_t> Call::getSizes(Mistakes &mistakes) const {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (!arrays[i].isBound && function.arguments[i].role != MAMBA_ROLE_OUTPUT)
      mistakes.add("argument " + quote(function.arguments[i].name) +
                   " is missing");
  mistakes.check();
  std::vector<int64_t> sizes;
  for (const SizeSource &source : function.sources) {
    const Array &array = arrays[source.argument];
    sizes.push_back(
        (source.isStride ? array.strides : array.sizes)[source.axis]);
  }
  return sizes;
}

void Call::checkSizes(const std::vector<int64_t> &sizes,
                      Mistakes &mistakes) const {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].isBound)
      continue;
    const Argument &argument = function.arguments[i];
    for (size_t axis = 0; axis < argument.shape.size(); ++axis) {
      const Expression &expression = argument.shape[axis];
      std::string error;
      std::optional<int64_t> size = expression.evaluate(sizes, error);
      std::string prefix = "argument " + quote(argument.name) + ": ";
      if (!size) {
        mistakes.add(prefix + error);
        continue;
      }
      if (*size == arrays[i].sizes[axis])
        continue;
      std::string reason = expression.str();
      for (size_t symbol = 0; symbol < sizes.size(); ++symbol) {
        const SizeSource &source = function.sources[symbol];
        if (function.symbols[symbol] == expression.str())
          reason += ", as axis " + std::to_string(source.axis) + " of " +
                    quote(function.arguments[source.argument].name);
      }
      mistakes.add(prefix + "expected size " + std::to_string(*size) +
                   " of axis " + std::to_string(axis) + " (" + reason +
                   "), got " + std::to_string(arrays[i].sizes[axis]));
    }
  }
}

const Plan &Call::getPlan() {
  if (plan)
    return *plan;
  Mistakes mistakes(function);
  Plan made;
  made.sizes = getSizes(mistakes);
  const std::vector<int64_t> &sizes = made.sizes;
  checkSizes(sizes, mistakes);
  for (const Constraint &constraint : function.constraints) {
    std::string why = constraint.explainViolation(sizes, function.symbols);
    if (!why.empty())
      mistakes.add(why);
  }
  // What follows would only repeat these.
  mistakes.check();
  bool isPossible = function.variants.empty();
  for (const Variant &variant : function.variants) {
    made.variants.emplace_back(function, variant, sizes);
    if (!made.variants.back().mistakes.empty())
      continue;
    isPossible = true;
    made.workspaceBytes =
        std::max(made.workspaceBytes, made.variants.back().workspaceBytes);
  }
  if (!isPossible)
    for (const VariantPlan &variant : made.variants)
      mistakes.add(variant.mistakes);
  mistakes.check();
  return plan.emplace(std::move(made));
}

std::vector<int64_t> Call::getShape(const std::string &name) {
  const Argument *argument = function.findArgument(name);
  for (const Argument &other : function.arguments)
    if (!argument && other.result == name)
      argument = &other;
  Mistakes mistakes(function);
  if (!argument)
    mistakes.add("no argument or result " + quote(name));
  mistakes.check();
  const std::vector<int64_t> &sizes = getPlan().sizes;
  std::vector<int64_t> shape;
  for (const Expression &expression : argument->shape) {
    std::string error;
    std::optional<int64_t> size = expression.evaluate(sizes, error);
    if (!size || *size < 0)
      mistakes.add("argument " + quote(argument->name) + ": " +
                   (size ? "negative size " + expression.str() : error));
    shape.push_back(size.value_or(0));
  }
  mistakes.check();
  return shape;
}

/// Why an address of an array of some bytes is wrong, or "".
static std::string explainAddress(uint64_t address, uint64_t bytes,
                                  uint64_t alignment) {
  if (bytes == 0)
    return "";
  if (address == 0)
    return "null pointer to " + std::to_string(bytes) + " bytes";
  if (address % alignment != 0)
    return "address " + std::to_string(address) + " is not a multiple of " +
           std::to_string(alignment);
  if (address + bytes < address)
    return "address " + std::to_string(address) + " plus " +
           std::to_string(bytes) + " bytes exceeds 64 bits";
  return "";
}

static bool overlap(uint64_t x, uint64_t xBytes, uint64_t y, uint64_t yBytes) {
  return xBytes && yBytes && x < y + yBytes && y < x + xBytes;
}

void Call::checkAddresses(Mistakes &mistakes) const {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const Argument &argument = function.arguments[i];
    if (!arrays[i].isBound) {
      mistakes.add("argument " + quote(argument.name) + " is missing");
      continue;
    }
    std::string why =
        explainAddress(arrays[i].address, arrays[i].bytes,
                       library ? argument.elementBytes : argument.alignment);
    if (!why.empty())
      mistakes.add("argument " + quote(argument.name) + ": " + why);
  }
  mistakes.check();
  for (size_t i = 0; i < arrays.size(); ++i)
    for (size_t j = i + 1; j < arrays.size(); ++j) {
      const Argument &first = function.arguments[i],
                     &second = function.arguments[j];
      bool isWritten =
          first.role != MAMBA_ROLE_INPUT || second.role != MAMBA_ROLE_INPUT;
      if (isWritten && overlap(arrays[i].address, arrays[i].bytes,
                               arrays[j].address, arrays[j].bytes))
        mistakes.add("arguments " + quote(first.name) + " and " +
                     quote(second.name) + " overlap, and one is written");
    }
  mistakes.check();
}

const VariantPlan &Call::chooseVariant() const {
  Mistakes mistakes(function);
  for (const VariantPlan &candidate : plan->variants) {
    Mistakes own = candidate.mistakes;
    for (const Demand &demand : candidate.variant->demands) {
      const Array &array = arrays[demand.argument];
      std::string why =
          explainAddress(array.address, array.bytes, demand.alignment);
      if (!why.empty())
        own.add(describe(function, *candidate.variant) + "argument " +
                quote(function.arguments[demand.argument].name) + ": " + why);
    }
    if (own.empty())
      return candidate;
    mistakes.add(own);
  }
  mistakes.fail();
}

void Call::check() {
  getPlan();
  if (areAddressesChecked)
    return;
  Mistakes mistakes(function);
  checkAddresses(mistakes);
  if (!library)
    chosen = &chooseVariant();
  areAddressesChecked = true;
}

void Call::checkWorkspace(const Plan &plan, uint64_t address,
                          uint64_t bytes) const {
  Mistakes mistakes(function);
  if (bytes < plan.workspaceBytes)
    mistakes.add("expected " + std::to_string(plan.workspaceBytes) +
                 " bytes of workspace, got " + std::to_string(bytes));
  std::string why =
      explainAddress(address, plan.workspaceBytes, kDeviceAlignment);
  if (!why.empty())
    mistakes.add("workspace: " + why);
  mistakes.check();
  for (size_t i = 0; i < arrays.size(); ++i)
    if (overlap(arrays[i].address, arrays[i].bytes, address,
                plan.workspaceBytes))
      mistakes.add("workspace and argument " +
                   quote(function.arguments[i].name) + " overlap");
  mistakes.check();
}

Cells Call::makeCells(const Driver &driver, ContextModules &modules,
                      const PreparedLaunch &prepared,
                      uint64_t workspace) const {
  Cells cells{prepared.parameters, {}};
  for (size_t i = 0; i < cells.words.size(); ++i) {
    const Parameter &parameter = prepared.launch->parameters[i];
    if (parameter.kind == Parameter::Argument)
      cells.words[i] = arrays[parameter.index].address;
    else if (parameter.kind == Parameter::Workspace)
      cells.words[i] = workspace + chosen->workspaceOffsets[parameter.index];
    if (!parameter.map)
      continue;
    const PreparedTensorMap &map = prepared.maps[cells.maps.size()];
    uint64_t zeros = map.isEmpty ? modules.getZeros(driver) : 0;
    cells.maps.push_back(map.encode(driver, cells.words[i], zeros));
  }
  return cells;
}

void Call::queue(const Driver &driver, const ContextModules &modules,
                 const PreparedLaunch &prepared, Cells &cells,
                 CUstream stream) const {
  const Launch &launch = *prepared.launch;
  std::vector<void *> parameters;
  size_t numMaps = 0;
  for (size_t i = 0; i < cells.words.size(); ++i)
    if (launch.parameters[i].map)
      parameters.push_back(&cells.maps[numMaps++]);
    else
      parameters.push_back(&cells.words[i]);
  const auto &grid = prepared.grid, &block = launch.block;
  CUfunction kernel = modules.getKernel(launch.kernel);
  CUresult result;
  if (launch.cluster == std::array<uint32_t, 3>{1, 1, 1}) {
    result = driver.launchKernel(kernel, grid[0], grid[1], grid[2], block[0],
                                 block[1], block[2], launch.sharedBytes, stream,
                                 parameters.data(), nullptr);
  } else {
    if (!driver.launchKernelEx)
      throw Error(MAMBA_STATUS_DRIVER, "the CUDA driver cannot launch clusters;"
                                       " they need CUDA 11.8");
    CUlaunchAttribute attribute{
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        {},
        {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
        {}};
    CUlaunchConfig config{{grid[0], grid[1], grid[2]},
                          {block[0], block[1], block[2]},
                          launch.sharedBytes,
                          stream,
                          &attribute,
                          1};
    result = driver.launchKernelEx(&config, kernel, parameters.data(), nullptr);
  }
  driver.check(result, function.name + ": " +
                           describe(function, *chosen->variant, launch));
}

void Call::runOnHost() const {
  // {allocated, aligned, offset, sizes.., strides..} of each array.
  std::vector<std::vector<int64_t>> descriptors;
  std::vector<void *> pointers;
  for (const Array &array : arrays) {
    size_t rank = array.sizes.size();
    std::vector<int64_t> &descriptor = descriptors.emplace_back(3 + 2 * rank);
    descriptor[0] = descriptor[1] = int64_t(array.address);
    std::copy(array.sizes.begin(), array.sizes.end(), descriptor.begin() + 3);
    std::copy(array.strides.begin(), array.strides.end(),
              descriptor.begin() + 3 + rank);
  }
  for (std::vector<int64_t> &descriptor : descriptors)
    pointers.push_back(descriptor.data());
  library->call(function, pointers);
}

void Call::launch(Modules &modules, void *workspace, uint64_t workspaceBytes,
                  CUstream stream) {
  check();
  if (library)
    return runOnHost();
  uint64_t address = reinterpret_cast<uintptr_t>(workspace);
  checkWorkspace(*plan, address, workspaceBytes);
  if (chosen->launches.empty())
    return;
  const Driver &driver = Driver::get();
  ContextScope scope(driver, stream);
  std::shared_ptr<ContextModules> loaded =
      modules.load(driver, scope.get(), function);
  // Nothing is queued if a tensor map is not accepted.
  std::vector<Cells> cells;
  for (const PreparedLaunch &launch : chosen->launches)
    cells.push_back(makeCells(driver, *loaded, launch, address));
  for (size_t i = 0; i < cells.size(); ++i)
    queue(driver, *loaded, chosen->launches[i], cells[i], stream);
}

} // namespace mamba::runtime
