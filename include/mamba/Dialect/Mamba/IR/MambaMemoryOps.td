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

def Mamba_TensorMapType : Type<
    CPred<"::llvm::isa<::mlir::nvgpu::TensorMapDescriptorType>($_self)">,
    "tensor map of nvgpu">;

def Mamba_TensorMapOp : Op<Mamba_Dialect, "tensor_map",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Describe a tensor in global memory to the copy engine";
  let description = [{
    In the code that launches kernels: the tensor map (TMA descriptor) of the
    tensor that starts `offset` elements past `base`. `sizes` and `strides`, in
    elements, are outermost first and have the rank of the result's tensor;
    the last stride is 1. A copy moves a box, the shape of the result's tensor,
    whose elements lie in shared memory swizzled as the result says; what lies
    past the sizes is zero.

    The loader encodes it before the launch. It requires a base of whole 16
    bytes, strides but the last of whole 16 bytes, a box of at most 256 in every
    dimension whose rows are whole 16 bytes and at most as long as the swizzle's
    span (PTX ISA, "Tensor Data Movement").

    ```mlir
    %map = mamba.tensor_map %x[%c0] sizes(%b, %t, %h, %c64) strides(%s0, %s1, %c64, %c1)
        : memref<bf16> -> !nvgpu.tensormap.descriptor<
            tensor = memref<1x128x1x64xbf16, 3>, swizzle = swizzle_128b,
            l2promo = l2promo_128b, oob = zero, interleave = none>
    gpu.launch_func @kernels::@k .. args(.., %map : ..)
    ```
  }];
  let arguments = (ins
    AnyMemRef:$base, Index:$offset, Variadic<Index>:$sizes,
    Variadic<Index>:$strides);
  let results = (outs Mamba_TensorMapType:$map);
  let assemblyFormat = [{
    $base `[` $offset `]` `sizes` `(` $sizes `)` `strides` `(` $strides `)`
    attr-dict `:` type($base) `->` type($map)
  }];
  let hasVerifier = 1;
}

def Mamba_MbarrierGroupType : Type<
    CPred<"::llvm::isa<::mlir::nvgpu::MBarrierGroupType>($_self)">,
    "mbarriers of nvgpu">;

def Mamba_TensorCopyOp : Op<Mamba_Dialect, "tensor_copy",
    [AttrSizedOperandSegments]> {
  let summary = "Start the copy of a tile that a tensor map describes";
  let description = [{
    Copies the box of `map` at `coordinates`, outermost first and in elements, to
    `destination`, a tile in shared (workgroup) memory, which it fills row by
    row in the map's swizzle. A tile with rows longer than the box takes as many
    boxes, side by side along the last coordinate and one behind the other in
    memory (`SharedTile` in mamba/Layout/SharedMemory.h). What lies past the
    tensor's sizes becomes zero. The last coordinate is a multiple of 16 bytes.

    `mamba-select-tma-layout` puts it in the place of a `mamba.async_copy`: it is
    an operation of the whole block, and belongs to the group that the next
    `nvgpu.device_async_create_group` closes.

    ```mlir
    mamba.tensor_copy %map[%b, %token, %head, %c0] to %tile
        : !nvgpu.tensormap.descriptor<tensor = memref<1x128x1x64xbf16, 3>, ..>
        to memref<128x64xbf16, strided<[64, 1]>, #gpu.address_space<workgroup>>
    ```

    `mamba-pipeline` makes it an operation of one thread, which has announced the
    tile's bytes to an mbarrier; the copy reports them there:

    ```mlir
    scf.if %is_first_thread {
      nvgpu.mbarrier.arrive.expect_tx %barriers[%stage], %c16384 : ..
      mamba.tensor_copy %map[%b, %token, %head, %c0] to %tile, %barriers[%stage]
          : .. to .., !nvgpu.mbarrier.group<.., num_barriers = 3>
    }
    ```
  }];
  let arguments = (ins
    Mamba_TensorMapType:$map, Variadic<Index>:$coordinates,
    Arg<AnyStridedMemRef, "", [MemWrite]>:$destination,
    Optional<Mamba_MbarrierGroupType>:$barriers, Optional<Index>:$barrier);
  let assemblyFormat = [{
    $map `[` $coordinates `]` `to` $destination
    (`,` $barriers^ `[` $barrier `]`)? attr-dict `:` type($map) `to`
    type($destination) (`,` type($barriers)^)?
  }];
  let extraClassDeclaration = [{
    /// The shape of a box is that of this type.
    ::mlir::MemRefType getBox();
    /// Boxes side by side in a row of the tile.
    int64_t getNumBoxes();
    /// What the copy writes, zeros included.
    int64_t getNumBytes();
  }];
  let hasVerifier = 1;
}

#endif // MAMBA_MEMORY_OPS_TD
