//===- PlanFused.h - Plans of scans in one kernel ---------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_PLANFUSED_H
#define MAMBA_LIB_TRANSFORMS_PLANFUSED_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Target/Targets.h"

namespace mamba {

/// What a plan is chosen from: static sizes and the widths of elements.
struct PlanProblem {
  int64_t headDim, stateDim, chunk, elementBytes, sharedBytes;
};

/// The largest divisor of `size` up to `limit`, if possible one that fragments
/// of a matrix product divide.
int64_t chooseDivisor(int64_t size, int64_t limit);

/// Tokens of a chunk that a fused block takes at a time.
constexpr int64_t kFusedTokens = 64;

/// The plan of a chunk_cumsum, state_pass or chunk_out that mamba-fuse makes
/// part of one kernel.
PlanAttr chooseFusedPlan(MambaTileOpInterface op, const PlanProblem &problem,
                         Schedule schedule, bool tf32);

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_PLANFUSED_H
