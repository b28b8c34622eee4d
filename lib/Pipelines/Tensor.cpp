//===- Tensor.cpp - Pipelines on tensors and to buffers -------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Pipelines/Pipelines.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mamba;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

namespace {
/// Fails: a pipeline cannot leave out a pass of that name.
struct RefuseWithout final
    : PassWrapper<RefuseWithout, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseWithout)

  explicit RefuseWithout(StringRef name) : name(name) {}
  StringRef getName() const override { return "mamba-refuse-without"; }

  void runOnOperation() override {
    emitError(UnknownLoc::get(&getContext()))
        << "expected option 'without' to name one of "
        << llvm::join(getOptionalPasses(), ", ") << ", got '" << name << "'";
    signalPassFailure();
  }

  std::string name;
};
} // namespace

void mamba::buildToTilesPipeline(OpPassManager &pm,
                                 const PipelineOptions &options) {
  for (const std::string &name : options.without)
    if (!llvm::is_contained(getOptionalPasses(), name))
      pm.addPass(std::make_unique<RefuseWithout>(name));
  // Functions that only others call become part of these.
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  // What a user writes around the operations: arith and math on tensors, and
  // constants beside them.
  pm.addPass(createConvertElementwiseToLinalgPass());
  pm.addPass(createLinalgElementwiseOpFusionPass());
  addCleanup(pm);
  pm.addPass(createMambaNameSizesPass());
  MambaRecordOperationsPassOptions record;
  record.tf32 = options.tf32;
  pm.addPass(createMambaRecordOperationsPass(record));
  MambaDecomposeSsdPassOptions decompose;
  decompose.target = options.target;
  decompose.schedule = options.schedule;
  pm.addPass(createMambaDecomposeSsdPass(decompose));
  addCleanup(pm);
  if (options.target == "cpu")
    return;
  MambaPlanPassOptions plan;
  plan.target = options.target;
  plan.schedule = options.schedule;
  plan.tf32 = options.tf32;
  for (const std::string &text : options.plans)
    plan.plans.push_back(text);
  pm.addPass(createMambaPlanPass(plan));
  pm.addPass(createMambaTilePass());
  addCleanup(pm);
}

void mamba::buildToLinalgPipeline(OpPassManager &pm,
                                  const PipelineOptions &options) {
  pm.addPass(createMambaToLinalgPass());
  addCleanup(pm);
  if (options.target == "cpu") {
    pm.addPass(createMambaInterchangeContractionsPass());
    return;
  }
  if (options.has("mamba-fuse")) {
    pm.addPass(createMambaFusePass());
    addCleanup(pm);
  }
  pm.addPass(createMambaTileInnerPass());
  addCleanup(pm);
  if (options.has("mamba-fold-causal-mask")) {
    pm.addPass(createMambaFoldCausalMaskPass());
    addCleanup(pm);
  }
  if (options.has("mamba-rewrite-exp2")) {
    pm.addPass(createMambaRewriteExp2Pass());
    addCleanup(pm);
  }
}

void mamba::buildBufferizePipeline(OpPassManager &pm) {
  pm.addPass(createMambaSeparateDestinationsPass());
  pm.addPass(createMambaResultsToArgumentsPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferAlignment = 64;
  // A loop around an operation may yield the operation's result.
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createMambaUnifySizesPass());
  addCleanup(pm);
  // CSE makes a tile and its place in the whole the same subview; only then
  // the copy between them folds.
  pm.addPass(createCanonicalizerPass());
}

void mamba::buildToBuffersPipeline(OpPassManager &pm,
                                   const PipelineOptions &options) {
  buildToTilesPipeline(pm, options);
  buildToLinalgPipeline(pm, options);
  buildBufferizePipeline(pm);
}
