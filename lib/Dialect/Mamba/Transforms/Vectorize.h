//===- Vectorize.h - From linalg on tiles to vectors ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of mamba-vectorize share: the patterns of linalg bodies, the
// analysis that decides on a block, and the computation of one operation.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_TRANSFORMS_VECTORIZE_H
#define MAMBA_LIB_TRANSFORMS_VECTORIZE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

namespace mamba {

/// c(m, n) += a(m, k) * b(n, k), the dimensions of each in any order. `m` and
/// `n` are loops in the order of the result; `lhs` has `m`, `rhs` has `n`.
struct Contraction {
  mlir::OpOperand *lhs, *rhs;
  unsigned m, n, k;
};

/// Matches a contraction of two matrices of floats with an f32 sum.
std::optional<Contraction> matchContraction(mlir::linalg::LinalgOp op);

/// `yield combine(out, value)`.
struct Reduction {
  mlir::vector::CombiningKind kind;
  mlir::Value value;
};

/// Matches a body that combines its result with a float that does not depend
/// on it.
std::optional<Reduction> matchReduction(mlir::linalg::LinalgOp op);

/// The loop whose position each index of `extract`, in the body of `op`, is;
/// none for indices that are the same for all elements. Fails if there are
/// others, or if the loops do not come in order.
llvm::FailureOr<llvm::SmallVector<std::optional<unsigned>>>
matchIndexedRead(mlir::linalg::LinalgOp op, mlir::tensor::ExtractOp extract);

/// out(.., i, ..) += sum over j <= i of term(.., j, ..): an inclusive prefix
/// sum along the loop `position`, which the loop `summed` runs over once more.
struct Scan {
  mlir::Value term;
  unsigned position, summed;
  /// Operations of the body that say which elements join, and add them.
  llvm::SmallVector<mlir::Operation *, 6> structure;
};

/// Matches a triangular sum of floats, `out + select(j <= i, term, 0)`.
std::optional<Scan> matchScan(mlir::linalg::LinalgOp op);

/// Returns the splat that a constant tensor holds, or null.
mlir::TypedAttr getSplat(mlir::Value tensor);

/// Where the elements of a tensor of a block's program are.
enum class TensorKind {
  /// In a vector: computed by the block.
  Vector,
  /// In memory that the block only reads.
  Input,
  /// In a result of the loop over blocks.
  Output,
  /// In a tensor.empty of the block.
  Fresh
};

/// Says in a remark what would keep a block's tiles in vectors; failure.
llvm::LogicalResult refuseVectors(mlir::Operation *op,
                                  const llvm::Twine &expected);

/// The element of `vector`, which holds the tensor, that `extract` reads.
mlir::Value readElement(mlir::OpBuilder &builder,
                        mlir::tensor::ExtractOp extract, mlir::Value vector);

/// Decides whether all of a block's program can work on vectors, and on which.
class VectorizeAnalysis {
public:
  VectorizeAnalysis(mlir::scf::ForallOp loop, int64_t maxElements,
                    bool fragments)
      : loop(loop), maxElements(maxElements), fragments(fragments) {}

  /// Fails with a remark at the first operation that cannot.
  llvm::LogicalResult run();

  TensorKind getKind(mlir::Value tensor);
  bool isVector(mlir::Value tensor) {
    return getKind(tensor) == TensorKind::Vector;
  }
  /// The shape of the vector that `tensor` is in, or is read to if all of it
  /// is.
  llvm::SmallVector<int64_t> getShape(mlir::Value tensor);
  /// Whether tensor cores and wide copies take the contraction as it is.
  mlir::LogicalResult checkFragments(mlir::linalg::LinalgOp op);
  /// Whether `insert` only adds unit dimensions to a computed tile, all or a
  /// part of which is a result.
  bool isExpansion(mlir::tensor::InsertSliceOp insert);
  /// The extents of the loops of `op`, as constants that are large enough.
  llvm::ArrayRef<int64_t> getLoopShape(mlir::linalg::LinalgOp op) {
    return loopShapes.at(op);
  }

private:
  llvm::LogicalResult checkBlock(mlir::Block &block);
  llvm::LogicalResult check(mlir::Operation *op);
  llvm::LogicalResult checkLinalg(mlir::linalg::LinalgOp op);
  llvm::LogicalResult checkLinalgBody(mlir::linalg::LinalgOp op,
                                      mlir::Block &body);
  llvm::LogicalResult checkIndexedRead(mlir::linalg::LinalgOp op,
                                       mlir::tensor::ExtractOp extract);
  llvm::LogicalResult findLoopShape(mlir::linalg::LinalgOp op);
  llvm::LogicalResult checkFor(mlir::scf::ForOp op);
  // VectorizeSlices.cpp
  llvm::LogicalResult checkExtractSlice(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult checkElement(mlir::Operation *op,
                                   mlir::tensor::ExtractOp extract);
  llvm::LogicalResult checkInsertion(mlir::Operation *op, mlir::Value source,
                                     mlir::Value dest);
  llvm::LogicalResult checkPadding(mlir::tensor::InsertSliceOp op);
  llvm::LogicalResult checkScalar(mlir::Operation *op);
  llvm::LogicalResult checkRead(mlir::Operation *op, mlir::Value tensor);
  llvm::LogicalResult checkElementType(mlir::Operation *op, mlir::Type type);
  llvm::LogicalResult checkShape(mlir::Operation *op,
                                 llvm::ArrayRef<int64_t> shape);
  /// The smallest known constant that is at least dimension `dim`.
  int64_t getBound(mlir::Value tensor, int64_t dim);

  mlir::scf::ForallOp loop;
  int64_t maxElements;
  bool fragments;
  llvm::DenseMap<mlir::Value, TensorKind> carriedKinds;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> shapes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int64_t>> loopShapes;
};

/// What an operand of a linalg operation became.
struct VectorOperand {
  /// A vector, or a scalar for operands without dimensions. Null if the
  /// operation does not use the operand.
  mlir::Value value;
  /// Read from memory by this vector's shape, with zeros past the end.
  bool isRead = false;
};

/// Whether the position along dimension `axis` is below `bound`, a vector of
/// `shape`.
mlir::Value createMask(mlir::OpBuilder &builder, mlir::Location loc,
                       unsigned axis, mlir::Value bound,
                       llvm::ArrayRef<int64_t> shape);

/// Computes the results of `op` from vectors. `loopShape` holds the extents of
/// its loops; `bounds` the number of valid iterations of each, null where that
/// is all of them. `mapping` has scalars of the code around.
llvm::SmallVector<mlir::Value> createVectors(
    mlir::OpBuilder &builder, mlir::linalg::LinalgOp op,
    llvm::ArrayRef<VectorOperand> operands, llvm::ArrayRef<int64_t> loopShape,
    llvm::ArrayRef<mlir::Value> bounds, const mlir::IRMapping &mapping);

} // namespace mamba

#endif // MAMBA_LIB_TRANSFORMS_VECTORIZE_H
