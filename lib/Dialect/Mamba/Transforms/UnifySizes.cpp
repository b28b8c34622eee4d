//===- UnifySizes.cpp - Reads equal sizes from one argument ---------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringMap.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBAUNIFYSIZESPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {
struct UnifySizes : mamba::impl::MambaUnifySizesPassBase<UnifySizes> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration())
        unify(func);
  }

  static StringRef getName(func::FuncOp func, BlockArgument argument,
                           int64_t axis) {
    auto dims = func.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                 kDimsAttrName);
    if (!dims || axis < 0 || axis >= static_cast<int64_t>(dims.size()))
      return "";
    auto name = dyn_cast<StringAttr>(dims[axis]);
    return name ? name.getValue() : StringRef();
  }

  void unify(func::FuncOp func) {
    llvm::StringMap<std::pair<BlockArgument, int64_t>> first;
    for (BlockArgument argument : func.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (!type)
        continue;
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        if (StringRef name = getName(func, argument, axis); !name.empty())
          first.try_emplace(name, argument, axis);
    }
    func.walk([&](memref::DimOp dim) {
      auto argument = dyn_cast<BlockArgument>(dim.getSource());
      std::optional<int64_t> axis = dim.getConstantIndex();
      if (!argument || argument.getOwner() != &func.front() || !axis)
        return;
      auto it = first.find(getName(func, argument, *axis));
      if (it == first.end() || it->second.first == argument)
        return;
      OpBuilder b(dim);
      dim.getSourceMutable().assign(it->second.first);
      dim.getIndexMutable().assign(
          arith::ConstantIndexOp::create(b, dim.getLoc(), it->second.second));
    });
  }
};
} // namespace
