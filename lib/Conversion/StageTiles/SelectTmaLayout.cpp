//===- SelectTmaLayout.cpp - How tiles are copied -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Conversion/Passes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace mamba {
#define GEN_PASS_DEF_SELECTTMALAYOUTPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct SelectTmaLayout : mamba::impl::SelectTmaLayoutPassBase<SelectTmaLayout> {
  using Base::Base;

  void runOnOperation() override {}
};
} // namespace
