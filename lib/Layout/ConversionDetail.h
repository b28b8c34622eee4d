//===- ConversionDetail.h - Inside conversion planning ----------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_LAYOUT_CONVERSIONDETAIL_H
#define MAMBA_LIB_LAYOUT_CONVERSIONDETAIL_H

#include "mamba/Layout/Conversion.h"

namespace mamba::detail {

/// A distributed layout as flat columns: 5 lane bits, and as many warp bits as
/// the other side.
struct Columns {
  BinaryVectors registers, lanes, warps;
};

/// Checks what can be planned; `side` is for messages.
llvm::Error checkDistributed(const LinearLayout &layout, const char *side);
llvm::Error checkElementBytes(unsigned elementBytes);
Columns getColumns(const LinearLayout &layout, unsigned warpBits);

/// Builds the map of a step from columns for registers, lanes and warps.
LinearLayout makeMap(const BinaryVectors &registers, const BinaryVectors &lanes,
                     const BinaryVectors &warps, llvm::StringRef out,
                     unsigned outBits);

/// False if elements have to change warps.
bool planWithinWarps(const Columns &from, const Columns &to,
                     ConversionPlan &plan);

/// `outs` are the dimensions of the value, `warpOnly` says that no element
/// changes its warp.
void planThroughShared(const Columns &from, const Columns &to,
                       const LayoutDims &outs, bool warpOnly,
                       const ConversionOptions &options, ConversionPlan &plan);

} // namespace mamba::detail

#endif // MAMBA_LIB_LAYOUT_CONVERSIONDETAIL_H
