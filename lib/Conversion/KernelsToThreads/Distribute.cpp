//===- Distribute.cpp - Block-level code to one thread's code -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps, each over the whole kernel: check that the code can be
// distributed, place the block's buffers in shared memory, insert barriers, and
// only then replace the operations on buffers by loops.
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Barriers.h"
#include "ThreadLoops.h"

#include "../VectorsToThreads/VectorKernel.h"

#include "mamba/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mamba {
#define GEN_PASS_DEF_DISTRIBUTEPASS
#include "mamba/Conversion/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

LogicalResult checkRoots(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<BaseMemRefType>(operand.getType()) && !findRoot(operand))
      return op->emitOpError("expected memrefs to be views of the kernel's "
                             "arguments or of buffers it allocates, got one "
                             "whose buffer is not known");
  return success();
}

LogicalResult checkLinalg(linalg::LinalgOp op, int64_t threads) {
  if (!op.hasPureBufferSemantics())
    return op->emitOpError("expected buffer semantics");
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  ThreadMapping mapping = ThreadMapping::get(op, threads);
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    // Otherwise several threads, or several iterations, own one element.
    for (auto [dim, kind] : llvm::enumerate(kinds)) {
      if (mapping.extents[dim].isOne())
        continue;
      bool isReduction = kind == utils::IteratorType::reduction;
      if (isReduction
              ? map.isFunctionOfDim(dim)
              : !llvm::is_contained(map.getResults(),
                                    getAffineDimExpr(dim, op->getContext())))
        return op->emitOpError("expected output ")
               << output.getOperandNumber() - op.getNumDpsInputs()
               << " to be indexed by exactly the parallel dimensions, got map "
               << AffineMapAttr::get(map);
    }
  }
  WalkResult result = op.getBlock()->walk([&](Operation *nested) {
    return failed(checkRoots(nested)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Checks code that all threads of a block run.
LogicalResult checkBlock(Block &block, int64_t threads) {
  for (Operation &op : block) {
    if (failed(checkRoots(&op)))
      return failure();
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      if (failed(checkLinalg(linalgOp, threads)))
        return failure();
      continue;
    }
    if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, gpu::SubgroupIdOp, gpu::GlobalIdOp>(
            op))
      return op.emitOpError("expected code of a whole block, got a thread's");
    if (isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op)) {
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          if (failed(checkBlock(nested, threads)))
            return failure();
      continue;
    }
    bool isKnown =
        isa<memref::LoadOp, memref::StoreOp, memref::CopyOp, memref::AllocOp,
            memref::AllocaOp, memref::DeallocOp, gpu::BarrierOp>(op) ||
        op.hasTrait<OpTrait::IsTerminator>();
    if (!isKnown && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)))
      return op.emitOpError("cannot be distributed over threads: expected "
                            "linalg, memref, scf.for, scf.if, scf.while and "
                            "scalar operations");
  }
  return success();
}

/// Threads in a block of `kernel`.
FailureOr<int64_t> getThreads(gpu::GPUFuncOp kernel) {
  std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize();
  if (!size)
    return kernel.emitOpError("expected known_block_size");
  if ((*size)[0] < 1 || (*size)[1] != 1 || (*size)[2] != 1)
    return kernel.emitOpError("expected a one-dimensional known_block_size, "
                              "got ")
           << *size;
  return (*size)[0];
}

LogicalResult distribute(gpu::GPUFuncOp kernel, int64_t maxSharedBytes) {
  FailureOr<int64_t> threads = getThreads(kernel);
  if (failed(threads))
    return failure();
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expected structured control flow");
  if (auto plan = kernel->getAttrOfType<PlanAttr>(kPlanAttrName))
    if (plan.getBlocks() > 1)
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(kernel).getI32IntegerAttr(plan.getBlocks()));
  if (isVectorKernel(kernel))
    return failure(failed(distributeVectors(kernel)) ||
                   failed(placeSharedBuffers(kernel, maxSharedBytes,
                                             /*hasBarriers=*/true)));
  // Bufferization leaves copies of a buffer to itself.
  kernel.walk([](memref::CopyOp copy) {
    if (copy.getSource() == copy.getTarget())
      copy.erase();
  });
  if (failed(checkBlock(kernel.getBody().front(), *threads)))
    return failure();
  FailureOr<SharedLayout> layout = placeSharedBuffers(kernel, maxSharedBytes);
  if (failed(layout))
    return failure();
  insertBarriers(kernel, *layout, *threads);

  SmallVector<Operation *> distributed;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!ThreadLoops::isDistributed(op))
      return WalkResult::advance();
    distributed.push_back(op);
    return WalkResult::skip();
  });
  ThreadLoops loops(kernel, *threads);
  for (Operation *op : distributed)
    loops.lower(op);
  return success();
}

struct Distribute final : mamba::impl::DistributePassBase<Distribute> {
  using DistributePassBase::DistributePassBase;

  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel.isKernel() && failed(distribute(kernel, maxSharedBytes)))
        return signalPassFailure();
  }
};

} // namespace
