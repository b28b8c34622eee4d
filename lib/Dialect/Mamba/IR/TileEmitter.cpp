//===- TileEmitter.cpp - Builds linalg on tiles ---------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScalarEmitter::constant(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value ScalarEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value ScalarEmitter::toF32(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

Value ScalarEmitter::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}

Value ScalarEmitter::add(Value lhs, Value rhs) {
  return arith::AddFOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::sub(Value lhs, Value rhs) {
  return arith::SubFOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::mul(Value lhs, Value rhs) {
  return arith::MulFOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::max(Value lhs, Value rhs) {
  return arith::MaximumFOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::min(Value lhs, Value rhs) {
  return arith::MinimumFOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::decay(Value value) {
  // What is below the smallest normal number may become 0: nothing divides by a
  // decay.
  return math::ExpOp::create(b, loc, min(value, constant(0.0)),
                             arith::FastMathFlags::afn);
}

Value ScalarEmitter::softplus(Value value) {
  Value negated =
      arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, value));
  Value tail =
      math::Log1pOp::create(b, loc, math::ExpOp::create(b, loc, negated));
  return add(max(value, constant(0.0)), tail);
}

Value ScalarEmitter::silu(Value value) {
  // sigmoid(v) = (v < 0 ? e : 1) / (1 + e) with e = exp(-|v|).
  Value one = constant(1.0), zero = constant(0.0);
  Value e = math::ExpOp::create(
      b, loc,
      arith::NegFOp::create(b, loc, math::AbsFOp::create(b, loc, value)));
  Value negative =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, value, zero);
  Value numerator = select(negative, e, one);
  Value sigmoid = arith::DivFOp::create(b, loc, numerator, add(one, e));
  return mul(value, sigmoid);
}

Value ScalarEmitter::select(Value condition, Value ifTrue, Value ifFalse) {
  return arith::SelectOp::create(b, loc, condition, ifTrue, ifFalse);
}

Value ScalarEmitter::both(Value lhs, Value rhs) {
  return arith::AndIOp::create(b, loc, lhs, rhs);
}

Value ScalarEmitter::equal(Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lhs, rhs);
}

Value ScalarEmitter::notNegative(Value id) {
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, id, zero);
}

Value ScalarEmitter::notGreater(Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, lhs, rhs);
}

Value ScalarEmitter::element(Value tensor, ArrayRef<Value> indices) {
  return tensor::ExtractOp::create(b, loc, tensor, indices);
}

Value ScalarEmitter::read(Value tensor, ArrayRef<Value> indices) {
  Value value = element(tensor, indices);
  return isa<FloatType>(value.getType()) ? toF32(value) : value;
}

Value ScalarEmitter::guarded(Value condition,
                             llvm::function_ref<Value(ScalarEmitter &)> value) {
  Type type;
  auto ifOp = scf::IfOp::create(
      b, loc, condition,
      [&](OpBuilder &nested, Location nestedLoc) {
        ScalarEmitter inner(nested, nestedLoc);
        Value computed = value(inner);
        type = computed.getType();
        scf::YieldOp::create(nested, nestedLoc, computed);
      },
      [&](OpBuilder &nested, Location nestedLoc) {
        Value zero = arith::ConstantOp::create(
            nested, nestedLoc, cast<TypedAttr>(nested.getZeroAttr(type)));
        scf::YieldOp::create(nested, nestedLoc, zero);
      });
  return ifOp.getResult(0);
}

Value ScalarEmitter::loop(int64_t number) {
  return linalg::IndexOp::create(b, loc, number);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value TileEmitter::dim(Value tensor, int64_t dim) {
  return getValueOrCreateConstantIndexOp(
      b, loc, tensor::getMixedSize(b, loc, tensor, dim));
}

Value TileEmitter::squeeze(Value tensor, ArrayRef<int64_t> keep) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes(type.getRank(), b.getIndexAttr(1)),
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  for (int64_t dim : keep) {
    sizes[dim] = tensor::getMixedSize(b, loc, tensor, dim);
    shape.push_back(type.getDimSize(dim));
  }
  auto resultType = RankedTensorType::get(shape, type.getElementType());
  return tensor::ExtractSliceOp::create(b, loc, resultType, tensor, offsets,
                                        sizes, strides);
}

Value TileEmitter::unsqueeze(Value tensor, RankedTensorType type,
                             ArrayRef<int64_t> keep) {
  // An insertion rather than tensor.expand_shape: bufferization then computes
  // the tile where it belongs in the whole result.
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes(type.getRank(), b.getIndexAttr(1)),
      strides(type.getRank(), b.getIndexAttr(1));
  for (auto [i, dim] : llvm::enumerate(keep))
    sizes[dim] = tensor::getMixedSize(b, loc, tensor, i);
  return tensor::InsertSliceOp::create(b, loc, tensor,
                                       empty(sizes, type.getElementType()),
                                       offsets, sizes, strides);
}

Value TileEmitter::prefix(Value tensor, OpFoldResult size) {
  return tensor::ExtractSliceOp::create(
      b, loc, tensor, ArrayRef<OpFoldResult>{b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

Value TileEmitter::empty(ArrayRef<OpFoldResult> sizes, Type type) {
  return tensor::EmptyOp::create(b, loc, sizes, type);
}

Value TileEmitter::zeros(ArrayRef<OpFoldResult> sizes) {
  return linalg::FillOp::create(b, loc, constant(0.0),
                                empty(sizes, b.getF32Type()))
      .getResult(0);
}

static AffineMap getMap(OpBuilder &b, int64_t loops, ArrayRef<int64_t> used) {
  SmallVector<AffineExpr> exprs;
  for (int64_t loop : used)
    exprs.push_back(b.getAffineDimExpr(loop));
  return AffineMap::get(loops, 0, exprs, b.getContext());
}

Value TileEmitter::structured(Kind kind, Value init, ArrayRef<Value> inputs,
                              ArrayRef<SmallVector<int64_t>> inputLoops,
                              Body body) {
  auto type = cast<RankedTensorType>(init.getType());
  int64_t rank = type.getRank(), loops = rank + (kind == Kind::Sum ? 1 : 0);
  SmallVector<AffineMap> maps;
  for (ArrayRef<int64_t> used : inputLoops)
    maps.push_back(getMap(b, loops, used));
  maps.push_back(
      getMap(b, loops, llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.resize(loops, utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             b, loc, TypeRange{type}, inputs, ValueRange{init}, maps, iterators,
             [&](OpBuilder &nested, Location nestedLoc, ValueRange arguments) {
               ScalarEmitter emit(nested, nestedLoc);
               SmallVector<Value> values;
               if (kind != Kind::Update)
                 arguments = arguments.drop_back();
               for (Value argument : arguments)
                 values.push_back(isa<FloatType>(argument.getType())
                                      ? emit.toF32(argument)
                                      : argument);
               Value result = body(emit, values);
               if (kind == Kind::Sum)
                 result =
                     emit.add(nested.getBlock()->getArguments().back(), result);
               if (isa<FloatType>(result.getType()))
                 result = emit.round(result, type.getElementType());
               linalg::YieldOp::create(nested, nestedLoc, result);
             })
      .getResult(0);
}

Value TileEmitter::map(ArrayRef<OpFoldResult> sizes, Type type,
                       ArrayRef<Value> inputs,
                       ArrayRef<SmallVector<int64_t>> inputLoops, Body body) {
  return structured(Kind::Map, empty(sizes, type), inputs, inputLoops, body);
}

Value TileEmitter::update(Value tensor, ArrayRef<Value> inputs,
                          ArrayRef<SmallVector<int64_t>> inputLoops,
                          Body body) {
  return structured(Kind::Update, tensor, inputs, inputLoops, body);
}

Value TileEmitter::sum(ArrayRef<OpFoldResult> sizes, ArrayRef<Value> inputs,
                       ArrayRef<SmallVector<int64_t>> inputLoops, Body body) {
  return structured(Kind::Sum, zeros(sizes), inputs, inputLoops, body);
}

Value TileEmitter::matmul(ArrayRef<OpFoldResult> sizes, Value lhs,
                          ArrayRef<int64_t> lhsLoops, Value rhs,
                          ArrayRef<int64_t> rhsLoops) {
  Attribute maps[] = {AffineMapAttr::get(getMap(b, 3, lhsLoops)),
                      AffineMapAttr::get(getMap(b, 3, rhsLoops)),
                      AffineMapAttr::get(getMap(b, 3, {0, 1}))};
  Value init = zeros(sizes);
  auto product =
      linalg::MatmulOp::create(b, loc, TypeRange{init.getType()},
                               ValueRange{lhs, rhs}, ValueRange{init});
  product.setIndexingMapsAttr(b.getArrayAttr(maps));
  return product.getResult(0);
}
