//===- Fuse.cpp - Fuses loops over blocks -------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAFUSEPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct Fuse : mamba::impl::MambaFusePassBase<Fuse> {
  using Base::Base;

  void runOnOperation() override {}
};
} // namespace
