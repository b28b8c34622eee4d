//===- MambaAttrs.td - Attributes of the mamba dialect -----*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_ATTRS_TD
#define MAMBA_ATTRS_TD

include "mamba/Dialect/Mamba/IR/MambaBase.td"

def Mamba_MaskCausal : I32EnumAttrCase<"Causal", 0, "causal">;
def Mamba_Mask : I32EnumAttr<"Mask",
    "which positions k of a chunk contribute to position m", [Mamba_MaskCausal]> {
  let cppNamespace = "::mamba";
  let genSpecializedAttr = 0;
}
def Mamba_MaskAttr : EnumAttr<Mamba_Dialect, Mamba_Mask, "mask"> {
  let description = [{
    `causal`: position `m` reads positions `k <= m`, the diagonal included.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Mamba_ScheduleChunkParallel
    : I32EnumAttrCase<"ChunkParallel", 0, "chunk_parallel">;
def Mamba_ScheduleThreeKernel
    : I32EnumAttrCase<"ThreeKernel", 1, "three_kernel">;
def Mamba_ScheduleSimple : I32EnumAttrCase<"Simple", 2, "simple">;
def Mamba_ScheduleFused : I32EnumAttrCase<"Fused", 3, "fused">;
def Mamba_ScheduleSegmented : I32EnumAttrCase<"Segmented", 4, "segmented">;
def Mamba_Schedule : I32EnumAttr<"Schedule",
    "how operations are spread over kernels",
    [Mamba_ScheduleChunkParallel, Mamba_ScheduleThreeKernel,
     Mamba_ScheduleSimple, Mamba_ScheduleFused, Mamba_ScheduleSegmented]> {
  let cppNamespace = "::mamba";
  let genSpecializedAttr = 0;
}
def Mamba_ScheduleAttr : EnumAttr<Mamba_Dialect, Mamba_Schedule, "schedule"> {
  let description = [{
    `chunk_parallel`: every chunk operation is a kernel. `three_kernel`: what
    the chunks add to the state is computed in the loop over chunks that sums
    it, by the kernel of `mamba.state_pass`, and never lies in global memory.
    `simple`, of `mamba.ssu`: one kernel, whose block reads some rows of one
    head's state, runs through the tokens and writes the rows back.
    `fused`: `mamba.chunk_out` is computed in the loop over chunks too, of the
    state that the loop carries: one kernel, no states in global memory.
    `segmented`: the same loop, cut into parts of `segment` chunks that blocks
    of their own run through; a first kernel computes what each part adds to the
    state, a second one the states that the parts start from.
  }];
  let assemblyFormat = "$value";
}

def Mamba_PlanAttr : AttrDef<Mamba_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "Every decision about how an operation is lowered";
  let description = [{
    Written by `mamba-plan` or by hand, printed with the operation and obeyed
    by the passes that follow; no later pass decides again.

    * `schedule`: see `#mamba.schedule`.
    * `tile`: sizes of the operation's iteration domain that one block
      computes (0: the whole dimension), in the order of the operation's
      tiling interface.
    * `inner`: sizes of the loops of the linalg operation that ends the tile
      program, computed at a time inside a block (0: all), which bound the
      block's shared memory.
    * `reduction`: steps of the sum that a contraction in the tile program
      takes at a time if it sums over a value computed in the program (0: all).
      What it sums is then computed for these steps only.
    * `warps`: warps of 32 threads in a block.
    * `stages`: buffers for each tile that a loop copies to shared memory: while
      one is used the copies to the others are under way (1: copies are waited
      for at once; 0: `mamba-pipeline`'s own number).
    * `blocks`: blocks that a multiprocessor shall hold at a time, which bounds
      the registers of a thread.
    * `heads`: heads of a group that one block computes together, so that they
      share the loads of B and C and the product C * B^T (1: one).
    * `segment`: chunks of a segment of schedule `segmented` (0: others).
    * `tf32`: products of f32 matrices by tensor cores, which round the factors
      to tf32 (11 significant bits); otherwise they are multiply-adds of f32.

    ```mlir
    #mamba.plan<three_kernel tile [1, 1, 1, 0] inner [64, 0] reduction 64 warps 4 stages 2 blocks 3>
    ```
  }];
  let parameters = (ins
    EnumParameter<Mamba_Schedule>:$schedule,
    ArrayRefParameter<"int64_t">:$tile,
    OptionalArrayRefParameter<"int64_t">:$inner,
    DefaultValuedParameter<"int64_t", "0">:$reduction,
    DefaultValuedParameter<"int64_t", "4">:$warps,
    DefaultValuedParameter<"int64_t", "0">:$stages,
    DefaultValuedParameter<"int64_t", "1">:$blocks,
    DefaultValuedParameter<"int64_t", "1">:$heads,
    DefaultValuedParameter<"int64_t", "0">:$segment,
    DefaultValuedParameter<"bool", "false">:$tf32
  );
  let assemblyFormat = [{
    `<` $schedule `tile` `[` $tile `]` (`inner` `[` $inner^ `]`)?
    (`reduction` $reduction^)?
    (`warps` $warps^)? (`stages` $stages^)? (`blocks` $blocks^)?
    (`heads` $heads^)? (`segment` $segment^)? (`tf32` $tf32^)? `>`
  }];
  let genVerifyDecl = 1;
}

def Mamba_LayoutAttr : AttrDef<Mamba_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Which element of a vector each register of each thread holds";
  let description = [{
    A linear layout in its text form (docs/layouts.md): the coordinates that
    the bits of register, lane and warp stand for. Sizes are powers of two; a
    vector of another size has the layout of the next one, and registers past
    its end do not exist. `mamba-assign-layouts` puts one for each result of
    vector type into the array `mamba.layouts` of an operation.

    ```mlir
    #mamba.layout<"register[(0,1),(8,0)], lane[(0,2),(0,4),(1,0),(2,0),(4,0)] -> dim0[16], dim1[8]">
    ```
  }];
  let parameters = (ins StringRefParameter<"the layout as text">:$text);
  // Printed as #layout, #layout1, .. with the text at the top of the file.
  let genMnemonicAlias = 1;
  let assemblyFormat = "`<` $text `>`";
  let genVerifyDecl = 1;
}

#endif // MAMBA_ATTRS_TD
