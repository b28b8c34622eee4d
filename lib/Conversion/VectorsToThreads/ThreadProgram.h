//===- ThreadProgram.h - The program of one thread --------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites a kernel on a block's vectors, whose layouts are assigned, into the
// program of a thread. A vector becomes the one-dimensional vector of the
// elements that the thread holds, its registers in order; registers that lie
// past the vector's extents in every thread do not exist.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_THREADPROGRAM_H
#define MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_THREADPROGRAM_H

#include "LayoutRules.h"

#include "mamba/Layout/Conversion.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mamba {

/// A layout together with the registers that exist.
struct Held {
  Held(LinearLayout layout, mlir::VectorType type);

  LinearLayout layout;
  llvm::SmallVector<uint32_t, 4> extents;
  /// The registers that exist, in order: element i of the thread's vector.
  llvm::SmallVector<uint32_t, 64> registers;
  /// Whether a mask is needed beside a register.
  bool isPartial(unsigned position) const;
  /// The element of thread 0.
  Coordinates at(unsigned position) const;
  unsigned size() const { return registers.size(); }
};

/// A tile in shared memory as a range of a flat buffer.
struct SharedTileRef {
  mlir::Value buffer; // flat
  /// Elements before the tile: a multiple of its size. Null: 0.
  mlir::Value base;
  /// Coordinates in the tile to elements after `base`.
  LinearLayout offsets;
};

class ThreadProgram {
public:
  ThreadProgram(mlir::gpu::GPUFuncOp kernel, uint32_t warps);

  mlir::LogicalResult run();

private:
  // ThreadProgram.cpp: structure and element-wise operations.
  mlir::LogicalResult rewriteBlock(mlir::Block &block);
  mlir::LogicalResult rewrite(mlir::Operation &op);
  mlir::LogicalResult rewriteLoop(mlir::scf::ForOp loop);
  mlir::LogicalResult rewriteIf(mlir::scf::IfOp op);
  mlir::LogicalResult rewriteElementwise(mlir::Operation &op);
  mlir::LogicalResult rewriteConstant(mlir::Operation &op);
  mlir::LogicalResult rewriteStep(mlir::vector::StepOp op);
  /// Broadcast, transpose, slice: each register of the result is one of the
  /// source. `toSource` says where an element comes from.
  mlir::LogicalResult rewriteMove(
      mlir::Operation &op,
      llvm::function_ref<Coordinates(llvm::ArrayRef<uint32_t>)> toSource);

  // ThreadReduction.cpp
  mlir::LogicalResult rewriteReduction(mlir::vector::MultiDimReductionOp op);

  // ThreadElement.cpp
  mlir::LogicalResult rewriteElement(mlir::vector::ExtractOp op);

  // ThreadScan.cpp
  mlir::LogicalResult rewriteScan(mlir::vector::ScanOp op);

  // ThreadMemory.cpp
  mlir::LogicalResult rewriteRead(mlir::vector::TransferReadOp op);
  mlir::LogicalResult rewriteGlobalRead(mlir::vector::TransferReadOp op);
  mlir::LogicalResult rewriteSharedRead(mlir::vector::TransferReadOp op);
  mlir::LogicalResult rewriteWrite(mlir::vector::TransferWriteOp op);
  mlir::LogicalResult rewriteAsyncCopy(AsyncCopyOp copy);
  mlir::LogicalResult rewriteTensorCopy(TensorCopyOp copy);
  mlir::FailureOr<SharedTileRef> getSharedTile(mlir::Value memref,
                                               mlir::Operation *user);
  struct Access;
  Access planAccess(const Held &held, mlir::VectorType type, mlir::Value memref,
                    mlir::Value original, mlir::ValueRange indices,
                    llvm::ArrayRef<bool> inBounds);
  /// Indices of the first element of a group and whether it is in bounds (null
  /// if it always is).
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value>
  getPlace(const Access &access, unsigned group);

  /// The offset, in elements, of a row and a column (i32) of a tile.
  mlir::Value applyOffsets(const LinearLayout &offsets, mlir::Value row,
                           mlir::Value column);

  // ThreadMoves.cpp: the steps of conversions.
  mlir::LogicalResult rewriteConversion(ConvertLayoutOp op);
  mlir::FailureOr<mlir::Value> runStep(const ConversionStep &step,
                                       mlir::Value file, mlir::Type element,
                                       const SharedTileRef &memory,
                                       uint32_t constant, unsigned packedBits,
                                       mlir::Operation *user);
  mlir::Value loadShared(const SharedAccess &access, mlir::Type element,
                         const SharedTileRef &memory, uint32_t constant,
                         llvm::ArrayRef<bool> needed);
  void storeShared(const SharedAccess &access, mlir::Value file,
                   const SharedTileRef &memory);
  mlir::Value moveRegisters(const LinearLayout &map, mlir::Value file);
  mlir::FailureOr<mlir::Value> shuffleLanes(const ConversionStep &step,
                                            mlir::Value file,
                                            unsigned packedBits,
                                            mlir::Operation *user);
  /// The thread's vector with a place for each register, and back.
  mlir::Value toFile(mlir::Value vector, const Held &held);
  mlir::Value fromFile(mlir::Value file, const Held &held);
  mlir::Value pick(mlir::Value vector, llvm::ArrayRef<int64_t> positions);

  // ThreadContraction.cpp
  mlir::LogicalResult rewriteContraction(mlir::vector::ContractionOp op);

  // Indices.
  /// The part of output `dim` of `layout` that the thread decides, as i32.
  mlir::Value getThreadPart(const LinearLayout &layout, unsigned dim);
  /// `sum` (may be null) and the images of the bits of `source`; `all` are
  /// those that can be set.
  mlir::Value addBits(mlir::Value sum, mlir::Value source, uint64_t all,
                      llvm::ArrayRef<uint64_t> columns);
  /// `part` combined with a constant, given all bits that `part` may have.
  mlir::Value addConstant(mlir::Value part, uint64_t possible,
                          uint64_t constant);
  /// The same as an index. What does not meet bits of `part` is added last, so
  /// that it becomes part of an instruction's address.
  mlir::Value addConstantToIndex(mlir::Value part, uint64_t possible,
                                 uint64_t constant);
  /// All bits of output `dim` that lanes and warps can set.
  static uint64_t getThreadBits(const LinearLayout &layout, unsigned dim);
  mlir::Value toIndex(mlir::Value i32);
  /// Both conditions; null stands for one that always holds.
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  /// Whether the thread's lane and warp have none of these bits; null if there
  /// are none to have.
  mlir::Value haveClear(uint32_t lanes, uint32_t warps);
  mlir::Value constantIndex(int64_t value);
  mlir::Value constantI32(int64_t value);

  Held getHeld(mlir::Value value);
  mlir::VectorType getThreadType(mlir::Value value);
  mlir::Location loc() const { return current->getLoc(); }

  mlir::gpu::GPUFuncOp kernel;
  uint32_t warps;
  mlir::OpBuilder b;
  mlir::IRMapping map;
  mlir::Operation *current = nullptr;
  mlir::Value threadId, lane, warp;
  /// Flat buffers for the allocations of tiles.
  llvm::DenseMap<mlir::Value, mlir::Value> flat;
};

} // namespace mamba

#endif // MAMBA_LIB_CONVERSION_VECTORSTOTHREADS_THREADPROGRAM_H
