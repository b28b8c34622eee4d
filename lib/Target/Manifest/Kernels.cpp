//===- Kernels.cpp - What a launch has to know of a kernel ----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mamba {
namespace {

std::optional<int64_t> getInteger(Attribute attribute) {
  auto integer = dyn_cast_or_null<IntegerAttr>(attribute);
  return integer ? std::optional(integer.getInt()) : std::nullopt;
}

std::optional<std::array<int64_t, 3>> getBlockSize(Attribute attribute) {
  auto sizes = dyn_cast_or_null<DenseI32ArrayAttr>(attribute);
  if (!sizes || sizes.size() > 3)
    return std::nullopt;
  std::array<int64_t, 3> result = {1, 1, 1};
  llvm::copy(sizes.asArrayRef(), result.begin());
  return result;
}

KernelInfo describe(FunctionOpInterface function) {
  KernelInfo info;
  info.sharedBytes = getInteger(function->getAttr(kSharedBytesAttrName));
  info.numParameters = function.getNumArguments();
  if (auto kernel = dyn_cast<gpu::GPUFuncOp>(function.getOperation()))
    info.blockSize = getBlockSize(kernel.getKnownBlockSizeAttr());
  else // Spelled out, since the header of the nvvm dialect is a slow one.
    info.blockSize = getBlockSize(function->getAttr("nvvm.reqntid"));
  return info;
}

KernelInfo describe(gpu::KernelMetadataAttr kernel) {
  KernelInfo info;
  info.sharedBytes = getInteger(kernel.getAttr(kSharedBytesAttrName));
  info.blockSize = getBlockSize(kernel.getAttr("block_size"));
  if (auto type = dyn_cast<LLVM::LLVMFunctionType>(kernel.getFunctionType()))
    info.numParameters = type.getNumParams();
  if (auto alignments = kernel.getAttr<DenseI64ArrayAttr>("alignments"))
    llvm::append_range(info.alignments, alignments.asArrayRef());
  return info;
}

std::optional<KernelInfo> lookup(gpu::BinaryOp binary, StringAttr name) {
  for (Attribute attribute : binary.getObjects()) {
    gpu::KernelTableAttr kernels =
        cast<gpu::ObjectAttr>(attribute).getKernels();
    if (gpu::KernelMetadataAttr kernel =
            kernels ? kernels.lookup(name) : gpu::KernelMetadataAttr())
      return describe(kernel);
  }
  return std::nullopt;
}

} // namespace

FailureOr<KernelInfo> lookupKernel(gpu::LaunchFuncOp launch) {
  auto top = launch->getParentOfType<ModuleOp>();
  Operation *module =
      SymbolTable::lookupSymbolIn(top, launch.getKernelModuleName());
  std::optional<KernelInfo> info;
  if (auto binary = dyn_cast_or_null<gpu::BinaryOp>(module))
    info = lookup(binary, launch.getKernelName());
  else if (auto gpuModule = dyn_cast_or_null<gpu::GPUModuleOp>(module))
    if (auto function =
            gpuModule.lookupSymbol<FunctionOpInterface>(launch.getKernelName()))
      info = describe(function);
  if (!info)
    return launch.emitOpError("expected kernel ")
           << launch.getKernel() << " to be defined";
  info->module = module;
  return *info;
}

} // namespace mamba
