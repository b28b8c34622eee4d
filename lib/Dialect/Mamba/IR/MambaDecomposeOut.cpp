//===- MambaDecomposeOut.cpp - Meaning of chunk_out -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SkipAndGate.h"
#include "TileEmitter.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mamba;

FailureOr<SmallVector<Value>> ChunkOutOp::decomposeOperation(OpBuilder &b) {
  TileEmitter emit(b, getLoc());
  auto type = cast<RankedTensorType>(getY().getType());
  Type elem = type.getElementType();
  Value x = emit.squeeze(getX(), {1, 3});
  Value B = emit.squeeze(getB(), {1, 3});
  Value C = emit.squeeze(getC(), {1, 3});
  OpFoldResult length = tensor::getMixedSize(b, getLoc(), x, 0),
               P = tensor::getMixedSize(b, getLoc(), x, 1),
               N = tensor::getMixedSize(b, getLoc(), B, 1);
  Value dt = emit.prefix(emit.squeeze(getDt(), {3}), length);
  Value sums = emit.prefix(emit.squeeze(getDACumsum(), {3}), length);
  Value ids = getSeqIdx() ? emit.squeeze(getSeqIdx(), {1}) : Value();
  Value zero = emit.index(0);

  // W: the products of C and B, decayed, weighted and masked.
  Value products = emit.matmul({length, length}, C, {0, 2}, B, {1, 2});
  SmallVector<Value> inputs{products, sums, sums, dt};
  SmallVector<SmallVector<int64_t>> loops{{0, 1}, {0}, {1}, {1}};
  if (ids) {
    inputs.append({ids, ids});
    loops.append({{0}, {1}});
  }
  Value weights = emit.map(
      {length, length}, elem, inputs, loops,
      [&](ScalarEmitter &e, ValueRange v) {
        Value weight = e.mul(e.mul(v[0], e.decay(e.sub(v[1], v[2]))), v[3]);
        Value counts = e.notGreater(e.loop(1), e.loop(0));
        if (ids)
          counts =
              e.both(counts, e.both(e.equal(v[4], v[5]), e.notNegative(v[4])));
        return e.select(counts, weight, e.constant(0.0));
      });
  Value inside = emit.matmul({length, P}, weights, {0, 2}, x, {2, 1});

  // What the state entering the chunk adds.
  Value state = emit.squeeze(getChunkStates(), {3, 4});
  // The product widens a 16-bit state by itself.
  if (getElementTypeOrSelf(state) != elem && !elem.isF32())
    state = emit.map({P, N}, elem, {state}, {{0, 1}},
                     [](ScalarEmitter &, ValueRange v) { return v[0]; });
  Value carried = emit.matmul({length, P}, C, {0, 2}, state, {1, 2});
  Value previousId, continues;
  if (ids) {
    if (getPrevSeqIdx())
      previousId = emit.read(getPrevSeqIdx(), {zero, zero});
    else // a single chunk is the first
      previousId = arith::ConstantIntOp::create(b, getLoc(), 0, 32);
    // Padding at the chunk's start ends the run that was carried in.
    continues = emit.equal(emit.read(getSeqIdx(), {zero, zero}), previousId);
  }

  SkipAndGate end({inside, carried, sums}, {{0, 1}, {0, 1}, {0}});
  if (getD())
    end.addSkip(emit, getD(), x, {0, 1});
  if (getZ())
    end.addGate(emit.squeeze(getZ(), {1, 3}), {0, 1});
  size_t idAt = ids ? end.addInput(ids, {0}) : 0;
  Value y = emit.map(
      {length, P}, elem, end.getInputs(), end.getLoops(),
      [&](ScalarEmitter &e, ValueRange v) {
        Value entering = e.mul(e.decay(v[2]), v[1]);
        if (ids)
          entering = e.select(e.both(continues, e.equal(v[idAt], previousId)),
                              entering, e.constant(0.0));
        Value value = end.apply(e, e.add(v[0], entering), v);
        if (ids)
          value = e.select(e.notNegative(v[idAt]), value, e.constant(0.0));
        return value;
      });
  return SmallVector<Value>{emit.unsqueeze(y, type, {1, 3})};
}
