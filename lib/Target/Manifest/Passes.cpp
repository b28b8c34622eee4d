//===- Passes.cpp - Manifests and bundles from the command line -----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Target/Passes.h"
#include "mamba/Target/Manifest.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace mamba {
#define GEN_PASS_DEF_PRINTMANIFESTPASS
#define GEN_PASS_DEF_WRITEBUNDLEPASS
#include "mamba/Target/Passes.h.inc"

namespace {

struct PrintManifestPass : impl::PrintManifestPassBase<PrintManifestPass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<const Target &> known = lookupGpuTarget(target);
    if (!known) {
      getOperation().emitError(llvm::toString(known.takeError()));
      return signalPassFailure();
    }
    FailureOr<llvm::json::Value> manifest =
        buildManifest(getOperation(), *known);
    if (failed(manifest))
      return signalPassFailure();
    llvm::outs() << llvm::formatv("{0:2}\n", *manifest);
    markAllAnalysesPreserved();
  }
};

struct WriteBundlePass : impl::WriteBundlePassBase<WriteBundlePass> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<const Target &> known = lookupGpuTarget(target);
    if (!known) {
      getOperation().emitError(llvm::toString(known.takeError()));
      return signalPassFailure();
    }
    if (folder.empty()) {
      getOperation().emitError("expected the option 'folder'");
      return signalPassFailure();
    }
    if (failed(writeBundle(getOperation(), *known, folder)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mamba
