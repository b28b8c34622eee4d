//===- Emit.cpp - Lowering to a stage and writing it ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"

#include "mamba/Driver/CpuObject.h"
#include "mamba/Driver/CpuTarget.h"
#include "mamba/Driver/OutputFile.h"
#include "mamba/Driver/SharedLibrary.h"
#include "mamba/Driver/Signature.h"
#include "mamba/Pipelines/Pipelines.h"
#include "mamba/Target/Manifest.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mamba {

Error runPipeline(mlir::ModuleOp module, StringRef name,
                  mlir::TimingScope &timing,
                  function_ref<void(mlir::PassManager &)> build) {
  mlir::PassManager manager(module->getName());
  if (failed(mlir::applyPassManagerCLOptions(manager)))
    return createStringError("");
  mlir::TimingScope scope = timing.nest(name);
  manager.enableTiming(scope);
  build(manager);
  if (failed(manager.run(module)))
    return createStringError("could not lower the module (" + name + ")");
  return Error::success();
}

Error lowerForCpu(mlir::ModuleOp module, std::vector<Signature> &signatures,
                  mlir::TimingScope &timing,
                  function_ref<Error(mlir::ModuleOp)> visitBuffers) {
  for (const Signature &signature : signatures)
    module.lookupSymbol(signature.name)
        ->setAttr(mlir::LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                  mlir::UnitAttr::get(module.getContext()));
  std::optional<PlacementRecorder> recorder;
  PipelineOptions pipeline;
  pipeline.target = "cpu";
  if (Error error = runPipeline(module, "lower to buffers", timing,
                                [&](mlir::PassManager &manager) {
                                  recorder.emplace(manager, signatures);
                                  buildToBuffersPipeline(manager, pipeline);
                                }))
    return error;
  if (Error error = recorder->finish())
    return error;
  if (visitBuffers)
    if (Error error = visitBuffers(module))
      return error;
  return runPipeline(
      module, "lower to llvm", timing,
      [](mlir::PassManager &manager) { buildBuffersToCpuPipeline(manager); });
}

/// The functions that an object file for `cpu` exports. Fails if it cannot be
/// made: a wrong name should not cost a whole compilation.
static Expected<std::vector<Signature>> readExports(mlir::ModuleOp module,
                                                    StringRef cpu) {
  if (Expected<std::unique_ptr<TargetMachine>> machine =
          createTargetMachine(cpu);
      !machine)
    return machine.takeError();
  SmallVector<mlir::func::FuncOp> functions = getPublicFunctions(module);
  if (functions.empty())
    return createStringError("the module has no public function with a body");
  std::vector<Signature> signatures;
  for (mlir::func::FuncOp function : functions) {
    Expected<Signature> signature = Signature::get(function);
    if (!signature)
      return signature.takeError();
    if (!isCIdentifier(signature->name))
      return createStringError("expected the function's name '" +
                               signature->name + "' to be a C identifier");
    signatures.push_back(std::move(*signature));
  }
  return signatures;
}

/// Object file and header appear together.
static Error emitObject(mlir::ModuleOp module, const Options &options,
                        mlir::TimingScope &timing) {
  Expected<std::vector<Signature>> signatures =
      readExports(module, options.cpu);
  if (!signatures)
    return signatures.takeError();
  SmallString<128> headerPath(options.output);
  sys::path::replace_extension(headerPath, "h");
  Expected<OutputFile> object = OutputFile::open(options.output);
  if (!object)
    return object.takeError();
  Expected<OutputFile> header = OutputFile::open(headerPath);
  if (!header)
    return header.takeError();

  if (Error error = lowerForCpu(module, *signatures, timing))
    return error;
  mlir::TimingScope scope = timing.nest("generate code");
  if (Error error = writeObject(module, *signatures, options.cpu, object->os()))
    return error;
  writeHeader(*signatures, sys::path::stem(options.output), header->os());
  if (Error error = header->commit())
    return error;
  return object->commit();
}

/// A folder with a shared library and a manifest.
static Error emitCpuBundle(mlir::ModuleOp module, const Options &options,
                           mlir::TimingScope &timing) {
  static constexpr StringLiteral libraryName = "functions.so";
  Expected<std::vector<Signature>> signatures =
      readExports(module, options.cpu);
  if (!signatures)
    return signatures.takeError();
  Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();

  mlir::FailureOr<json::Value> manifest = mlir::failure();
  auto describe = [&](mlir::ModuleOp buffers) {
    manifest = buildCpuManifest(buffers, *options.target, libraryName);
    return failed(manifest) ? createStringError("could not describe the module")
                            : Error::success();
  };
  if (Error error = lowerForCpu(module, *signatures, timing, describe))
    return error;
  mlir::TimingScope scope = timing.nest("generate code");
  SmallString<0> object;
  raw_svector_ostream os(object);
  if (Error error = writeObject(module, *signatures, options.cpu, os))
    return error;
  scope.stop();
  mlir::TimingScope linkScope = timing.nest("link");
  Expected<std::string> library = linkSharedLibrary(*linker, object);
  if (!library)
    return library.takeError();
  if (failed(writeBundleFolder(module, *manifest, {{libraryName, *library}},
                               options.output)))
    return createStringError("could not write the bundle '" + options.output +
                             "'");
  return Error::success();
}

/// The PTX of every binary.
static Error printPTX(mlir::ModuleOp module, raw_ostream &os) {
  unsigned numObjects = 0;
  module.walk([&](mlir::gpu::BinaryOp binary) {
    for (auto object :
         binary.getObjects().getAsRange<mlir::gpu::ObjectAttr>()) {
      os << object.getObject().getValue();
      ++numObjects;
    }
  });
  if (!numObjects)
    return createStringError("the module has no kernels");
  return Error::success();
}

Error emitModule(mlir::ModuleOp module, const Options &options,
                 mlir::TimingScope &timing) {
  PipelineOptions pipeline;
  pipeline.target = options.target->name.str();
  pipeline.schedule = options.schedule;
  pipeline.tf32 = options.tf32;
  pipeline.remarks = options.remarks;
  for (const std::string &plan : options.plans)
    pipeline.plans.push_back(plan);
  for (const std::string &pass : options.without)
    pipeline.without.push_back(pass);
  Error error =
      runPipeline(module, ("lower to " + getStageName(options.stage)).str(),
                  timing, [&](mlir::PassManager &manager) {
                    switch (options.stage) {
                    case Stage::Mamba:
                    case Stage::Object: // lowers by itself
                      return;
                    case Stage::Tiles:
                      return buildToTilesPipeline(manager, pipeline);
                    case Stage::Linalg:
                      buildToTilesPipeline(manager, pipeline);
                      return buildToLinalgPipeline(manager, pipeline);
                    case Stage::LLVM:
                      return options.target->isGpu()
                                 ? buildToNvvmPipeline(manager, pipeline)
                                 : buildToCpuPipeline(manager);
                    case Stage::Bundle:
                      if (!options.target->isGpu())
                        return; // lowers by itself
                      [[fallthrough]];
                    case Stage::Ptx:
                      return buildToPtxPipeline(manager, pipeline);
                    }
                  });
  if (error)
    return error;
  std::string text;
  raw_string_ostream os(text);
  switch (options.stage) {
  case Stage::Object:
    return emitObject(module, options, timing);
  case Stage::Bundle:
    if (!options.target->isGpu())
      return emitCpuBundle(module, options, timing);
    if (failed(writeBundle(module, *options.target, options.output)))
      return createStringError("could not write the bundle '" + options.output +
                               "'");
    return Error::success();
  case Stage::Ptx:
    if (Error error = printPTX(module, os))
      return error;
    break;
  case Stage::Mamba:
  case Stage::Tiles:
  case Stage::Linalg:
  case Stage::LLVM:
    module.print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
    break;
  }
  return writeTextFile(options.output, text);
}

} // namespace mamba
