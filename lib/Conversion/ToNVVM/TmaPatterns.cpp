//===- TmaPatterns.cpp - Tensor maps and mbarriers ------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What upstream's convert-nvgpu-to-nvvm does otherwise, see
// test/Target/upstream-tma.mlir: it makes mbarriers static variables beside the
// dynamic shared memory, waits in inline assembly that LLVM may duplicate, and
// takes no tensor map as a kernel's parameter.
//
//===----------------------------------------------------------------------===//

#include "TmaPatterns.h"

#include "mamba/Target/AttributeNames.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;

namespace mamba {
namespace {

constexpr unsigned sharedSpace = 3, clusterSpace = 7;
constexpr int64_t kMbarrierBits = 64;
/// Above upstream's patterns.
constexpr unsigned kBenefit = 10;

LLVM::LLVMPointerType getPointer(MLIRContext *context, unsigned space = 0) {
  return LLVM::LLVMPointerType::get(context, space);
}

Value toI32(OpBuilder &builder, Location loc, Value index) {
  return LLVM::TruncOp::create(builder, loc, builder.getI32Type(), index);
}

/// mbarrier `number` of a group, which is a pointer to its first one.
Value getMbarrier(OpBuilder &builder, Location loc, Value group, Value number) {
  return LLVM::GEPOp::create(builder, loc, group.getType(),
                             builder.getIntegerType(kMbarrierBits), group,
                             number);
}

struct LowerMbarrierCreate : ConvertOpToLLVMPattern<nvgpu::MBarrierCreateOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::MBarrierCreateOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto offset = op->getAttrOfType<IntegerAttr>(kSharedOffsetAttrName);
    if (!offset)
      return rewriter.notifyMatchFailure(op, "expected a place");
    Location loc = op.getLoc();
    LLVM::LLVMPointerType type = getPointer(op.getContext(), sharedSpace);
    Value shared =
        LLVM::AddressOfOp::create(rewriter, loc, type, kSharedGlobalName);
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, type, rewriter.getI8Type(), shared,
        ArrayRef<LLVM::GEPArg>{int32_t(offset.getInt())});
    return success();
  }
};

struct LowerMbarrierInit : ConvertOpToLLVMPattern<nvgpu::MBarrierInitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::MBarrierInitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getPredicate())
      return rewriter.notifyMatchFailure(op, "expected no predicate");
    Location loc = op.getLoc();
    Value mbarrier =
        getMbarrier(rewriter, loc, adaptor.getBarriers(), adaptor.getMbarId());
    rewriter.replaceOpWithNewOp<NVVM::MBarrierInitOp>(
        op, mbarrier, toI32(rewriter, loc, adaptor.getCount()),
        /*predicate=*/Value());
    return success();
  }
};

struct LowerMbarrierExpect
    : ConvertOpToLLVMPattern<nvgpu::MBarrierArriveExpectTxOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::MBarrierArriveExpectTxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getPredicate())
      return rewriter.notifyMatchFailure(op, "expected no predicate");
    Location loc = op.getLoc();
    Value mbarrier =
        getMbarrier(rewriter, loc, adaptor.getBarriers(), adaptor.getMbarId());
    NVVM::MBarrierArriveExpectTxOp::create(
        rewriter, loc, /*res=*/Type(), mbarrier,
        toI32(rewriter, loc, adaptor.getTxcount()), NVVM::MemScopeKind::CTA,
        /*relaxed=*/false, /*predicate=*/Value());
    rewriter.eraseOp(op);
    return success();
  }
};

/// A loop of blocks: the instruction may give up before the phase is complete.
struct LowerMbarrierWait
    : ConvertOpToLLVMPattern<nvgpu::MBarrierTryWaitParityOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::MBarrierTryWaitParityOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value mbarrier =
        getMbarrier(rewriter, loc, adaptor.getBarriers(), adaptor.getMbarId());
    Value parity = LLVM::ZExtOp::create(rewriter, loc, rewriter.getI32Type(),
                                        adaptor.getPhaseParity());
    Block *before = op->getBlock();
    Block *after = rewriter.splitBlock(before, Block::iterator(op));
    Block *wait = rewriter.createBlock(after);
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, wait);
    rewriter.setInsertionPointToStart(wait);
    Value isComplete = NVVM::MBarrierTryWaitOp::create(
        rewriter, loc, rewriter.getI1Type(), mbarrier, parity,
        /*ticks=*/Value(), NVVM::MemScopeKind::CTA, /*relaxed=*/false);
    LLVM::CondBrOp::create(rewriter, loc, isComplete, after, wait);
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerTmaLoad : ConvertOpToLLVMPattern<nvgpu::TmaAsyncLoadOp> {
  LowerTmaLoad(const LLVMTypeConverter &converter, bool hasBlockForm)
      : ConvertOpToLLVMPattern(converter, kBenefit),
        hasBlockForm(hasBlockForm) {}

  LogicalResult
  matchAndRewrite(nvgpu::TmaAsyncLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getPredicate() || op.getMulticastMask())
      return rewriter.notifyMatchFailure(op, "expected no predicate or mask");
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getDst().getType());
    Value pointer = getStridedElementPtr(rewriter, loc, type, adaptor.getDst(),
                                         /*indices=*/{});
    if (cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() !=
        sharedSpace)
      return rewriter.notifyMatchFailure(op, "expected shared memory");
    // An address in the block's shared memory is one in the cluster's too. (For
    // sm_120a ptxas makes a stack frame of that form.)
    Value destination = pointer;
    if (!hasBlockForm) {
      Value address = LLVM::PtrToIntOp::create(rewriter, loc,
                                               rewriter.getI64Type(), pointer);
      destination = LLVM::IntToPtrOp::create(
          rewriter, loc, getPointer(op.getContext(), clusterSpace), address);
    }
    Value mbarrier =
        getMbarrier(rewriter, loc, adaptor.getBarriers(), adaptor.getMbarId());
    SmallVector<Value> coordinates; // innermost first
    for (Value coordinate : llvm::reverse(adaptor.getCoordinates()))
      coordinates.push_back(toI32(rewriter, loc, coordinate));
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        rewriter, loc, destination, adaptor.getTensorMapDescriptor(),
        coordinates, mbarrier, /*im2colOffsets=*/ValueRange(),
        /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/hasBlockForm, /*group=*/nullptr,
        /*predicate=*/Value());
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool hasBlockForm;
};

struct LowerTmaPrefetch : ConvertOpToLLVMPattern<nvgpu::TmaPrefetchOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::TmaPrefetchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getPredicate())
      return rewriter.notifyMatchFailure(op, "expected no predicate");
    NVVM::PrefetchOp::create(rewriter, op.getLoc(), /*cacheLevel=*/nullptr,
                             /*evictPriority=*/nullptr,
                             adaptor.getTensorMapDescriptor(),
                             /*predicate=*/Value(),
                             /*tensormap=*/rewriter.getUnitAttr(),
                             /*uniform=*/nullptr,
                             /*in_param_space=*/rewriter.getUnitAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateTmaPatterns(LLVMTypeConverter &converter,
                         RewritePatternSet &patterns, bool hasBlockForm) {
  converter.addConversion([](nvgpu::TensorMapDescriptorType type) -> Type {
    return getPointer(type.getContext());
  });
  converter.addConversion([](nvgpu::MBarrierGroupType type) -> Type {
    return getPointer(type.getContext(), sharedSpace);
  });
  patterns.add<LowerMbarrierCreate, LowerMbarrierInit, LowerMbarrierExpect,
               LowerMbarrierWait, LowerTmaPrefetch>(converter, kBenefit);
  patterns.add<LowerTmaLoad>(converter, hasBlockForm);
}

} // namespace mamba
