//===- Manifest.cpp - Reads a bundle --------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"
#include "JsonReader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace mamba::runtime {
namespace {

/// Version 2 has tensor maps, variants and strides.
constexpr int64_t kVersion = 2;

std::string quote(const std::string &name) { return "'" + name + "'"; }

std::string readFile(const std::string &path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // An empty file sets failbit of `text`, a folder badbit of `file`.
  if (!file.is_open() || !(text << file.rdbuf()) || file.bad())
    throw Error(MAMBA_STATUS_BUNDLE,
                "cannot read " + path + ": " +
                    (errno ? std::strerror(errno) : "the file is empty"));
  return text.str();
}

size_t readElementBytes(const JsonReader &json) {
  static const std::pair<const char *, size_t> dtypes[] = {
      {"bf16", 2}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"i1", 1},
      {"i8", 1},   {"i16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1},
      {"u16", 2},  {"u32", 4}, {"u64", 8}};
  std::string name = json.string();
  for (auto [dtype, bytes] : dtypes)
    if (dtype == name)
      return bytes;
  json.fail("unknown dtype " + quote(name));
}

mamba_role readRole(const JsonReader &json) {
  std::string role = json.string();
  if (role == "input")
    return MAMBA_ROLE_INPUT;
  if (role == "output")
    return MAMBA_ROLE_OUTPUT;
  if (role == "inout")
    return MAMBA_ROLE_INOUT;
  json.fail("expected input, output or inout, got " + quote(role));
}

/// A bundle refers to nothing outside of its folder.
std::string readFileName(const JsonReader &json) {
  std::string name = json.string();
  if (name.empty() || name[0] == '.' ||
      name.find_first_of("/\\") != std::string::npos)
    json.fail("expected the name of a file, got " + quote(name));
  return name;
}

/// Reads a function; kernels and PTX files are added to `manifest`.
class FunctionReader {
public:
  FunctionReader(Manifest &manifest, const JsonReader &json)
      : manifest(manifest), json(json) {}

  Function read() {
    function.index = manifest.functions.size();
    function.name = json.get("name").string();
    readSymbols();
    for (const JsonReader &entry : json.get("arguments").elements())
      readArgument(entry);
    readSources();
    for (const JsonReader &entry : json.elementsOf("constraints"))
      function.constraints.push_back(entry.annotate(
          [&] { return Constraint::parse(entry.string(), function.symbols); }));
    if (manifest.library.empty())
      readVariants();
    function.operations =
        json.has("operations") ? json.get("operations").dump() : "[]";
    return std::move(function);
  }

private:
  Expression readExpression(const JsonReader &entry) const {
    if (entry.isInteger())
      return Expression::constant(entry.integer(INT64_MIN, INT64_MAX));
    return entry.annotate(
        [&] { return Expression::parse(entry.string(), function.symbols); });
  }

  void readSymbols() {
    if (json.has("sizes"))
      for (const auto &[symbol, source] : json.get("sizes").members())
        function.symbols.push_back(symbol);
  }

  void readSources() {
    if (!json.has("sizes"))
      return checkStrides();
    for (const auto &[symbol, source] : json.get("sizes").members()) {
      std::string name = source.get("argument").string();
      const Argument *argument = function.findArgument(name);
      if (!argument || argument->role == MAMBA_ROLE_OUTPUT)
        source.fail("size " + quote(symbol) + " comes from " + quote(name) +
                    ", which is not an input");
      bool isStride = source.has("stride");
      int64_t axis =
          source.get(isStride ? "stride" : "axis").integer(0, INT64_MAX);
      if (size_t(axis) >= argument->shape.size())
        source.fail(quote(name) + " has no axis " + std::to_string(axis));
      if (isStride && (argument->strides.empty() ||
                       argument->strides[axis].str() != symbol))
        source.fail("stride " + std::to_string(axis) + " of " + quote(name) +
                    " is not " + quote(symbol));
      function.sources.push_back({size_t(argument - function.arguments.data()),
                                  size_t(axis), isStride});
    }
    checkStrides();
  }

  /// A stride that is no constant is a symbol that only this stride gives.
  void checkStrides() {
    for (const Argument &argument : function.arguments)
      for (size_t axis = 0; axis < argument.strides.size(); ++axis) {
        const Expression &stride = argument.strides[axis];
        bool isGiven = stride.getConstant().has_value();
        for (const SizeSource &source : function.sources)
          isGiven |= source.isStride && source.axis == axis &&
                     &function.arguments[source.argument] == &argument;
        if (!isGiven)
          json.get("arguments")
              .fail("stride " + std::to_string(axis) + " of " +
                    quote(argument.name) +
                    " is neither a number nor a size that it gives");
      }
  }

  void readVariants() {
    if (!json.has("variants"))
      return readVariant(json);
    for (const JsonReader &entry : json.get("variants").elements())
      readVariant(entry);
    if (function.variants.empty())
      json.get("variants").fail("expected at least one");
  }

  /// The fields are the function's own if there is one variant.
  void readVariant(const JsonReader &entry) {
    variant = Variant();
    for (const JsonReader &demand : entry.elementsOf("requires"))
      variant.demands.push_back(
          {findArgument(demand), readAlignment(demand.get("alignment"))});
    std::set<std::string> names;
    for (const JsonReader &space : entry.elementsOf("workspace")) {
      variant.workspace.push_back(
          {space.get("name").string(), readExpression(space.get("bytes"))});
      const std::string &name = variant.workspace.back().name;
      if (!names.insert(name).second)
        space.fail("workspace " + quote(name) + " occurs twice");
    }
    for (const JsonReader &launch : entry.get("launches").elements())
      readLaunch(launch);
    function.variants.push_back(std::move(variant));
  }

  static uint64_t readAlignment(const JsonReader &entry) {
    int64_t alignment = entry.integer(1, 256);
    if (alignment & (alignment - 1))
      entry.fail("expected a power of two, got " + std::to_string(alignment));
    return uint64_t(alignment);
  }

  /// Of the argument that a field names.
  size_t findArgument(const JsonReader &entry) const {
    std::string name = entry.get("argument").string();
    const Argument *argument = function.findArgument(name);
    if (!argument)
      entry.fail("there is no argument " + quote(name));
    return size_t(argument - function.arguments.data());
  }

  void readArgument(const JsonReader &entry) {
    Argument argument;
    argument.name = entry.get("name").string();
    argument.dtype = entry.get("dtype").string();
    argument.elementBytes = readElementBytes(entry.get("dtype"));
    argument.role = readRole(entry.get("role"));
    argument.alignment = kDeviceAlignment;
    if (entry.has("alignment"))
      argument.alignment = readAlignment(entry.get("alignment"));
    if (argument.role != MAMBA_ROLE_INPUT)
      argument.result =
          entry.has("result") ? entry.get("result").string() : argument.name;
    for (const JsonReader &size : entry.get("shape").elements()) {
      argument.shape.push_back(readExpression(size));
      if (argument.shape.back().getConstant().value_or(0) < 0)
        size.fail("negative size");
    }
    for (const JsonReader &stride : entry.elementsOf("strides")) {
      argument.strides.push_back(readExpression(stride));
      if (argument.strides.back().getConstant().value_or(0) < 0)
        stride.fail("negative stride");
    }
    if (!argument.strides.empty()) {
      if (argument.strides.size() != argument.shape.size())
        entry.get("strides").fail(
            "expected " + std::to_string(argument.shape.size()) +
            " strides, got " + std::to_string(argument.strides.size()));
      if (argument.role != MAMBA_ROLE_INPUT)
        entry.get("strides").fail("expected strides of inputs only");
    }
    if (function.findArgument(argument.name))
      entry.fail("argument " + quote(argument.name) + " occurs twice");
    function.arguments.push_back(std::move(argument));
  }

  std::array<uint32_t, 3> readThree(const JsonReader &entry) const {
    std::array<uint32_t, 3> result;
    std::vector<JsonReader> elements = entry.elements();
    if (elements.size() != 3)
      entry.fail("expected three numbers");
    for (size_t i = 0; i < 3; ++i)
      result[i] = uint32_t(elements[i].integer(1, 1024));
    return result;
  }

  void readLaunch(const JsonReader &entry) {
    Launch launch;
    std::vector<JsonReader> grid = entry.get("grid").elements();
    if (grid.size() != 3)
      entry.get("grid").fail("expected three expressions");
    for (size_t i = 0; i < 3; ++i)
      launch.grid[i] = readExpression(grid[i]);
    launch.block = readThree(entry.get("block"));
    launch.cluster = {1, 1, 1};
    if (entry.has("cluster"))
      launch.cluster = readThree(entry.get("cluster"));
    launch.sharedBytes =
        uint32_t(entry.get("shared_bytes").integer(0, INT32_MAX));
    launch.kernel =
        getKernel(entry.get("kernel").string(), readPtx(entry.get("ptx")));
    Kernel &kernel = manifest.kernels[launch.kernel];
    kernel.sharedBytes = std::max(kernel.sharedBytes, launch.sharedBytes);
    kernel.clusterBlocks =
        std::max(kernel.clusterBlocks,
                 launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
    for (const JsonReader &parameter : entry.get("parameters").elements())
      launch.parameters.push_back(readParameter(parameter));
    variant.launches.push_back(std::move(launch));
  }

  Parameter readParameter(const JsonReader &entry) const {
    std::string kind = entry.get("kind").string();
    if (kind == "i64")
      return {Parameter::Value, 0, readExpression(entry.get("value")), {}};
    if (kind != "pointer" && kind != "tensor_map")
      entry.fail("unknown kind of parameter " + quote(kind));
    Parameter parameter = readPointer(entry);
    if (kind == "tensor_map")
      parameter.map = TensorMap::read(entry, [&](const JsonReader &expression) {
        return readExpression(expression);
      });
    return parameter;
  }

  Parameter readPointer(const JsonReader &entry) const {
    Parameter parameter;
    if (entry.has("argument")) {
      parameter.kind = Parameter::Argument;
      parameter.index = findArgument(entry);
      return parameter;
    }
    parameter.kind = Parameter::Workspace;
    std::string name = entry.get("workspace").string();
    for (size_t i = 0; i < variant.workspace.size(); ++i)
      if (variant.workspace[i].name == name) {
        parameter.index = i;
        return parameter;
      }
    entry.fail("there is no workspace " + quote(name));
  }

  /// The index of a PTX file, to be read if it is new.
  size_t readPtx(const JsonReader &entry) {
    std::string name = readFileName(entry);
    for (size_t i = 0; i < manifest.ptxFiles.size(); ++i)
      if (manifest.ptxFiles[i].name == name)
        return i;
    manifest.ptxFiles.push_back({name, ""});
    return manifest.ptxFiles.size() - 1;
  }

  size_t getKernel(const std::string &name, size_t ptx) {
    for (size_t i = 0; i < manifest.kernels.size(); ++i)
      if (manifest.kernels[i].name == name && manifest.kernels[i].ptx == ptx)
        return i;
    Kernel kernel;
    kernel.name = name;
    kernel.ptx = ptx;
    manifest.kernels.push_back(kernel);
    return manifest.kernels.size() - 1;
  }

  Manifest &manifest;
  const JsonReader &json;
  Function function;
  /// The one that is being read.
  Variant variant;
};

void setInfos(Function &function) {
  for (Argument &argument : function.arguments) {
    for (const Expression &size : argument.shape)
      argument.shapeTexts.push_back(size.str().c_str());
    for (const Expression &stride : argument.strides)
      argument.strideTexts.push_back(stride.str().c_str());
    argument.info = {
        argument.name.c_str(),
        argument.dtype.c_str(),
        argument.role,
        argument.role == MAMBA_ROLE_INPUT ? nullptr : argument.result.c_str(),
        argument.shape.size(),
        argument.shapeTexts.data(),
        argument.elementBytes,
        argument.strides.empty() ? nullptr : argument.strideTexts.data(),
        argument.alignment};
  }
}

} // namespace

const Argument *Function::findArgument(const std::string &name) const {
  for (const Argument &argument : arguments)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

Manifest readManifest(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  std::string text = readFile(path);
  JsonReader::Json json;
  try {
    json = JsonReader::Json::parse(text);
  } catch (const JsonReader::Json::exception &error) {
    throw Error(MAMBA_STATUS_BUNDLE, path + " is not JSON: " + error.what());
  }
  JsonReader top(json, path);
  JsonReader version = top.get("version");
  version.integer(1, kVersion);
  Manifest manifest;
  manifest.target = top.get("target").string();
  if (manifest.target == "cpu")
    manifest.library = folder + "/" + readFileName(top.get("library"));
  std::set<std::string> names;
  for (const JsonReader &entry : top.get("functions").elements()) {
    manifest.functions.push_back(FunctionReader(manifest, entry).read());
    if (!names.insert(manifest.functions.back().name).second)
      entry.fail("function " + quote(manifest.functions.back().name) +
                 " occurs twice");
  }
  for (PtxFile &file : manifest.ptxFiles)
    file.text = readFile(folder + "/" + file.name);
  return manifest;
}

void setInfos(Manifest &manifest) {
  for (Function &function : manifest.functions)
    setInfos(function);
}

} // namespace mamba::runtime
