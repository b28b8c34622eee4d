//===- PTX.cpp - From NVVM to PTX -----------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Target/PTX.h"
#include "CheckModule.h"
#include "mamba/Version.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

namespace mamba {
namespace {

/// Upstream's serialization with what it lacks: contraction of multiplications
/// and additions, convergent inline assembly, and LLVM's errors as ours.
class PTXSerializer : public NVVM::SerializeGPUModuleBase {
public:
  PTXSerializer(gpu::GPUModuleOp module, NVVM::NVVMTargetAttr target)
      : SerializeGPUModuleBase(*module, target) {}

  bool reportedErrors() const { return hasErrors; }

protected:
  void handleModulePreLink(llvm::Module &module) override {
    module.getContext().setDiagnosticHandlerCallBack(reportDiagnostic, this);
    markInlineAsmConvergent(module);
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (succeeded(machine))
      (*machine)->Options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  }

  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &module) override {
    FailureOr<llvm::TargetMachine *> machine = getOrCreateTargetMachine();
    if (failed(machine))
      return failure();
    FailureOr<SmallString<0>> text = translateModuleToISA(
        module, **machine, [&] { return getOperation().emitError(); });
    if (failed(text))
      return failure();
    return SmallVector<char, 0>(text->begin(), text->end());
  }

private:
  /// `llvm.inline_asm` of MLIR 22 cannot say that an assembly string must be
  /// reached by all threads together. Without it LLVM may copy a barrier or a
  /// tensor core instruction into both arms of a branch.
  static void markInlineAsmConvergent(llvm::Module &module) {
    for (llvm::Function &function : module)
      for (llvm::Instruction &instruction : llvm::instructions(function)) {
        auto *call = dyn_cast<llvm::CallInst>(&instruction);
        if (!call)
          continue;
        auto *assembly = dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
        if (assembly && assembly->hasSideEffects())
          call->setConvergent();
      }
  }

  static void reportDiagnostic(const llvm::DiagnosticInfo *info, void *self) {
    if (info->getSeverity() != llvm::DS_Error &&
        info->getSeverity() != llvm::DS_Warning)
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    auto &serializer = *static_cast<PTXSerializer *>(self);
    if (info->getSeverity() == llvm::DS_Warning) {
      serializer.getOperation().emitWarning(text);
      return;
    }
    serializer.hasErrors = true;
    serializer.getOperation().emitError(text);
  }

  bool hasErrors = false;
};

/// LLVM's code generators end the process when they cannot select an
/// instruction. This gets back to the caller instead, with the message.
/// Whatever the code generator had allocated by then is lost.
bool runRecoverably(llvm::function_ref<void()> body, std::string &message) {
  static std::mutex handlerIsGlobal;
  std::lock_guard<std::mutex> lock(handlerIsGlobal);
  llvm::CrashRecoveryContext::Enable();
  bool finished;
  {
    llvm::ScopedFatalErrorHandler handler(
        [](void *text, const char *reason, bool) {
          *static_cast<std::string *>(text) = reason;
          llvm::CrashRecoveryContext::GetCurrent()->HandleExit(1);
        },
        &message);
    finished = llvm::CrashRecoveryContext().RunSafely(body);
  }
  llvm::CrashRecoveryContext::Disable();
  return finished;
}

/// How the kernels were planned, for whoever reads the PTX.
std::string getHeader(gpu::GPUModuleOp module, const Target &target) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// mamba " MAMBA_VERSION_STRING ", target " << target.name << '\n';
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!isKernel(function))
      continue;
    os << "// kernel " << function.getName();
    for (NamedAttribute attribute : function->getDiscardableAttrs())
      if (attribute.getName().strref().starts_with("mamba."))
        os << ", " << attribute.getName().strref() << " = "
           << attribute.getValue();
    os << '\n';
  }
  return text;
}

} // namespace

void registerPTXTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

FailureOr<std::string> translateToPTX(gpu::GPUModuleOp module,
                                      const Target &target) {
  if (!target.isGpu())
    return module.emitError("expected a GPU target, got '")
           << target.name << "'";
  if (failed(checkModule(module, target)))
    return failure();
  NVVM::SerializeGPUModuleBase::init();

  PTXSerializer serializer(module, getTargetAttr(module.getContext(), target));
  std::optional<SmallVector<char, 0>> text;
  std::string message;
  if (!runRecoverably([&] { text = serializer.run(); }, message))
    return module.emitError("code generation for ")
           << target.name << " failed: "
           << (message.empty() ? "the code generator crashed" : message);
  if (!text || serializer.reportedErrors())
    return failure();
  return getHeader(module, target) + std::string(text->begin(), text->end());
}

} // namespace mamba
