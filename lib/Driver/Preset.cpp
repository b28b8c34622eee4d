//===- Preset.cpp - Modules for the layers of published models ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Preset.h"

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace mamba {

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static Error checkPositive(StringRef flag, std::optional<int64_t> value) {
  if (!value || *value > 0)
    return Error::success();
  return createStringError("expected " + flag + " to be at least 1, got " +
                           Twine(*value));
}

static Error checkFloat(StringRef flag, std::optional<Dtype> dtype) {
  if (!dtype || *dtype == Dtype::BF16 || *dtype == Dtype::F16 ||
      *dtype == Dtype::F32)
    return Error::success();
  return createStringError("expected " + flag +
                           " to be bf16, f16 or f32, got " +
                           getDtypeName(*dtype));
}

/// Fails if a flag of the other operation is set.
static Error checkOperation(const PresetOptions &options) {
  struct Flag {
    StringRef name;
    bool isSet;
  };
  const Flag ssdFlags[] = {{"--chunk-size", options.chunkSize.has_value()},
                           {"--dt-limit", options.dtLimit.has_value()},
                           {"--initial-state", options.initialState},
                           {"--seq-idx", options.seqIdx},
                           {"--chunk-states", options.chunkStates},
                           {"--no-final-state", !options.finalState},
                           {"--total-decay", options.totalDecay}};
  const Flag ssuFlags[] = {
      {"--tokens", options.tokens.has_value()},
      {"--state-indices", options.stateIndices},
      {"--dst-state-indices", options.dstStateIndices},
      {"--intermediate-states", options.intermediateStates},
      {"--no-state-update", !options.stateUpdate}};
  bool isSsd = options.op == PresetOp::Ssd;
  for (const Flag &flag : isSsd ? ArrayRef(ssuFlags) : ArrayRef(ssdFlags))
    if (flag.isSet)
      return createStringError(
          flag.name + " does not apply to --op=" + (isSsd ? "ssd" : "ssu"));
  return Error::success();
}

Error checkPreset(const ModelConfig &model, const PresetOptions &options) {
  const std::pair<StringRef, std::optional<int64_t>> sizes[] = {
      {"--heads", options.heads},          {"--groups", options.groups},
      {"--head-dim", options.headDim},     {"--state-dim", options.stateDim},
      {"--chunk-size", options.chunkSize}, {"--tokens", options.tokens}};
  for (auto [flag, size] : sizes)
    if (Error error = checkPositive(flag, size))
      return error;
  const std::pair<StringRef, std::optional<Dtype>> dtypes[] = {
      {"--dtype", options.dtype},
      {"--dt-dtype", options.dtDtype},
      {"--state-dtype", options.stateDtype}};
  for (auto [flag, dtype] : dtypes)
    if (Error error = checkFloat(flag, dtype))
      return error;
  if (Error error = checkOperation(options))
    return error;

  int64_t heads = options.heads.value_or(model.heads);
  int64_t groups = options.groups.value_or(model.groups);
  if ((options.heads || options.groups) && heads % groups)
    return createStringError(
        Twine("expected ") +
        (options.heads ? "--heads" : "heads of the model") + " (" +
        Twine(heads) + ") to be a multiple of " +
        (options.groups ? "--groups" : "groups of the model") + " (" +
        Twine(groups) + ")");
  if (!options.d && options.dHasHeadDim == true)
    return createStringError("--d-has-head-dim contradicts --no-d");
  if (!options.stateUpdate && options.dstStateIndices)
    return createStringError("--dst-state-indices contradicts "
                             "--no-state-update");
  if (options.dtLimit) {
    auto [low, high] = *options.dtLimit;
    if (std::isnan(low) || std::isnan(high) || low > high)
      return createStringError("expected --dt-limit=LOW,HIGH with LOW <= HIGH");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

namespace {

/// Collects the arguments and results of the function; then builds it.
class PresetBuilder {
public:
  PresetBuilder(MLIRContext *context, const ModelConfig &model,
                const PresetOptions &options)
      : builder(context), options(options) {
    bool isStatic = options.staticHeads;
    heads = options.heads ? *options.heads
                          : (isStatic ? model.heads : ShapedType::kDynamic);
    groups = options.groups ? *options.groups
                            : (isStatic ? model.groups : ShapedType::kDynamic);
    headDim = options.headDim.value_or(model.headDim);
    stateDim = options.stateDim.value_or(model.stateDim);
    Dtype dtype = options.dtype.value_or(*parseDtype(model.dtype));
    element = getType(context, dtype);
    dtElement = getType(context, options.dtDtype.value_or(dtype));
    stateElement = getType(
        context, options.stateDtype.value_or(*parseDtype(model.stateDtype)));
    hasZ = options.z.value_or(model.zGate == ZGate::Scan);
    dHasHeadDim = options.dHasHeadDim.value_or(model.dHasHeadDim);
    chunkSize = options.chunkSize.value_or(model.chunkSize);
    if (options.dtLimit)
      dtLimit = *options.dtLimit;
    else if (!model.hasDefaultDtLimit())
      dtLimit = {model.dtLimitLow, model.dtLimitHigh};
  }

  OwningOpRef<ModuleOp> build() {
    Location loc = builder.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    bool isSsd = options.op == PresetOp::Ssd;
    isSsd ? declareSsd() : declareSsu();

    SmallVector<Type> argumentTypes, resultTypes;
    for (const Named &argument : arguments)
      if (argument.type)
        argumentTypes.push_back(argument.type);
    for (const Named &result : results)
      if (result.type)
        resultTypes.push_back(result.type);
    builder.setInsertionPointToEnd(module->getBody());
    auto function = func::FuncOp::create(
        builder, loc, isSsd ? "ssd" : "ssu",
        builder.getFunctionType(argumentTypes, resultTypes));
    setNames(function);

    Block *entry = builder.createBlock(&function.getBody());
    SmallVector<Value> values;
    for (const Named &argument : arguments)
      // With such a location an argument can be printed under its name.
      values.push_back(
          argument.type ? entry->addArgument(argument.type,
                                             NameLoc::get(builder.getStringAttr(
                                                 argument.name)))
                        : Value());
    Operation *op = isSsd ? buildSsd(values) : buildSsu(values);
    func::ReturnOp::create(builder, loc, op->getResults());
    return module;
  }

private:
  struct Named {
    StringRef name;
    Type type; // null if absent
  };

  Type tensor(ArrayRef<int64_t> shape, Type elementType) {
    return RankedTensorType::get(shape, elementType);
  }
  Type f32() { return builder.getF32Type(); }
  Type skipType() {
    if (!options.d)
      return Type();
    return dHasHeadDim ? tensor({heads, headDim}, f32())
                       : tensor({heads}, f32());
  }
  static Type optional(bool present, Type type) {
    return present ? type : Type();
  }

  void declareSsd() {
    constexpr int64_t dynamic = ShapedType::kDynamic;
    Type tokens = tensor({dynamic, dynamic, heads, headDim}, element);
    Type shared = tensor({dynamic, dynamic, groups, stateDim}, element);
    Type state = tensor({dynamic, heads, headDim, stateDim}, stateElement);
    arguments = {{"x", tokens},
                 {"dt", tensor({dynamic, dynamic, heads}, dtElement)},
                 {"A", tensor({heads}, f32())},
                 {"B", shared},
                 {"C", shared},
                 {"D", skipType()},
                 {"z", optional(hasZ, tokens)},
                 {"dt_bias", optional(options.dtBias, tensor({heads}, f32()))},
                 {"initial_state", optional(options.initialState, state)},
                 {"seq_idx",
                  optional(options.seqIdx,
                           tensor({dynamic, dynamic}, builder.getI32Type()))}};
    results = {{"y", tokens},
               {"chunk_states",
                optional(options.chunkStates,
                         tensor({dynamic, dynamic, heads, headDim, stateDim},
                                stateElement))},
               {"final_state", optional(options.finalState, state)},
               {"total_decay",
                optional(options.totalDecay, tensor({dynamic, heads}, f32()))}};
  }

  void declareSsu() {
    constexpr int64_t dynamic = ShapedType::kDynamic;
    // [b, H, P], with several tokens [b, T, H, P].
    auto perToken = [&](ArrayRef<int64_t> rest, Type elementType) {
      SmallVector<int64_t> shape = {dynamic};
      if (options.tokens)
        shape.push_back(*options.tokens);
      shape.append(rest.begin(), rest.end());
      return tensor(shape, elementType);
    };
    Type tokens = perToken({heads, headDim}, element);
    Type shared = perToken({groups, stateDim}, element);
    Type state = tensor({dynamic, heads, headDim, stateDim}, stateElement);
    Type rows = tensor({dynamic}, builder.getI32Type());
    arguments = {
        {"state", state},
        {"x", tokens},
        {"dt", perToken({heads}, dtElement)},
        {"A", tensor({heads}, f32())},
        {"B", shared},
        {"C", shared},
        {"D", skipType()},
        {"z", optional(hasZ, tokens)},
        {"dt_bias", optional(options.dtBias, tensor({heads}, f32()))},
        {"state_batch_indices", optional(options.stateIndices, rows)},
        {"dst_state_batch_indices", optional(options.dstStateIndices, rows)}};
    results = {{"y", tokens},
               {"new_state", optional(options.stateUpdate, state)},
               {"intermediate_states",
                optional(options.intermediateStates,
                         tensor({dynamic, options.tokens.value_or(1), heads,
                                 headDim, stateDim},
                                stateElement))}};
  }

  Operation *buildSsd(ArrayRef<Value> v) {
    DenseF64ArrayAttr limits;
    if (dtLimit)
      limits = builder.getDenseF64ArrayAttr({dtLimit->first, dtLimit->second});
    return SsdOp::create(builder, builder.getUnknownLoc(), results[0].type,
                         results[1].type, results[2].type, results[3].type,
                         v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8],
                         v[9], chunkSize, options.softplus, limits);
  }

  Operation *buildSsu(ArrayRef<Value> v) {
    return SsuOp::create(builder, builder.getUnknownLoc(), results[0].type,
                         results[1].type, results[2].type, v[0], v[1], v[2],
                         v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10],
                         options.softplus, /*pad_slot_id=*/-1,
                         /*disable_state_update=*/!options.stateUpdate);
  }

  void setNames(func::FuncOp function) {
    unsigned next = 0;
    for (const Named &argument : arguments)
      if (argument.type)
        function.setArgAttr(next++, kNameAttrName,
                            builder.getStringAttr(argument.name));
    next = 0;
    for (const Named &result : results)
      if (result.type)
        function.setResultAttr(next++, kNameAttrName,
                               builder.getStringAttr(result.name));
  }

  OpBuilder builder;
  const PresetOptions &options;
  int64_t heads, groups, headDim, stateDim, chunkSize;
  Type element, dtElement, stateElement;
  bool hasZ, dHasHeadDim;
  std::optional<std::pair<double, double>> dtLimit;
  SmallVector<Named> arguments, results;
};

} // namespace

Expected<OwningOpRef<ModuleOp>> buildPreset(MLIRContext *context,
                                            const ModelConfig &model,
                                            const PresetOptions &options) {
  if (Error error = checkPreset(model, options))
    return std::move(error);
  context->loadDialect<MambaDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = PresetBuilder(context, model, options).build();
  if (failed(verify(*module)))
    return createStringError("the options make no valid operation");
  return std::move(module);
}

} // namespace mamba
