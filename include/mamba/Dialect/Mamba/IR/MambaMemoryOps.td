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

#endif // MAMBA_MEMORY_OPS_TD
