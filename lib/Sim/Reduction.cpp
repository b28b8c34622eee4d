//===- Reduction.cpp - Reductions by bulk copies --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AtomicOperations.h"
#include "BulkCopy.h"

#include <cmath>

using namespace llvm;

namespace mamba::sim {

using namespace atomic;

/// Sums of f64 keep a NaN as it is, that of the copy first.
static double addDouble(uint8_t, double old, double value, double) {
  if (std::isnan(value))
    return value;
  return std::isnan(old) ? old : computeFloat<double>(Add, old, value, 0);
}

template <typename T, auto compute, uint8_t operation>
static void reduce(uint8_t *to, const uint8_t *from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += sizeof(T)) {
    T old, value;
    std::memcpy(&old, to + i, sizeof(T));
    std::memcpy(&value, from + i, sizeof(T));
    T result = compute(operation, old, value, T());
    std::memcpy(to + i, &result, sizeof(T));
  }
}

template <typename T, auto compute>
static Reduction selectReduction(uint8_t operation, bool isFloat) {
  switch (operation) {
  case Add:
    return reduce<T, compute, Add>;
  case Min:
    return reduce<T, compute, Min>;
  case Max:
    return reduce<T, compute, Max>;
  default:
    break;
  }
  if (isFloat)
    return nullptr;
  switch (operation) {
  case And:
    return reduce<T, compute, And>;
  case Or:
    return reduce<T, compute, Or>;
  case Xor:
    return reduce<T, compute, Xor>;
  case Inc:
    return reduce<T, compute, Inc>;
  case Dec:
    return reduce<T, compute, Dec>;
  default:
    return nullptr;
  }
}

Reduction getReduction(uint8_t operation, Type type) {
  switch (type) {
  case Type::B32:
  case Type::U32:
    return selectReduction<uint32_t, computeInteger<uint32_t>>(operation,
                                                               false);
  case Type::S32:
    return selectReduction<int32_t, computeInteger<int32_t>>(operation, false);
  case Type::B64:
  case Type::U64:
    return selectReduction<uint64_t, computeInteger<uint64_t>>(operation,
                                                               false);
  case Type::S64:
    return selectReduction<int64_t, computeInteger<int64_t>>(operation, false);
  case Type::F16:
    return selectReduction<uint16_t, computeHalf<false>>(operation, true);
  case Type::BF16:
    return selectReduction<uint16_t, computeHalf<true>>(operation, true);
  case Type::F32:
    return selectReduction<float, computeFloat<float>>(operation, true);
  case Type::F64:
    if (operation == Add)
      return reduce<double, addDouble, Add>;
    return selectReduction<double, computeFloat<double>>(operation, true);
  default:
    return nullptr;
  }
}

bool takeReduction(Decoder &d) {
  static constexpr uint8_t kOperations[] = {Add, Min, Max, And,
                                            Or,  Xor, Inc, Dec};
  std::optional<unsigned> operation =
      d.takeOneOf({"add", "min", "max", "and", "or", "xor", "inc", "dec"});
  if (!operation)
    return false;
  d.inst.flag = true;
  d.inst.imm = kOperations[*operation];
  return true;
}

} // namespace mamba::sim
