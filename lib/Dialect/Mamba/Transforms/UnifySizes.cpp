//===- UnifySizes.cpp - Reads equal sizes from one argument ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/SizeNames.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAUNIFYSIZESPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct UnifySizes : mamba::impl::MambaUnifySizesPassBase<UnifySizes> {
  void runOnOperation() override {
    getOperation().walk([](memref::DimOp dim) {
      auto argument = dyn_cast<BlockArgument>(dim.getSource());
      std::optional<int64_t> axis = dim.getConstantIndex();
      if (!argument || !axis)
        return;
      auto [first, firstAxis] = getFirstOfSize(argument, *axis);
      if (first == argument)
        return;
      OpBuilder b(dim);
      dim.getSourceMutable().assign(first);
      dim.getIndexMutable().assign(
          arith::ConstantIndexOp::create(b, dim.getLoc(), firstAxis));
    });
  }
};
} // namespace
