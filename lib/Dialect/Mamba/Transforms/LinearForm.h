//===- LinearForm.h - Index values as linear sums ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions and bounds of loops as linear sums of values, and what can be
// proven about the sign of such a sum.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_LINEARFORM_H
#define MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_LINEARFORM_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mamba {

/// An index value as a sum of others with constant factors.
class LinearForm {
public:
  LinearForm(int64_t constant = 0) : constant(constant) {}

  /// Fails where the value is no such sum.
  static llvm::FailureOr<LinearForm> get(mlir::Value value);
  /// Result `result` of the affine map of an operation with these operands.
  static llvm::FailureOr<LinearForm> get(mlir::AffineMap map, unsigned result,
                                         mlir::ValueRange operands);
  static LinearForm of(mlir::Value term, int64_t factor = 1);

  LinearForm operator+(const LinearForm &other) const;
  LinearForm operator-(const LinearForm &other) const;
  LinearForm operator*(int64_t factor) const;

  bool operator==(const LinearForm &other) const {
    LinearForm difference = *this - other;
    return difference.terms.empty() && difference.constant == 0;
  }

  int64_t getFactor(mlir::Value term) const;
  /// The sum with `form` in place of `term`.
  LinearForm replace(mlir::Value term, const LinearForm &form) const;

  /// Whether the sum is known to be a multiple of `divisor`.
  bool isMultipleOf(int64_t divisor) const;

  /// The sum as an expression of dimensions; appends their values.
  mlir::AffineExpr
  getExpr(mlir::MLIRContext *context,
          llvm::SmallVectorImpl<mlir::OpFoldResult> &operands) const;

  /// Distinct values and their factors, none of which is 0.
  llvm::SmallVector<mlir::Value> terms;
  llvm::SmallVector<int64_t> factors;
  int64_t constant;

private:
  void add(mlir::Value term, int64_t factor);
};

/// Proves that sums are not negative: from the bounds of loops, from minima and
/// maxima, from constant bounds, and from facts that it is told.
class BoundProver {
public:
  /// From now on, `factor * variable <= most` is known.
  void assume(mlir::Value variable, int64_t factor, const LinearForm &most) {
    facts[variable] = {factor, most};
  }

  bool isNeverNegative(const LinearForm &form) const {
    return prove(form, /*depth=*/0);
  }

private:
  bool prove(const LinearForm &form, unsigned depth) const;
  /// Both give none if `term` is nothing that can be replaced so.
  std::optional<bool> proveForEach(const LinearForm &form, mlir::Value term,
                                   int64_t factor, unsigned depth) const;
  std::optional<bool> proveWithBound(const LinearForm &form, mlir::Value term,
                                     int64_t factor, unsigned depth) const;

  bool isQuotient(mlir::Value term, unsigned depth) const;

  struct Fact {
    int64_t factor;
    LinearForm most;
  };
  llvm::DenseMap<mlir::Value, Fact> facts;
};

} // namespace mamba

#endif // MAMBA_LIB_DIALECT_MAMBA_TRANSFORMS_LINEARFORM_H
