//===- SharedMemory.h - Place a block's buffers -----------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_SHAREDMEMORY_H
#define MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_SHAREDMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace mamba {

/// Bytes of shared memory: first and one past the last.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool overlaps(const ByteRange &other) const {
    return begin < other.end && other.begin < end;
  }
};

/// Where each placed buffer lies; the keys are the `memref.view`s.
using SharedLayout = llvm::DenseMap<mlir::Value, ByteRange>;

/// Replaces every `memref.alloc` and `memref.alloca` of `kernel` by a view of
/// dynamic shared memory, drops the `memref.dealloc`s, and records the size as
/// `mamba.shared_bytes`. Fails with a message if a buffer's size has no
/// constant bound or all of them take more than `maxBytes`.
///
/// With `hasBarriers` the kernel is the program of a thread that has all its
/// barriers: buffers share bytes only across one, and are aligned as their
/// allocations say.
mlir::FailureOr<SharedLayout> placeSharedBuffers(mlir::gpu::GPUFuncOp kernel,
                                                 int64_t maxBytes,
                                                 bool hasBarriers = false);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_SHAREDMEMORY_H
