//===- TileEmitter.h - Builds linalg on tiles -------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the decompositions share: slices of unit tiles without their unit
// dimensions, element-wise and contracting linalg operations in f32, and the
// scalar formulas of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_IR_TILEEMITTER_H
#define MAMBA_LIB_DIALECT_MAMBA_IR_TILEEMITTER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace mamba {

using mlir::Value;

/// Scalar arithmetic in f32. `b` may be inside the body of a linalg operation
/// or at the level of a tile.
class ScalarEmitter {
public:
  ScalarEmitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  Value constant(double value);
  Value index(int64_t value);
  /// Widens a 16-bit float to f32.
  Value toF32(Value value);
  /// Rounds f32 to `type`, to nearest even; nothing to do for f32.
  Value round(Value value, mlir::Type type);
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value min(Value lhs, Value rhs);
  /// exp(min(value, 0)): never the exponential of a positive number.
  Value decay(Value value);
  /// max(value, 0) + log1p(exp(-|value|)).
  Value softplus(Value value);
  /// value / (1 + exp(-value)) without the exponential of a positive number.
  Value silu(Value value);
  Value select(Value condition, Value ifTrue, Value ifFalse);
  Value both(Value lhs, Value rhs);
  Value equal(Value lhs, Value rhs);
  Value notNegative(Value id);
  Value notGreater(Value lhs, Value rhs);
  /// Reads one element as it is.
  Value element(Value tensor, llvm::ArrayRef<Value> indices);
  /// Reads one element and widens it to f32 if it is a float.
  Value read(Value tensor, llvm::ArrayRef<Value> indices);
  /// `value` where `condition` holds, else 0; computed only where it holds.
  Value guarded(Value condition,
                llvm::function_ref<Value(ScalarEmitter &)> value);
  /// The position in loop `number` of the surrounding linalg operation.
  Value loop(int64_t number);

protected:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// Body of a linalg operation: the values of its inputs at a point, f32 where
/// they are floats of any width.
using Body = llvm::function_ref<Value(ScalarEmitter &, mlir::ValueRange)>;

class TileEmitter : public ScalarEmitter {
public:
  using ScalarEmitter::ScalarEmitter;

  mlir::OpBuilder &builder() { return b; }

  Value dim(Value tensor, int64_t dim);

  /// Drops the unit dimensions that `keep` does not name, for a tensor whose
  /// other dimensions are 1; dimension `d` of the result is `keep[d]`.
  Value squeeze(Value tensor, llvm::ArrayRef<int64_t> keep);
  /// The reverse of `squeeze` for a tensor of type `type`.
  Value unsqueeze(Value tensor, mlir::RankedTensorType type,
                  llvm::ArrayRef<int64_t> keep);

  /// The first `size` elements of a tensor of rank 1.
  Value prefix(Value tensor, mlir::OpFoldResult size);

  Value empty(llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type type);
  Value zeros(llvm::ArrayRef<mlir::OpFoldResult> sizes);

  /// An element-wise operation over `sizes` with result type `type`. Input `i`
  /// is indexed by the loops `inputLoops[i]`.
  Value map(llvm::ArrayRef<mlir::OpFoldResult> sizes, mlir::Type type,
            llvm::ArrayRef<Value> inputs,
            llvm::ArrayRef<llvm::SmallVector<int64_t>> inputLoops, Body body);

  /// An element-wise operation that replaces `tensor`; the body's last value is
  /// the old element.
  Value update(Value tensor, llvm::ArrayRef<Value> inputs,
               llvm::ArrayRef<llvm::SmallVector<int64_t>> inputLoops,
               Body body);

  /// Like `map`, with the sum over the last loop, whose size the inputs give;
  /// `sizes` are those of the result.
  Value sum(llvm::ArrayRef<mlir::OpFoldResult> sizes,
            llvm::ArrayRef<Value> inputs,
            llvm::ArrayRef<llvm::SmallVector<int64_t>> inputLoops, Body body);

  /// The f32 matrix product over loops (m, n, k); each operand names its loops.
  Value matmul(llvm::ArrayRef<mlir::OpFoldResult> sizes, Value lhs,
               llvm::ArrayRef<int64_t> lhsLoops, Value rhs,
               llvm::ArrayRef<int64_t> rhsLoops);

private:
  enum class Kind { Map, Update, Sum };
  Value structured(Kind kind, Value init, llvm::ArrayRef<Value> inputs,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> inputLoops,
                   Body body);
};

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_IR_TILEEMITTER_H
