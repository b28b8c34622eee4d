//===- FunctionCall.cpp - One function of a manifest, with arrays ---------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionCall.h"

#include "mamba/Driver/Npy.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;

namespace mamba::sim {

ArrayRef<json::Value> getElements(const json::Object &object, StringRef key) {
  const json::Array *array = object.getArray(key);
  if (!array)
    return {};
  return ArrayRef(array->data(), array->size());
}

static std::string getExpression(const json::Value &value) {
  if (std::optional<int64_t> number = value.getAsInteger())
    return std::to_string(*number);
  return value.getAsString().value_or("").str();
}

Error FunctionCall::readArguments(const json::Object &function) {
  for (const json::Value &value : getElements(function, "arguments")) {
    const json::Object *entry = value.getAsObject();
    if (!entry)
      return createStringError("manifest: expected objects in 'arguments'");
    Argument argument;
    argument.name = entry->getString("name").value_or("").str();
    argument.result = entry->getString("result").value_or(argument.name).str();
    StringRef role = entry->getString("role").value_or("input");
    argument.role = role == "output"  ? BufferRole::Output
                    : role == "inout" ? BufferRole::InOut
                                      : BufferRole::Input;
    argument.isPartial = entry->getBoolean("partial").value_or(false);
    StringRef dtype = entry->getString("dtype").value_or("");
    std::optional<Dtype> parsed = parseDtype(dtype);
    if (!parsed || argument.name.empty())
      return createStringError("manifest: argument '" + argument.name +
                               "' of unknown dtype '" + dtype + "'");
    argument.dtype = *parsed;
    for (const json::Value &size : getElements(*entry, "shape"))
      argument.shape.push_back(getExpression(size));
    arguments.push_back(std::move(argument));
  }
  return Error::success();
}

Error FunctionCall::bindArrays(std::vector<FunctionArray> arrays) {
  for (FunctionArray &given : arrays) {
    auto it = find_if(arguments, [&](const Argument &argument) {
      return argument.name == given.name && argument.role != BufferRole::Output;
    });
    if (it == arguments.end())
      return createStringError("there is no argument '" + given.name + "'");
    if (it->array)
      return createStringError("argument '" + given.name + "' is given twice");
    Dtype from = given.array.getDtype();
    bool narrows = from == Dtype::F32 &&
                   (it->dtype == Dtype::BF16 || it->dtype == Dtype::F16);
    if (from != it->dtype && !narrows)
      return createStringError(
          "argument '" + given.name + "' has type " + getDtypeName(it->dtype) +
          "; " + getNumpyName(from) + " elements do not serve it");
    Expected<HostArray> array = convertArray(std::move(given.array), it->dtype);
    if (!array)
      return array.takeError();
    it->array = std::move(*array);
  }
  for (const Argument &argument : arguments)
    if (!argument.array && argument.role != BufferRole::Output)
      return createStringError("argument '" + argument.name + "' is missing");
  return Error::success();
}

Error FunctionCall::computeSizes(const json::Object &function,
                                 const StringMap<int64_t> &overrides) {
  if (const json::Object *symbols = function.getObject("sizes"))
    for (const auto &[symbol, value] : *symbols) {
      const json::Object *source = value.getAsObject();
      if (!source)
        continue;
      StringRef name = source->getString("argument").value_or("");
      std::optional<int64_t> strideAxis = source->getInteger("stride");
      int64_t axis =
          strideAxis ? *strideAxis : source->getInteger("axis").value_or(0);
      auto it = find_if(arguments, [&](const Argument &argument) {
        return argument.name == name;
      });
      if (it == arguments.end() || !it->array)
        return createStringError("manifest: size '" + StringRef(symbol) +
                                 "' comes from '" + name +
                                 "', which is no input");
      ArrayRef<int64_t> shape = it->array->getShape();
      if (axis < 0 || axis >= int64_t(shape.size()))
        return createStringError("argument '" + name + "' has shape " +
                                 formatShape(shape) + ", expected " +
                                 Twine(it->shape.size()) + " axes");
      sizes[StringRef(symbol)] =
          strideAxis ? product_of(shape.drop_front(axis + 1), int64_t(1))
                     : shape[axis];
    }
  for (const auto &entry : overrides)
    sizes[entry.getKey()] = entry.getValue();
  for (const json::Value &constraint : getElements(function, "constraints")) {
    Expected<int64_t> holds = evaluate(getExpression(constraint), sizes);
    if (!holds)
      return holds.takeError();
    if (!*holds)
      return createStringError("the sizes do not satisfy " +
                               getExpression(constraint));
  }
  return Error::success();
}

Error FunctionCall::placeArguments() {
  for (Argument &argument : arguments) {
    SmallVector<int64_t> shape;
    for (StringRef expression : argument.shape) {
      Expected<int64_t> size = evaluate(expression, sizes);
      if (!size)
        return size.takeError();
      if (*size < 0)
        return createStringError("argument '" + argument.name +
                                 "' has a negative size");
      shape.push_back(*size);
    }
    if (!argument.array) {
      Expected<HostArray> array = HostArray::create(argument.dtype, shape);
      if (!array)
        return array.takeError();
      // NaN in every float type, so that what nothing wrote is seen.
      std::memset(array->getData(), 0xff, array->getNumBytes());
      argument.array = std::move(*array);
    } else if (argument.array->getShape() != ArrayRef<int64_t>(shape)) {
      return createStringError("argument '" + argument.name + "' has shape " +
                               formatShape(argument.array->getShape()) +
                               ", expected " + formatShape(shape));
    }
    argument.address = device.add(argument.name, argument.array->getData(),
                                  argument.array->getNumBytes(), argument.role,
                                  getDtypeSize(argument.dtype));
  }
  return Error::success();
}

/// What has the workspace and the launches: the first variant, if there are
/// several.
static const json::Object &getVariant(const json::Object &function) {
  const json::Array *variants = function.getArray("variants");
  const json::Object *first = variants && !variants->empty()
                                  ? variants->front().getAsObject()
                                  : nullptr;
  return first ? *first : function;
}

Error FunctionCall::placeWorkspace(const json::Object &function) {
  for (const json::Value &value :
       getElements(getVariant(function), "workspace")) {
    const json::Object *entry = value.getAsObject();
    if (!entry)
      return createStringError("manifest: expected objects in 'workspace'");
    std::string name = entry->getString("name").value_or("").str();
    Expected<int64_t> bytes = getInteger(entry->get("bytes"), 0);
    if (!bytes)
      return bytes.takeError();
    if (*bytes < 0)
      return createStringError("workspace '" + name + "' has a negative size");
    workspace[name] = device.allocate(name, *bytes, BufferRole::Output);
  }
  return Error::success();
}

Error FunctionCall::prepare(const json::Object &function,
                            std::vector<FunctionArray> arrays,
                            const StringMap<int64_t> &overrides) {
  if (Error error = readArguments(function))
    return error;
  if (Error error = bindArrays(std::move(arrays)))
    return error;
  if (Error error = computeSizes(function, overrides))
    return error;
  if (Error error = placeArguments())
    return error;
  return placeWorkspace(function);
}

Expected<int64_t> FunctionCall::getInteger(const json::Value *value,
                                           int64_t missing) const {
  if (!value)
    return missing;
  return evaluate(getExpression(*value), sizes);
}

template <typename T> static std::vector<uint8_t> getBytes(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::optional<uint64_t>
FunctionCall::findAddress(const json::Object &parameter) const {
  if (std::optional<StringRef> name = parameter.getString("argument"))
    for (const Argument &argument : arguments)
      if (argument.name == *name)
        return argument.address;
  if (std::optional<StringRef> name = parameter.getString("workspace"))
    if (auto it = workspace.find(name->str()); it != workspace.end())
      return it->second;
  return std::nullopt;
}

Expected<std::vector<uint8_t>>
FunctionCall::makeParameter(const json::Object &parameter) {
  StringRef kind = parameter.getString("kind").value_or("");
  if (kind == "pointer" || kind == "tensor_map") {
    std::optional<uint64_t> address = findAddress(parameter);
    if (!address)
      return createStringError("manifest: a " +
                               Twine(kind == "pointer" ? kind : "tensor map") +
                               " to nothing that is known");
    return kind == "pointer" ? getBytes(*address)
                             : makeTensorMap(parameter, *address);
  }
  const json::Value *value = parameter.get("value");
  if (kind == "f32" && value && value->getAsNumber())
    return getBytes(float(*value->getAsNumber()));
  if (kind == "f64" && value && value->getAsNumber())
    return getBytes(double(*value->getAsNumber()));
  if (kind != "i64" && kind != "i32")
    return createStringError("manifest: a parameter of unknown kind '" + kind +
                             "'");
  Expected<int64_t> number = getInteger(value, 0);
  if (!number)
    return number.takeError();
  return kind == "i64" ? getBytes(*number) : getBytes(int32_t(*number));
}

/// Up to three sizes; those that are missing are 1.
Error FunctionCall::runLaunch(const json::Object &launch, LaunchOptions options,
                              FunctionRun &run) {
  StringRef kernel = launch.getString("kernel").value_or("");
  auto readSizes = [&](StringRef key,
                       std::array<unsigned, 3> &result) -> Error {
    for (auto [axis, value] : enumerate(getElements(launch, key))) {
      Expected<int64_t> size = getInteger(&value, 1);
      if (!size)
        return size.takeError();
      if (axis >= 3 || *size < 0 || *size > INT32_MAX)
        return createStringError("kernel '" + kernel + "': " + key + " size " +
                                 Twine(*size));
      result[axis] = *size;
    }
    return Error::success();
  };
  options.grid = options.block = {1, 1, 1};
  if (Error error = readSizes("grid", options.grid))
    return error;
  if (Error error = readSizes("block", options.block))
    return error;
  options.cluster = {1, 1, 1};
  if (Error error = readSizes("cluster", options.cluster))
    return error;
  if (is_contained(options.grid, 0u))
    return Error::success();
  Expected<int64_t> shared = getInteger(launch.get("shared_bytes"), 0);
  if (!shared)
    return shared.takeError();
  options.dynamicSharedBytes = *shared;

  std::string ptx = launch.getString("ptx").value_or("").str();
  auto it = programs.find(ptx);
  if (it == programs.end()) {
    Expected<Program> program = loadProgram(ptx);
    if (!program)
      return program.takeError();
    it = programs.emplace(ptx, std::move(*program)).first;
  }
  std::vector<std::vector<uint8_t>> parameters;
  for (const json::Value &value : getElements(launch, "parameters")) {
    const json::Object *parameter = value.getAsObject();
    if (!parameter)
      return createStringError("manifest: expected objects in 'parameters'");
    Expected<std::vector<uint8_t>> bytes = makeParameter(*parameter);
    if (!bytes)
      return bytes.takeError();
    parameters.push_back(std::move(*bytes));
  }
  Expected<LaunchResult> result =
      it->second.launch(kernel, options, parameters);
  if (!result)
    return result.takeError();
  append_range(run.findings, std::move(result->findings));
  run.launches.push_back({kernel.str(), options.grid, result->counters});
  return Error::success();
}

void FunctionCall::checkOutputs(FunctionRun &run, StringRef function) {
  for (const Argument &argument : arguments) {
    if (argument.role != BufferRole::Output || argument.isPartial)
      continue;
    Device::Unwritten unwritten = device.getUnwritten(argument.address);
    if (!unwritten.count)
      continue;
    Finding finding;
    finding.kind = FindingKind::UnwrittenResult;
    finding.kernel = function.str();
    finding.line = 0;
    finding.message =
        (Twine(unwritten.count) + " bytes of '" + argument.name +
         "' were not written, the first is byte " + Twine(unwritten.first))
            .str();
    run.findings.push_back(std::move(finding));
  }
}

Expected<FunctionRun> FunctionCall::run(const json::Object &function,
                                        const LaunchOptions &options) {
  FunctionRun run;
  for (const json::Value &value :
       getElements(getVariant(function), "launches")) {
    const json::Object *launch = value.getAsObject();
    if (!launch)
      return createStringError("manifest: expected objects in 'launches'");
    if (Error error = runLaunch(*launch, options, run))
      return std::move(error);
  }
  if (options.sanitize)
    checkOutputs(run, function.getString("name").value_or(""));
  for (Argument &argument : arguments)
    if (argument.role != BufferRole::Input)
      run.results.push_back({argument.result, std::move(*argument.array)});
  return run;
}

} // namespace mamba::sim
