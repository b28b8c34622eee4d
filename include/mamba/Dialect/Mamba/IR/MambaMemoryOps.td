//===- MambaMemoryOps.td - What a block does to memory -----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_MEMORY_OPS_TD
#define MAMBA_MEMORY_OPS_TD

include "mamba/Dialect/Mamba/IR/MambaBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Mamba_AsyncCopyOp : Op<Mamba_Dialect, "async_copy", []> {
  let summary = "Start a block's copy of a tile to shared memory";
  let description = [{
    All threads of the block together copy `source`, in global memory, to
    `destination`, in shared (workgroup) memory. Elements of the destination
    past the end of the source become zero: the source is at most as large as
    the destination in every dimension, which is up to the program where its
    sizes are dynamic.

    The operation only starts the copy. It belongs to the group that the next
    `nvgpu.device_async_create_group` closes; the data is there for all threads
    after an `nvgpu.device_async_wait` for this group and a `gpu.barrier`.
    Nothing may write the source meanwhile.

    ```mlir
    %tile = memref.subview %buffer[0, 0, 0] [1, 128, 64] [1, 1, 1] : ..
    mamba.async_copy %x to %tile
        : memref<?x64xbf16, strided<[1536, 1], offset: ?>>,
          memref<128x64xbf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    %group = nvgpu.device_async_create_group
    nvgpu.device_async_wait %group
    gpu.barrier
    ```
  }];
  let arguments = (ins
    Arg<AnyStridedMemRef, "", [MemRead]>:$source,
    Arg<AnyStridedMemRef, "", [MemWrite]>:$destination);
  let assemblyFormat = [{
    $source `to` $destination attr-dict `:` type($source) `,`
    type($destination)
  }];
  let hasVerifier = 1;
}

#endif // MAMBA_MEMORY_OPS_TD
