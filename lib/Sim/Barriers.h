//===- Barriers.h - Barriers of a block -------------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_SIM_BARRIERS_H
#define MAMBA_LIB_SIM_BARRIERS_H

#include "Warp.h"

namespace mamba::sim {

struct Barrier;

/// `Inst::mode` of a block barrier.
enum class BarrierMode : uint8_t {
  Sync,
  Arrive,
  ReducePopulation,
  ReduceAnd,
  ReduceOr
};

struct BarrierOperands {
  const Opnd *number = nullptr, *count = nullptr, *predicate = nullptr;
};
BarrierOperands getBarrierOperands(const Inst &inst);

/// Writes what a reduction over the barrier's threads gave.
void writeBarrierResult(Warp &warp, const Inst &inst, LaneMask lanes,
                        const Barrier &barrier);

} // namespace mamba::sim

#endif // MAMBA_LIB_SIM_BARRIERS_H
