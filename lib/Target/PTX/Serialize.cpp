//===- Serialize.cpp - Replaces gpu.module by gpu.binary ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignments.h"
#include "CheckModule.h"
#include "mamba/Target/PTX.h"
#include "mamba/Target/Passes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace mamba {
#define GEN_PASS_DEF_SERIALIZEPASS
#include "mamba/Target/Passes.h.inc"

namespace {

gpu::KernelTableAttr getKernelTable(gpu::GPUModuleOp module) {
  SmallVector<gpu::KernelMetadataAttr> kernels;
  Builder builder(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!isKernel(function))
      continue;
    NamedAttrList metadata;
    for (NamedAttribute attribute : function->getDiscardableAttrs())
      if (attribute.getName().strref().starts_with("mamba."))
        metadata.append(attribute);
    if (Attribute size =
            function->getAttr(NVVM::NVVMDialect::getReqntidAttrName()))
      metadata.append("block_size", size);
    metadata.append("alignments",
                    builder.getDenseI64ArrayAttr(getAlignments(function)));
    kernels.push_back(gpu::KernelMetadataAttr::get(
        function.getNameAttr(), function.getFunctionType(),
        /*argAttrs=*/nullptr, metadata.getDictionary(module.getContext())));
  }
  return gpu::KernelTableAttr::get(module.getContext(), kernels);
}

LogicalResult serialize(gpu::GPUModuleOp module, const Target &target) {
  FailureOr<std::string> ptx = translateToPTX(module, target);
  if (failed(ptx))
    return failure();
  OpBuilder builder(module);
  auto object = gpu::ObjectAttr::get(
      getTargetAttr(module.getContext(), target),
      gpu::CompilationTarget::Assembly, builder.getStringAttr(*ptx),
      /*properties=*/nullptr, getKernelTable(module));
  auto binary = gpu::BinaryOp::create(
      builder, module.getLoc(), module.getName(),
      /*offloadingHandler=*/nullptr, ArrayRef<Attribute>(object));
  for (NamedAttribute attribute : module->getDiscardableAttrs())
    binary->setAttr(attribute.getName(), attribute.getValue());
  module.erase();
  return success();
}

struct SerializePass : impl::SerializePassBase<SerializePass> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    registry.insert<NVVM::NVVMDialect>();
    registerPTXTranslations(registry);
  }

  void runOnOperation() override {
    llvm::Expected<const Target &> known = lookupGpuTarget(target);
    if (!known) {
      getOperation().emitError(llvm::toString(known.takeError()));
      return signalPassFailure();
    }
    for (auto module :
         llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(serialize(module, *known)))
        return signalPassFailure();
  }
};

} // namespace

FailureOr<StringRef> getPTX(gpu::BinaryOp binary, const Target &target) {
  for (Attribute attribute : binary.getObjects()) {
    auto object = cast<gpu::ObjectAttr>(attribute);
    auto compiledFor = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget());
    if (object.getFormat() == gpu::CompilationTarget::Assembly && compiledFor &&
        compiledFor.getChip() == target.chip)
      return object.getObject().getValue();
  }
  return binary.emitOpError("expected PTX for ") << target.name;
}

} // namespace mamba
