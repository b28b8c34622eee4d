//===- Register.cpp - Registration of the named pipelines -----------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void mamba::registerMambaPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "mamba-to-tiles", "Model level to planned tile programs",
      buildToTilesPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "mamba-to-linalg-pipeline", "Model level to linalg on tensors",
      [](OpPassManager &pm, const PipelineOptions &options) {
        buildToTilesPipeline(pm, options);
        buildToLinalgPipeline(pm, options);
      });
  PassPipelineRegistration<PipelineOptions>("mamba-to-buffers",
                                            "Model level to loops on buffers",
                                            buildToBuffersPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "mamba-to-nvgpu-pipeline", "Model level to kernels of one thread",
      buildToNvgpuPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "mamba-to-ptx", "Model level to PTX in gpu.binary operations",
      buildToPtxPipeline);
  PassPipelineRegistration<>("mamba-to-cpu",
                             "Model level to the LLVM dialect for the CPU",
                             buildToCpuPipeline);
}
