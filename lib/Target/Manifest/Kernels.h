//===- Kernels.h - What a launch has to know of a kernel --------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TARGET_MANIFEST_KERNELS_H
#define MAMBA_LIB_TARGET_MANIFEST_KERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <array>
#include <optional>

namespace mamba {

struct KernelInfo {
  /// The gpu.module or gpu.binary that the kernel is in.
  mlir::Operation *module = nullptr;
  /// `mamba.shared_bytes`.
  std::optional<int64_t> sharedBytes;
  /// The only block size the kernel runs with, if it says so.
  std::optional<std::array<int64_t, 3>> blockSize;
  unsigned numParameters = 0;
  /// For each parameter what its address must be a multiple of, 0 where that is
  /// not known; empty before `mamba-serialize`.
  llvm::SmallVector<int64_t> alignments;
};

/// Finds the kernel of a launch before, between or after `mamba-to-nvvm` and
/// `mamba-serialize`. Emits an error at the launch if there is none.
mlir::FailureOr<KernelInfo> lookupKernel(mlir::gpu::LaunchFuncOp launch);

} // namespace mamba

#endif // MAMBA_LIB_TARGET_MANIFEST_KERNELS_H
