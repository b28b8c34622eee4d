//===- Pipelines.h - The compiler's named pipelines -------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline leads from one named stage to the next; mamba-opt offers them
// as options of the same names and mamba-compile runs them in order.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_PIPELINES_PIPELINES_H
#define MAMBA_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include "llvm/ADT/STLExtras.h"

#include <string>

namespace mamba {

/// The passes that a pipeline can leave out.
inline llvm::ArrayRef<llvm::StringRef> getOptionalPasses() {
  static constexpr llvm::StringRef kPasses[] = {
      "mamba-fuse", "mamba-share-heads", "mamba-fold-causal-mask",
      "mamba-rewrite-exp2", "mamba-select-tma-layout"};
  return kPasses;
}

struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("target of the code: cpu, sm_80, sm_86, sm_89, sm_90a, "
                     "sm_100a, sm_103a or sm_120a"),
      llvm::cl::init("sm_90a")};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("how GPUs compute the chunked scan: auto, three_kernel, "
                     "chunk_parallel, fused or segmented"),
      llvm::cl::init("auto")};
  Option<bool> tf32{
      *this, "tf32",
      llvm::cl::desc("multiply f32 matrices by tensor cores, in tf32"),
      llvm::cl::init(false)};
  ListOption<std::string> plans{
      *this, "plan",
      llvm::cl::desc("plans to use instead of the chosen ones, "
                     "OPERATION=#mamba.plan<...>")};
  Option<bool> remarks{
      *this, "remarks",
      llvm::cl::desc("say of every tile that gets no tensor map why"),
      llvm::cl::init(false)};
  ListOption<std::string> without{
      *this, "without",
      llvm::cl::desc("passes to leave out, to see what they do: mamba-fuse, "
                     "mamba-share-heads, mamba-fold-causal-mask, "
                     "mamba-rewrite-exp2 or mamba-select-tma-layout")};

  /// Whether the pass of that name is to run.
  bool has(llvm::StringRef pass) const {
    return !llvm::is_contained(llvm::ArrayRef<std::string>(without), pass);
  }
};

/// Model level to planned tile programs: `scf.forall` over blocks of mamba
/// operations on tiles for a GPU, chunk operations for the CPU.
void buildToTilesPipeline(mlir::OpPassManager &pm,
                          const PipelineOptions &options);

/// Tile programs to linalg on tensors, tiled to what a block holds at a time.
void buildToLinalgPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

/// linalg on tensors to loops on buffers: functions take memrefs only.
void buildBufferizePipeline(mlir::OpPassManager &pm);

/// Model level to loops on buffers: the three above.
void buildToBuffersPipeline(mlir::OpPassManager &pm,
                            const PipelineOptions &options);

/// Loops on buffers to the LLVM dialect for the CPU.
void buildBuffersToCpuPipeline(mlir::OpPassManager &pm);

/// Model level to the LLVM dialect for the CPU: the two above.
void buildToCpuPipeline(mlir::OpPassManager &pm);

/// Model level to kernels in per-thread code (`gpu.func`) and their launches.
void buildToNvgpuPipeline(mlir::OpPassManager &pm,
                          const PipelineOptions &options);

/// Model level to kernels in the llvm and nvvm dialects, and their launches.
void buildToNvvmPipeline(mlir::OpPassManager &pm,
                         const PipelineOptions &options);

/// Model level to `gpu.binary` operations that hold PTX, and their launches.
void buildToPtxPipeline(mlir::OpPassManager &pm,
                        const PipelineOptions &options);

/// Registers `mamba-to-tiles`, `mamba-to-linalg-pipeline`, `mamba-to-buffers`,
/// `mamba-to-cpu`, `mamba-to-nvgpu-pipeline` and `mamba-to-ptx`.
void registerMambaPipelines();

} // namespace mamba

#endif // MAMBA_PIPELINES_PIPELINES_H
