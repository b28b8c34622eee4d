//===- Signature.cpp - Named arguments and results of a function ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Signature.h"

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::raw_string_ostream;
using llvm::Twine;

namespace mamba {

std::string Parameter::describeShape() const {
  std::string text;
  raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(dims, os, [&](const Dimension &dim) {
    if (!ShapedType::isDynamic(dim.size))
      os << dim.size;
    else
      os << (dim.label.empty() ? "?" : dim.label);
  });
  os << ']';
  return text;
}

//===----------------------------------------------------------------------===//
// Which dimensions agree
//===----------------------------------------------------------------------===//

namespace {

/// Joins dimensions of values that are equal by the meaning of the operations
/// of a function: first nodes are numbered, then joined, then symbols are read.
class DimensionClasses {
public:
  explicit DimensionClasses(func::FuncOp function) {
    for (Value argument : function.getArguments())
      addNodes(argument);
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        addNodes(result);
      addRoles(op);
    });
    classes.grow(sizes.size());
    for (auto [a, b] : joins)
      classes.join(a, b);
    classes.compress();
    symbolSizes.assign(classes.getNumClasses(), ShapedType::kDynamic);
    symbolLabels.resize(classes.getNumClasses());
    for (unsigned node = 0; node < sizes.size(); ++node) {
      if (!ShapedType::isDynamic(sizes[node]))
        symbolSizes[classes[node]] = sizes[node];
      std::string &label = symbolLabels[classes[node]];
      if (label.empty())
        label = labels[node];
    }
  }

  unsigned getNumSymbols() const { return classes.getNumClasses(); }

  std::vector<Dimension> getDimensions(Value value) const {
    std::vector<Dimension> dims;
    auto type = cast<RankedTensorType>(value.getType());
    unsigned first = firstNodes.at(value.getAsOpaquePointer());
    for (auto [index, size] : llvm::enumerate(type.getShape())) {
      unsigned symbol = classes[first + index];
      int64_t known = ShapedType::isDynamic(size) ? symbolSizes[symbol] : size;
      dims.push_back({known, symbol, symbolLabels[symbol]});
    }
    return dims;
  }

  std::vector<SizeRule> getRules() const {
    std::vector<SizeRule> result = rules;
    for (SizeRule &rule : result) {
      rule.first = classes[rule.first];
      rule.second = classes[rule.second];
    }
    return result;
  }

private:
  unsigned addNode(int64_t size, StringRef label = "") {
    sizes.push_back(size);
    labels.push_back(label);
    return sizes.size() - 1;
  }

  void addNodes(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    firstNodes[value.getAsOpaquePointer()] = sizes.size();
    for (int64_t size : type.getShape())
      addNode(size);
  }

  void addRoles(Operation *op) {
    if (auto cast = dyn_cast<tensor::CastOp>(op)) {
      joinAll(cast.getSource(), cast.getDest());
      return;
    }
    if (OpTrait::hasElementwiseMappableTraits(op)) {
      for (Value operand : op->getOperands())
        joinAll(operand, op->getResult(0));
      return;
    }
    std::map<Role, unsigned> roleNodes;
    for (const ShapedValue &shaped : getShapedValues(op)) {
      auto first = firstNodes.find(shaped.value.getAsOpaquePointer());
      for (auto [index, role] : llvm::enumerate(shaped.roles)) {
        auto [it, inserted] = roleNodes.try_emplace(role, 0);
        if (inserted)
          it->second = addNode(ShapedType::kDynamic, stringify(role));
        // Block arguments of nested regions have no nodes.
        if (first != firstNodes.end())
          joins.push_back({it->second, first->second + index});
      }
    }
    auto find = [&](Role role) {
      auto it = roleNodes.find(role);
      return it == roleNodes.end() ? std::nullopt
                                   : std::optional<unsigned>(it->second);
    };
    if (auto heads = find(Role::Heads), groups = find(Role::Groups);
        heads && groups)
      rules.push_back({SizeRule::Multiple, *heads, *groups});
    if (auto chunks = find(Role::Chunks), length = find(Role::Length);
        chunks && length)
      if (std::optional<int64_t> chunkSize = findChunkSize(op))
        rules.push_back({SizeRule::Chunks, *chunks, *length, *chunkSize});
  }

  void joinAll(Value a, Value b) {
    auto first = firstNodes.find(a.getAsOpaquePointer());
    auto second = firstNodes.find(b.getAsOpaquePointer());
    if (first == firstNodes.end() || second == firstNodes.end())
      return;
    int64_t rank = cast<RankedTensorType>(a.getType()).getRank();
    if (cast<RankedTensorType>(b.getType()).getRank() != rank)
      return;
    for (int64_t i = 0; i < rank; ++i)
      joins.push_back({first->second + i, second->second + i});
  }

  static std::optional<int64_t> findChunkSize(Operation *op) {
    if (auto attr = op->getAttrOfType<IntegerAttr>("chunk_size"))
      return attr.getInt();
    for (const ShapedValue &shaped : getShapedValues(op))
      for (auto [index, role] : llvm::enumerate(shaped.roles))
        if (role == Role::Chunk && !shaped.type.isDynamicDim(index))
          return shaped.type.getDimSize(index);
    return std::nullopt;
  }

  std::map<const void *, unsigned> firstNodes;
  std::vector<int64_t> sizes;
  std::vector<StringRef> labels;
  std::vector<std::pair<unsigned, unsigned>> joins;
  std::vector<SizeRule> rules;
  llvm::IntEqClasses classes;
  std::vector<int64_t> symbolSizes;
  std::vector<std::string> symbolLabels;
};

} // namespace

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

static Expected<Parameter> getParameter(func::FuncOp function, Value value,
                                        StringAttr name, StringRef prefix,
                                        unsigned index,
                                        const DimensionClasses &classes) {
  Parameter parameter;
  parameter.name = name ? name.str() : (prefix + Twine(index)).str();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<Dtype> dtype;
  if (type)
    dtype = getDtype(type.getElementType());
  if (!dtype) {
    std::string text;
    raw_string_ostream(text) << value.getType();
    return createStringError(
        "expected '" + parameter.name + "' of function '" + function.getName() +
        "' to be a ranked tensor of bf16, f16, f32, f64, i32 or i64, got " +
        text);
  }
  parameter.dtype = *dtype;
  parameter.dims = classes.getDimensions(value);
  return parameter;
}

static Error checkNames(const std::vector<Parameter> &parameters,
                        StringRef function) {
  llvm::StringSet<> names;
  for (const Parameter &parameter : parameters)
    if (!names.insert(parameter.name).second)
      return createStringError("function '" + function + "' has two '" +
                               parameter.name + "'");
  return Error::success();
}

Expected<Signature> Signature::get(func::FuncOp function) {
  Signature signature;
  signature.name = function.getName().str();
  if (!function.getBody().hasOneBlock())
    return createStringError("expected function '" + function.getName() +
                             "' to have one block");
  DimensionClasses classes(function);
  signature.numSymbols = classes.getNumSymbols();
  signature.rules = classes.getRules();

  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    Expected<Parameter> parameter = getParameter(
        function, argument,
        function.getArgAttrOfType<StringAttr>(index, kNameAttrName), "arg",
        index, classes);
    if (!parameter)
      return parameter.takeError();
    if (auto pitches =
            function.getArgAttrOfType<IntegerAttr>(index, kPitchesAttrName))
      parameter->pitches = pitches.getInt();
    signature.arguments.push_back(std::move(*parameter));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    Expected<Parameter> parameter = getParameter(
        function, value,
        function.getResultAttrOfType<StringAttr>(index, kNameAttrName),
        "result", index, classes);
    if (!parameter)
      return parameter.takeError();
    signature.results.push_back(std::move(*parameter));
  }
  signature.updatedArguments.resize(signature.results.size());
  if (Error error = checkNames(signature.arguments, signature.name))
    return std::move(error);
  if (Error error = checkNames(signature.results, signature.name))
    return std::move(error);
  return signature;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// "dimension 1 (length) of 'dt'".
static std::string describe(const Parameter &parameter, unsigned dim) {
  std::string text = "dimension " + std::to_string(dim);
  if (!parameter.dims[dim].label.empty())
    text += " (" + parameter.dims[dim].label + ")";
  return text + " of '" + parameter.name + "'";
}

Error Signature::checkShapes(ArrayRef<SmallVector<int64_t>> shapes) const {
  assert(shapes.size() == arguments.size() && "expected a shape per argument");
  struct Seen {
    int64_t size = ShapedType::kDynamic;
    const Parameter *parameter = nullptr;
    StringRef label;
  };
  std::vector<Seen> seen(numSymbols);
  for (auto [parameter, shape] : llvm::zip_equal(arguments, shapes)) {
    if (shape.size() != parameter.dims.size())
      return createStringError("expected '" + parameter.name + "' to have " +
                               Twine(parameter.dims.size()) + " dimensions " +
                               parameter.describeShape() + ", got " +
                               Twine(shape.size()) + " in " +
                               formatShape(shape));
    for (auto [index, dim] : llvm::enumerate(parameter.dims)) {
      int64_t size = shape[index];
      if (!ShapedType::isDynamic(dim.size) && size != dim.size)
        return createStringError("expected " + describe(parameter, index) +
                                 " to be " + Twine(dim.size) + ", got " +
                                 Twine(size));
      Seen &first = seen[dim.symbol];
      if (first.parameter && first.size != size)
        return createStringError("expected " + describe(parameter, index) +
                                 " to be " + Twine(first.size) + " as in '" +
                                 first.parameter->name + "', got " +
                                 Twine(size));
      if (!first.parameter)
        first = {size, &parameter, dim.label};
    }
  }

  for (const SizeRule &rule : rules) {
    const Seen &first = seen[rule.first], &second = seen[rule.second];
    if (!first.parameter || !second.parameter)
      continue;
    if (rule.kind == SizeRule::Multiple) {
      if (second.size == 0)
        return createStringError("expected at least 1 in " + second.label +
                                 ", got 0");
      if (first.size % second.size)
        return createStringError("expected " + first.label + " (" +
                                 Twine(first.size) + ") to be a multiple of " +
                                 second.label + " (" + Twine(second.size) +
                                 ")");
      continue;
    }
    int64_t chunks = llvm::divideCeil(second.size, rule.divisor);
    if (first.size != chunks)
      return createStringError("expected " + Twine(chunks) + " chunks of " +
                               Twine(rule.divisor) + " for " + second.label +
                               " " + Twine(second.size) + ", got " +
                               Twine(first.size));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Functions of a module
//===----------------------------------------------------------------------===//

SmallVector<func::FuncOp> getPublicFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      functions.push_back(function);
  return functions;
}

Expected<func::FuncOp> findFunction(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> functions = getPublicFunctions(module);
  if (functions.empty())
    return createStringError("the module has no public function with a body");
  if (name.empty() && functions.size() == 1)
    return functions.front();
  for (func::FuncOp function : functions)
    if (function.getName() == name)
      return function;
  std::string names;
  raw_string_ostream os(names);
  llvm::interleaveComma(functions, os, [&](func::FuncOp function) {
    os << "'" << function.getName() << "'";
  });
  if (name.empty())
    return createStringError("the module has several functions (" + names +
                             "); choose one with --function");
  return createStringError("the module has no public function '" + name +
                           "'; it has " + names);
}

} // namespace mamba
