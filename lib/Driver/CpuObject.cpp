//===- CpuObject.cpp - Object files ---------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/CpuObject.h"

#include "mamba/Driver/CpuTarget.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mamba {

/// Gives the C interface functions their functions' names and hides all other
/// definitions, so that the expanded functions are inlined into them.
static Error exportFunctions(Module &module, ArrayRef<Signature> signatures) {
  for (Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(GlobalValue::InternalLinkage);
  for (const Signature &signature : signatures) {
    Function *interface = module.getFunction("_mlir_ciface_" + signature.name);
    Function *expanded = module.getFunction(signature.name);
    if (!interface || !expanded)
      return createStringError("function '" + signature.name +
                               "' was lowered without a C interface");
    size_t expected = signature.arguments.size() +
                      llvm::count(signature.updatedArguments, std::nullopt);
    if (interface->arg_size() != expected)
      return createStringError("expected " + Twine(expected) +
                               " parameters of the lowered function '" +
                               signature.name + "', got " +
                               Twine(interface->arg_size()));
    expanded->setName(signature.name + ".expanded");
    interface->setName(signature.name);
    interface->setLinkage(GlobalValue::ExternalLinkage);
  }
  return Error::success();
}

Error writeObject(mlir::ModuleOp module, ArrayRef<Signature> functions,
                  StringRef cpu, raw_pwrite_stream &os) {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(cpu);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Expected<std::unique_ptr<Module>> translated =
      translateToLLVMIR(module, context);
  if (!translated)
    return translated.takeError();
  Module &llvmModule = **translated;
  llvmModule.setTargetTriple((*machine)->getTargetTriple());
  llvmModule.setDataLayout((*machine)->createDataLayout());
  llvmModule.setPICLevel(PICLevel::BigPIC);
  if (Error error = exportFunctions(llvmModule, functions))
    return error;
  if (Error error = mlir::makeOptimizingTransformer(
          /*optLevel=*/3, /*sizeLevel=*/0, machine->get())(&llvmModule))
    return error;

  legacy::PassManager codegen;
  if ((*machine)->addPassesToEmitFile(codegen, os, nullptr,
                                      CodeGenFileType::ObjectFile))
    return createStringError("cannot write object files for this target");
  codegen.run(llvmModule);
  return Error::success();
}

} // namespace mamba
