//===- MambaShapes.cpp - Shape inference and reification ------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoleSizes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

std::optional<int64_t> mamba::getChunkSize(Operation *op) {
  if (auto attr = op->getAttrOfType<IntegerAttr>("chunk_size"))
    return attr.getInt();
  for (const ShapedValue &value : getShapedValues(op))
    for (auto [dim, role] : llvm::enumerate(value.roles))
      if (role == Role::Chunk)
        return value.type.getDimSize(dim);
  return std::nullopt;
}

OpFoldResult mamba::getRoleSize(OpBuilder &b, Operation *op, Role role) {
  SmallVector<ShapedValue> values = getShapedValues(op);
  const ShapedValue *source = nullptr;
  unsigned sourceDim = 0;
  for (const ShapedValue &value : values)
    for (auto [dim, dimRole] : llvm::enumerate(value.roles)) {
      if (dimRole != role)
        continue;
      if (!value.type.isDynamicDim(dim))
        return b.getIndexAttr(value.type.getDimSize(dim));
      bool isOperand = value.value.getDefiningOp() != op;
      if (!source && isOperand) {
        source = &value;
        sourceDim = dim;
      }
    }
  if (source)
    return tensor::getMixedSize(b, op->getLoc(), source->value, sourceDim);
  if (role == Role::Chunks) {
    OpFoldResult length = getRoleSize(b, op, Role::Length);
    AffineExpr d0 = b.getAffineDimExpr(0);
    return affine::makeComposedFoldedAffineApply(
        b, op->getLoc(), d0.ceilDiv(*getChunkSize(op)), {length});
  }
  // One token of ssu has no token dimension.
  assert(role == Role::Tokens && "every other role is in an operand");
  return b.getIndexAttr(1);
}

static bool isSameValue(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  Operation *left = lhs.getDefiningOp(), *right = rhs.getDefiningOp();
  return left && right && isPure(left) && left->getNumResults() == 1 &&
         OperationEquivalence::isEquivalentTo(
             left, right,
             [](Value l, Value r) { return success(isSameValue(l, r)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

bool mamba::isSameSize(OpFoldResult lhs, OpFoldResult rhs) {
  if (isEqualConstantIntOrValue(lhs, rhs))
    return true;
  auto left = dyn_cast<Value>(lhs), right = dyn_cast<Value>(rhs);
  return left && right && isSameValue(left, right);
}

static LogicalResult reifyByRole(OpBuilder &b, Operation *op,
                                 ReifiedRankedShapedTypeDims &shapes) {
  for (const ShapedValue &value : getShapedValues(op)) {
    if (value.value.getDefiningOp() != op)
      continue;
    SmallVector<OpFoldResult> &dims = shapes.emplace_back();
    for (auto [dim, role] : llvm::enumerate(value.roles)) {
      // A dynamic dimension of the result is reified as a value even where
      // the operands know it statically.
      OpFoldResult size = getRoleSize(b, op, role);
      if (value.type.isDynamicDim(dim))
        size = getValueOrCreateConstantIndexOp(b, op->getLoc(), size);
      dims.push_back(size);
    }
  }
  return success();
}

#define MAMBA_REIFY(OP)                                                        \
  LogicalResult OP::reifyResultShapes(OpBuilder &b,                            \
                                      ReifiedRankedShapedTypeDims &shapes) {   \
    return reifyByRole(b, *this, shapes);                                      \
  }
MAMBA_REIFY(ChunkCumsumOp)
MAMBA_REIFY(ChunkStateOp)
MAMBA_REIFY(StatePassOp)
MAMBA_REIFY(ChunkOutOp)
MAMBA_REIFY(SsdOp)
MAMBA_REIFY(SsuOp)
#undef MAMBA_REIFY

//===----------------------------------------------------------------------===//
// Type inference
//===----------------------------------------------------------------------===//

static int64_t ceilDivOrDynamic(int64_t length, int64_t chunk) {
  if (ShapedType::isDynamic(length) || chunk <= 0)
    return ShapedType::kDynamic;
  return llvm::divideCeilSigned(length, chunk);
}

static bool areCompatible(TypeRange lhs, TypeRange rhs) {
  if (lhs.size() != rhs.size())
    return false;
  return llvm::all_of(llvm::zip_equal(lhs, rhs), [](auto pair) {
    auto a = dyn_cast<RankedTensorType>(std::get<0>(pair));
    auto b = dyn_cast<RankedTensorType>(std::get<1>(pair));
    return a && b && a.getElementType() == b.getElementType() &&
           succeeded(verifyCompatibleShape(a, b));
  });
}

LogicalResult ChunkCumsumOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location>, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto dt = dyn_cast<RankedTensorType>(adaptor.getDt().getType());
  if (!dt || dt.getRank() != 3)
    return failure();
  int64_t chunk = adaptor.getChunkSize();
  Type type =
      RankedTensorType::get({dt.getDimSize(0), dt.getDimSize(2),
                             ceilDivOrDynamic(dt.getDimSize(1), chunk), chunk},
                            Float32Type::get(context));
  types.assign(2, type);
  return success();
}

bool ChunkCumsumOp::isCompatibleReturnTypes(TypeRange lhs, TypeRange rhs) {
  return areCompatible(lhs, rhs);
}

LogicalResult
ChunkStateOp::inferReturnTypes(MLIRContext *context, std::optional<Location>,
                               ValueRange operands, DictionaryAttr attributes,
                               OpaqueProperties properties, RegionRange regions,
                               SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto x = dyn_cast<RankedTensorType>(adaptor.getX().getType());
  auto B = dyn_cast<RankedTensorType>(adaptor.getB().getType());
  auto dt = dyn_cast<RankedTensorType>(adaptor.getDt().getType());
  if (!x || x.getRank() != 4 || !B || B.getRank() != 4 || !dt ||
      dt.getRank() != 4)
    return failure();
  types.push_back(
      RankedTensorType::get({x.getDimSize(0), dt.getDimSize(2), x.getDimSize(2),
                             x.getDimSize(3), B.getDimSize(3)},
                            Float32Type::get(context)));
  return success();
}

bool ChunkStateOp::isCompatibleReturnTypes(TypeRange lhs, TypeRange rhs) {
  return areCompatible(lhs, rhs);
}
