//===- ToNVVM.cpp - From per-thread kernels to NVVM -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MathPatterns.h"
#include "NvgpuPatterns.h"
#include "TmaPatterns.h"
#include "VectorPatterns.h"
#include "mamba/Conversion/ToNVVM/Passes.h"
#include "mamba/Target/AttributeNames.h"
#include "mamba/Target/Targets.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace mamba {
#define GEN_PASS_DEF_TONVVMPASS
#include "mamba/Conversion/ToNVVM/Passes.h.inc"

namespace {

constexpr unsigned warpSize = 32;

/// Upstream turns gpu.dynamic_shared_memory into a static array of one byte of
/// internal linkage: the backend may lay other shared variables over what
/// follows it, and 16-byte alignment is too little for a 128-byte swizzle. This
/// pattern can go when test/Target/upstream-dynamic-shared-memory.mlir fails.
struct LowerDynamicSharedMemory
    : ConvertOpToLLVMPattern<gpu::DynamicSharedMemoryOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::DynamicSharedMemoryOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = getTypeConverter()->convertType(op.getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "expected a convertible type");
    Value base = LLVM::AddressOfOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(op.getContext(), 3),
        kSharedGlobalName);
    Value bytes =
        NVVM::DynamicSmemSize::create(rewriter, loc, rewriter.getI32Type());
    bytes = LLVM::ZExtOp::create(rewriter, loc, getIndexType(), bytes);
    auto descriptor = MemRefDescriptor::poison(rewriter, loc, type);
    descriptor.setAllocatedPtr(rewriter, loc, base);
    descriptor.setAlignedPtr(rewriter, loc, base);
    descriptor.setConstantOffset(rewriter, loc, 0);
    descriptor.setSize(rewriter, loc, 0, bytes);
    descriptor.setConstantStride(rewriter, loc, 0, 1);
    rewriter.replaceOp(op, Value(descriptor));
    return success();
  }
};

struct FoldSubgroupSize : OpRewritePattern<gpu::SubgroupSizeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(gpu::SubgroupSizeOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, warpSize);
    return success();
  }
};

bool usesShared(Operation *parent) {
  return parent
      ->walk([](Operation *op) {
        return isa<gpu::DynamicSharedMemoryOp, nvgpu::MBarrierCreateOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult checkKernel(gpu::GPUFuncOp kernel) {
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    bool isPointer =
        memref && memref.hasStaticShape() && memref.getLayout().isIdentity();
    if (!isPointer && !type.isIntOrIndexOrFloat() &&
        !isa<nvgpu::TensorMapDescriptorType>(type))
      return kernel.emitOpError("expected argument ")
             << index
             << " to be an index, an integer, a float, a tensor map or a "
                "memref "
                "of rank 0 or static shape, got "
             << type;
  }
  if (usesShared(kernel) &&
      !kernel->hasAttrOfType<IntegerAttr>(kSharedBytesAttrName))
    return kernel.emitOpError("expected the integer attribute '")
           << kSharedBytesAttrName
           << "', because the kernel uses dynamic shared "
           << "memory";
  return success();
}

/// The numbers of the parameters that are tensor maps, by the kernel's name.
using TensorMapParameters = llvm::StringMap<SmallVector<unsigned>>;

TensorMapParameters findTensorMapParameters(gpu::GPUModuleOp module) {
  TensorMapParameters found;
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    for (auto [number, type] : llvm::enumerate(kernel.getArgumentTypes()))
      if (isa<nvgpu::TensorMapDescriptorType>(type))
        found[kernel.getName()].push_back(number);
  return found;
}

/// A tensor map is passed as it is: the pointer becomes the address of the
/// parameter. (Upstream drops `llvm.byval` and refuses `nvvm.grid_constant` on
/// a gpu.func.)
void passTensorMaps(gpu::GPUModuleOp module,
                    const TensorMapParameters &tensorMaps) {
  constexpr int64_t bytes = 128, alignment = 64;
  Builder b(module.getContext());
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    auto it = tensorMaps.find(function.getName());
    if (it == tensorMaps.end())
      continue;
    for (unsigned number : it->second) {
      function.setArgAttr(
          number, LLVM::LLVMDialect::getByValAttrName(),
          TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), bytes)));
      function.setArgAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                          b.getI64IntegerAttr(alignment));
      function.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                          b.getUnitAttr());
    }
  }
}

/// Emits an error for the first operation of each name that `isLowered`
/// rejects.
LogicalResult checkLowered(gpu::GPUModuleOp module, StringRef target,
                           llvm::function_ref<bool(Operation *)> isLowered) {
  llvm::StringSet<> seen;
  module->walk([&](Operation *op) {
    StringRef name = op->getName().getStringRef();
    if (op == module || isLowered(op) || !seen.insert(name).second)
      return;
    InFlightDiagnostic diagnostic = op->emitError("no lowering of '")
                                    << name << "' ";
    if (op->getNumOperands() != 0 &&
        isa_and_present<math::MathDialect>(op->getDialect()))
      diagnostic << "on " << op->getOperand(0).getType() << ' ';
    diagnostic << "to " << target;
  });
  return success(seen.empty());
}

void createSharedGlobal(gpu::GPUModuleOp module) {
  if (module.lookupSymbol(kSharedGlobalName))
    return;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedGlobalName,
                         /*value=*/Attribute(), /*alignment=*/1024,
                         /*addrSpace=*/3);
}

/// Ids and reductions that are made of other gpu operations.
void populateSubgroupPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldSubgroupSize>(patterns.getContext());
  populateGpuGlobalIdPatterns(patterns);
  populateGpuSubgroupIdPatterns(patterns);
  populateGpuShufflePatterns(patterns);
  populateGpuBreakDownSubgroupReducePatterns(
      patterns, /*maxShuffleBitwidth=*/32, PatternBenefit(2));
  populateGpuLowerSubgroupReduceToShufflePatterns(patterns, warpSize,
                                                  /*shuffleBitwidth=*/32);
  populateGpuLowerClusteredSubgroupReduceToShufflePatterns(
      patterns, warpSize, /*shuffleBitwidth=*/32);
}

/// What needs the whole form of scf, affine and strided memrefs.
void addExpansionPasses(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void addCleanupPasses(OpPassManager &pm) {
  // Upstream keeps some nvvm operations as inline assembly.
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void populatePatterns(LLVMTypeConverter &converter, RewritePatternSet &patterns,
                      const Target &target) {
  patterns.add<LowerDynamicSharedMemory>(converter, /*benefit=*/10);
  populateNvgpuPatterns(converter, patterns);
  populateTmaPatterns(converter, patterns, target.getPtxVersion() >= 86);
  populateVectorRegisterPatterns(converter, patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  // The least benefit: among these patterns are calls of a device library for
  // operations that the others lower to instructions.
  populateGpuToNVVMConversionPatterns(converter, patterns, /*benefit=*/0);
}

struct ToNVVMPass : impl::ToNVVMPassBase<ToNVVMPass> {
  using Base::Base;

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    llvm::Expected<const Target &> known = lookupGpuTarget(target);
    if (!known) {
      module.emitError(llvm::toString(known.takeError()));
      return signalPassFailure();
    }
    if (failed(lower(module, *known)))
      signalPassFailure();
  }

  LogicalResult lower(gpu::GPUModuleOp module, const Target &known) {
    StringRef targetName = known.name;
    for (auto kernel : module.getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel() && failed(checkKernel(kernel)))
        return failure();
    if (failed(checkLowered(module, targetName, hasMathLowering)))
      return failure();

    RewritePatternSet expansions(&getContext());
    populateVectorUnrollPatterns(expansions);
    vector::populateVectorStepLoweringPatterns(expansions);
    populateMathPatterns(expansions);
    populateSubgroupPatterns(expansions);
    if (failed(applyPatternsGreedily(module, std::move(expansions))))
      return module.emitError("expansion of operations did not end");
    if (failed(runStage(module, addExpansionPasses)))
      return failure();

    TensorMapParameters tensorMaps = findTensorMapParameters(module);
    if (failed(convert(module, known)) ||
        failed(checkLowered(module, targetName, [](Operation *op) {
          return isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()) ||
                 isa<UnrealizedConversionCastOp>(op);
        })))
      return failure();
    passTensorMaps(module, tensorMaps);
    requireBlockSize(module);
    if (failed(runStage(module, addCleanupPasses)))
      return failure();
    return checkLowered(module, targetName, [](Operation *op) {
      return isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect());
    });
  }

  LogicalResult runStage(gpu::GPUModuleOp module,
                         llvm::function_ref<void(OpPassManager &)> build) {
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    build(pm);
    return runPipeline(pm, module);
  }

  LogicalResult convert(gpu::GPUModuleOp module, const Target &known) {
    if (usesShared(module))
      createSharedGlobal(module);

    LowerToLLVMOptions options(&getContext());
    options.useBarePtrCallConv = true;
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(&getContext(), options);
    configureGpuToNVVMTypeConverter(converter);
    RewritePatternSet patterns(&getContext());
    populatePatterns(converter, patterns, known);

    // Nothing is illegal: what stays is reported by `checkLowered`, in words
    // that name the target. These would become calls of the host's runtime.
    ConversionTarget target(getContext());
    target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp, memref::AllocOp, memref::CopyOp,
                      memref::DeallocOp, memref::ReallocOp>();
    return applyPartialConversion(module, target, std::move(patterns));
  }

  /// Upstream only states the most threads a block can have. Launches use
  /// exactly `known_block_size`, and ptxas can use that. Without a number of
  /// blocks for each multiprocessor ptxas aims for several and spills.
  static void requireBlockSize(gpu::GPUModuleOp module) {
    Builder b(module.getContext());
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      Attribute size =
          function->removeAttr(NVVM::NVVMDialect::getMaxntidAttrName());
      if (!size)
        continue;
      function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), size);
      if (!function->hasAttr(NVVM::NVVMDialect::getMinctasmAttrName()))
        function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                          b.getI32IntegerAttr(1));
    }
  }
};

} // namespace
} // namespace mamba
