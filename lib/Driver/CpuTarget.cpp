//===- CpuTarget.cpp - Code generation for CPUs ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/CpuTarget.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace mamba {

void registerCpuTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
}

StringRef getDefaultCpu() {
  return Triple(sys::getDefaultTargetTriple()).isX86() ? "x86-64-v3"
                                                       : "generic";
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(StringRef cpu) {
  // Idempotent.
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();

  Triple triple(sys::getDefaultTargetTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(message);

  std::string name = cpu.str();
  SubtargetFeatures features;
  if (cpu == "native") {
    name = sys::getHostCPUName().str();
    for (auto &[feature, enabled] : sys::getHostCPUFeatures())
      features.AddFeature(feature, enabled);
  }
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Fast;
  // An unknown name would only be a warning.
  std::unique_ptr<MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!info || (cpu != "native" && !info->isCPUStringValid(name)))
    return createStringError("unknown processor '" + cpu + "' for --mcpu on " +
                             triple.getArchName());
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      triple, name, features.getString(), options, Reloc::PIC_, std::nullopt,
      CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError("cannot generate code for " + triple.str());
  return machine;
}

void removeParameterAttributes(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>())
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      for (mlir::NamedAttribute attribute : llvm::to_vector(
               mlir::function_interface_impl::getArgAttrs(function, i)))
        if (attribute.getName().getValue().starts_with("mamba."))
          function.removeArgAttr(i, attribute.getName());
}

Expected<std::unique_ptr<Module>> translateToLLVMIR(mlir::ModuleOp module,
                                                    LLVMContext &context) {
  removeParameterAttributes(module);
  std::unique_ptr<Module> llvmModule =
      mlir::translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return createStringError("could not translate the module to LLVM IR");
  return llvmModule;
}

} // namespace mamba
