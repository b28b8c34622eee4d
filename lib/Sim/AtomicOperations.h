//===- AtomicOperations.h - What atomics and reductions compute -*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_ATOMICOPERATIONS_H
#define MAMBA_LIB_SIM_ATOMICOPERATIONS_H

#include "FloatFormats.h"
#include "FloatModes.h"
#include "Memory.h"

namespace mamba::sim {

namespace atomic {
enum Operation : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };

template <typename T> T computeInteger(uint8_t operation, T old, T b, T c) {
  switch (operation) {
  case Add:
    return T(uint64_t(old) + uint64_t(b));
  case Min:
    return std::min(old, b);
  case Max:
    return std::max(old, b);
  case And:
    return old & b;
  case Or:
    return old | b;
  case Xor:
    return old ^ b;
  case Exch:
    return b;
  case Cas:
    return old == b ? c : old;
  case Inc:
    return old >= b ? T(0) : T(old + 1);
  default:
    return old == 0 || old > b ? b : T(old - 1);
  }
}

template <typename T> T computeFloat(uint8_t operation, T old, T b, T) {
  if (operation == Add)
    return canonical(old + b);
  if (operation == Exch)
    return b;
  return minMax(old, b, operation == Max, false);
}

template <bool isBF16>
uint16_t computeHalf(uint8_t operation, uint16_t old, uint16_t b, uint16_t) {
  auto decode = isBF16 ? decodeBF16 : decodeF16;
  double x = decode(old), y = decode(b);
  double result =
      operation == Add ? addToOdd(x, y) : minMax(x, y, operation == Max, false);
  return encode(result, isBF16 ? kBF16 : kF16);
}

} // namespace atomic

/// Holds the lock that stands for an address of global memory.
class AtomicLock {
public:
  AtomicLock(Device::Impl &device, const void *place)
      : flag(device.locks[reinterpret_cast<uintptr_t>(place) / 16 % 64]) {
    while (flag.test_and_set(std::memory_order_acquire))
      ;
  }
  ~AtomicLock() { flag.clear(std::memory_order_release); }

private:
  std::atomic_flag &flag;
};

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_ATOMICOPERATIONS_H
