//===- CheckModule.cpp - What can become PTX ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckModule.h"
#include "mamba/Target/AttributeNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mamba {
namespace {

/// Intrinsics that LLVM turns into calls of a C library, which a GPU has not.
bool isLibraryCall(Operation *op) {
  return isa<LLVM::ACosOp, LLVM::ASinOp, LLVM::ATan2Op, LLVM::ATanOp,
             LLVM::CosOp, LLVM::CoshOp, LLVM::Exp10Op, LLVM::Exp2Op,
             LLVM::ExpOp, LLVM::FractionExpOp, LLVM::LlrintOp, LLVM::LlroundOp,
             LLVM::LoadExpOp, LLVM::Log10Op, LLVM::Log2Op, LLVM::LogOp,
             LLVM::LrintOp, LLVM::LroundOp, LLVM::PowIOp, LLVM::PowOp,
             LLVM::SinOp, LLVM::SincosOp, LLVM::SinhOp, LLVM::TanOp,
             LLVM::TanhOp>(op);
}

bool isInPtx(Operation *op) {
  return isa_and_present<LLVM::LLVMDialect, NVVM::NVVMDialect>(
             op->getDialect()) &&
         !isLibraryCall(op);
}

/// The functions that every PTX program has.
bool isProvidedByDriver(StringRef name) {
  return llvm::is_contained(
      ArrayRef<StringRef>{"__assertfail", "free", "malloc", "vprintf"}, name);
}

LogicalResult checkCall(LLVM::CallOp call, gpu::GPUModuleOp module) {
  std::optional<StringRef> name = call.getCallee();
  if (!name || isProvidedByDriver(*name) || name->starts_with("llvm."))
    return success();
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(*name);
  if (callee && !callee.isExternal())
    return success();
  return call.emitOpError("expected '")
         << *name << "' to have a body, because nothing is linked to kernels";
}

LogicalResult checkSharedBytes(LLVM::LLVMFuncOp function,
                               const Target &target) {
  auto bytes = function->getAttrOfType<IntegerAttr>(kSharedBytesAttrName);
  if (!bytes)
    return success();
  int64_t limit = target.limits.sharedBytesPerBlock;
  if (bytes.getInt() >= 0 && bytes.getInt() <= limit)
    return success();
  return function.emitOpError("expected at most ")
         << limit
         << " bytes of dynamic shared memory, which is what a block of "
         << target.name << " can have, got " << bytes.getInt();
}

} // namespace

bool isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

NVVM::NVVMTargetAttr getTargetAttr(MLIRContext *context, const Target &target) {
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3,
                                   "nvptx64-nvidia-cuda", target.chip,
                                   target.features, /*targetFlags=*/nullptr,
                                   /*linkFiles=*/nullptr,
                                   /*verifyTarget=*/false);
}

LogicalResult checkModule(gpu::GPUModuleOp module, const Target &target) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (failed(checkSharedBytes(function, target)))
      return failure();
  WalkResult result = module->walk([&](Operation *op) -> WalkResult {
    if (op == module)
      return WalkResult::advance();
    if (!isInPtx(op))
      return op->emitError("no lowering of '")
             << op->getName() << "' to " << target.name;
    if (auto call = dyn_cast<LLVM::CallOp>(op))
      return checkCall(call, module);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace mamba
