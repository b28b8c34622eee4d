//===- ShareHeads.cpp - Joins blocks that have work in common -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBASHAREHEADSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct ShareHeads : mamba::impl::MambaShareHeadsPassBase<ShareHeads> {
  using Base::Base;

  void runOnOperation() override {}
};
} // namespace
