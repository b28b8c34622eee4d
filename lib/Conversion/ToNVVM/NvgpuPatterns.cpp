//===- NvgpuPatterns.cpp - Tensor cores and asynchronous copies -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's lowering (convert-nvgpu-to-nvvm) rejects bf16 in mma.sync, and
// passes f32 bits to tf32 instructions, which drop the low bits instead of
// rounding. See test/Target/upstream-nvgpu.mlir.
//
//===----------------------------------------------------------------------===//

#include "NvgpuPatterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;

namespace mamba {
namespace {

constexpr unsigned globalSpace = 1, sharedSpace = 3;
constexpr int64_t registerBits = 32;
/// Above upstream's patterns.
constexpr unsigned kBenefit = 10;

bool isPackedFloat(Type type) { return isa<BFloat16Type, Float16Type>(type); }

/// `pointer` in address space `space`.
Value inSpace(OpBuilder &builder, Location loc, Value pointer, unsigned space) {
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), space);
  if (pointer.getType() == type)
    return pointer;
  return LLVM::AddrSpaceCastOp::create(builder, loc, type, pointer);
}

struct LowerLdMatrix : ConvertOpToLLVMPattern<nvgpu::LdMatrixOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::LdMatrixOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<VectorType>(op.getRes().getType());
    int64_t matrices = op.getNumTiles();
    if (type.getRank() != 2 || type.getDimSize(0) != matrices ||
        type.getDimSize(1) * type.getElementTypeBitWidth() != registerBits)
      return rewriter.notifyMatchFailure(op, "expected one register a matrix");
    Value pointer =
        getStridedElementPtr(rewriter, loc, op.getSrcMemref().getType(),
                             adaptor.getSrcMemref(), adaptor.getIndices());
    Type i32 = rewriter.getI32Type();
    Type loaded = i32;
    if (matrices > 1)
      loaded = LLVM::LLVMStructType::getLiteral(
          rewriter.getContext(), SmallVector<Type>(matrices, i32));
    auto load = NVVM::LdMatrixOp::create(
        rewriter, loc, loaded, inSpace(rewriter, loc, pointer, sharedSpace),
        matrices,
        op.getTranspose() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(rewriter.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    auto rowType = VectorType::get({type.getDimSize(1)}, type.getElementType());
    Value result = LLVM::PoisonOp::create(
        rewriter, loc, getTypeConverter()->convertType(type));
    for (int64_t i = 0; i < matrices; ++i) {
      Value bits = load.getRes();
      if (matrices > 1)
        bits = LLVM::ExtractValueOp::create(rewriter, loc, bits, i);
      Value row = LLVM::BitcastOp::create(rewriter, loc, rowType, bits);
      result = LLVM::InsertValueOp::create(rewriter, loc, result, row, i);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct LowerMmaSync : ConvertOpToLLVMPattern<nvgpu::MmaSyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::MmaSyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type element = cast<VectorType>(op.getMatrixA().getType()).getElementType();
    std::optional<NVVM::MMATypes> kind = getKind(op, element);
    if (!kind)
      return rewriter.notifyMatchFailure(
          op, "expected bf16 or f16 in 16x8x16 or tf32 in 16x8x8");
    auto accumulator = cast<VectorType>(op.getMatrixC().getType());
    if (!accumulator.getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "expected f32 accumulators");

    SmallVector<Value> a = getMultiplicand(rewriter, loc, adaptor.getMatrixA());
    SmallVector<Value> b = getMultiplicand(rewriter, loc, adaptor.getMatrixB());
    SmallVector<Value> c;
    for (Value row : getRows(rewriter, loc, adaptor.getMatrixC()))
      for (int64_t i = 0, e = accumulator.getDimSize(1); i < e; ++i)
        c.push_back(getElement(rewriter, loc, row, i));

    Type result = LLVM::LLVMStructType::getLiteral(
        rewriter.getContext(),
        SmallVector<Type>(c.size(), rewriter.getF32Type()));
    Value products = NVVM::MmaOp::create(
        rewriter, loc, result, a, b, c, op.getMmaShapeAsArray(),
        /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
        std::array{*kind, *kind},
        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});

    Type type = getTypeConverter()->convertType(accumulator);
    Type rowType =
        VectorType::get({accumulator.getDimSize(1)}, rewriter.getF32Type());
    Value packed = LLVM::PoisonOp::create(rewriter, loc, type);
    int64_t next = 0;
    for (int64_t row = 0, e = accumulator.getDimSize(0); row < e; ++row) {
      Value values = LLVM::PoisonOp::create(rewriter, loc, rowType);
      for (int64_t i = 0, f = accumulator.getDimSize(1); i < f; ++i) {
        Value value =
            LLVM::ExtractValueOp::create(rewriter, loc, products, next++);
        values = LLVM::InsertElementOp::create(rewriter, loc, values, value,
                                               getIndex(rewriter, loc, i));
      }
      packed = LLVM::InsertValueOp::create(rewriter, loc, packed, values, row);
    }
    rewriter.replaceOp(op, packed);
    return success();
  }

private:
  static std::optional<NVVM::MMATypes> getKind(nvgpu::MmaSyncOp op,
                                               Type element) {
    std::array<int64_t, 3> shape = op.getMmaShapeAsArray();
    if (shape == std::array<int64_t, 3>{16, 8, 16}) {
      if (element.isBF16())
        return NVVM::MMATypes::bf16;
      if (element.isF16())
        return NVVM::MMATypes::f16;
    }
    if (shape == std::array<int64_t, 3>{16, 8, 8} && element.isF32() &&
        op.getTf32Enabled())
      return NVVM::MMATypes::tf32;
    return std::nullopt;
  }

  static Value getIndex(OpBuilder &builder, Location loc, int64_t index) {
    return LLVM::ConstantOp::create(builder, loc,
                                    builder.getI64IntegerAttr(index));
  }

  static Value getElement(OpBuilder &builder, Location loc, Value vector,
                          int64_t index) {
    return LLVM::ExtractElementOp::create(builder, loc, vector,
                                          getIndex(builder, loc, index));
  }

  static SmallVector<Value> getRows(OpBuilder &builder, Location loc,
                                    Value matrix) {
    SmallVector<Value> rows;
    auto type = cast<LLVM::LLVMArrayType>(matrix.getType());
    for (unsigned i = 0, e = type.getNumElements(); i < e; ++i)
      rows.push_back(LLVM::ExtractValueOp::create(builder, loc, matrix, i));
    return rows;
  }

  /// One value for each register of A or B, in the type that NVVM wants.
  static SmallVector<Value> getMultiplicand(OpBuilder &builder, Location loc,
                                            Value matrix) {
    SmallVector<Value> registers;
    for (Value row : getRows(builder, loc, matrix)) {
      auto type = cast<VectorType>(row.getType());
      if (type.getElementType().isF16()) {
        registers.push_back(row);
      } else if (isPackedFloat(type.getElementType())) {
        registers.push_back(
            LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), row));
      } else {
        // The instruction ignores the bits that tf32 has not.
        registers.push_back(NVVM::ConvertFloatToTF32Op::create(
            builder, loc, builder.getI32Type(),
            getElement(builder, loc, row, 0), NVVM::FPRoundingMode::RNA,
            NVVM::SaturationMode::NONE, /*relu=*/false));
      }
    }
    return registers;
  }
};

/// A token says which copies belong to a group; the hardware has one list of
/// groups for each thread and needs none.
Value createToken(OpBuilder &builder, Location loc) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
}

struct LowerAsyncCopy : ConvertOpToLLVMPattern<nvgpu::DeviceAsyncCopyOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::DeviceAsyncCopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto dstType = cast<MemRefType>(op.getDst().getType());
    auto srcType = cast<MemRefType>(op.getSrc().getType());
    if (!dstType.getElementType().isIntOrFloat())
      return rewriter.notifyMatchFailure(op, "expected numbers");
    int64_t elementBytes = dstType.getElementTypeBitWidth() / 8;
    int64_t bytes = op.getDstElements().getSExtValue() * elementBytes;
    if (bytes != 4 && bytes != 8 && bytes != 16)
      return rewriter.notifyMatchFailure(op, "expected 4, 8 or 16 bytes");
    Value dst = getStridedElementPtr(rewriter, loc, dstType, adaptor.getDst(),
                                     adaptor.getDstIndices());
    Value src = getStridedElementPtr(rewriter, loc, srcType, adaptor.getSrc(),
                                     adaptor.getSrcIndices());
    // The rest of the destination is filled with zeros.
    Value srcBytes;
    if (Value elements = adaptor.getSrcElements()) {
      Type i32 = rewriter.getI32Type();
      srcBytes = LLVM::TruncOp::create(rewriter, loc, i32, elements);
      Value scale = LLVM::ConstantOp::create(
          rewriter, loc, rewriter.getI32IntegerAttr(elementBytes));
      srcBytes = LLVM::MulOp::create(rewriter, loc, srcBytes, scale);
    }
    bool bypassL1 = op.getBypassL1().value_or(false) && bytes == 16;
    NVVM::CpAsyncOp::create(
        rewriter, loc, inSpace(rewriter, loc, dst, sharedSpace),
        inSpace(rewriter, loc, src, globalSpace),
        rewriter.getI32IntegerAttr(bytes),
        NVVM::LoadCacheModifierKindAttr::get(
            rewriter.getContext(), bypassL1 ? NVVM::LoadCacheModifierKind::CG
                                            : NVVM::LoadCacheModifierKind::CA),
        srcBytes);
    rewriter.replaceOp(op, createToken(rewriter, loc));
    return success();
  }
};

struct LowerAsyncCreateGroup
    : ConvertOpToLLVMPattern<nvgpu::DeviceAsyncCreateGroupOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::DeviceAsyncCreateGroupOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::CpAsyncCommitGroupOp::create(rewriter, op.getLoc());
    rewriter.replaceOp(op, createToken(rewriter, op.getLoc()));
    return success();
  }
};

struct LowerAsyncWait : ConvertOpToLLVMPattern<nvgpu::DeviceAsyncWaitOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(nvgpu::DeviceAsyncWaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::CpAsyncWaitGroupOp>(
        op, op.getNumGroups().value_or(0));
    return success();
  }
};

} // namespace

void populateNvgpuPatterns(LLVMTypeConverter &converter,
                           RewritePatternSet &patterns) {
  converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  patterns.add<LowerLdMatrix, LowerMmaSync, LowerAsyncCopy,
               LowerAsyncCreateGroup, LowerAsyncWait>(converter, kBenefit);
}

} // namespace mamba
