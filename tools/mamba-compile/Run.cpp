//===- Run.cpp - Calling a compiled function with arrays from files -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile.h"

#include "mamba/Driver/Jit.h"
#include "mamba/Driver/Npy.h"
#include "mamba/Driver/OutputFile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mamba {

static Expected<std::vector<HostArray>>
readArguments(const Signature &signature, ArrayRef<NamedFile> files) {
  // Names first: reading large files only to refuse them takes long.
  std::vector<std::string> names;
  for (const NamedFile &file : files)
    names.push_back(file.name);
  if (Expected<std::vector<unsigned>> places =
          matchNames(names, signature.arguments, "argument", signature.name);
      !places)
    return places.takeError();
  std::vector<NamedArray> arrays;
  for (const NamedFile &file : files) {
    Expected<HostArray> array = readNpy(file.path);
    if (!array)
      return array.takeError();
    arrays.push_back({file.name, std::move(*array)});
  }
  return bindArguments(signature, std::move(arrays));
}

/// Two results in one file would leave one of them.
static Error checkDistinct(ArrayRef<NamedFile> files) {
  StringMap<StringRef> names;
  for (const NamedFile &file : files) {
    SmallString<128> path(file.path);
    sys::fs::make_absolute(path);
    sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    auto [it, inserted] = names.try_emplace(path, file.name);
    if (!inserted)
      return createStringError("results '" + it->second + "' and '" +
                               file.name + "' have one file, '" + file.path +
                               "'");
  }
  return Error::success();
}

/// Uninitialized arrays for all results.
static Expected<std::vector<HostArray>>
makeResults(mlir::func::FuncOp function, const Signature &signature,
            const std::vector<HostArray> &arguments) {
  std::vector<SmallVector<int64_t>> shapes;
  for (const HostArray &array : arguments)
    shapes.emplace_back(array.getShape());
  Expected<std::vector<SmallVector<int64_t>>> resultShapes =
      inferResultShapes(function, shapes);
  if (!resultShapes)
    return resultShapes.takeError();
  std::vector<HostArray> results;
  for (auto [result, shape] :
       llvm::zip_equal(signature.results, *resultShapes)) {
    Expected<HostArray> array = HostArray::create(result.dtype, shape);
    if (!array)
      return array.takeError();
    results.push_back(std::move(*array));
  }
  return results;
}

Error runModule(mlir::ModuleOp module, const Options &options,
                mlir::TimingScope &timing) {
  // Sizes of results are read through operations, not through calls.
  if (Error error =
          runPipeline(module, "inline", timing, [](mlir::PassManager &manager) {
            manager.addPass(mlir::createInlinerPass());
          }))
    return error;
  Expected<mlir::func::FuncOp> function =
      findFunction(module, options.function);
  if (!function)
    return function.takeError();
  Expected<Signature> read = Signature::get(*function);
  if (!read)
    return read.takeError();
  std::vector<Signature> signatures = {std::move(*read)};
  Signature &signature = signatures.front();
  std::vector<std::string> resultNames;
  for (const NamedFile &file : options.results)
    resultNames.push_back(file.name);
  Expected<std::vector<unsigned>> places =
      matchNames(resultNames, signature.results, "result", signature.name);
  if (!places)
    return places.takeError();

  if (Error error = checkDistinct(options.results))
    return error;

  mlir::TimingScope readScope = timing.nest("read arguments");
  Expected<std::vector<HostArray>> arguments =
      readArguments(signature, options.arguments);
  if (!arguments)
    return arguments.takeError();
  readScope.stop();
  Expected<std::vector<HostArray>> results =
      makeResults(*function, signature, *arguments);
  if (!results)
    return results.takeError();
  std::vector<OutputFile> files;
  for (const NamedFile &named : options.results) {
    Expected<OutputFile> file = OutputFile::open(named.path);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }

  if (Error error = lowerForCpu(module, signatures, timing))
    return error;
  mlir::TimingScope compileScope = timing.nest("generate code");
  Expected<Jit> jit = Jit::create(module);
  if (!jit)
    return jit.takeError();
  compileScope.stop();

  std::vector<HostArray *> parameters;
  for (HostArray &array : *arguments)
    parameters.push_back(&array);
  std::vector<HostArray *> outputs; // of all results
  for (auto [array, updated] :
       llvm::zip_equal(*results, signature.updatedArguments)) {
    outputs.push_back(updated ? &(*arguments)[*updated] : &array);
    if (!updated)
      parameters.push_back(&array);
  }
  mlir::TimingScope runScope = timing.nest("run");
  if (Error error = jit->call(signature.name, parameters))
    return error;
  runScope.stop();

  mlir::TimingScope writeScope = timing.nest("write results");
  for (auto [place, file] : llvm::zip_equal(*places, files))
    writeNpy(*outputs[place], file.os());
  for (OutputFile &file : files)
    if (Error error = file.commit())
      return error;
  return Error::success();
}

} // namespace mamba
