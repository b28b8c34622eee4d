//===- mamba-compile.cpp - The ahead-of-time compiler ---------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"
#include "Lists.h"
#include "Options.h"

#include "mamba/Conversion/Passes.h"
#include "mamba/Conversion/ToNVVM/Passes.h"
#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Driver/CpuTarget.h"
#include "mamba/Driver/Strided.h"
#include "mamba/Target/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace mamba;

namespace {

/// Counts the errors that MLIR reports, to tell a failure that needs another
/// message from one that has its own. Prints those that have no place in a
/// file, as all of a preset do; the next handler prints the others.
class ErrorHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit ErrorHandler(mlir::MLIRContext *context)
      : ScopedDiagnosticHandler(context) {
    setHandler([this](mlir::Diagnostic &diagnostic) {
      bool isError =
          diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
      numErrors += isError;
      if (!isError ||
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
        return mlir::failure();
      WithColor::error(errs(), "mamba-compile") << diagnostic << "\n";
      return mlir::success();
    });
  }
  unsigned numErrors = 0;
};

} // namespace

static Expected<mlir::OwningOpRef<mlir::ModuleOp>>
makeModule(mlir::MLIRContext &context, const Options &options,
           std::shared_ptr<SourceMgr> sources) {
  if (options.model)
    return buildPreset(&context, *options.model, options.preset);
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFileOrSTDIN(options.input, /*IsText=*/true);
  if (!buffer)
    return createStringError("could not read '" + options.input +
                             "': " + buffer.getError().message());
  sources->AddNewSourceBuffer(std::move(*buffer), SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return createStringError("could not parse '" + options.input + "'");
  return std::move(module);
}

static Error compile(mlir::MLIRContext &context, const Options &options,
                     std::shared_ptr<SourceMgr> sources) {
  mlir::DefaultTimingManager timingManager;
  timingManager.setEnabled(options.time);
  mlir::TimingScope timing = timingManager.getRootScope();

  mlir::TimingScope inputScope = timing.nest("read module");
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module =
      makeModule(context, options, sources);
  if (!module)
    return module.takeError();
  if (Error error = markStrided(**module, options.strided))
    return error;
  inputScope.stop();
  if (options.action == Options::Action::Run)
    return runModule(**module, options, timing);
  return emitModule(**module, options, timing);
}

/// Lets options such as --mlir-print-ir-after name passes.
static void registerPasses() {
  mlir::registerAllPasses();
  registerMambaTransformsPasses();
  registerMambaConversionPasses();
  registerMambaToNVVMPasses();
  registerMambaTargetPasses();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  registerPasses();
  auto fail = [](Error error) {
    // Without a message the problem was printed already.
    if (std::string message = toString(std::move(error)); !message.empty())
      WithColor::error(errs(), "mamba-compile") << message << "\n";
    return EXIT_FAILURE;
  };
  Expected<Options> options = parseOptions(argc, argv);
  if (!options)
    return fail(options.takeError());
  if (options->action == Options::Action::ListModels) {
    printModels(outs());
    return EXIT_SUCCESS;
  }
  if (options->action == Options::Action::ListTargets) {
    printTargets(outs());
    return EXIT_SUCCESS;
  }

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<MambaDialect>();
  registerCpuTranslations(registry);
  mlir::MLIRContext context(registry);
  // The place in the file says enough; the operation may be a whole module.
  context.printOpOnDiagnostic(false);
  auto sources = std::make_shared<SourceMgr>();
  mlir::SourceMgrDiagnosticHandler printer(*sources, &context, errs());
  ErrorHandler handler(&context);
  Error error = compile(context, *options, sources);
  if (!error)
    return EXIT_SUCCESS;
  if (!handler.numErrors)
    return fail(std::move(error));
  consumeError(std::move(error));
  return EXIT_FAILURE;
}
