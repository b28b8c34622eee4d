//===- SkipAndGate.h - The end of every output ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_IR_SKIPANDGATE_H
#define MAMBA_LIB_DIALECT_MAMBA_IR_SKIPANDGATE_H

#include "TileEmitter.h"

#include <optional>

namespace mamba {

/// What `chunk_out` and `ssu` do last to an output: add D * x, then multiply by
/// z * sigmoid(z), where there is a D and a z. Collects the inputs of the
/// element-wise operation that ends the tile.
class SkipAndGate {
public:
  using Loops = llvm::SmallVector<int64_t>;

  /// The operation's first inputs and the loops that index each.
  SkipAndGate(llvm::ArrayRef<Value> inputs, llvm::ArrayRef<Loops> loops)
      : inputs(inputs), loops(loops) {}

  /// Adds an input; its number among the values of the operation's body.
  size_t addInput(Value value, llvm::ArrayRef<int64_t> used);
  /// `D` of one head, [1] or [1, P]. `x` has the loops `used`, the last of
  /// which is that of head dim.
  void addSkip(TileEmitter &emit, Value D, Value x,
               llvm::ArrayRef<int64_t> used);
  void addGate(Value z, llvm::ArrayRef<int64_t> used);

  llvm::ArrayRef<Value> getInputs() const { return inputs; }
  llvm::ArrayRef<Loops> getLoops() const { return loops; }

  /// In the body: the output from the f32 `value` and the body's values.
  Value apply(ScalarEmitter &emit, Value value, mlir::ValueRange values) const;

private:
  llvm::SmallVector<Value> inputs;
  llvm::SmallVector<Loops> loops;
  /// D of the head, or the number of the input that holds D of its rows.
  Value headSkip;
  size_t rowSkip = 0;
  std::optional<size_t> skipped, gate;
};

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_IR_SKIPANDGATE_H
