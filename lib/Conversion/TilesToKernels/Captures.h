//===- Captures.h - What a loop over blocks uses from outside ---*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_TILESTOKERNELS_CAPTURES_H
#define MAMBA_LIB_CONVERSION_TILESTOKERNELS_CAPTURES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mamba {

/// The values of the function that a loop's kernel needs, and how each of them
/// gets there: as a base pointer, as an index, or by evaluating the operation
/// that computes it again.
class Captures {
public:
  Captures(mlir::func::FuncOp function, mlir::scf::ForallOp loop)
      : function(function), loop(loop) {}

  /// Finds what the body uses. Sizes of buffers that it asks for move in front
  /// of the loop. Reports the first value that cannot be passed.
  mlir::LogicalResult collect();

  /// Adds an index value that the kernel needs besides those of the body;
  /// constants need not be passed.
  void addIndex(mlir::OpFoldResult value);

  /// Adds the dynamic sizes and strides of all buffers; the last step.
  void addSizes();

  /// Size `dim` of a buffer, as the launching function sees it.
  mlir::OpFoldResult sizeOf(mlir::Value buffer, int64_t dim);

  /// Dynamic stride `dim` of a buffer that is not dense, as the launching
  /// function sees it: how often it has the returned number.
  std::pair<mlir::Value, int64_t> strideOf(mlir::Value buffer, int64_t dim);

  /// The buffers, in the function's order.
  llvm::ArrayRef<mlir::Value> getBuffers() const {
    return buffers.getArrayRef();
  }
  /// One value for each different index.
  llvm::SmallVector<mlir::Value> getIndices() const {
    return llvm::to_vector(llvm::make_second_range(indices));
  }
  /// Operations to evaluate in the kernel, in a valid order.
  llvm::ArrayRef<mlir::Operation *> getRecomputed() const {
    return recomputed.getArrayRef();
  }
  /// Position in `getIndices()` of an index value that equals `value`.
  std::optional<unsigned> findIndex(mlir::Value value) const;
  /// All captured index values, equal ones included.
  llvm::ArrayRef<mlir::Value> getIndexValues() const {
    return indexValues.getArrayRef();
  }

private:
  /// What an index value is: size `second` of `first`, or `first` itself if
  /// `second` is -1.
  using Key = std::pair<mlir::Value, int64_t>;

  static Key keyOf(mlir::Value value);
  bool isBuffer(mlir::Value value);
  mlir::LogicalResult add(mlir::Value value);
  mlir::LogicalResult refuse(mlir::Value value, llvm::StringRef expected);
  void hoistSizes();

  mlir::func::FuncOp function;
  mlir::scf::ForallOp loop;
  llvm::SetVector<mlir::Value> buffers;
  llvm::MapVector<Key, mlir::Value> indices;
  llvm::SetVector<mlir::Value> indexValues;
  llvm::SetVector<mlir::Operation *> recomputed;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> strides;
};

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_TILESTOKERNELS_CAPTURES_H
