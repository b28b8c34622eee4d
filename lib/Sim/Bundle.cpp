//===- Bundle.cpp - Running functions of a bundle -------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/Bundle.h"

#include "FunctionCall.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mamba::sim {

/// The newest.
static constexpr int64_t kManifestVersion = 2;

static Expected<std::unique_ptr<MemoryBuffer>> readFile(const Twine &path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError("could not read '" + path +
                             "': " + buffer.getError().message());
  return std::move(*buffer);
}

static Expected<json::Value> readJson(const Twine &path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return createStringError("'" + path +
                             "' is no JSON: " + toString(value.takeError()));
  if (!value->getAsObject())
    return createStringError("'" + path + "': expected an object");
  return value;
}

Expected<Bundle> Bundle::open(StringRef path, StringRef launchFile) {
  bool isPtx = !sys::fs::is_directory(path);
  if (isPtx && launchFile.empty())
    return createStringError(
        sys::fs::exists(path)
            ? "'" + path + "' is no bundle; a PTX file needs --launch"
            : "could not read '" + path + "': no such file or folder");
  SmallString<128> manifestPath(path);
  sys::path::append(manifestPath, "manifest.json");
  Expected<json::Value> manifest =
      readJson(launchFile.empty() ? StringRef(manifestPath) : launchFile);
  if (!manifest)
    return manifest.takeError();
  if (!manifest->getAsObject()->get("functions")) {
    if (launchFile.empty())
      return createStringError("'" + manifestPath.str() +
                               "': expected 'functions'");
    manifest = json::Object{{"version", kManifestVersion},
                            {"functions", json::Array{std::move(*manifest)}}};
  }
  int64_t version =
      manifest->getAsObject()->getInteger("version").value_or(kManifestVersion);
  if (version < 1 || version > kManifestVersion)
    return createStringError(
        "version " + Twine(version) +
        " of the manifest is not supported; expected 1 to " +
        Twine(kManifestVersion));
  Bundle bundle(std::move(*manifest));
  if (isPtx)
    bundle.ptxFile = path.str();
  else
    bundle.folder = path.str();
  return std::move(bundle);
}

Expected<const json::Object *> Bundle::lookup(StringRef name) const {
  const json::Array *functions = manifest.getAsObject()->getArray("functions");
  if (!functions)
    return createStringError("manifest: expected an array 'functions'");
  std::string names;
  const json::Object *only = nullptr;
  for (const json::Value &value : *functions) {
    const json::Object *function = value.getAsObject();
    if (!function)
      continue;
    StringRef functionName = function->getString("name").value_or("");
    if (!name.empty() && functionName == name)
      return function;
    names += (names.empty() ? "" : ", ") + functionName.str();
    only = function;
  }
  if (name.empty() && functions->size() == 1 && only)
    return only;
  if (name.empty())
    return createStringError("choose a function with --function: " + names);
  return createStringError("there is no function '" + name + "'; there is " +
                           (names.empty() ? "none" : names));
}

Expected<std::vector<std::string>>
Bundle::getResultNames(StringRef name) const {
  Expected<const json::Object *> function = lookup(name);
  if (!function)
    return function.takeError();
  FunctionCall call;
  if (Error error = call.readArguments(**function))
    return std::move(error);
  std::vector<std::string> names;
  for (const FunctionCall::Argument &argument : call.arguments)
    if (argument.role != BufferRole::Input)
      names.push_back(argument.result);
  return names;
}

Expected<FunctionRun> Bundle::run(StringRef name,
                                  std::vector<FunctionArray> arrays,
                                  const StringMap<int64_t> &sizes,
                                  const LaunchOptions &options) const {
  Expected<const json::Object *> function = lookup(name);
  if (!function)
    return function.takeError();
  FunctionCall call;
  call.loadProgram = [&](StringRef ptx) -> Expected<Program> {
    SmallString<128> path(ptxFile);
    if (!folder.empty()) {
      path = folder;
      sys::path::append(path, ptx);
    }
    Expected<std::unique_ptr<MemoryBuffer>> text = readFile(path);
    if (!text)
      return text.takeError();
    return Program::load(std::move(*text), path, call.device);
  };
  if (Error error = call.prepare(**function, std::move(arrays), sizes))
    return std::move(error);
  return call.run(**function, options);
}

} // namespace mamba::sim
