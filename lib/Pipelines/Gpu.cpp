//===- Gpu.cpp - Pipelines to kernels and to PTX --------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/ToNVVM/Passes.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Pipelines/Pipelines.h"
#include "mamba/Target/Passes.h"
#include "mamba/Target/Targets.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mamba;

void mamba::buildToNvgpuPipeline(OpPassManager &pm,
                                 const PipelineOptions &options) {
  buildToTilesPipeline(pm, options);
  buildToLinalgPipeline(pm, options);
  MambaVectorizePassOptions vectorize;
  vectorize.fragments = true;
  pm.addPass(createMambaVectorizePass(vectorize));
  buildBufferizePipeline(pm);
  if (options.has("mamba-share-heads"))
    pm.addPass(createMambaShareHeadsPass());
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // An unknown target is reported by the passes that generate code for it.
  DistributePassOptions distribute;
  PipelinePassOptions pipeline;
  llvm::Expected<const Target &> target = lookupGpuTarget(options.target);
  if (target) {
    distribute.maxSharedBytes = target->limits.sharedBytesPerBlock;
    pipeline.maxSharedBytes = target->limits.sharedBytesPerBlock;
    // Two blocks on a multiprocessor; each takes 1024 bytes more.
    pipeline.preferredSharedBytes = target->limits.sharedBytesPerSM / 2 - 1024;
  } else {
    llvm::consumeError(target.takeError());
  }
  pm.addNestedPass<gpu::GPUModuleOp>(createStageCopiesPass());
  if (options.has("mamba-select-tma-layout")) {
    SelectTmaLayoutPassOptions select;
    select.target = options.target;
    select.remarks = options.remarks;
    pm.addPass(createSelectTmaLayoutPass(select));
  }
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(createPipelinePass(pipeline));
  kernels.addPass(createNarrowIndicesPass());
  kernels.addPass(createSliceContractionsPass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createAssignLayoutsPass());
  kernels.addPass(createDistributePass(distribute));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void mamba::buildToNvvmPipeline(OpPassManager &pm,
                                const PipelineOptions &options) {
  buildToNvgpuPipeline(pm, options);
  ToNVVMPassOptions lower;
  lower.target = options.target;
  pm.addNestedPass<gpu::GPUModuleOp>(createToNVVMPass(lower));
}

void mamba::buildToPtxPipeline(OpPassManager &pm,
                               const PipelineOptions &options) {
  buildToNvvmPipeline(pm, options);
  SerializePassOptions serialize;
  serialize.target = options.target;
  pm.addPass(createSerializePass(serialize));
}
