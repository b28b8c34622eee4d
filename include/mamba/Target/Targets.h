//===- Targets.h - What the compiler can generate code for ------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of targets: their names on command lines and in bundles, what
// LLVM calls them, and the limits that plans have to keep. No MLIR in here.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TARGET_TARGETS_H
#define MAMBA_TARGET_TARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace mamba {

/// Limits of an architecture, the same on every product that has it.
struct GpuLimits {
  /// Bytes of dynamic shared memory that one block can ask for.
  int64_t sharedBytesPerBlock = 0;
  /// Bytes of shared memory that the blocks of one multiprocessor share; each
  /// block takes 1024 of them for the system, besides what it asks for.
  int64_t sharedBytesPerSM = 0;
  int64_t threadsPerSM = 0;
  int64_t threadsPerBlock = 1024;
  /// 32-bit registers, and the most that one thread can hold.
  int64_t registersPerSM = 65536;
  int64_t registersPerThread = 255;
  /// Blocks of a cluster that every product of the architecture accepts.
  int64_t clusterSize = 8;
};

/// One row of the table. All strings live as long as the process.
struct Target {
  /// The name users write and bundles record: "sm_80", ..., or "cpu".
  llvm::StringRef name;
  /// LLVM's name of the processor, e.g. "sm_90a". Empty for "cpu".
  llvm::StringRef chip;
  /// LLVM's feature string: the oldest PTX version with this architecture, so
  /// that the oldest drivers can load the result, e.g. "+ptx80".
  llvm::StringRef features;
  /// All zero for "cpu".
  GpuLimits limits;
  /// Multiprocessors of the product that the architecture is known by (A100,
  /// H100 SXM and H200, B200); 0 where there is no such product.
  int64_t smCount = 0;

  bool isGpu() const { return !chip.empty(); }
  /// Copies by tensor maps (TMA) came with clusters.
  bool hasTensorMaps() const { return limits.clusterSize > 1; }
  /// The PTX version in `features`, 86 for 8.6; 0 without one.
  int getPtxVersion() const;
};

/// All targets, "cpu" last.
llvm::ArrayRef<Target> getTargets();

/// The target of this exact name. The error names the closest target, if one
/// is close, and all known ones.
llvm::Expected<const Target &> lookupTarget(llvm::StringRef name);

/// As `lookupTarget`, but "cpu" is an error too.
llvm::Expected<const Target &> lookupGpuTarget(llvm::StringRef name);

} // namespace mamba

#endif // MAMBA_TARGET_TARGETS_H
