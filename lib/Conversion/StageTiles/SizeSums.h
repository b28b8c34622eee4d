//===- SizeSums.h - Sizes and positions as sums of products -----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index arithmetic of a kernel in a normal form, so that sizes, strides and
// positions that different operations compute can be compared: a sum of
// products of *leaves* (arguments, induction variables, quotients, minima, ..)
// with constant factors. Arithmetic wraps as that of `index` does.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_STAGETILES_SIZESUMS_H
#define MAMBA_LIB_CONVERSION_STAGETILES_SIZESUMS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"

#include <map>
#include <optional>
#include <vector>

namespace mamba {

/// A sum of products. The keys are the leaves' numbers, ascending; the empty
/// one has the constant. No factor is 0.
class SizeSum {
public:
  using Product = std::vector<unsigned>;

  SizeSum() = default;
  SizeSum(int64_t constant) { add({}, constant); }
  static SizeSum leaf(unsigned number);

  void add(const Product &product, int64_t factor);
  SizeSum operator+(const SizeSum &other) const;
  SizeSum operator-(const SizeSum &other) const;
  SizeSum operator*(const SizeSum &other) const;
  bool operator==(const SizeSum &other) const { return terms == other.terms; }
  bool operator!=(const SizeSum &other) const { return terms != other.terms; }

  std::optional<int64_t> getConstant() const;
  const std::map<Product, int64_t> &getTerms() const { return terms; }
  /// The constant that `other` is to be multiplied by to give this sum.
  std::optional<int64_t> getMultipleOf(const SizeSum &other) const;

private:
  std::map<Product, int64_t> terms;
};

/// Gives values their sums. The leaves are numbered as they are met.
class SizeSums {
public:
  SizeSum get(mlir::OpFoldResult value);

  /// `sum` is the least of these: minima in it with positive factors are
  /// taken apart.
  llvm::SmallVector<SizeSum> getMinimumOf(const SizeSum &sum);
  /// What `sum` is at least, or at most.
  std::optional<int64_t> getLowerBound(const SizeSum &sum);
  std::optional<int64_t> getUpperBound(const SizeSum &sum);
  /// A power of two that divides `sum`.
  int64_t getDivisor(const SizeSum &sum);

  /// True if `sum` can be computed from the arguments of the kernel, whatever
  /// the block.
  bool isUniform(const SizeSum &sum);
  /// `sum` at the builder's insertion point, where `mapping` has the values of
  /// the kernel's arguments.
  mlir::Value create(mlir::OpBuilder &builder, mlir::Location loc,
                     const SizeSum &sum, mlir::IRMapping &mapping);

private:
  SizeSum getLeaf(mlir::Value value);
  SizeSum getOfExpr(mlir::AffineExpr expr, mlir::AffineMap map,
                    mlir::ValueRange operands);
  /// The sums that the leaf is the least of; none if it is no minimum.
  llvm::SmallVector<SizeSum> getMinimumOfLeaf(unsigned number);
  std::optional<int64_t> getBound(const SizeSum &sum, bool isUpper);
  std::optional<int64_t> getBoundOfLeaf(unsigned number, bool isUpper);

  llvm::SmallVector<mlir::Value> leaves;
  llvm::DenseMap<mlir::Value, SizeSum> known;
};

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_STAGETILES_SIZESUMS_H
