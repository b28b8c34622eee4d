//===- Strided.cpp - Arguments that are slices of longer rows -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Strided.h"

#include "mamba/Dialect/Mamba/IR/DimensionRoles.h"
#include "mamba/Driver/Signature.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace llvm;

namespace mamba {

/// The number of leading dimensions that count rows.
static unsigned countRowDimensions(const Parameter &parameter) {
  auto isRow = [](const Dimension &dim) {
    return dim.label == stringify(Role::Batch) ||
           dim.label == stringify(Role::Length) ||
           dim.label == stringify(Role::Tokens);
  };
  return llvm::find_if_not(parameter.dims, isRow) - parameter.dims.begin();
}

static Error mark(mlir::func::FuncOp function, StringRef name, bool &isKnown) {
  Expected<Signature> signature = Signature::get(function);
  if (!signature)
    return signature.takeError();
  for (auto [index, parameter] : llvm::enumerate(signature->arguments)) {
    if (parameter.name != name)
      continue;
    isKnown = true;
    unsigned rows = countRowDimensions(parameter);
    if (rows == 0 || rows == parameter.dims.size())
      return createStringError("--strided=" + name +
                               ": expected an array of "
                               "rows for batch or tokens, got " +
                               parameter.describeShape());
    mlir::Builder builder(function.getContext());
    function.setArgAttr(index, kPitchesAttrName,
                        builder.getI64IntegerAttr(rows));
  }
  return Error::success();
}

Error markStrided(mlir::ModuleOp module, ArrayRef<std::string> names) {
  for (StringRef name : names) {
    bool isKnown = false;
    for (mlir::func::FuncOp function : getPublicFunctions(module))
      if (Error error = mark(function, name, isKnown))
        return error;
    if (!isKnown)
      return createStringError("--strided=" + name +
                               ": there is no argument '" + name + "'");
  }
  return Error::success();
}

} // namespace mamba
