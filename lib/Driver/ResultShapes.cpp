//===- ResultShapes.cpp - Shapes of results from shapes of arguments ------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of the function returns `tensor.dim` of every result. Operations give
// their results' sizes in terms of their operands' (the reification interface),
// sizes of arguments are constants here, and folding does the rest. So any
// operation works that upstream's or our reification knows, not only ours.
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Signature.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mamba {

namespace {

/// A dimension of an argument is a constant.
struct FoldArgumentDim : OpRewritePattern<tensor::DimOp> {
  FoldArgumentDim(MLIRContext *context, Block *entry,
                  ArrayRef<SmallVector<int64_t>> shapes)
      : OpRewritePattern(context), entry(entry), shapes(shapes) {}

  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto argument = dyn_cast<BlockArgument>(op.getSource());
    std::optional<int64_t> index = op.getConstantIndex();
    if (!argument || argument.getOwner() != entry || !index)
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(
        op, shapes[argument.getArgNumber()][*index]);
    return success();
  }

  Block *entry;
  ArrayRef<SmallVector<int64_t>> shapes;
};

/// Elementwise operations on tensors do not implement reification.
struct ResolveElementwiseDim : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::DimOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getSource().getDefiningOp();
    if (!producer || !OpTrait::hasElementwiseMappableTraits(producer))
      return failure();
    for (Value operand : producer->getOperands())
      if (isa<RankedTensorType>(operand.getType())) {
        rewriter.modifyOpInPlace(
            op, [&] { op.getSourceMutable().assign(operand); });
        return success();
      }
    return failure();
  }
};

} // namespace

/// Canonicalizations of the operations that sizes are computed with.
static void addPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ResolveElementwiseDim>(context);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
  affine::AffineMinOp::getCanonicalizationPatterns(patterns, context);
  affine::AffineMaxOp::getCanonicalizationPatterns(patterns, context);
  scf::IfOp::getCanonicalizationPatterns(patterns, context);
}

llvm::Expected<std::vector<SmallVector<int64_t>>>
inferResultShapes(func::FuncOp function,
                  ArrayRef<SmallVector<int64_t>> shapes) {
  OpBuilder builder(function.getContext());
  Location loc = function.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto copy = cast<func::FuncOp>(builder.clone(*function));

  // Replace the returned tensors by their sizes.
  Operation *terminator = copy.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Value> sizes;
  for (Value result : terminator->getOperands())
    for (int64_t i = 0, e = cast<RankedTensorType>(result.getType()).getRank();
         i < e; ++i)
      sizes.push_back(tensor::DimOp::create(builder, loc, result, i));
  SmallVector<Type> sizeTypes(sizes.size(), builder.getIndexType());
  copy.removeResAttrsAttr();
  copy.setFunctionType(
      builder.getFunctionType(copy.getArgumentTypes(), sizeTypes));
  terminator->setOperands(sizes);

  RewritePatternSet patterns(function.getContext());
  patterns.add<FoldArgumentDim>(function.getContext(), &copy.getBody().front(),
                                shapes);
  addPatterns(patterns);
  (void)applyPatternsGreedily(copy, std::move(patterns));

  std::vector<SmallVector<int64_t>> result;
  OperandRange constants =
      copy.getBody().front().getTerminator()->getOperands();
  unsigned next = 0;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    SmallVector<int64_t> &shape = result.emplace_back();
    for (int64_t i = 0, e = cast<RankedTensorType>(type).getRank(); i < e;
         ++i) {
      APInt size;
      if (!matchPattern(constants[next++], m_ConstantInt(&size)))
        return llvm::createStringError(
            "cannot tell dimension " + llvm::Twine(i) + " of result " +
            llvm::Twine(index) + " of function '" + function.getName() +
            "' from the sizes of its arguments");
      shape.push_back(size.getSExtValue());
    }
  }
  return result;
}

} // namespace mamba
