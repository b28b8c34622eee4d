//===- Barriers.h - Keep the threads of a block in step ---------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BARRIERS_H
#define MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BARRIERS_H

#include "SharedMemory.h"

namespace mamba {

/// Inserts `gpu.barrier` before every block-level operation of `kernel` that
/// touches memory which other threads may still be writing, or writes memory
/// which they may still be reading, given the distribution by `ThreadMapping`
/// over `threads` threads. Every memref has a root, and buffers have been
/// placed.
void insertBarriers(mlir::gpu::GPUFuncOp kernel, const SharedLayout &layout,
                    int64_t threads);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_KERNELSTOTHREADS_BARRIERS_H
