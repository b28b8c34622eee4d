//===- VectorPatterns.cpp - A thread's vectors to its registers -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorPatterns.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace mamba {
namespace {

/// Above upstream's patterns, and above those for math.
constexpr unsigned kBenefit = 10;

/// A vector of one dimension and more than one element, or null.
VectorType getUnrollable(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1 || vector.isScalable() ||
      vector.getNumElements() == 1)
    return {};
  return vector;
}

/// An elementwise operation on a vector becomes one operation an element.
struct UnrollElementwise : RewritePattern {
  UnrollElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), kBenefit, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    // LLVM keeps vectors of these longer than the back end can split well.
    bool isScalarOnly =
        isa_and_present<math::MathDialect>(op->getDialect()) ||
        isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp, arith::DivFOp, arith::RemFOp>(op);
    if (!isScalarOnly || op->getNumResults() != 1)
      return failure();
    VectorType type = getUnrollable(op->getResult(0).getType());
    if (!type)
      return rewriter.notifyMatchFailure(op, "expected a 1-D vector");
    Location loc = op->getLoc();
    SmallVector<Value> elements;
    for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(
            isa<VectorType>(operand.getType())
                ? vector::ExtractOp::create(rewriter, loc, operand, i)
                : operand);
      Operation *element =
          rewriter.create(loc, op->getName().getIdentifier(), operands,
                          type.getElementType(), op->getAttrs());
      elements.push_back(element->getResult(0));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};

/// f32 to bf16 or f16, two elements at a time: one instruction each.
struct TruncateByPairs : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    VectorType type = getUnrollable(op.getType());
    if (!type || type.getNumElements() <= 2 || type.getNumElements() % 2 ||
        type.getElementTypeBitWidth() != 16 ||
        !getElementTypeOrSelf(op.getIn().getType()).isF32())
      return rewriter.notifyMatchFailure(op, "expected several pairs");
    Location loc = op.getLoc();
    SmallVector<Value> elements;
    for (int64_t i = 0, e = type.getNumElements(); i < e; i += 2) {
      Value pair = vector::ExtractStridedSliceOp::create(rewriter, loc,
                                                         op.getIn(), i, 2, 1);
      Value narrow = arith::TruncFOp::create(
          rewriter, loc, VectorType::get({2}, type.getElementType()), pair,
          op.getRoundingmodeAttr(), op.getFastmathAttr());
      for (int64_t j = 0; j < 2; ++j)
        elements.push_back(vector::ExtractOp::create(rewriter, loc, narrow, j));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};

/// bf16 is the upper half of f32: a shift and a mask for each register, without
/// taking its halves apart first.
struct ExtendPairs : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    VectorType type = getUnrollable(op.getType());
    if (!type || type.getNumElements() % 2 || !type.getElementType().isF32() ||
        !getElementTypeOrSelf(op.getIn().getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "expected pairs of bf16");
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    Value half = arith::ConstantIntOp::create(rewriter, loc, i32, 16);
    Value upper = arith::ConstantIntOp::create(rewriter, loc, i32, -0x10000);
    Value words = vector::BitCastOp::create(
        rewriter, loc, VectorType::get({type.getNumElements() / 2}, i32),
        op.getIn());
    SmallVector<Value> elements;
    for (int64_t i = 0, e = type.getNumElements() / 2; i < e; ++i) {
      Value word = vector::ExtractOp::create(rewriter, loc, words, i);
      for (Value bits :
           {arith::ShLIOp::create(rewriter, loc, word, half).getResult(),
            arith::AndIOp::create(rewriter, loc, word, upper).getResult()})
        elements.push_back(arith::BitcastOp::create(
            rewriter, loc, type.getElementType(), bits));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};

/// `count` elements of `vector` from `begin`.
Value createSlice(OpBuilder &builder, Location loc, Value vector, int64_t begin,
                  int64_t count) {
  SmallVector<int32_t> mask;
  for (int64_t i = 0; i < count; ++i)
    mask.push_back(static_cast<int32_t>(begin + i));
  Value poison = LLVM::PoisonOp::create(builder, loc, vector.getType());
  return LLVM::ShuffleVectorOp::create(builder, loc, vector, poison, mask);
}

/// `vector` with `slice` from `begin` on.
Value insertSlice(OpBuilder &builder, Location loc, Value slice, Value vector,
                  int64_t begin) {
  auto type = cast<VectorType>(slice.getType());
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    Value from =
        LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(i));
    Value to = LLVM::ConstantOp::create(builder, loc,
                                        builder.getI64IntegerAttr(begin + i));
    Value element = LLVM::ExtractElementOp::create(builder, loc, slice, from);
    vector = LLVM::InsertElementOp::create(builder, loc, vector, element, to);
  }
  return vector;
}

struct LowerShapeCast : ConvertOpToLLVMPattern<vector::ShapeCastOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(vector::ShapeCastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    VectorType from = op.getSourceVectorType(), to = op.getResultVectorType();
    Type converted = getTypeConverter()->convertType(to);
    if (!converted || from.isScalable())
      return rewriter.notifyMatchFailure(op, "expected convertible types");
    Value result = LLVM::PoisonOp::create(rewriter, loc, converted);
    if (from.getRank() == 1 && to.getRank() == 2) {
      int64_t columns = to.getDimSize(1);
      for (int64_t i = 0, e = to.getDimSize(0); i < e; ++i) {
        Value row = createSlice(rewriter, loc, adaptor.getSource(), i * columns,
                                columns);
        result = LLVM::InsertValueOp::create(rewriter, loc, result, row, i);
      }
    } else if (from.getRank() == 2 && to.getRank() == 1) {
      for (int64_t i = 0, e = from.getDimSize(0); i < e; ++i) {
        Value row =
            LLVM::ExtractValueOp::create(rewriter, loc, adaptor.getSource(), i);
        result =
            insertSlice(rewriter, loc, row, result, i * from.getDimSize(1));
      }
    } else {
      return rewriter.notifyMatchFailure(op, "expected ranks 1 and 2");
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct LowerExtractSlice
    : ConvertOpToLLVMPattern<vector::ExtractStridedSliceOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(vector::ExtractStridedSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getSourceVectorType().getRank() != 1)
      return rewriter.notifyMatchFailure(op, "expected one dimension");
    auto offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
    rewriter.replaceOp(op,
                       createSlice(rewriter, op.getLoc(), adaptor.getSource(),
                                   offset, op.getType().getDimSize(0)));
    return success();
  }
};

struct LowerInsertSlice : ConvertOpToLLVMPattern<vector::InsertStridedSliceOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(vector::InsertStridedSliceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getDestVectorType().getRank() != 1)
      return rewriter.notifyMatchFailure(op, "expected one dimension");
    auto offset = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
    rewriter.replaceOp(op, insertSlice(rewriter, op.getLoc(),
                                       adaptor.getValueToStore(),
                                       adaptor.getDest(), offset));
    return success();
  }
};

} // namespace

void populateVectorUnrollPatterns(RewritePatternSet &patterns) {
  patterns.add<UnrollElementwise, TruncateByPairs, ExtendPairs>(
      patterns.getContext());
}

void populateVectorRegisterPatterns(LLVMTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<LowerShapeCast, LowerExtractSlice, LowerInsertSlice>(converter,
                                                                    kBenefit);
}

} // namespace mamba
