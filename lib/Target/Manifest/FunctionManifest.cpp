//===- FunctionManifest.cpp - How a bundle runs one function --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleContents.h"
#include "HostSizes.h"
#include "Kernels.h"
#include "TensorMaps.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/Pitches.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace json = llvm::json;

namespace mamba {

std::string getDtype(Type type) {
  if (isa<BFloat16Type>(type))
    return "bf16";
  if (auto floatType = dyn_cast<FloatType>(type))
    return type.isF16() || type.isF32() || type.isF64()
               ? "f" + std::to_string(floatType.getWidth())
               : "";
  if (auto intType = dyn_cast<IntegerType>(type))
    if (intType.getWidth() == 1 ||
        (intType.getWidth() % 8 == 0 &&
         llvm::isPowerOf2_32(intType.getWidth()) && intType.getWidth() <= 64))
      return (intType.isUnsigned() ? "u" : "i") +
             std::to_string(intType.getWidth());
  return "";
}

namespace {

class FunctionDescriber {
public:
  FunctionDescriber(func::FuncOp function, const Target &target,
                    PtxFiles &files)
      : function(function), target(target), files(files) {}

  FailureOr<json::Value> describe();
  /// Without how it is run: no workspace and no launches.
  FailureOr<json::Object> describeInterface();

private:
  LogicalResult describeArgument(BlockArgument argument);
  json::Array describeStrides(BlockArgument argument, StringRef name);
  LogicalResult describeAlloc(memref::AllocOp alloc);
  LogicalResult describeLaunch(gpu::LaunchFuncOp launch);
  FailureOr<json::Value> describeParameter(gpu::LaunchFuncOp launch,
                                           unsigned index);
  FailureOr<json::Value> describePointer(gpu::LaunchFuncOp launch,
                                         unsigned index, Value operand);
  /// {"argument": name} or {"workspace": name} of a memref that starts there.
  std::optional<json::Object> lookupBuffer(Value memref);
  void noteAlignment(const json::Object &parameter, const KernelInfo &kernel,
                     unsigned index);
  void setAlignments(json::Array &arguments);
  /// The name given to a size by `mamba.dims`, or "".
  StringRef getGivenSizeName(unsigned index, unsigned axis);
  std::string getSizeName(unsigned index, unsigned axis);
  FailureOr<std::array<int64_t, 3>> getConstants(gpu::LaunchFuncOp launch,
                                                 gpu::KernelDim3 values,
                                                 StringRef what);
  FailureOr<int64_t> getSharedBytes(gpu::LaunchFuncOp launch,
                                    const KernelInfo &kernel);
  LogicalResult checkBlock(gpu::LaunchFuncOp launch, const KernelInfo &kernel,
                           const std::array<int64_t, 3> &block);

  func::FuncOp function;
  const Target &target;
  PtxFiles &files;

  HostSizes sizes;
  /// {"argument": name} or {"workspace": name} of every buffer.
  llvm::DenseMap<Value, std::pair<StringRef, std::string>> buffers;
  /// What the launches demand of the addresses of arguments.
  llvm::StringMap<int64_t> alignments;
  llvm::StringSet<> argumentNames, givenSizeNames;
  unsigned numResults = 0;
  unsigned numSymbols = 0;
  json::Array arguments, workspace, launches, pitchConstraints;
  json::Object symbols;
};

StringRef FunctionDescriber::getGivenSizeName(unsigned index, unsigned axis) {
  auto dims = function.getArgAttrOfType<ArrayAttr>(index, kDimsAttrName);
  if (!dims || axis >= dims.size() || !isa<StringAttr>(dims[axis]))
    return "";
  return cast<StringAttr>(dims[axis]).getValue();
}

std::string FunctionDescriber::getSizeName(unsigned index, unsigned axis) {
  StringRef given = getGivenSizeName(index, axis);
  if (!given.empty())
    return given.str();
  std::string name;
  do
    name = "d" + std::to_string(numSymbols++);
  while (givenSizeNames.contains(name));
  return name;
}

LogicalResult FunctionDescriber::describeArgument(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto type = dyn_cast<MemRefType>(argument.getType());
  std::string dtype = type ? getDtype(type.getElementType()) : "";
  if (dtype.empty() || !getNumPitches(type))
    return function.emitOpError("expected argument ")
           << index << " to be a contiguous memref of a float or integer type, "
           << "but for its leading strides, got " << argument.getType();

  bool isResult = !!function.getArgAttr(index, kResultAttrName);
  auto updated = function.getArgAttrOfType<StringAttr>(index, kUpdatedAttrName);
  std::string name = isResult ? "result" + std::to_string(numResults++)
                              : "arg" + std::to_string(index);
  if (auto given = function.getArgAttrOfType<StringAttr>(index, kNameAttrName))
    name = given.str();
  if (!argumentNames.insert(name).second)
    return function.emitOpError("expected different names of arguments, got '")
           << name << "' twice";
  buffers[argument] = {"argument", name};

  json::Array shape;
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    std::string symbol = getSizeName(index, axis);
    sizes.defineSymbol(argument, axis, symbol);
    // A result's number of chunks is an expression of other sizes.
    if (!StringRef(symbol).contains('('))
      symbols.try_emplace(symbol,
                          json::Object{{"argument", name},
                                       {"axis", static_cast<int64_t>(axis)}});
    shape.push_back(symbol);
  }
  json::Object object{{"name", name},
                      {"dtype", dtype},
                      {"shape", std::move(shape)},
                      {"role", isResult  ? "output"
                               : updated ? "inout"
                                         : "input"}};
  if (updated)
    object["result"] = updated.str();
  if (!type.getLayout().isIdentity())
    object["strides"] = describeStrides(argument, name);
  arguments.push_back(std::move(object));
  return success();
}

json::Array FunctionDescriber::describeStrides(BlockArgument argument,
                                               StringRef name) {
  auto type = cast<MemRefType>(argument.getType());
  json::Array result;
  for (auto [axis, stride] :
       llvm::enumerate(type.getStridesAndOffset().first)) {
    if (!ShapedType::isDynamic(stride)) {
      result.push_back(stride);
      continue;
    }
    std::string symbol = ("_" + name + "_pitch_" + llvm::Twine(axis)).str();
    std::replace_if(
        symbol.begin(), symbol.end(), [](char c) { return !llvm::isAlnum(c); },
        '_');
    if (llvm::isAlpha(symbol[1]))
      symbol.erase(symbol.begin());
    while (givenSizeNames.contains(symbol) || symbols.get(symbol))
      symbol += '_';
    sizes.defineStride(argument, axis, symbol);
    symbols.try_emplace(symbol,
                        json::Object{{"argument", name.str()},
                                     {"stride", static_cast<int64_t>(axis)}});
    result.push_back(symbol);
    int64_t unit = getPitchUnit(type);
    if (target.isGpu() && unit != 1)
      pitchConstraints.push_back(
          ("mod(" + symbol + ", " + llvm::Twine(unit) + ") == 0").str());
  }
  return result;
}

LogicalResult FunctionDescriber::describeAlloc(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  std::string dtype = getDtype(type.getElementType());
  if (dtype.empty() || !type.getLayout().isIdentity())
    return alloc.emitOpError("expected a contiguous memref of a float or "
                             "integer type as workspace, got ")
           << type;
  // Static sizes are multiplied first, so that one number is left of them.
  SizeExpression bytes = SizeExpression::constant(
      llvm::divideCeil(type.getElementTypeBitWidth(), 8));
  SizeExpression dynamic = SizeExpression::constant(1);
  for (auto [axis, staticSize] : llvm::enumerate(type.getShape())) {
    FailureOr<SizeExpression> size =
        sizes.evaluateDim(alloc, alloc.getResult(), axis);
    if (failed(size))
      return failure();
    SizeExpression &product =
        ShapedType::isDynamic(staticSize) ? dynamic : bytes;
    product = product * *size;
  }
  bytes = dynamic * bytes;
  std::string name = "w" + std::to_string(workspace.size());
  buffers[alloc.getResult()] = {"workspace", name};
  workspace.push_back(json::Object{{"name", name}, {"bytes", bytes.str()}});
  return success();
}

std::optional<json::Object> FunctionDescriber::lookupBuffer(Value memref) {
  // A layout without offset says so, and a reinterpret_cast counts offsets from
  // the start of the buffer.
  if (!cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return std::nullopt;
  Value buffer = stripMemRefCasts(memref);
  while (auto cast = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    buffer = stripMemRefCasts(cast.getSource());
  auto it = buffers.find(buffer);
  if (it == buffers.end())
    return std::nullopt;
  return json::Object{{it->second.first, it->second.second}};
}

FailureOr<json::Value>
FunctionDescriber::describePointer(gpu::LaunchFuncOp launch, unsigned index,
                                   Value operand) {
  auto type = cast<MemRefType>(operand.getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return launch.emitOpError("expected operand ")
           << index
           << " to be a contiguous memref of rank 0 or static shape, got "
           << type;
  std::optional<json::Object> parameter = lookupBuffer(operand);
  if (!parameter)
    return launch.emitOpError("expected operand ")
           << index
           << " to be the start of an argument or of an allocation of the "
              "function";
  (*parameter)["kind"] = "pointer";
  return json::Value(std::move(*parameter));
}

FailureOr<json::Value>
FunctionDescriber::describeParameter(gpu::LaunchFuncOp launch, unsigned index) {
  Value operand = launch.getKernelOperand(index);
  if (isa<MemRefType>(operand.getType()))
    return describePointer(launch, index, operand);
  if (auto map = operand.getDefiningOp<TensorMapOp>()) {
    std::optional<json::Object> buffer = lookupBuffer(map.getBase());
    if (!buffer)
      return map.emitOpError("expected the base to be the start of an argument "
                             "or of an allocation of the function");
    return describeTensorMap(map, std::move(*buffer), sizes);
  }
  if (!operand.getType().isIndex() && !operand.getType().isInteger(64))
    return launch.emitOpError("expected operand ")
           << index
           << " to be a memref, an index, an i64 or a "
              "mamba.tensor_map, got "
           << operand.getType();
  FailureOr<SizeExpression> value = sizes.evaluate(operand);
  if (failed(value))
    return failure();
  return json::Value(json::Object{{"kind", "i64"}, {"value", value->str()}});
}

FailureOr<std::array<int64_t, 3>>
FunctionDescriber::getConstants(gpu::LaunchFuncOp launch,
                                gpu::KernelDim3 values, StringRef what) {
  std::array<int64_t, 3> result;
  for (auto [value, constant] :
       llvm::zip_equal(ArrayRef<Value>{values.x, values.y, values.z}, result)) {
    FailureOr<SizeExpression> size = sizes.evaluate(value);
    if (failed(size))
      return failure();
    if (!size->getConstant())
      return launch.emitOpError("expected a constant ")
             << what << " size, got '" << size->str() << "'";
    constant = *size->getConstant();
  }
  return result;
}

LogicalResult
FunctionDescriber::checkBlock(gpu::LaunchFuncOp launch,
                              const KernelInfo &kernel,
                              const std::array<int64_t, 3> &block) {
  auto print = [](const std::array<int64_t, 3> &sizes) {
    return llvm::formatv("{0}x{1}x{2}", sizes[0], sizes[1], sizes[2]).str();
  };
  if (kernel.blockSize && *kernel.blockSize != block)
    return launch.emitOpError("expected blocks of ")
           << print(*kernel.blockSize)
           << " threads, as the kernel requires, got " << print(block);
  int64_t threads = block[0] * block[1] * block[2];
  if (threads < 1 || threads > target.limits.threadsPerBlock)
    return launch.emitOpError("expected 1 to ")
           << target.limits.threadsPerBlock << " threads in a block, got "
           << print(block);
  return success();
}

FailureOr<int64_t> FunctionDescriber::getSharedBytes(gpu::LaunchFuncOp launch,
                                                     const KernelInfo &kernel) {
  int64_t bytes = kernel.sharedBytes.value_or(0);
  if (Value operand = launch.getDynamicSharedMemorySize()) {
    FailureOr<SizeExpression> size = sizes.evaluate(operand);
    if (failed(size))
      return failure();
    if (!size->getConstant() ||
        (kernel.sharedBytes && *kernel.sharedBytes != *size->getConstant()))
      return launch.emitOpError("expected the dynamic shared memory size to be "
                                "constant and to agree with '")
             << kSharedBytesAttrName << "' of the kernel";
    bytes = *size->getConstant();
  }
  if (bytes < 0 || bytes > target.limits.sharedBytesPerBlock)
    return launch.emitOpError("expected at most ")
           << target.limits.sharedBytesPerBlock
           << " bytes of dynamic shared memory, which is what a block of "
           << target.name << " can have, got " << bytes;
  return bytes;
}

/// What loaders demand of addresses unless the manifest says another.
static constexpr int64_t kUsualAlignment = 16;

void FunctionDescriber::noteAlignment(const json::Object &parameter,
                                      const KernelInfo &kernel,
                                      unsigned index) {
  std::optional<StringRef> argument = parameter.getString("argument");
  if (!argument)
    return;
  int64_t alignment = kUsualAlignment; // of tensor maps, too
  if (parameter.getString("kind") == "pointer" &&
      index < kernel.alignments.size() && kernel.alignments[index])
    alignment = kernel.alignments[index];
  int64_t &most = alignments[*argument];
  most = std::max(most, alignment);
}

void FunctionDescriber::setAlignments(json::Array &arguments) {
  for (json::Value &value : arguments) {
    json::Object &argument = *value.getAsObject();
    auto it = alignments.find(*argument.getString("name"));
    if (it != alignments.end() && it->second != kUsualAlignment)
      argument["alignment"] = it->second;
  }
}

LogicalResult FunctionDescriber::describeLaunch(gpu::LaunchFuncOp launch) {
  if (!launch.getAsyncDependencies().empty() || launch.getAsyncToken() ||
      launch.getAsyncObject())
    return launch.emitOpError("expected a launch without asynchronous tokens");
  FailureOr<KernelInfo> kernel = lookupKernel(launch);
  if (failed(kernel))
    return failure();
  if (kernel->numParameters != launch.getNumKernelOperands())
    return launch.emitOpError("expected ")
           << kernel->numParameters << " kernel operands, got "
           << launch.getNumKernelOperands();

  json::Array grid, parameters;
  gpu::KernelDim3 gridSizes = launch.getGridSizeOperandValues();
  for (Value value : {gridSizes.x, gridSizes.y, gridSizes.z}) {
    FailureOr<SizeExpression> size = sizes.evaluate(value);
    if (failed(size))
      return failure();
    grid.push_back(size->str());
  }
  FailureOr<std::array<int64_t, 3>> block =
      getConstants(launch, launch.getBlockSizeOperandValues(), "block");
  if (failed(block) || failed(checkBlock(launch, *kernel, *block)))
    return failure();
  std::array<int64_t, 3> cluster = {1, 1, 1};
  if (launch.hasClusterSize()) {
    auto given =
        getConstants(launch, launch.getClusterSizeOperandValues(), "cluster");
    if (failed(given))
      return failure();
    cluster = *given;
  }
  FailureOr<int64_t> sharedBytes = getSharedBytes(launch, *kernel);
  if (failed(sharedBytes))
    return failure();
  for (unsigned i = 0, e = launch.getNumKernelOperands(); i < e; ++i) {
    FailureOr<json::Value> parameter = describeParameter(launch, i);
    if (failed(parameter))
      return failure();
    noteAlignment(*parameter->getAsObject(), *kernel, i);
    parameters.push_back(std::move(*parameter));
  }
  launches.push_back(
      json::Object{{"kernel", launch.getKernelName().str()},
                   {"ptx", files.getName(kernel->module, function)},
                   {"grid", std::move(grid)},
                   {"block", json::Array(*block)},
                   {"cluster", json::Array(cluster)},
                   {"shared_bytes", *sharedBytes},
                   {"parameters", std::move(parameters)}});
  return success();
}

FailureOr<json::Object> FunctionDescriber::describeInterface() {
  if (function.getNumResults() != 0)
    return function.emitOpError("expected results to be passed as arguments "
                                "(see mamba-results-to-arguments)");
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected one block");
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      for (unsigned axis = 0, rank = type.getRank(); axis < rank; ++axis)
        givenSizeNames.insert(getGivenSizeName(argument.getArgNumber(), axis));
  for (BlockArgument argument : function.getArguments())
    if (failed(describeArgument(argument)))
      return failure();

  json::Object object{{"name", function.getName().str()},
                      {"arguments", std::move(arguments)},
                      {"sizes", std::move(symbols)}};
  json::Array texts;
  if (auto constraints =
          function->getAttrOfType<ArrayAttr>(kConstraintsAttrName))
    for (Attribute constraint : constraints) {
      auto text = dyn_cast<StringAttr>(constraint);
      if (!text)
        return function.emitOpError("expected '")
               << kConstraintsAttrName << "' to be an array of strings";
      texts.push_back(text.str());
    }
  llvm::append_range(texts, pitchConstraints);
  if (!texts.empty())
    object["constraints"] = std::move(texts);
  if (auto operations = function->getAttrOfType<ArrayAttr>(kOperationsAttrName))
    object["operations"] = describeOperations(operations);
  return object;
}

FailureOr<json::Value> FunctionDescriber::describe() {
  FailureOr<json::Object> object = describeInterface();
  if (failed(object))
    return failure();
  for (Operation &op : function.getBody().front()) {
    LogicalResult result = success();
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      result = describeAlloc(alloc);
    else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
      result = describeLaunch(launch);
    else if (!isa<memref::DeallocOp, func::ReturnOp>(op) &&
             !isMemoryEffectFree(&op))
      result = op.emitOpError("expected an operation that a manifest can "
                              "express: index arithmetic, an allocation or a "
                              "launch");
    if (failed(result))
      return failure();
  }

  setAlignments(*object->getArray("arguments"));
  (*object)["workspace"] = std::move(workspace);
  (*object)["launches"] = std::move(launches);
  return json::Value(std::move(*object));
}

} // namespace

FailureOr<json::Value> describeFunction(func::FuncOp function,
                                        const Target &target, PtxFiles &files) {
  return FunctionDescriber(function, target, files).describe();
}

FailureOr<json::Value> describeInterface(func::FuncOp function,
                                         const Target &target) {
  PtxFiles none;
  FailureOr<json::Object> object =
      FunctionDescriber(function, target, none).describeInterface();
  if (failed(object))
    return failure();
  return json::Value(std::move(*object));
}

} // namespace mamba
