//===- AttributeNames.h - What functions say to the target end --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_ATTRIBUTENAMES_H
#define MAMBA_TARGET_ATTRIBUTENAMES_H

#include "llvm/ADT/StringRef.h"

namespace mamba {

/// Integer on a kernel: the bytes of dynamic shared memory it is launched with.
inline constexpr llvm::StringLiteral kSharedBytesAttrName =
    "mamba.shared_bytes";

/// Integer on an `nvgpu.mbarrier.create`: the offset of the first mbarrier in
/// the dynamic shared memory, in bytes.
inline constexpr llvm::StringLiteral kSharedOffsetAttrName =
    "mamba.shared_offset";

/// Array of strings on a host function: what it assumes about the sizes of its
/// arguments. Copied into the manifest as it is.
inline constexpr llvm::StringLiteral kConstraintsAttrName = "mamba.constraints";

/// Integer on a tensor argument of a host function: the caller chooses the
/// strides of so many leading axes; behind them the array is dense.
inline constexpr llvm::StringLiteral kPitchesAttrName = "mamba.pitches";

} // namespace mamba

#endif // MAMBA_TARGET_ATTRIBUTENAMES_H
