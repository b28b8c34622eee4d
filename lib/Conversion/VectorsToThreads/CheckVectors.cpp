//===- CheckVectors.cpp - What can be laid out and distributed ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutRules.h"
#include "VectorKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mamba;

static LogicalResult checkType(Operation *op, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return success();
  if (vector.isScalable() || vector.getRank() == 0)
    return op->emitOpError("expected vectors of fixed size with at least one "
                           "dimension, got ")
           << vector;
  return success();
}

static LogicalResult checkContraction(vector::ContractionOp op) {
  auto isFloat = [](Type type) {
    return type.isF32() || type.isBF16() || type.isF16();
  };
  Type lhs = op.getLhsType().getElementType();
  Type rhs = op.getRhsType().getElementType();
  if (!isFloat(lhs) || !isFloat(rhs) ||
      !getElementTypeOrSelf(op.getAccType()).isF32())
    return op.emitOpError("expected factors of bf16, f16 or f32 and sums of "
                          "f32, got ")
           << lhs << ", " << rhs << " and "
           << getElementTypeOrSelf(op.getAccType());
  return success();
}

static LogicalResult checkOperation(Operation *op) {
  auto isVector = [](Type type) { return isa<VectorType>(type); };
  if (llvm::none_of(op->getOperandTypes(), isVector) &&
      llvm::none_of(op->getResultTypes(), isVector))
    return success();
  for (Type type : llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                                      SmallVector<Type>(op->getResultTypes())))
    if (failed(checkType(op, type)))
      return failure();
  if (auto transfer = dyn_cast<VectorTransferOpInterface>(op))
    if (transfer.getMask())
      return op->emitOpError(
          "expected no mask: bounds are those of the memref");
  if (auto contraction = dyn_cast<vector::ContractionOp>(op))
    return checkContraction(contraction);
  bool isKnown =
      isElementwise(op) || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<vector::BroadcastOp, vector::TransposeOp, vector::ShapeCastOp,
          vector::StepOp, vector::ExtractStridedSliceOp, vector::ExtractOp,
          vector::MultiDimReductionOp, vector::ScanOp, vector::TransferReadOp,
          vector::TransferWriteOp, ConvertLayoutOp, scf::ForOp, scf::IfOp,
          scf::YieldOp>(op);
  if (!isKnown)
    return op->emitOpError("cannot be distributed over threads");
  return success();
}

LogicalResult mamba::checkVectors(gpu::GPUFuncOp kernel) {
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (isa<VectorType>(type))
      return kernel.emitOpError("expected no vector as argument, got ")
             << type << " as argument " << index;
  WalkResult result = kernel.walk([](Operation *op) {
    return failed(checkOperation(op)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Whether `attributes` has a layout for each vector that `op` gives.
static bool hasLayouts(Operation *op, ArrayAttr attributes) {
  if (!attributes || attributes.size() != op->getNumResults())
    return false;
  for (auto [result, attribute] :
       llvm::zip_equal(op->getResults(), attributes)) {
    auto type = dyn_cast<VectorType>(result.getType());
    if (!type)
      continue;
    auto layout = dyn_cast<LayoutAttr>(attribute);
    if (!layout)
      return false;
    LinearLayout map = toLayout(layout);
    SmallVector<uint32_t, 4> shape = mamba::getPaddedShape(type);
    if (map.getOuts().size() != shape.size())
      return false;
    for (auto [out, size] : llvm::zip_equal(map.getOuts(), shape))
      if (out.size() != size)
        return false;
  }
  return true;
}

LogicalResult mamba::checkLayouts(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    bool givesVectors = llvm::any_of(
        op->getResultTypes(), [](Type type) { return isa<VectorType>(type); });
    if (!givesVectors ||
        hasLayouts(op, op->getAttrOfType<ArrayAttr>(kLayoutsAttrName)))
      return WalkResult::advance();
    op->emitOpError("expected '")
        << kLayoutsAttrName << "' with a layout for each vector it gives, as "
        << "mamba-assign-layouts writes it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
