//===- MambaVectorOps.cpp - Vectors of a block ----------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Layout/LinearLayout.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef text) {
  llvm::Expected<LinearLayout> layout = LinearLayout::parse(text);
  if (!layout)
    return emitError() << "expected a linear layout: "
                       << llvm::toString(layout.takeError());
  for (const LayoutDim &in : layout->getIns())
    if (in.name != kRegister && in.name != kLane && in.name != kWarp)
      return emitError() << "expected inputs register, lane and warp, got '"
                         << in.name << "'";
  if (layout->getInSize(kLane) > 32)
    return emitError() << "expected at most 32 lanes, got "
                       << layout->getInSize(kLane);
  return success();
}

LogicalResult ConvertLayoutOp::verify() {
  auto layout = llvm::cantFail(LinearLayout::parse(getLayout().getText()));
  auto type = cast<VectorType>(getSource().getType());
  if (int64_t(layout.getOuts().size()) != type.getRank())
    return emitOpError("expected a layout of ")
           << type.getRank() << " dimensions, got " << layout.getOuts().size();
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    uint64_t padded = llvm::PowerOf2Ceil(size);
    if (layout.getOuts()[dim].size() != padded)
      return emitOpError("expected size ")
             << padded << " of dimension " << dim << " of the layout, got "
             << layout.getOuts()[dim].size();
  }
  return success();
}
