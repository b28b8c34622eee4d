//===- Pitches.cpp - Arguments whose strides the caller chooses -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Pitches.h"

using namespace mlir;

/// The strides of dense memory; dynamic where they are not known.
static SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    bool isKnown =
        !ShapedType::isDynamic(stride) && !ShapedType::isDynamic(shape[axis]);
    stride = isKnown ? stride * shape[axis] : ShapedType::kDynamic;
  }
  return strides;
}

MemRefType mamba::getPitchedType(RankedTensorType tensor, unsigned pitches) {
  SmallVector<int64_t> strides = getDenseStrides(tensor.getShape());
  if (pitches >= strides.size())
    return MemRefType();
  std::fill_n(strides.begin(), pitches, ShapedType::kDynamic);
  if (llvm::is_contained(ArrayRef(strides).drop_front(pitches),
                         ShapedType::kDynamic))
    return MemRefType();
  return MemRefType::get(
      tensor.getShape(), tensor.getElementType(),
      StridedLayoutAttr::get(tensor.getContext(), /*offset=*/0, strides));
}

std::optional<unsigned> mamba::getNumPitches(MemRefType type) {
  if (type.getLayout().isIdentity())
    return 0;
  int64_t offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return std::nullopt;
  unsigned pitches =
      llvm::find_if(strides,
                    [](int64_t s) { return !ShapedType::isDynamic(s); }) -
      strides.begin();
  if (pitches == strides.size() ||
      ArrayRef(strides).drop_front(pitches) !=
          ArrayRef(getDenseStrides(type.getShape())).drop_front(pitches))
    return std::nullopt;
  return pitches;
}

int64_t mamba::getPitchUnit(MemRefType type) {
  unsigned pitches = getNumPitches(type).value_or(0);
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  // Of dense rows, or of parts of them where their number is dynamic.
  int64_t row = getDenseStrides(type.getShape())[pitches];
  if (!type.isDynamicDim(pitches))
    row *= type.getDimSize(pitches);
  return 16 % bytes == 0 && row * bytes % 16 == 0 ? 16 / bytes : 1;
}
