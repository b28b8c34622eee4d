//===- Passes.td - Passes on tensors and tile programs -----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TRANSFORMS_PASSES_TD
#define MAMBA_TRANSFORMS_PASSES_TD

include "mamba/Dialect/Mamba/Transforms/TilePasses.td"
include "mlir/Pass/PassBase.td"

def MambaDecomposeSsdPass : Pass<"mamba-decompose-ssd"> {
  let summary = "Write mamba.ssd as chunk operations";
  let description = [{
    Replaces every `mamba.ssd` by its composition. The states entering the
    chunks have the type in which `mamba.chunk_out` multiplies them, unless the
    operation returns them.

    The chunk is a property of results a chunk: of `chunk_states`, and of the
    rules for padding in packed sequences. Without either it only says how the
    scan is computed, and a GPU takes chunks of at most 128 tokens: a token's
    work inside of its chunk grows with the chunk.

    ```mlir
    %y = mamba.ssd chunk_size(128) x(%x : ..) dt(%dt : ..) .. -> y(..)
    ```
    becomes
    ```mlir
    %d, %cs = mamba.chunk_cumsum chunk_size(128) dt(%dt : ..) A(%A : ..) -> ..
    %s = mamba.chunk_state x(%x : ..) B(%B : ..) dt(%d : ..) dA_cumsum(%cs : ..) -> ..
    %h = mamba.state_pass states(%s : ..) dA_cumsum(%cs : ..) -> chunk_states(..)
    %y = mamba.chunk_out mask<causal> x(%x : ..) .. chunk_states(%h : ..) -> ..
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "Target of the code, which chooses the chunk">,
    Option<"chunk", "chunk", "int64_t", "0",
           "Tokens of a chunk where the operation leaves them open (0: at most "
           "128 on a GPU, the operation's else)">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "Schedule of the scan: fused and segmented take chunks of at most 64 "
           "tokens on a GPU">
  ];
  let dependentDialects = ["::mamba::MambaDialect"];
}

def MambaNameSizesPass : Pass<"mamba-name-sizes", "::mlir::ModuleOp"> {
  let summary = "Name the dynamic sizes of a function's tensors";
  let description = [{
    Follows the roles of dimensions through the mamba operations of every
    public function and the loops of its linalg operations, and gives dynamic
    dimensions that must be equal one name: `batch`, `length`, `heads`, ..., or
    `size` where no operation gives them a role. The names stand in `mamba.dims` on arguments
    and results, one string a dimension, empty for static and unknown ones; a
    number of chunks is written as an expression. What else the operations
    assume stands in `mamba.constraints` on the function.

    ```mlir
    func.func @f(%x: tensor<?x?x24x64xbf16>, %B: tensor<?x?x1x128xbf16>, ..)
    ```
    becomes
    ```mlir
    func.func @f(
      %x: tensor<?x?x24x64xbf16> {mamba.dims = ["batch", "length", "", ""]},
      %B: tensor<?x?x1x128xbf16> {mamba.dims = ["batch", "length", "", ""]}, ..)
    ```
  }];
}

def MambaRecordOperationsPass
    : Pass<"mamba-record-operations", "::mlir::ModuleOp"> {
  let summary = "Record the mamba operations of each function for its manifest";
  let description = [{
    Writes the name and the options of every mamba operation of a public
    function, in order, to the function's `mamba.operations`, where they outlive
    the operations.

    ```mlir
    func.func @f(..) { %y = mamba.ssd chunk_size(128) softplus .. }
    ```
    becomes
    ```mlir
    func.func @f(..) attributes {
        mamba.operations = [
          {chunk_size = 128 : i64, op = "mamba.ssd", softplus} ]}
    ```

    With `tf32`, a `mamba.ssd` of f32 is marked by `tf32`, which the kernels will
    be less exact for.
  }];
  let options = [
    Option<"tf32", "tf32", "bool", "false",
           "f32 matrices will be multiplied in tf32">
  ];
}

def MambaUnifySizesPass : Pass<"mamba-unify-sizes", "::mlir::ModuleOp"> {
  let summary = "Read equal sizes of arguments from one of them";
  let description = [{
    Replaces `memref.dim` of an argument by that of the first argument whose
    dimension has the same name in `mamba.dims`, so that kernels are passed
    each size once.
  }];
}

def MambaPlanPass : Pass<"mamba-plan"> {
  let summary = "Decide how each operation is lowered for a target";
  let description = [{
    Attaches a `#mamba.plan` to every operation that tiles and has none; a plan
    written by hand stays. Schedule `chunk_parallel`: every operation is one
    kernel and a block computes one unit tile, except that head-dim rows of
    `mamba.state_pass`, whose loops are element-wise in them, are spread over
    blocks. Schedule `three_kernel`: a `mamba.chunk_state`
    that only a `mamba.state_pass` reads has no plan, for it becomes part of
    that operation's blocks, which hold a tile of the state; and the weights
    of `mamba.chunk_out` are computed for some rows and columns at a time.
    `auto` is `three_kernel`, where the operations allow it. `mamba.ssu` has
    schedule `simple` always: a block takes as many head-dim rows of one head
    as give each thread 64 bytes of the state. Sizes are chosen
    so that a block's temporaries fit in the target's shared memory.

    ```mlir
    %y = mamba.chunk_out mask<causal> .. -> tensor<2x?x24x64xbf16>
    ```
    becomes
    ```mlir
    %y = mamba.chunk_out mask<causal> .. {mamba.plan =
      #mamba.plan<chunk_parallel tile [1, 1, 1, 0] inner [32, 0] warps 8>}
      -> tensor<2x?x24x64xbf16>
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "GPU whose limits the plans keep">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "How the chunked scan is spread over kernels: auto, three_kernel, "
           "chunk_parallel, fused or segmented">,
    Option<"sharedBytes", "shared-bytes", "int64_t", "0",
           "Shared memory that a block's temporaries may take, in bytes (0: "
           "the target's limit)">,
    Option<"tf32", "tf32", "bool", "false",
           "Multiply f32 matrices by tensor cores, in tf32">,
    ListOption<"plans", "plan", "std::string",
               "Plans to use instead: OPERATION=#mamba.plan<...>">
  ];
  let dependentDialects = ["::mamba::MambaDialect"];
}

def MambaTilePass : Pass<"mamba-tile"> {
  let summary = "Tile mamba operations to the programs of blocks";
  let description = [{
    Tiles every operation that has a plan by the plan's `tile`, and the others
    by their unit tile. With `loops=forall` the tiles become an `scf.forall`
    over `#gpu.block` that keeps the plan and carries the operation's name for
    its kernel; with `loops=for` a nest of `scf.for`. A result that updates an
    operand in place starts from that operand.

    A `mamba.chunk_state` that only a `mamba.state_pass` of schedule
    `three_kernel`, `fused` or `segmented` reads, and that has no plan of its own,
    is fused into the loop: each block computes what it reads of it.

    With `loops=forall`, `linalg` operations outside of loops are tiled too, so
    that all work is in kernels: by 256 along the innermost parallel loop, by 1
    along the other parallel ones.

    ```mlir
    %s = mamba.chunk_state x(%x : tensor<2x?x24x64xbf16>) ..
    ```
    becomes
    ```mlir
    %s = scf.forall (%b, %c, %h) in (2, %chunks, 24) shared_outs(%o = %empty) .. {
      %xt = tensor.extract_slice %x[%b, %c * 128, %h, 0] [1, %tokens, 1, 64] ..
      %t = mamba.chunk_state x(%xt : tensor<1x?x1x64xbf16>) .. -> tensor<1x1x1x64x128xf32>
      scf.forall.in_parallel { tensor.parallel_insert_slice %t into %o[..] }
    } {mapping = [#gpu.block<linear_dim_2>, ..], mamba.kernel = "chunk_state"}
    ```
  }];
  let options = [
    Option<"loops", "loops", "std::string", "\"forall\"",
           "Kind of loop over tiles: forall or for">
  ];
  let dependentDialects = [
    "::mamba::MambaDialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect"
  ];
}

def MambaToLinalgPass : Pass<"mamba-to-linalg"> {
  let summary = "Write mamba operations in linalg, tensor, arith and math";
  let description = [{
    Replaces every operation that tiles by its meaning on unit tiles, after
    tiling it to them with `scf.for` where it is larger. Rounding points are
    `arith.truncf`; exponents are clamped to at most 0; masks are selects. A
    plan with `inner` or `reduction` sizes moves to the linalg operation that
    computes the first result. A slice of a tensor whose rows were cut into heads
    is read from the rows. An operation in a loop whose only reader is a
    slice in an inner loop is computed there, a slice at a time.

    ```mlir
    %t = mamba.chunk_state x(%x : tensor<1x?x1x64xbf16>) B(%B : ..) ..
    ```
    becomes
    ```mlir
    %w  = linalg.generic .. // dt[k] * exp(min(last - sum[k], 0))
    %wB = linalg.generic .. // round(w[k] * B[k,n])
    %s  = linalg.matmul indexing_maps = [..] ins(%x, %wB) outs(%zeros)
    ```
  }];
  let dependentDialects = ["::mamba::MambaDialect"];
}

def MambaTileInnerPass : Pass<"mamba-tile-inner"> {
  let summary = "Compute the end of a tile program a few rows at a time";
  let description = [{
    Tiles every linalg operation that carries a plan with `inner` sizes by
    those sizes with `scf.for`, and fuses its producers into the loops, so that
    the temporaries between them are as small as the tile.

    With `reduction`, contractions among them that sum over more steps, of an
    operand computed in the tile program, sum that many steps at a time in an
    `scf.for` that carries the accumulator, with the computation of what they
    sum fused into it.

    ```mlir
    %w = linalg.generic .. -> tensor<64x128xbf16>
    %r = linalg.matmul ins(%w, %x : tensor<64x128xbf16>, tensor<128x32xbf16>) outs(%zeros : ..)
    ```
    becomes, with `reduction 64`,
    ```mlir
    %r = scf.for %k = %c0 to %c128 step %c64 iter_args(%acc = %zeros) {
      %w = linalg.generic .. -> tensor<64x64xbf16>
      %xk = tensor.extract_slice %x[%k, 0] [64, 32] [1, 1] ..
      %sum = linalg.matmul ins(%w, %xk : ..) outs(%acc : ..)
      scf.yield %sum
    }
    ```
  }];
  let dependentDialects = ["::mamba::MambaDialect", "::mlir::scf::SCFDialect"];
}

def MambaResultsToArgumentsPass
    : Pass<"mamba-results-to-arguments", "::mlir::ModuleOp"> {
  let summary = "Give functions memref arguments instead of tensor results";
  let description = [{
    Every public function takes memrefs and returns nothing afterwards. A
    result that is an updated argument (`mamba.ssu`'s state) is updated in
    place, and the argument says so by `mamba.updated`; every other result
    becomes a trailing memref argument with `mamba.result`, in which the
    result is computed.

    ```mlir
    func.func @f(%x: tensor<?xf32> {mamba.name = "x"})
        -> (tensor<?xf32> {mamba.name = "y"}) { .. }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?xf32> {mamba.name = "x"},
                 %y: memref<?xf32> {mamba.name = "y", mamba.result}) { .. }
    ```

    An argument with `mamba.pitches = N` may be a slice of longer rows: the
    caller chooses the strides of its first N axes. Behind them it is dense, and
    no size but the first is dynamic.

    ```mlir
    func.func @g(%x: tensor<?x?x?x64xf32> {mamba.pitches = 2 : i64}) { .. }
    ```
    becomes
    ```mlir
    func.func @g(%x: memref<?x?x?x64xf32, strided<[?, ?, 64, 1]>>
                     {mamba.pitches = 2 : i64}) { .. }
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def MambaSeparateDestinationsPass : Pass<"mamba-separate-destinations"> {
  let summary = "Give every use of an empty or filled tensor its own";
  let description = [{
    CSE merges equal `tensor.empty` and `linalg.fill` operations; bufferization
    would then copy the shared tensor for every operation that writes it. This
    pass gives each use a tensor of its own again, and a linalg operation in a
    loop one that is made in the loop.
  }];
}

def MambaInterchangeContractionsPass : Pass<"mamba-interchange-contractions"> {
  let summary = "Order the loops of contractions for a vectorizing compiler";
  let description = [{
    Writes every contraction on tensors as a `linalg.generic` whose innermost
    loop is the last dimension of its result, with the sums outside of it, and
    transposes inputs that this loop would not read contiguously. The loops
    then vectorize without reassociating a sum.

    ```mlir
    %r = linalg.matmul indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n, k),
                                        (m, n, k) -> (m, n)]
        ins(%a, %b : ..) outs(%c : ..)
    ```
    becomes
    ```mlir
    %t = linalg.transpose ins(%b : ..) outs(%empty : ..) permutation = [1, 0]
    %r = linalg.generic {indexing_maps = [(m, k, n) -> (m, k), (m, k, n) -> (k, n),
                                          (m, k, n) -> (m, n)]}
        ins(%a, %t : ..) outs(%c : ..)
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def MambaCopiesToLinalgPass : Pass<"mamba-copies-to-linalg"> {
  let summary = "Write strided copies as linalg.copy";
  let description = [{
    The lowering of `memref.copy` to LLVM calls MLIR's run-time library unless
    both sides are contiguous. Loops need no library and vectorize.

    ```mlir
    memref.copy %a, %b : memref<8x4xf32, strided<[16, 1]>> to memref<8x4xf32>
    ```
    becomes
    ```mlir
    linalg.copy ins(%a : memref<8x4xf32, strided<[16, 1]>>) outs(%b : memref<8x4xf32>)
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

#endif // MAMBA_TRANSFORMS_PASSES_TD
