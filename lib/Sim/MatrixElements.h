//===- MatrixElements.h - Elements of matrices ------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the matrix instructions have in common: formats of elements, products
// of small matrices and the rounding of their sums.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_MATRIXELEMENTS_H
#define MAMBA_LIB_SIM_MATRIXELEMENTS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mamba::sim {

enum class Element : uint8_t {
  F16,
  BF16,
  TF32,
  F64,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  S8,
  U8,
  S4,
  U4,
  B1,
  // Of scale factors.
  UE8M0,
  UE4M3,
};

/// "e4m3".
std::optional<Element> parseElement(llvm::StringRef name);

/// Bits of a packed element.
unsigned getBits(Element element);
bool isInteger(Element element);

/// The value of the lower bits; each is exact in a double.
double decodeElement(Element element, uint64_t bits);

/// Elements that follow each other in memory, `stride` apart in `to`.
void decodeElements(Element element, const uint8_t *from, unsigned count,
                    double *to, unsigned stride = 1);

/// sums[row][column] = sum over k of a[row][k] b[k][column], the rows of `a`
/// `aStride` apart, those of `b` and `sums` `columns`, a multiple of 8. Terms
/// are added in the order of k.
void multiply(const double *a, unsigned aStride, const double *b, double *sums,
              unsigned rows, unsigned depth, unsigned columns);

/// A sum of exact products and an addend, rounded once.
float addInexact(double sum, float addend);
inline float addRounded(double sum, float addend) {
  double whole = sum + double(addend);
  // Most sums are exact.
  bool isExact = whole - sum == double(addend) && whole - double(addend) == sum;
  return isExact ? float(whole) : addInexact(sum, addend);
}
uint16_t addRoundedF16(double sum, uint16_t addend);
int32_t addIntegers(double sum, int32_t addend, bool saturate);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_MATRIXELEMENTS_H
