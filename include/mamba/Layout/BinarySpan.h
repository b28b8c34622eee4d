//===- BinarySpan.h - Linear algebra over GF(2) -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors are the bits of a uint64_t, addition is exclusive or.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LAYOUT_BINARYSPAN_H
#define MAMBA_LAYOUT_BINARYSPAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mamba {

using BinaryVector = uint64_t;
using BinaryVectors = llvm::SmallVector<BinaryVector, 16>;

/// Product of a matrix, given by its columns, and a vector: the sum of the
/// columns whose bit is set.
BinaryVector multiply(llvm::ArrayRef<BinaryVector> columns, BinaryVector x);

/// The span of vectors that are added one by one (at most 64).
class BinarySpan {
public:
  BinarySpan() = default;
  explicit BinarySpan(llvm::ArrayRef<BinaryVector> vectors) { add(vectors); }

  /// Adds a vector. False if it was in the span already.
  bool add(BinaryVector vector);
  void add(llvm::ArrayRef<BinaryVector> vectors);

  unsigned rank() const { return rows.size(); }
  bool contains(BinaryVector vector) const { return reduce(vector) == 0; }

  /// The added vectors whose sum is `vector`: bit i stands for the i-th vector
  /// added. Only vectors for which `add` returned true are used, so the answer
  /// is unique, and linear in `vector`. None if it is outside the span.
  std::optional<uint64_t> express(BinaryVector vector) const;

  /// The smallest number of `vector` + span. Equal for two vectors exactly if
  /// they differ by a member of the span; linear in `vector`.
  BinaryVector reduce(BinaryVector vector) const;
  /// The largest number of `vector` + span.
  BinaryVector maximize(BinaryVector vector) const;

private:
  /// Leading bits are distinct and fall from row to row.
  struct Row {
    BinaryVector vector;
    uint64_t combination;
  };
  llvm::SmallVector<Row, 16> rows;
  unsigned added = 0;
};

/// The first of `vectors` that are independent of the ones before, as indices.
llvm::SmallVector<unsigned, 16>
independentVectors(llvm::ArrayRef<BinaryVector> vectors);

/// A basis of what two spans share.
BinaryVectors intersectSpans(llvm::ArrayRef<BinaryVector> a,
                             llvm::ArrayRef<BinaryVector> b);

/// `size` - `kept` independent vectors of `size` bits whose span meets that
/// of `a` only in 0, and that of `b` too. Both ranks must be at most `kept`.
/// It always exists; unit vectors are preferred.
BinaryVectors commonComplement(llvm::ArrayRef<BinaryVector> a,
                               llvm::ArrayRef<BinaryVector> b, unsigned kept,
                               unsigned size);

} // namespace mamba

#endif // MAMBA_LAYOUT_BINARYSPAN_H
