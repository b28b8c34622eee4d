//===- MambaDecompose.cpp - Meaning of the scan's first steps -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ssd as chunk operations, and chunk_cumsum, chunk_state and state_pass as
// linalg on unit tiles. Formulas: the operations' documentation.
//
//===----------------------------------------------------------------------===//

#include "RoleSizes.h"
#include "TileEmitter.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mamba;

/// The first token of chunk `c`.
static Value getFirstToken(OpBuilder &b, Location loc, Value c, int64_t chunk) {
  return getValueOrCreateConstantIndexOp(
      b, loc,
      affine::makeComposedFoldedAffineApply(
          b, loc, b.getAffineDimExpr(0) * chunk, {c}));
}

/// The last token of chunk `c`: min((c + 1) * chunk, length) - 1.
static Value getLastToken(OpBuilder &b, Location loc, Value c, int64_t chunk,
                          Value seqIdx) {
  OpFoldResult length = tensor::getMixedSize(b, loc, seqIdx, 1);
  AffineExpr d0 = b.getAffineDimExpr(0), s0 = b.getAffineSymbolExpr(0);
  AffineMap map =
      AffineMap::get(1, 1, {d0 * chunk + (chunk - 1), s0 - 1}, b.getContext());
  return getValueOrCreateConstantIndexOp(
      b, loc, affine::makeComposedFoldedAffineMin(b, loc, map, {c, length}));
}

FailureOr<SmallVector<Value>> SsdOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto bType = cast<RankedTensorType>(getB().getType());
  int64_t chunk = getChunkSize();
  auto cumsum = ChunkCumsumOp::create(b, loc, getDt(), getA(), getDtBias(),
                                      chunk, getSoftplus(), getDtLimitAttr());
  auto state = ChunkStateOp::create(b, loc, getX(), getB(), cumsum.getDtOut(),
                                    cumsum.getDACumsum(), getSeqIdx());
  // Unless the caller reads them, the chunk-entering states are kept in the
  // type in which chunk_out multiplies them.
  Type statesType = getChunkStates() ? getChunkStates().getType() : Type();
  if (!statesType)
    statesType = cast<RankedTensorType>(state.getStates().getType())
                     .clone(bType.getElementType());
  auto pass = StatePassOp::create(
      b, loc, statesType, getFinalState() ? getFinalState().getType() : Type(),
      getTotalDecay() ? getTotalDecay().getType() : Type(), state.getStates(),
      cumsum.getDACumsum(), getInitialState(), getSeqIdx());
  auto out = ChunkOutOp::create(
      b, loc, getY().getType(), getX(), getB(), getC(), cumsum.getDtOut(),
      cumsum.getDACumsum(), pass.getChunkStates(), getD(), getZ(), getSeqIdx(),
      /*prev_seq_idx=*/Value(), Mask::Causal);
  SmallVector<Value> results{out.getY()};
  if (getChunkStates())
    results.push_back(pass.getChunkStates());
  if (getFinalState())
    results.push_back(pass.getFinalState());
  if (getTotalDecay())
    results.push_back(pass.getTotalDecay());
  return results;
}

FailureOr<SmallVector<Value>> ChunkCumsumOp::decomposeOperation(OpBuilder &b) {
  TileEmitter emit(b, getLoc());
  auto type = cast<RankedTensorType>(getDtOut().getType());
  Type f32 = b.getF32Type();
  double lo = 0.0, hi = std::numeric_limits<double>::infinity();
  if (std::optional<ArrayRef<double>> limits = getDtLimit()) {
    lo = (*limits)[0];
    hi = (*limits)[1];
  }
  // A bound that cannot bind is not computed. A configuration's 1e308 is no
  // limit in f32.
  double largest = std::numeric_limits<float>::max();
  bool needsLo = getSoftplus() ? lo > 0.0 : lo >= -largest;
  bool needsHi = hi <= largest;

  OpFoldResult heads = getRoleSize(b, *this, Role::Heads);
  Value dt = emit.squeeze(getDt(), {1, 2});
  OpFoldResult length = tensor::getMixedSize(b, getLoc(), dt, 0);
  OpFoldResult chunk = b.getIndexAttr(getChunkSize());

  // From here on heads come first, as in the results.
  SmallVector<Value> inputs{dt};
  SmallVector<SmallVector<int64_t>> loops{{1, 0}};
  if (getDtBias()) {
    inputs.push_back(getDtBias());
    loops.push_back({0});
  }
  Value steps = emit.map({heads, length}, f32, inputs, loops,
                         [&](ScalarEmitter &e, ValueRange v) {
                           Value u = v.size() > 1 ? e.add(v[0], v[1]) : v[0];
                           if (getSoftplus())
                             u = e.softplus(u);
                           if (needsLo)
                             u = e.max(u, e.constant(lo));
                           if (needsHi)
                             u = e.min(u, e.constant(hi));
                           return u;
                         });
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1);
  Value padded = tensor::InsertSliceOp::create(
      b, getLoc(), steps, emit.zeros({heads, chunk}),
      ArrayRef<OpFoldResult>{none, none}, ArrayRef<OpFoldResult>{heads, length},
      ArrayRef<OpFoldResult>{one, one});
  // The inclusive sum: element j joins positions i >= j.
  Value sums = emit.sum({heads, chunk}, {getA(), padded}, {{0}, {0, 2}},
                        [&](ScalarEmitter &e, ValueRange v) {
                          Value joins = e.notGreater(e.loop(2), e.loop(1));
                          Value term = e.mul(v[0], v[1]);
                          return e.select(joins, term, e.constant(0.0));
                        });
  SmallVector<Value> results;
  for (auto [tile, result] :
       llvm::zip_equal(ArrayRef{padded, sums}, getResults()))
    results.push_back(b.createOrFold<tensor::CastOp>(
        getLoc(), result.getType(), emit.unsqueeze(tile, type, {1, 3})));
  return results;
}

FailureOr<SmallVector<Value>> ChunkStateOp::decomposeOperation(OpBuilder &b) {
  TileEmitter emit(b, getLoc());
  auto type = cast<RankedTensorType>(getStates().getType());
  Type elem = getElementTypeOrSelf(getX());
  Value x = emit.squeeze(getX(), {1, 3});
  Value B = emit.squeeze(getB(), {1, 3});
  OpFoldResult length = tensor::getMixedSize(b, getLoc(), x, 0);
  Value dt = emit.prefix(emit.squeeze(getDt(), {3}), length);
  Value sums = emit.prefix(emit.squeeze(getDACumsum(), {3}), length);
  Value zero = emit.index(0);
  Value last = emit.read(
      getDACumsum(), {zero, zero, zero,
                      emit.index(getDACumsum().getType().getDimSize(3) - 1)});

  SmallVector<Value> inputs{dt, sums};
  SmallVector<SmallVector<int64_t>> loops{{0}, {0}};
  Value lastId;
  if (getSeqIdx()) {
    inputs.push_back(emit.squeeze(getSeqIdx(), {1}));
    loops.push_back({0});
    Value end = getValueOrCreateConstantIndexOp(b, getLoc(), length);
    Value token = arith::SubIOp::create(b, getLoc(), end, emit.index(1));
    lastId = emit.read(getSeqIdx(), {zero, token});
  }
  Value weights = emit.map({length}, b.getF32Type(), inputs, loops,
                           [&](ScalarEmitter &e, ValueRange v) {
                             Value w = e.mul(v[0], e.decay(e.sub(last, v[1])));
                             if (!lastId)
                               return w;
                             Value counts = e.both(e.equal(v[2], lastId),
                                                   e.notNegative(lastId));
                             return e.select(counts, w, e.constant(0.0));
                           });
  OpFoldResult P = b.getIndexAttr(type.getDimSize(3)),
               N = b.getIndexAttr(type.getDimSize(4));
  Value weighted = emit.map(
      {length, N}, elem, {weights, B}, {{0}, {0, 1}},
      [](ScalarEmitter &e, ValueRange v) { return e.mul(v[0], v[1]); });
  Value states = emit.matmul({P, N}, x, {2, 0}, weighted, {2, 1});
  return SmallVector<Value>{emit.unsqueeze(states, type, {3, 4})};
}

FailureOr<SmallVector<Value>> StatePassOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  TileEmitter emit(b, loc);
  auto type = cast<RankedTensorType>(getChunkStates().getType());
  Type f32 = b.getF32Type();
  int64_t chunk = getDACumsum().getType().getDimSize(3);
  OpFoldResult P = b.getIndexAttr(type.getDimSize(3)),
               N = b.getIndexAttr(type.getDimSize(4)), zero = b.getIndexAttr(0),
               one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> strides(5, one);
  Value chunks = emit.dim(getStates(), 1);

  Value start = emit.zeros({P, N});
  if (getInitialState())
    start =
        emit.map({P, N}, f32, {emit.squeeze(getInitialState(), {2, 3})},
                 {{0, 1}}, [](ScalarEmitter &, ValueRange v) { return v[0]; });
  SmallVector<OpFoldResult> outSizes = {
      one, tensor::getMixedSize(b, loc, getStates(), 1), one, P, N};
  SmallVector<Value> carried{start};
  // Nobody may read the states, which then are not kept.
  bool keepsStates = !getChunkStates().use_empty();
  Value states = emit.empty(outSizes, type.getElementType());
  if (keepsStates)
    carried.push_back(states);
  size_t decayAt = carried.size();
  if (getTotalDecay())
    carried.push_back(emit.constant(0.0));
  if (getSeqIdx())
    carried.push_back(arith::ConstantIntOp::create(b, loc, 0, 32));
  Value index0 = emit.index(0);

  auto loop = scf::ForOp::create(
      b, loc, index0, chunks, emit.index(1), carried,
      [&](OpBuilder &nested, Location nestedLoc, Value c, ValueRange args) {
        TileEmitter body(nested, nestedLoc);
        Value h = args[0], out;
        SmallVector<OpFoldResult> offsets{zero, c, zero, zero, zero},
            sizes{one, one, one, P, N};
        if (keepsStates) {
          Value stored =
              body.map({P, N}, type.getElementType(), {h}, {{0, 1}},
                       [](ScalarEmitter &, ValueRange v) { return v[0]; });
          out = tensor::InsertSliceOp::create(nested, nestedLoc, stored,
                                              args[1], offsets, sizes, strides);
        }
        Value last = body.read(getDACumsum(),
                               {index0, index0, c, body.index(chunk - 1)});
        Value factor = body.decay(last);
        Value same, id;
        if (getSeqIdx()) {
          id = body.read(
              getSeqIdx(),
              {index0, getLastToken(nested, nestedLoc, c, chunk, getSeqIdx())});
          // The run that was carried in must hold the whole chunk: padding at
          // its start ends the run, even if the same id follows.
          Value start = getFirstToken(nested, nestedLoc, c, chunk);
          Value first = body.read(getSeqIdx(), {index0, start});
          same = body.both(body.equal(id, args.back()),
                           body.equal(first, args.back()));
        }
        auto tileType =
            RankedTensorType::get(type.getShape().take_back(2), f32);
        Value added = tensor::ExtractSliceOp::create(
            nested, nestedLoc, tileType, getStates(), offsets, sizes, strides);
        Value next = body.update(
            h, {added}, {{0, 1}}, [&](ScalarEmitter &e, ValueRange v) {
              Value kept = e.mul(factor, v[1]);
              if (same)
                kept = e.select(same, kept, e.constant(0.0));
              return e.add(kept, v[0]);
            });
        SmallVector<Value> results{next};
        if (keepsStates)
          results.push_back(out);
        if (getTotalDecay()) {
          double inf = std::numeric_limits<double>::infinity();
          Value term =
              same ? body.select(same, last, body.constant(-inf)) : last;
          results.push_back(body.add(args[decayAt], term));
        }
        if (getSeqIdx())
          results.push_back(id);
        scf::YieldOp::create(nested, nestedLoc, results);
      });

  SmallVector<Value> results{keepsStates ? loop.getResult(1) : states};
  if (getFinalState()) {
    auto finalType = cast<RankedTensorType>(getFinalState().getType());
    Value rounded =
        emit.map({P, N}, finalType.getElementType(), {loop.getResult(0)},
                 {{0, 1}}, [](ScalarEmitter &, ValueRange v) { return v[0]; });
    results.push_back(emit.unsqueeze(rounded, finalType, {2, 3}));
  }
  if (getTotalDecay())
    results.push_back(tensor::FromElementsOp::create(
        b, loc, cast<RankedTensorType>(getTotalDecay().getType()),
        loop.getResult(decayAt)));
  return results;
}
