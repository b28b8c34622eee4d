//===- MambaOps.td - Umbrella of the mamba dialect ---------*- tablegen -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_OPS_TD
#define MAMBA_OPS_TD

include "mamba/Dialect/Mamba/IR/MambaChunkOps.td"
include "mamba/Dialect/Mamba/IR/MambaMemoryOps.td"
include "mamba/Dialect/Mamba/IR/MambaModelOps.td"
include "mamba/Dialect/Mamba/IR/MambaVectorOps.td"

#endif // MAMBA_OPS_TD
