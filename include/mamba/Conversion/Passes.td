//===- Passes.td - Passes between the stages of lowering ---*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_CONVERSION_PASSES_TD
#define MAMBA_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"mamba-outline-kernels", "mlir::ModuleOp"> {
  let summary = "Turn every loop over blocks into a kernel and its launch";
  let description = [{
    Every `scf.forall` that is mapped to `#gpu.block` and stands directly in
    the body of a `func.func` becomes a `gpu.func` named
    `<function>_<mamba.kernel of the loop>` (`kernel` without the attribute;
    `_1`, `_2`, ... when the name is taken) in the `gpu.module`
    `<function>_kernels`, and a `gpu.launch_func` in its place. It works on
    buffers: the loop has no results.

    The grid is one-dimensional, the product of the loop's trip counts, and
    therefore limited to 2^31 - 1 blocks. The kernel takes its block id apart
    in index arithmetic: the dimension mapped to the lowest id varies fastest,
    which is the innermost one in the usual
    `[..., linear_dim_1, linear_dim_0]`. A block has 32 times the `warps` of
    `mamba.plan` threads (128 without a plan), recorded as `known_block_size`.

    The parameters are, in this order:

    * one base pointer for each captured buffer, as a `memref` of rank 0.
      Buffers are arguments of the function or `memref.alloc`s in it, dense but
      for leading strides of an argument. The kernel rebuilds the buffer from
      the pointer and the sizes. Views of buffers are rebuilt inside too. The
      parameter keeps the argument's `mamba.name`;
    * each captured value of type `index`, each trip count that the block id
      is divided by, and each dynamic size of a buffer, every one only once;
    * each dynamic leading stride of an argument. Where dense rows are whole 16
      bytes, strides must be, too; they are passed by 16 bytes, so that the
      kernel sees what they are multiples of.

    Constants, minima (a later pass reads the bound of a tile's size from
    them) and pure operations whose result is not of type `index` are evaluated
    again in the kernel. All discardable attributes of the loop move to the
    kernel. The operands of the launch say where each parameter comes from: a
    `memref.reinterpret_cast` of a buffer or a buffer of rank 0, a
    `memref.dim`, or index arithmetic in the function.

    Different buffers must not overlap in memory.

    Before:

    ```mlir
    func.func @scale(%x: memref<?x64xf32> {mamba.name = "x"}) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?x64xf32>
      scf.forall (%i) in (%n) {
        %row = memref.subview %x[%i, 0] [1, 64] [1, 1] : ...
        linalg.generic ... outs(%row : ...) { ... }
      } {mapping = [#gpu.block<linear_dim_0>], mamba.kernel = "rows"}
      return
    }
    ```

    After:

    ```mlir
    func.func @scale(%x: memref<?x64xf32> {mamba.name = "x"}) {
      ...
      %p = memref.reinterpret_cast %x to offset: [0], sizes: [], strides: []
          : memref<?x64xf32> to memref<f32>
      gpu.launch_func @scale_kernels::@scale_rows
          blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
          args(%p : memref<f32>, %n : index)
      return
    }
    gpu.module @scale_kernels {
      gpu.func @scale_rows(%p: memref<f32> {mamba.name = "x"}, %n: index) kernel
          attributes {known_block_size = array<i32: 128, 1, 1>, mamba.kernel = "rows"} {
        %x = memref.reinterpret_cast %p to offset: [0], sizes: [%n, 64],
            strides: [64, 1] : memref<f32> to memref<?x64xf32>
        %i = gpu.block_id x
        %row = memref.subview %x[%i, 0] [1, 64] [1, 1] : ...
        linalg.generic ... outs(%row : ...) { ... }
        gpu.return
      }
    }
    ```
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
    "mlir::memref::MemRefDialect"
  ];
}

def NarrowIndicesPass : Pass<"mamba-narrow-indices", "mlir::gpu::GPUModuleOp"> {
  let summary = "Compare positions in a tile in 32 bits";
  let description = [{
    In kernels with `mamba.vectorized`, comparisons of index vectors that are
    sums of scalars and `vector.step` (masks) become comparisons of 32-bit
    vectors: the scalars' distance, in 64 bits and cut to what steps cannot
    reach, goes to one side. Positions are not negative.

    Before:

    ```mlir
    %rows = arith.addi %i_broadcast, %step : vector<64xindex>
    ...
    %mask = arith.cmpi ule, %column_steps, %row_steps : vector<64x64xindex>
    ```

    After (`%d` is `%i` minus the columns' base, as i32):

    ```mlir
    ...
    %mask = arith.cmpi sle, %columns, %rows_plus_d : vector<64x64xi32>
    ```
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::vector::VectorDialect"
  ];
}

def AssignLayoutsPass : Pass<"mamba-assign-layouts", "mlir::gpu::GPUModuleOp"> {
  let summary = "Say which thread holds which elements of each vector";
  let description = [{
    Gives every vector of a kernel with `mamba.vectorized` a linear layout, in
    the attribute `mamba.layouts` of the operation that computes it, and
    inserts `mamba.convert_layout` where a use needs another one.

    * A `vector.contract` of bf16 or f16 into f32 whose sizes are multiples of
      16 x 8 x 16 takes the fragments of `mma.sync`; other ones a rectangle of
      the result in each thread, summed by f32 multiply-adds. The warps split
      the rows of the result, or its columns if the side with the columns is
      computed and the other one read: each warp computes what it needs of a
      side.
    * A `vector.scan` of a matrix along its rows has neighbours in a thread, 16
      bytes or as many as 32 lanes leave, then lanes along the row; along its
      columns, lanes are side by side in the rows. Warps split the other
      dimension, so that no sum crosses warps.
    * Results of contractions and scans say where what is computed from them is, loops
      included; then uses say where what they read is.
    * A sum along rows that is left then has eight lanes at 128 bytes of a row
      in memory, 16 bytes each, the rest of the row behind them in the same
      lanes, and other rows in other lanes and in the warps; more lanes to a
      row if there are few. Along columns it is the warps that split the rows,
      so that no sum leaves a warp. What it is computed from follows.
    * A read of global memory that would have its lanes in different rows has
      them side by side in the rows instead, and is converted afterwards.
    * Before a write to memory a thread exchanges elements with its neighbours
      so that it writes up to 16 contiguous bytes.
    * Vectors that are cheap (constants, `vector.step`, broadcasts, reads from
      shared memory, and element-wise operations on such) are computed again in
      each layout that they are needed in.

    The number of warps is a power of two.

    Before:

    ```mlir
    %c = vector.contract ... %a, %b, %zero
        : vector<16x16xbf16>, vector<16x8xbf16> into vector<16x8xf32>
    ```

    After (one warp):

    ```mlir
    %c = vector.contract ... %a, %b, %zero {mamba.layouts = [#mamba.layout<
        "register[(0,1),(8,0)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)], warp[] -> dim0[16], dim1[8]">]}
        : vector<16x16xbf16>, vector<16x8xbf16> into vector<16x8xf32>
    ```
  }];
  let dependentDialects = ["::mamba::MambaDialect"];
}

def DistributePass : Pass<"mamba-distribute", "mlir::gpu::GPUModuleOp"> {
  let summary = "Distribute block-level code over the threads of the block";
  let description = [{
    A kernel (`gpu.func`) that says what its block does becomes the program of
    one thread. All threads run scalar code and structured control flow; the
    work of operations on buffers is shared out:

    * A linalg operation or `memref.copy` becomes a loop over the points of its
      parallel dimensions, one thread every `block size` points, the innermost
      dimension fastest. (Where only another dimension is contiguous in a
      buffer in global memory, that one is fastest.) Reduction dimensions are
      sequential loops in a thread, with the result carried in registers. The
      addition of a reduction and the multiplication that feeds it get
      `fastmath<contract>`.
    * Several lanes of a warp share the reduction of a point and combine their
      parts with `gpu.shuffle`, where it has at least 32 steps, every output is
      combined by one commutative operation with a neutral element in f32 or
      i32, and either there are at most a quarter as many points as threads, or
      more operands are contiguous in global memory along the reduction than
      along the points. `gpu.shuffle` counts as pure in MLIR, so nothing may
      sink it into a branch afterwards.
    * An operation with a single point, and a scalar `memref.store`, runs on
      thread 0.
    * `gpu.barrier` is inserted before an operation that touches memory which
      an operation since the last barrier wrote, or writes memory which one
      read, the back edges of loops included. None is needed where each thread
      meets only what it touched itself: two operations over the same points
      that access the same view in the same way.

    `memref.alloc` and `memref.alloca` become views of the block's dynamic
    shared memory. Buffers whose lifetimes in program order do not overlap
    share its bytes (first fit, aligned to 16 bytes, whatever alignment the
    allocation asks for). Buffers of `mamba-stage-copies` are aligned to 128
    bytes, swizzled ones to 1024, with rows and columns padded to powers of two;
    the view keeps `mamba.swizzle`. `mamba.shared_bytes` on the kernel records the size,
    0 if there is no buffer. The size of a buffer must be static or bounded
    by `affine.min` or `arith.minsi` with a constant, which then is its room.

    A kernel with `mamba.vectorized` holds vectors of a block instead, whose
    layouts `mamba-assign-layouts` gave. Each becomes the one-dimensional vector
    of the elements that a thread holds; reads and writes of global memory get
    the predicates of their bounds, all in one branch for a dimension of one
    element, tiles in shared memory are read by
    `nvgpu.ldmatrix` or wide loads, `mamba.async_copy` becomes
    `nvgpu.device_async_copy` of a thread's share, and contractions become
    `nvgpu.mma.sync` or multiply-adds. A `vector.scan` (inclusive sums of 32-bit
    elements) joins runs of neighbours, in the registers of a thread and then, by
    `gpu.shuffle`, in more and more lanes.

    The kernel must have `known_block_size`, and its buffers must be views of
    its arguments or of buffers it allocates. Different arguments do not
    overlap. Control flow must be the same in all threads, which it is unless
    the input already uses thread ids.

    Before:

    ```mlir
    gpu.func @k(%x: memref<64x32xf32>, %y: memref<64xf32>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      %t = memref.alloc() : memref<64x32xf32>
      linalg.exp ins(%x : ...) outs(%t : ...)
      linalg.reduce { arith.addf } ins(%t : ...) outs(%y : ...) dimensions = [1]
      gpu.return
    }
    ```

    After:

    ```mlir
    gpu.func @k(...) kernel attributes {..., mamba.shared_bytes = 8192 : i64} {
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %t = memref.view %shared[%c0][] : ... to memref<64x32xf32, #gpu.address_space<workgroup>>
      %tid = gpu.thread_id x
      scf.for %i = %tid to %c2048 step %c128 {
        %column = arith.remui %i, %c32
        %row = arith.divui %i, %c32
        %v = memref.load %x[%row, %column]
        %e = math.exp %v
        memref.store %e, %t[%row, %column]
      }
      gpu.barrier
      scf.for %i = %tid to %c64 step %c128 {
        %init = memref.load %y[%i]
        %sum = scf.for %k = %c0 to %c32 step %c1 iter_args(%acc = %init) -> (f32) {
          ...
        }
        memref.store %sum, %y[%i]
      }
      gpu.return
    }
    ```
  }];
  let options = [
    Option<"maxSharedBytes", "max-shared-bytes", "int64_t", "101376",
           "Shared memory that a block may use">
  ];
  let dependentDialects = [
    "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
    "mlir::gpu::GPUDialect", "mlir::LLVM::LLVMDialect",
    "mlir::memref::MemRefDialect", "mlir::NVVM::NVVMDialect", "mlir::nvgpu::NVGPUDialect",
    "mlir::scf::SCFDialect", "mlir::vector::VectorDialect"
  ];
}

def StageCopiesPass : Pass<"mamba-stage-copies", "mlir::gpu::GPUModuleOp"> {
  let summary = "Copy tiles to shared memory before vectors are read from them";
  let description = [{
    In kernels with `mamba.vectorized`, a `vector.transfer_read` of a whole tile
    in global memory becomes an asynchronous copy of the tile to a buffer in
    shared memory and a read from there, if a contraction multiplies the vector
    or what is computed from it by element, or if it is read in a loop. The tile
    must be contiguous along its innermost dimension, of 16- or 32-bit elements
    in rows of a multiple of 16 bytes (with one dimension: 32-bit elements), and
    no operation of the kernel may write the argument it is part of. Other reads
    stay.

    A buffer is `memref<1xRxC>` (or `memref<1xN>`) with `mamba.swizzle`: the
    largest span of 128, 64 and 32 bytes that its rows fill. A tile is copied in
    the outermost block where its place is known, once for all its reads there,
    and as early as possible. Copies that start together and are needed before
    the same loop are one group. Before the first use there are a
    `nvgpu.device_async_wait` for the group and a `gpu.barrier`; a block in a
    loop starts with a `gpu.barrier`, so that no tile is overwritten that a
    thread still reads.

    Before:

    ```mlir
    scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %tile = memref.subview %x[%k, 0] [%rows, 64] [1, 1] : ...
      %v = vector.transfer_read %tile[%c0, %c0], %pad {in_bounds = [false, true]}
          : memref<?x64xbf16, strided<[64, 1], offset: ?>>, vector<64x64xbf16>
      %r = vector.contract {...} %a, %v, %acc : ...
    }
    ```

    After:

    ```mlir
    %buffer = memref.alloc() {mamba.swizzle = 128 : i64}
        : memref<1x64x64xbf16, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      gpu.barrier
      %to = memref.subview %buffer[0, 0, 0] [1, 64, 64] [1, 1, 1] : ...
      %tile = memref.subview %x[%k, 0] [%rows, 64] [1, 1] : ...
      mamba.async_copy %tile to %to : ...
      %group = nvgpu.device_async_create_group
      nvgpu.device_async_wait %group {numGroups = 0 : i32}
      gpu.barrier
      %v = vector.transfer_read %to[%c0, %c0], %pad {in_bounds = [true, true]} : ...
      %r = vector.contract {...} %a, %v, %acc : ...
    }
    ```
  }];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
    "mlir::memref::MemRefDialect", "mlir::nvgpu::NVGPUDialect",
    "mlir::vector::VectorDialect", "mamba::MambaDialect"
  ];
}

def SelectTmaLayoutPass : Pass<"mamba-select-tma-layout", "mlir::ModuleOp"> {
  let summary = "Let the copy engine fetch the tiles that a tensor map can describe";
  let description = [{
    On targets with tensor maps (TMA: sm_90a and newer), a `mamba.async_copy` in
    a kernel with `mamba.vectorized` becomes a `mamba.tensor_copy`, which one
    thread starts for the whole tile, if a tensor map of at most five dimensions
    gives the same tile:

    * The tile is part of a tensor that starts at an argument, of 16- or 32-bit
      elements, in whole rows; strides, and the start of a row, are known to be
      multiples of 16 bytes. Static factors of dynamic sizes count.
    * A copy is a box of at most 256 elements in each dimension. Its rows are as
      long as the swizzle's span; longer rows take several boxes, side by side.
      Without a swizzle, rows have up to 256 elements a box.
    * Elements past the tile's end are past the map's sizes, and therefore zero,
      as `mamba.async_copy` leaves them. The sizes are chosen for that: if the
      tile has `min(64, n - i)` rows from row `i` on, the map's tensor has `n`
      rows, whatever the memory has. If a tile is `min(128, n - 128 * c)`
      elements of row `c` of a tensor with contiguous rows of 128, the map joins
      both dimensions to one of `n` elements.
    * It is copied in the kernel itself or in `scf.for` loops.

    Other copies stay, with a remark that says why. The map becomes a parameter
    of the kernel, one for all copies that it serves, and a `mamba.tensor_map`
    before each launch. Kernels that the module does not launch stay as they
    are.

    Before:

    ```mlir
    gpu.launch_func @kernels::@k .. args(%p : memref<bf16>, %b : index, %t : index)

    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %b: index, %t: index) kernel .. {
      %x = memref.reinterpret_cast %p to offset: [0], sizes: [%b, %t, 64], strides: [%s, 64, 1] : ..
      %rows = affine.min affine_map<(d0)[s0] -> (128, s0 - d0)>(%i)[%t]
      %tile = memref.subview %x[%j, %i, 0] [1, %rows, 64] [1, 1, 1] : ..
      mamba.async_copy %tile to %to : .., memref<128x64xbf16, ..>
    ```

    After:

    ```mlir
    %map = mamba.tensor_map %p[%c0] sizes(%b, %t, %c64) strides(%t64, %c64, %c1)
        : memref<bf16> -> !nvgpu.tensormap.descriptor<tensor = memref<1x128x64xbf16, 3>,
            swizzle = swizzle_128b, l2promo = l2promo_128b, oob = zero, interleave = none>
    gpu.launch_func @kernels::@k .. args(.., %map : ..)

    gpu.func @k(%p: memref<bf16> {mamba.name = "x"}, %b: index, %t: index, %map: ..) kernel .. {
      mamba.tensor_copy %map[%j, %i, %c0] to %to : .. to memref<128x64xbf16, ..>
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "Target of the code: tensor maps need sm_90a or newer">,
    Option<"remarks", "remarks", "bool", "true",
           "Say of every tile that gets no tensor map why">
  ];
  let statistics = [
    Statistic<"numCopies", "copies", "Copies by tensor map">,
    Statistic<"numRefused", "refused", "Copies that no tensor map describes">,
    Statistic<"numMaps", "maps", "Tensor maps">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mamba::MambaDialect",
    "mlir::nvgpu::NVGPUDialect"
  ];
}

def PipelinePass : Pass<"mamba-pipeline", "mlir::gpu::GPUModuleOp"> {
  let summary = "Copy the tiles of a loop some iterations ahead";
  let description = [{
    Innermost loops that copy tiles whose place depends only on the induction
    variable and on values from outside get `stages` buffers for each tile, S of
    them, as many as `max-shared-bytes` allows. S - 1 iterations' copies are
    started before the loop, before a wait for other tiles if possible, and each
    iteration starts the copies of the one S - 1 later, into the buffers that
    the previous iteration has used. A trip count may be dynamic, and 0. A loop
    that stays as it is gets a remark.

    A `memref.load` from global memory that no operation writes, at a place that
    depends on the induction variable only, moves one iteration ahead in the
    same loops, into a loop-carried value.

    Copies by tensor map (`mamba.tensor_copy`) report to mbarriers instead, one
    for each stage: an elected thread of the first warp announces the bytes of
    all tiles of an iteration and starts their copies, and all threads wait until the phase of
    the stage's mbarrier is complete. Threads carry the stage and the parity of
    the phase, also round the loops outside, so that a loop that runs again goes
    on with the next stage. The `gpu.barrier` of each iteration, which says that
    the tiles of the previous one are free, stays. A group of such copies that is
    in no pipelined loop has one mbarrier. mbarriers are initialized, and the
    maps prefetched, at the start of the kernel. Groups may have copies of both
    kinds; without any by threads, nothing waits for them.

    After (S = 3; before: see `mamba-stage-copies`):

    ```mlir
    scf.if %lb < %n { mamba.async_copy %x[%lb] to %buffer[0] }
    nvgpu.device_async_create_group
    scf.if %lb + %c64 < %n { mamba.async_copy %x[%lb + %c64] to %buffer[1] }
    %token = nvgpu.device_async_create_group
    scf.for %k = %lb to %n step %c64 iter_args(%acc = .., %stage = %c0) {
      nvgpu.device_async_wait %token {numGroups = 1 : i32}
      gpu.barrier
      %free = (%stage - 1) mod 3
      scf.if %k + 2 * %c64 < %n { mamba.async_copy %x[%k + 128] to %buffer[%free] }
      nvgpu.device_async_create_group
      %tile = memref.subview %buffer[%stage, 0, 0] [1, 64, 64] [1, 1, 1] : ...
      %v = vector.transfer_read %tile[%c0, %c0], ...
      ...
      scf.yield %r, (%stage + 1) mod 3
    }
    ```

    After, with a tensor map (before: see `mamba-select-tma-layout`):

    ```mlir
    %barriers = nvgpu.mbarrier.create -> <memorySpace = .., num_barriers = 3>
    scf.if %is_first_warp {
      %elected = nvvm.elect.sync -> i1
      scf.if %elected {
        nvgpu.tma.prefetch.descriptor %map
        nvgpu.mbarrier.init %barriers[0], %c1   // and 1, 2
        nvvm.fence.mbarrier.init
      }
    }
    gpu.barrier
    ...
    scf.for %k = %lb to %n step %c64 iter_args(%acc = .., %stage = %c0, %phase = %false) {
      nvgpu.mbarrier.try_wait.parity %barriers[%stage], %phase, %ticks
      gpu.barrier
      %free = (%stage - 1) mod 3
      scf.if %k + 2 * %c64 < %n {
        scf.if %is_first_warp {
          %elected = nvvm.elect.sync -> i1
          scf.if %elected {
            nvgpu.mbarrier.arrive.expect_tx %barriers[%free], %c8192
            mamba.tensor_copy %map[%k + 128, %c0] to %buffer[%free], %barriers[%free]
          }
        }
      }
      ...
      %wraps = %stage == %c2
      scf.yield %r, (%stage + 1) mod 3, %phase xor %wraps
    }
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", "3",
           "Buffers for each tile; 1 leaves loops as they are">,
    Option<"maxSharedBytes", "max-shared-bytes", "int64_t", "101376",
           "Shared memory that a block may use">,
    Option<"preferredSharedBytes", "preferred-shared-bytes", "int64_t", "0",
           "Shared memory that leaves room for another block (0: no matter): "
           "stages beyond the second are given up for it">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
    "mlir::memref::MemRefDialect", "mlir::NVVM::NVVMDialect",
    "mlir::nvgpu::NVGPUDialect", "mlir::scf::SCFDialect", "mamba::MambaDialect"
  ];
}

def SliceContractionsPass
    : Pass<"mamba-slice-contractions", "mlir::gpu::GPUModuleOp"> {
  let summary = "Cut contractions along the sum into the steps of instructions";
  let description = [{
    In kernels with `mamba.vectorized`, a `vector.contract` over K becomes a
    chain of contractions over `slice` elements of K (0: what a tensor core
    multiplies at a time, 16 elements of 16 bits or 8 wider ones), if that
    divides K. Whole operands need not be in registers then. Each slice's
    operands are made right before its contraction:

    * a read from a tile in shared memory that copies fill reads the slice;
    * element-wise operations, `vector.broadcast` and `vector.transpose` that
      only this contraction's operands need are computed on slices;
    * constants and `vector.step` are made in the size of the slice;
    * of everything else `vector.extract_strided_slice` takes a part.

    Before:

    ```mlir
    %a = vector.transfer_read %s[%c0, %c0], %pad : ..., vector<64x32xbf16>
    %b = arith.truncf %p : vector<32x64xf32> to vector<32x64xbf16>
    %r = vector.contract {...} %a, %b, %acc : ...
    ```

    After:

    ```mlir
    %a0 = vector.transfer_read %s[%c0, %c0], %pad : ..., vector<64x16xbf16>
    %p0 = vector.extract_strided_slice %p {offsets = [0, 0], ...}
    %b0 = arith.truncf %p0 : vector<16x64xf32> to vector<16x64xbf16>
    %r0 = vector.contract {...} %a0, %b0, %acc : ...
    %a1 = vector.transfer_read %s[%c0, %c16], %pad : ..., vector<64x16xbf16>
    %p1 = vector.extract_strided_slice %p {offsets = [16, 0], ...}
    %b1 = arith.truncf %p1 : vector<16x64xf32> to vector<16x64xbf16>
    %r = vector.contract {...} %a1, %b1, %r0 : ...
    ```
  }];
  let options = [
    Option<"slice", "slice", "int64_t", "0",
           "Elements of the sum in a slice; 0: what an instruction takes">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::vector::VectorDialect"
  ];
}

#endif // MAMBA_CONVERSION_PASSES_TD
