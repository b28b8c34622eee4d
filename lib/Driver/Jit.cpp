//===- Jit.cpp - Running lowered functions in this process ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Jit.h"

#include "mamba/Driver/CpuTarget.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mamba {

static constexpr StringLiteral kInterfacePrefix = "_mlir_ciface_";

Jit::Jit(std::unique_ptr<mlir::ExecutionEngine> engine,
         StringMap<unsigned> numParameters)
    : engine(std::move(engine)), numParameters(std::move(numParameters)) {}
Jit::Jit(Jit &&) = default;
Jit::~Jit() = default;

Expected<Jit> Jit::create(mlir::ModuleOp module) {
  Expected<std::unique_ptr<TargetMachine>> machine =
      createTargetMachine("native");
  if (!machine)
    return machine.takeError();

  StringMap<unsigned> numParameters;
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    if (StringRef name = function.getName();
        !function.isExternal() && name.consume_front(kInterfacePrefix))
      numParameters[name] = function.getNumArguments();

  removeParameterAttributes(module);
  mlir::ExecutionEngineOptions options;
  options.jitCodeGenOptLevel = CodeGenOptLevel::Aggressive;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  std::function<Error(Module *)> optimize = mlir::makeOptimizingTransformer(
      /*optLevel=*/3, /*sizeLevel=*/0, machine->get());
  options.transformer = optimize;
  Expected<std::unique_ptr<mlir::ExecutionEngine>> engine =
      mlir::ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return engine.takeError();
  return Jit(std::move(*engine), std::move(numParameters));
}

/// A memref descriptor: allocated and aligned pointer, offset, sizes, strides,
/// 8 bytes each.
static SmallVector<int64_t> makeDescriptor(HostArray &array) {
  auto address = reinterpret_cast<intptr_t>(array.getData());
  ArrayRef<int64_t> shape = array.getShape();
  SmallVector<int64_t> words = {address, address, 0};
  words.append(shape.begin(), shape.end());
  words.append(shape.size(), 1);
  MutableArrayRef<int64_t> strides =
      MutableArrayRef(words).take_back(shape.size());
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return words;
}

Error Jit::call(StringRef function, ArrayRef<HostArray *> parameters) {
  auto it = numParameters.find(function);
  if (it == numParameters.end())
    return createStringError("the compiled module has no function '" +
                             function + "' with a C interface");
  if (it->second != parameters.size())
    return createStringError("expected " + Twine(parameters.size()) +
                             " parameters of the compiled function '" +
                             function + "', got " + Twine(it->second));

  static_assert(sizeof(void *) == 8, "descriptors are built of 8-byte words");
  std::vector<SmallVector<int64_t>> descriptors;
  for (HostArray *array : parameters)
    descriptors.push_back(makeDescriptor(*array));
  // The packed interface takes the address of each argument, and the
  // arguments of the C interface are addresses of descriptors.
  std::vector<void *> arguments, packed;
  for (SmallVector<int64_t> &descriptor : descriptors)
    arguments.push_back(descriptor.data());
  for (void *&argument : arguments)
    packed.push_back(&argument);
  return engine->invokePacked((kInterfacePrefix + function).str(), packed);
}

} // namespace mamba
