//===- SkipAndGate.cpp - The end of every output --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SkipAndGate.h"

using namespace mlir;
using namespace mamba;

size_t SkipAndGate::addInput(Value value, ArrayRef<int64_t> used) {
  inputs.push_back(value);
  loops.emplace_back(used);
  return inputs.size() - 1;
}

void SkipAndGate::addSkip(TileEmitter &emit, Value D, Value x,
                          ArrayRef<int64_t> used) {
  skipped = addInput(x, used);
  if (cast<RankedTensorType>(D.getType()).getRank() == 1)
    headSkip = emit.read(D, {emit.index(0)});
  else
    rowSkip = addInput(emit.squeeze(D, {1}), used.take_back());
}

void SkipAndGate::addGate(Value z, ArrayRef<int64_t> used) {
  gate = addInput(z, used);
}

Value SkipAndGate::apply(ScalarEmitter &emit, Value value,
                         ValueRange values) const {
  if (skipped)
    value = emit.add(value, emit.mul(headSkip ? headSkip : values[rowSkip],
                                     values[*skipped]));
  if (gate)
    value = emit.mul(value, emit.silu(values[*gate]));
  return value;
}
