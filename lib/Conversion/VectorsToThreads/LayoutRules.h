//===- LayoutRules.h - How layouts follow from operations -------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a layout of one vector of an operation says about the others. All
// layouts have the inputs register, lane and warp and one output for each
// dimension of the vector, of the next power of two.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_LAYOUTRULES_H
#define MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_LAYOUTRULES_H

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Layout/LinearLayout.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mamba {

/// Widest access of a thread to memory, in bytes; the arguments of kernels are
/// aligned to it (docs/abi.md).
constexpr unsigned kVectorBytes = 16;

/// Bytes of an element in memory.
unsigned getElementBytes(mlir::Type element);

/// The sizes of `type`, each rounded up to a power of two.
llvm::SmallVector<uint32_t, 4> getPaddedShape(mlir::VectorType type);
/// The sizes of `type` as they are.
llvm::SmallVector<uint32_t, 4> getExtents(mlir::VectorType type);

LayoutAttr toAttribute(mlir::MLIRContext *context, const LinearLayout &layout);
LinearLayout toLayout(LayoutAttr attribute);

/// Output `i` of the result is output `permutation[i]` of `layout`.
LinearLayout permuteLayout(const LinearLayout &layout,
                           llvm::ArrayRef<int64_t> permutation);

/// `layout` if every warp holds all elements of `type`, else one like that.
LinearLayout getLayoutInEachWarp(const LinearLayout &layout,
                                 mlir::VectorType type, uint32_t warps);

/// The layout of the first elements of a vector that has `layout`, as many as
/// `shape` says: registers that hold others go away. None if lanes or warps
/// hold some of the others.
std::optional<LinearLayout> restrictLayout(const LinearLayout &layout,
                                           llvm::ArrayRef<uint32_t> shape);

/// True if the operation computes each element of its vectors from the
/// elements at the same place.
bool isElementwise(mlir::Operation *op);

/// How a contraction is computed.
enum class ContractionStrategy {
  /// f32 multiply-adds, each thread a part of the result.
  Fma,
  /// mma.sync of bf16 or f16 fragments.
  MmaSync,
  /// mma.sync of f32 fragments, rounded to tf32.
  MmaTf32,
};

/// The dimensions of `a`, `b` and the result of a contraction that is a matrix
/// product.
struct ContractionShape {
  /// Operand numbers of the side with the rows and with the columns of the
  /// result.
  unsigned a = 0, b = 1;
  /// Whether the side is (k, m) rather than (m, k), (n, k) rather than (k, n).
  bool aTransposed = false, bTransposed = false;
  uint32_t m = 0, n = 0, k = 0;      // rounded up to powers of two
  uint32_t extentM = 0, extentN = 0; // as they are

  /// None if it is no product of two matrices into a matrix.
  static std::optional<ContractionShape>
  get(mlir::vector::ContractionOp contraction);
};

struct ContractionLayouts {
  ContractionStrategy strategy;
  /// In the dimensions of the operands and the result as they are.
  LinearLayout a, b, result;
};

/// The strategy for the types and sizes of the contraction.
ContractionStrategy chooseStrategy(mlir::vector::ContractionOp contraction,
                                   const ContractionShape &shape);

/// Rows and columns of the result that a warp holds at least.
std::pair<uint32_t, uint32_t> getFragmentSizes(const ContractionShape &shape,
                                               ContractionStrategy strategy);

/// Warps along the rows and the columns of a result, and how many hold the
/// same.
struct WarpSplit {
  uint32_t m = 1, n = 1, copies = 1;
};

/// Layouts of a contraction's vectors.
ContractionLayouts getContractionLayouts(const ContractionShape &shape,
                                         ContractionStrategy strategy,
                                         const WarpSplit &warps);

/// The layout for a prefix sum of a matrix of `shape` along `dim`: lanes and
/// registers along it, warps across. Accesses to memory are wide.
LinearLayout getScanLayout(llvm::ArrayRef<uint32_t> shape, unsigned dim,
                           unsigned elementBytes, uint32_t warps);

/// Whether lanes hold elements of different rows only, so that reads and writes
/// of neighbouring lanes are far apart in memory.
bool isStrided(const LinearLayout &layout);

/// The layout of a vector of elements of `elementBytes` in memory that is
/// summed along the dimensions `isReduced`, by accesses of up to `bytes`.
/// Warps are never along what is summed, if it is not all of the vector.
LinearLayout getReductionLayout(llvm::ArrayRef<uint32_t> shape,
                                llvm::ArrayRef<bool> isReduced,
                                unsigned elementBytes, uint32_t warps,
                                unsigned bytes);

/// The layout that `operand`, a vector, must have where the vectors that its
/// owner gives have the layouts of the attribute `mamba.layouts`. None if the
/// operation takes any layout, or has no say without them. Contractions are
/// not treated here.
std::optional<LinearLayout> getOperandLayout(mlir::OpOperand &operand,
                                             const LinearLayout &result);

/// The layout of the result of `op` if `operand` has `layout`. None if it does
/// not follow.
std::optional<LinearLayout> getResultLayout(mlir::OpOperand &operand,
                                            const LinearLayout &layout);

/// A layout that differs from `layout` within warps only, in which a thread
/// holds up to `bytes` contiguous bytes of the last dimension.
LinearLayout widenForMemory(const LinearLayout &layout, unsigned elementBytes,
                            unsigned bytes);

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_LAYOUTRULES_H
