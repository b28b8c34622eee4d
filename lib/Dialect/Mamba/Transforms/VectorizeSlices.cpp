//===- VectorizeSlices.cpp - Parts of tiles that are vectors --------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which slices, insertions and elements of a block's tiles can be those of
// vectors.
//
//===----------------------------------------------------------------------===//

#include "Vectorize.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mamba;

static LogicalResult refuse(Operation *op, const Twine &expected) {
  return refuseVectors(op, expected);
}

/// `shape`, of the source of `op`, without the dimensions that `op` drops;
/// empty if one of them has more than one element.
static SmallVector<int64_t> dropUnitDims(tensor::ExtractSliceOp op,
                                         ArrayRef<int64_t> shape) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<int64_t> kept;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!dropped.test(dim))
      kept.push_back(size);
    else if (size != 1)
      return {};
  }
  return kept;
}

LogicalResult VectorizeAnalysis::checkExtractSlice(tensor::ExtractSliceOp op) {
  if (!isVector(op.getSource()))
    return success();
  // A vector's valid part may become smaller, not the vector.
  SmallVector<int64_t> shape = dropUnitDims(op, getShape(op.getSource()));
  bool isPrefix = llvm::all_of(op.getMixedOffsets(), isZeroInteger) &&
                  llvm::all_of(op.getMixedStrides(), isOneInteger) &&
                  !shape.empty() && getShape(op.getResult()) == shape;
  if (!isPrefix)
    return refuse(op, "no slices of computed tiles");
  shapes[op.getResult()] = shape;
  return success();
}

/// A vector may become the first elements of one of the same shape.
LogicalResult VectorizeAnalysis::checkPadding(tensor::InsertSliceOp op) {
  Value source = op.getSource(), dest = op.getDest();
  SmallVector<int64_t> shape = getShape(dest);
  if (!isVector(source) ||
      op.getSourceType().getRank() != op.getType().getRank() ||
      !llvm::all_of(op.getMixedOffsets(), isZeroInteger) ||
      !llvm::all_of(op.getMixedStrides(), isOneInteger) ||
      getShape(source) != shape || failed(checkRead(op, dest)))
    return refuse(op, "insertions only into results of the block, or of first "
                      "elements into a tile of the same bounds,");
  shapes[op.getResult()] = shape;
  return checkShape(op, shape);
}

LogicalResult VectorizeAnalysis::checkInsertion(Operation *op, Value source,
                                                Value dest) {
  if (isVector(dest) || getKind(dest) == TensorKind::Input)
    return refuse(op, "insertions only into results of the block");
  if (getKind(source) == TensorKind::Input) {
    if (failed(checkRead(op, source)))
      return failure();
  } else if (!isVector(source)) {
    return success();
  }
  if (failed(checkElementType(op, source.getType())))
    return failure();
  if (cast<RankedTensorType>(source.getType()).getRank() == 0)
    return refuse(op, "results with dimensions");
  return checkShape(op, getShape(source));
}

/// An element is handed to all threads, each of which must know who has it.
LogicalResult VectorizeAnalysis::checkElement(Operation *op,
                                              tensor::ExtractOp extract) {
  Value tensor = extract.getTensor();
  SmallVector<int64_t> shape = getShape(tensor);
  bool isKnown =
      extract == op && !shape.empty() &&
      llvm::all_of(llvm::zip_equal(extract.getIndices(), shape), [](auto pair) {
        auto [index, size] = pair;
        auto at = getConstantIntValue(index);
        return at && *at >= 0 && *at < size;
      });
  if (!isKnown)
    return refuse(extract, "elements of computed tiles at known places outside "
                           "of conditions");
  if (extract.getType().isF32() || extract.getType().isInteger(32))
    return success();
  return refuse(extract, "elements of computed tiles of type f32 or i32");
}

Value mamba::readElement(OpBuilder &builder, tensor::ExtractOp extract,
                         Value vector) {
  SmallVector<int64_t> position = llvm::map_to_vector(
      extract.getIndices(), [](Value v) { return *getConstantIntValue(v); });
  return vector::ExtractOp::create(builder, extract.getLoc(), vector, position);
}
