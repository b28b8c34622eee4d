//===- SizeNames.cpp - Sizes of arguments that have one name --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/SizeNames.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mamba;

static StringRef getSizeName(FunctionOpInterface function, unsigned number,
                             int64_t axis) {
  auto dims = function.getArgAttrOfType<ArrayAttr>(number, kDimsAttrName);
  if (!dims || axis < 0 || axis >= static_cast<int64_t>(dims.size()))
    return "";
  auto name = dyn_cast<StringAttr>(dims[axis]);
  return name ? name.getValue() : StringRef();
}

std::pair<BlockArgument, int64_t> mamba::getFirstOfSize(BlockArgument argument,
                                                        int64_t axis) {
  auto function =
      dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return {argument, axis};
  StringRef name = getSizeName(function, argument.getArgNumber(), axis);
  if (name.empty())
    return {argument, axis};
  for (BlockArgument candidate : function.getArguments()) {
    auto type = dyn_cast<ShapedType>(candidate.getType());
    for (int64_t i = 0, rank = type && type.hasRank() ? type.getRank() : 0;
         i < rank; ++i)
      if (getSizeName(function, candidate.getArgNumber(), i) == name)
        return {candidate, i};
  }
  return {argument, axis};
}
