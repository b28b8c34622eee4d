//===- MambaDecomposeSsu.cpp - Meaning of ssu -----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SkipAndGate.h"
#include "TileEmitter.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

namespace {

/// One row and head of an ssu tile. Slot 0 is the row's, or there is none and
/// the row is a pad.
class SsuTile {
public:
  SsuTile(SsuOp op, OpBuilder &b)
      : op(op), b(b), emit(b, op.getLoc()), loc(op.getLoc()) {
    auto type = cast<RankedTensorType>(op.getState().getType());
    P = b.getIndexAttr(type.getDimSize(2));
    N = b.getIndexAttr(type.getDimSize(3));
    many = cast<RankedTensorType>(op.getX().getType()).getRank() == 4;
    index0 = emit.index(0);
    valid = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                  emit.dim(op.getState(), 0), index0);
  }

  SmallVector<Value> decompose();

private:
  /// The slice of token `t`, without unit dimensions, of x, z, B, C.
  Value token(OpBuilder &nested, Value value, Value t);
  Value insertToken(OpBuilder &nested, Value value, Value into, Value t,
                    ArrayRef<OpFoldResult> inner);
  Value loadState();
  Value storeState(Value h);
  /// One token: the updated state and y's row.
  std::pair<Value, Value> step(OpBuilder &nested, Value h, Value t);

  SsuOp op;
  OpBuilder &b;
  TileEmitter emit;
  Location loc;
  OpFoldResult P, N;
  bool many;
  Value index0, valid;
};

Value SsuTile::token(OpBuilder &nested, Value value, Value t) {
  auto type = cast<RankedTensorType>(value.getType());
  OpFoldResult one = nested.getIndexAttr(1), zero = nested.getIndexAttr(0);
  int64_t rank = type.getRank();
  SmallVector<OpFoldResult> offsets(rank, zero), sizes(rank, one),
      strides(rank, one);
  if (many)
    offsets[1] = t;
  sizes.back() = tensor::getMixedSize(nested, loc, value, rank - 1);
  auto result =
      RankedTensorType::get({type.getDimSize(rank - 1)}, type.getElementType());
  return tensor::ExtractSliceOp::create(nested, loc, result, value, offsets,
                                        sizes, strides);
}

Value SsuTile::insertToken(OpBuilder &nested, Value value, Value into, Value t,
                           ArrayRef<OpFoldResult> inner) {
  int64_t rank = cast<RankedTensorType>(into.getType()).getRank();
  OpFoldResult one = nested.getIndexAttr(1), zero = nested.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets(rank, zero), sizes(rank, one),
      strides(rank, one);
  if (many || rank == 5) // intermediate states always have tokens
    offsets[1] = t;
  llvm::copy(inner, sizes.end() - inner.size());
  return tensor::InsertSliceOp::create(nested, loc, value, into, offsets, sizes,
                                       strides);
}

Value SsuTile::loadState() {
  // A pad has no slot to read: the read is under the condition, and nothing
  // that would wait for it.
  return emit.map(
      {P, N}, b.getF32Type(), {}, {}, [&](ScalarEmitter &e, ValueRange) {
        Value p = e.loop(0), n = e.loop(1);
        return e.toF32(e.guarded(valid, [&](ScalarEmitter &inner) {
          return inner.element(op.getState(), {index0, index0, p, n});
        }));
      });
}

Value SsuTile::storeState(Value h) {
  auto type = cast<RankedTensorType>(op.getNewState().getType());
  Value rounded = emit.map({P, N}, type.getElementType(), {h}, {{0, 1}},
                           [](ScalarEmitter &, ValueRange v) { return v[0]; });
  // For a pad there is no slot, and nothing of this is stored.
  Value slot = emit.unsqueeze(
      rounded,
      RankedTensorType::get({1, 1, type.getDimSize(2), type.getDimSize(3)},
                            type.getElementType()),
      {2, 3});
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets(4, zero), strides(4, one),
      sizes{tensor::getMixedSize(b, loc, op.getState(), 0), one, P, N};
  return tensor::ExtractSliceOp::create(b, loc, type, slot, offsets, sizes,
                                        strides);
}

std::pair<Value, Value> SsuTile::step(OpBuilder &nested, Value h, Value t) {
  TileEmitter e(nested, loc);
  SmallVector<Value> at{index0, index0};
  if (many)
    at.insert(at.begin() + 1, t);
  Value d = e.read(op.getDt(), at);
  if (op.getDtBias())
    d = e.add(d, e.read(op.getDtBias(), {index0}));
  if (op.getSoftplus())
    d = e.softplus(d);
  Value factor = e.decay(e.mul(e.read(op.getA(), {index0}), d));
  Value x = token(nested, op.getX(), t), B = token(nested, op.getB(), t),
        C = token(nested, op.getC(), t);
  h = e.update(h, {x, B}, {{0}, {1}}, [&](ScalarEmitter &s, ValueRange v) {
    return s.add(s.mul(factor, v[2]), s.mul(s.mul(d, v[0]), v[1]));
  });
  Value read =
      e.sum({P}, {h, C}, {{0, 1}, {1}},
            [](ScalarEmitter &s, ValueRange v) { return s.mul(v[0], v[1]); });

  SkipAndGate end({read}, {{0}});
  if (op.getD())
    end.addSkip(e, op.getD(), x, {0});
  if (op.getZ())
    end.addGate(token(nested, op.getZ(), t), {0});
  Value y =
      e.map({P}, getElementTypeOrSelf(op.getY()), end.getInputs(),
            end.getLoops(), [&](ScalarEmitter &s, ValueRange v) {
              return s.select(valid, end.apply(s, v[0], v), s.constant(0.0));
            });
  return {h, y};
}

SmallVector<Value> SsuTile::decompose() {
  OpFoldResult one = b.getIndexAttr(1);
  OpFoldResult count = many ? tensor::getMixedSize(b, loc, op.getX(), 1) : one;
  // Nobody may read a result, which then is not kept.
  bool keepsY = !op.getY().use_empty();
  SmallVector<Value> carried{loadState()};
  Value y = emit.empty(tensor::getMixedSizes(b, loc, op.getX()),
                       getElementTypeOrSelf(op.getY()));
  if (keepsY)
    carried.push_back(y);
  Value between;
  Type intermediate;
  if (op.getIntermediateStates()) {
    intermediate = getElementTypeOrSelf(op.getIntermediateStates());
    between = emit.empty({one, count, one, P, N}, intermediate);
  }
  bool keepsBetween = between && !op.getIntermediateStates().use_empty();
  if (keepsBetween)
    carried.push_back(between);
  Value tokens = getValueOrCreateConstantIndexOp(b, loc, count);
  auto loop = scf::ForOp::create(
      b, loc, index0, tokens, emit.index(1), carried,
      [&](OpBuilder &nested, Location, Value t, ValueRange args) {
        auto [h, row] = step(nested, args[0], t);
        SmallVector<Value> results{h};
        if (keepsY)
          results.push_back(insertToken(nested, row, args[1], t, {P}));
        if (keepsBetween) {
          TileEmitter e(nested, loc);
          Value kept = e.map({P, N}, intermediate, {h}, {{0, 1}},
                             [&](ScalarEmitter &s, ValueRange v) {
                               return s.select(valid, v[0], s.constant(0.0));
                             });
          results.push_back(insertToken(nested, kept, args.back(), t, {P, N}));
        }
        scf::YieldOp::create(nested, loc, results);
      });
  SmallVector<Value> results{keepsY ? loop.getResult(1) : y};
  if (op.getNewState())
    results.push_back(storeState(loop.getResult(0)));
  if (between)
    results.push_back(keepsBetween ? loop.getResults().back() : between);
  return results;
}

} // namespace

FailureOr<SmallVector<Value>> SsuOp::decomposeOperation(OpBuilder &b) {
  return SsuTile(*this, b).decompose();
}
