//===- RewriteExp2.h - Exponentials as powers of two ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of mamba-rewrite-exp2, and what they know about values.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_REWRITEEXP2_H
#define MAMBA_LIB_TRANSFORMS_REWRITEEXP2_H

#include "LinearForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mamba {

/// Whether an operation may be approximate.
template <typename Op> bool isApproximate(Op op) {
  return mlir::arith::bitEnumContainsAll(op.getFastmath(),
                                         mlir::arith::FastMathFlags::afn);
}

/// Whether `value` holds 0, -inf or nothing: a positive factor changes nothing.
bool isNeutral(mlir::Value value);

/// Whether a positive factor of all operands of arithmetic is one of the
/// result.
bool isHomogeneous(mlir::Operation *op);

/// The number of elements, with this one for sizes that are not known.
double getElements(mlir::ShapedType type, double unknownExtent);

/// If elements of `value` are elements of others, moved by slices, loops or
/// linalg operations that copy, adds these and returns true. Argument and
/// result of a loop count as one value, and so do those of a linalg operation.
bool getOrigins(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &origins);

/// The value that stands for results of loops and reductions and for what is
/// carried: the argument of the body.
mlir::Value getCarrier(mlir::Value value);

/// Whether no element of `value` is below 0; some may be NaN.
bool isNeverNegative(mlir::Value value);

/// The operation whose prefix sums along their last dimension are the rows of
/// `tensor`, if all terms of a row have one sign: a row is monotone. Rows may
/// differ in their sign. Null if that cannot be proven.
mlir::linalg::GenericOp getPrefixSum(mlir::Value tensor);

/// Whether the terms of a prefix sum are clamped so that none is positive.
bool hasClampedTerms(mlir::linalg::GenericOp sum);

/// A position along a dimension: a sum, and maybe that of a loop of linalg.
using Position = std::pair<LinearForm, std::optional<unsigned>>;

/// An element of a tensor that is no slice of another one.
struct Element {
  mlir::Value root;
  llvm::SmallVector<Position> position;

  /// Whether the elements differ in their last position only.
  bool isSameRow(const Element &other) const;
  bool isSamePosition(const Element &other) const;
};

/// The element that a scalar is: an argument of a linalg body, or extracted.
std::optional<Element> getElement(mlir::Value value);

/// Whether `before` is not after `after` wherever the result of `exponent`
/// counts.
bool isNeverAfter(mlir::Operation *exponent, const Element &before,
                  const Element &after);

/// Whether, whatever counts, no `before` is after any `after`.
bool isAlwaysBefore(mlir::Operation *exponent, const Element &before,
                    const Element &after);

/// The largest extent of a loop.
llvm::FailureOr<int64_t> getLoopBound(mlir::linalg::GenericOp op,
                                      unsigned loop);

/// Adds the scalars that are read from `tensor` and its slices; false if there
/// is any other use.
bool collectReads(mlir::Value tensor,
                  llvm::SmallVectorImpl<mlir::Value> &elements);

/// A tensor of `compute` of every element of the tensors, which have one shape.
mlir::Value createElementwise(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange tensors,
    mlir::Type elementType,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                   mlir::ValueRange)>
        compute);

/// Rewrites exponentials in `function` whose factor log2(e) moves to values of
/// fewer elements.
struct HoistResult {
  unsigned numRewritten = 0, numFactors = 0;
};
HoistResult hoistFactors(mlir::RewriterBase &rewriter,
                         mlir::Operation *function);

/// Clamps terms of prefix sums rather than differences of sums; returns the
/// number of minima that are left out.
unsigned clampTerms(mlir::RewriterBase &rewriter, mlir::Operation *function);

/// Takes factors of rows out of sums; returns the number of loops.
unsigned separateFactors(mlir::RewriterBase &rewriter,
                         mlir::Operation *function);

/// Makes factors part of exponents; returns the number of products.
unsigned foldWeights(mlir::RewriterBase &rewriter, mlir::Operation *function);

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_REWRITEEXP2_H
