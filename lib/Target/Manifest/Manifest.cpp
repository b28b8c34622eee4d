//===- Manifest.cpp - Manifests and their bundles -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Target/Manifest.h"
#include "BundleContents.h"
#include "mamba/Target/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;
namespace path = llvm::sys::path;

namespace mamba {
namespace {

constexpr llvm::StringLiteral manifestName = "manifest.json";

/// A symbol's name becomes part of a path.
bool isFileName(StringRef name) {
  return !name.empty() && name.front() != '.' && llvm::all_of(name, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '$';
  });
}

std::error_code writeFile(StringRef folder, StringRef name, StringRef text) {
  SmallString<128> file(folder);
  path::append(file, name);
  std::error_code error;
  llvm::raw_fd_ostream os(file, error, fs::OF_None);
  if (error)
    return error;
  os << text;
  os.close();
  error = os.error();
  os.clear_error();
  return error;
}

std::error_code writeFiles(StringRef folder, const json::Value &manifest,
                           ArrayRef<BundleFile> files) {
  for (const BundleFile &file : files)
    if (std::error_code error = writeFile(folder, file.name, file.contents))
      return error;
  return writeFile(folder, manifestName,
                   llvm::formatv("{0:2}\n", manifest).str());
}

/// Renames `from` to `to`, which may be an older bundle.
std::error_code moveInPlace(StringRef from, StringRef to) {
  if (!fs::exists(to))
    return fs::rename(from, to);
  SmallString<128> old(from);
  old += ".old";
  if (std::error_code error = fs::rename(to, old))
    return error;
  if (std::error_code error = fs::rename(from, to)) {
    fs::rename(old, to);
    return error;
  }
  return fs::remove_directories(old);
}

} // namespace

std::string PtxFiles::getName(Operation *kernelModule, func::FuncOp function) {
  std::string &name = names[kernelModule];
  if (name.empty()) {
    std::string own = function.getName().str() + ".ptx";
    bool isTaken = llvm::any_of(
        names, [&](const auto &entry) { return entry.second == own; });
    name =
        isTaken ? SymbolTable::getSymbolName(kernelModule).str() + ".ptx" : own;
  }
  return name;
}

/// The array "functions" of a manifest.
static FailureOr<json::Array> describeFunctions(
    ModuleOp module,
    llvm::function_ref<FailureOr<json::Value>(func::FuncOp)> describe) {
  json::Array functions;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.isPublic())
      continue;
    if (!isFileName(function.getName()))
      return function.emitOpError("expected a name of letters, digits, '_', "
                                  "'-', '.' and '$'");
    FailureOr<json::Value> object = describe(function);
    if (failed(object))
      return failure();
    functions.push_back(std::move(*object));
  }
  if (functions.empty())
    return module.emitError("expected a public function with a body");
  return functions;
}

/// The least version of the manifest that has everything in `functions`.
static int64_t getVersion(const json::Array &functions) {
  auto isTensorMap = [](const json::Value &parameter) {
    return parameter.getAsObject()->getString("kind") == "tensor_map";
  };
  auto hasTensorMap = [&](const json::Value &launch) {
    return llvm::any_of(*launch.getAsObject()->getArray("parameters"),
                        isTensorMap);
  };
  auto hasStrides = [](const json::Value &argument) {
    return argument.getAsObject()->get("strides");
  };
  auto isOfVersion2 = [&](const json::Value &value) {
    const json::Object &function = *value.getAsObject();
    const json::Array *launches = function.getArray("launches");
    return llvm::any_of(*function.getArray("arguments"), hasStrides) ||
           (launches && llvm::any_of(*launches, hasTensorMap));
  };
  return llvm::any_of(functions, isOfVersion2) ? 2 : 1;
}

FailureOr<json::Value> describeModule(ModuleOp module, const Target &target,
                                      PtxFiles &files) {
  if (!target.isGpu())
    return module.emitError("expected a GPU target, got '")
           << target.name << "'";
  FailureOr<json::Array> functions =
      describeFunctions(module, [&](func::FuncOp function) {
        return describeFunction(function, target, files);
      });
  if (failed(functions))
    return failure();
  int64_t version = getVersion(*functions);
  return json::Value(json::Object{{"version", version},
                                  {"target", target.name},
                                  {"functions", std::move(*functions)}});
}

FailureOr<json::Value> buildCpuManifest(ModuleOp module, const Target &target,
                                        StringRef library) {
  FailureOr<json::Array> functions =
      describeFunctions(module, [&](func::FuncOp function) {
        return describeInterface(function, target);
      });
  if (failed(functions))
    return failure();
  int64_t version = getVersion(*functions);
  return json::Value(json::Object{{"version", version},
                                  {"target", target.name},
                                  {"library", library},
                                  {"functions", std::move(*functions)}});
}

FailureOr<json::Value> buildManifest(ModuleOp module, const Target &target) {
  PtxFiles files;
  return describeModule(module, target, files);
}

LogicalResult writeBundle(ModuleOp module, const Target &target,
                          StringRef folder) {
  PtxFiles files;
  FailureOr<json::Value> manifest = describeModule(module, target, files);
  if (failed(manifest))
    return failure();
  SmallVector<BundleFile> bundleFiles;
  for (const auto &[kernelModule, name] : files) {
    auto binary = dyn_cast<gpu::BinaryOp>(kernelModule);
    if (!binary)
      return kernelModule->emitError(
          "expected a gpu.binary (see mamba-serialize)");
    if (!isFileName(binary.getSymName()))
      return binary.emitOpError("expected a name of letters, digits, '_', '-', "
                                "'.' and '$'");
    FailureOr<StringRef> text = getPTX(binary, target);
    if (failed(text))
      return failure();
    bundleFiles.push_back({name, *text});
  }
  return writeBundleFolder(module, *manifest, bundleFiles, folder);
}

LogicalResult writeBundleFolder(ModuleOp module, const json::Value &manifest,
                                ArrayRef<BundleFile> files, StringRef folder) {
  auto fail = [&](StringRef what, std::error_code error) {
    return module.emitError("cannot ")
           << what << " '" << folder << "': " << error.message();
  };
  SmallString<128> destination(folder);
  if (std::error_code error = fs::make_absolute(destination))
    return fail("find", error);
  path::remove_dots(destination, /*remove_dot_dot=*/false);
  while (destination.size() > 1 && path::is_separator(destination.back()))
    destination.pop_back();
  if (fs::exists(destination)) {
    // A link stays a link, to the new bundle.
    SmallString<128> real;
    if (std::error_code error = fs::real_path(destination, real))
      return fail("find", error);
    destination = real;
    SmallString<128> oldManifest = destination;
    path::append(oldManifest, manifestName);
    if (!fs::is_regular_file(oldManifest))
      return module.emitError("will not replace '")
             << folder << "', which is not a bundle: it has no "
             << manifestName;
  }
  if (std::error_code error =
          fs::create_directories(path::parent_path(destination)))
    return fail("create the parent of", error);

  SmallString<128> temporary;
  if (std::error_code error = fs::createUniqueDirectory(destination, temporary))
    return fail("write beside", error);
  llvm::scope_exit cleanup([&] { fs::remove_directories(temporary); });
  if (std::error_code error = writeFiles(temporary, manifest, files))
    return fail("write", error);
  // Unique folders are private; a bundle is as public as other outputs.
  if (std::error_code error = fs::setPermissions(
          temporary, static_cast<fs::perms>(0777 & ~fs::getUmask())))
    return fail("write", error);
  if (std::error_code error = moveInPlace(temporary, destination))
    return fail("replace", error);
  return success();
}

} // namespace mamba
