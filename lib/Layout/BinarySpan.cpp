//===- BinarySpan.cpp - Linear algebra over GF(2) -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/BinarySpan.h"

#include "llvm/ADT/bit.h"

#include <cassert>

namespace mamba {

BinaryVector multiply(llvm::ArrayRef<BinaryVector> columns, BinaryVector x) {
  BinaryVector sum = 0;
  for (; x; x &= x - 1)
    sum ^= columns[llvm::countr_zero(x)];
  return sum;
}

bool BinarySpan::add(BinaryVector vector) {
  assert(added < 64 && "expected at most 64 vectors");
  uint64_t combination = uint64_t(1) << added++;
  auto at = rows.begin();
  for (; at != rows.end(); ++at) {
    if (llvm::bit_floor(at->vector) < llvm::bit_floor(vector))
      break;
    if (vector & llvm::bit_floor(at->vector)) {
      vector ^= at->vector;
      combination ^= at->combination;
    }
  }
  if (vector == 0)
    return false;
  rows.insert(at, Row{vector, combination});
  return true;
}

void BinarySpan::add(llvm::ArrayRef<BinaryVector> vectors) {
  for (BinaryVector vector : vectors)
    add(vector);
}

std::optional<uint64_t> BinarySpan::express(BinaryVector vector) const {
  uint64_t combination = 0;
  for (const Row &row : rows) {
    if (vector & llvm::bit_floor(row.vector)) {
      vector ^= row.vector;
      combination ^= row.combination;
    }
  }
  if (vector != 0)
    return std::nullopt;
  return combination;
}

BinaryVector BinarySpan::reduce(BinaryVector vector) const {
  for (const Row &row : rows)
    if (vector & llvm::bit_floor(row.vector))
      vector ^= row.vector;
  return vector;
}

BinaryVector BinarySpan::maximize(BinaryVector vector) const {
  for (const Row &row : rows)
    if (!(vector & llvm::bit_floor(row.vector)))
      vector ^= row.vector;
  return vector;
}

llvm::SmallVector<unsigned, 16>
independentVectors(llvm::ArrayRef<BinaryVector> vectors) {
  llvm::SmallVector<unsigned, 16> indices;
  BinarySpan span;
  for (unsigned i = 0; i < vectors.size(); ++i)
    if (span.add(vectors[i]))
      indices.push_back(i);
  return indices;
}

BinaryVectors intersectSpans(llvm::ArrayRef<BinaryVector> a,
                             llvm::ArrayRef<BinaryVector> b) {
  // Whenever a vector of b depends on what is there already, the part of that
  // dependency made of vectors of a lies in both spans. b's own dependencies
  // are kept out, so these parts are independent.
  BinarySpan span;
  BinaryVectors own;
  for (unsigned i : independentVectors(a)) {
    span.add(a[i]);
    own.push_back(a[i]);
  }
  uint64_t fromA = (uint64_t(1) << own.size()) - 1;
  BinaryVectors shared;
  for (unsigned i : independentVectors(b)) {
    if (std::optional<uint64_t> mask = span.express(b[i]))
      shared.push_back(multiply(own, *mask & fromA));
    span.add(b[i]);
  }
  return shared;
}

BinaryVectors commonComplement(llvm::ArrayRef<BinaryVector> a,
                               llvm::ArrayRef<BinaryVector> b, unsigned kept,
                               unsigned size) {
  BinarySpan spanA(a), spanB(b);
  assert(spanA.rank() <= kept && spanB.rank() <= kept && kept <= size);
  BinaryVectors units;
  for (unsigned i = 0; i < size; ++i)
    units.push_back(uint64_t(1) << i);

  // Enlarge both to the same rank, by members of the other one first: what they
  // share needs no mixing below.
  BinaryVectors wholeA(a.begin(), a.end()), wholeB(b.begin(), b.end());
  auto enlarge = [&](BinarySpan &span, BinaryVectors &vectors,
                     llvm::ArrayRef<BinaryVector> from) {
    for (BinaryVector vector : from)
      if (span.rank() < kept && span.add(vector))
        vectors.push_back(vector);
  };
  enlarge(spanA, wholeA, b);
  enlarge(spanB, wholeB, wholeA);
  enlarge(spanA, wholeA, wholeB);
  enlarge(spanA, wholeA, units);
  enlarge(spanB, wholeB, wholeA);
  assert(spanA.rank() == kept && spanB.rank() == kept);

  // With A = Z + A', B = Z + B' and Z what they share, pair the bases of A' and
  // B': a sum of pairs in A would put its half in B' into A.
  BinaryVectors shared = intersectSpans(wholeA, wholeB);
  BinarySpan moreA(shared), moreB(shared);
  BinaryVectors restA, restB;
  for (BinaryVector vector : wholeA)
    if (moreA.add(vector))
      restA.push_back(vector);
  for (BinaryVector vector : wholeB)
    if (moreB.add(vector))
      restB.push_back(vector);
  assert(restA.size() == restB.size());

  BinaryVectors complement;
  for (unsigned i = 0; i < restA.size(); ++i)
    complement.push_back(restA[i] ^ restB[i]);
  BinarySpan all(wholeA);
  all.add(wholeB);
  for (BinaryVector unit : units)
    if (all.add(unit))
      complement.push_back(unit);
  assert(complement.size() == size - kept);
  return complement;
}

} // namespace mamba
