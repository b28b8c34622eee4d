//===- mamba-sim.cpp - Runs PTX on the CPU --------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Npy.h"
#include "mamba/Driver/OutputFile.h"
#include "mamba/Sim/Bundle.h"
#include "mamba/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;
using namespace mamba;
using namespace mamba::sim;

static cl::OptionCategory category("Simulation");

static cl::opt<std::string> inputPath(cl::Positional, cl::Required,
                                      cl::desc("BUNDLE|FILE.ptx"),
                                      cl::cat(category));
static cl::opt<std::string>
    launchPath("launch", cl::value_desc("FILE.json"),
               cl::desc("How to run the kernels of a PTX file: a function of a "
                        "manifest"),
               cl::cat(category));
static cl::opt<std::string>
    functionName("function", cl::value_desc("NAME"),
                 cl::desc("The function to run, if there are several"),
                 cl::cat(category));
static cl::list<std::string> argFlags("arg", cl::value_desc("NAME=FILE.npy"),
                                      cl::desc("An input"), cl::cat(category));
static cl::list<std::string>
    resultFlags("result", cl::value_desc("NAME=FILE.npy"),
                cl::desc("Where a result goes; bf16 is written as float32"),
                cl::cat(category));
static cl::list<std::string>
    sizeFlags("size", cl::value_desc("NAME=VALUE"),
              cl::desc("A size that does not come from a shape"),
              cl::cat(category));
static cl::opt<std::string>
    countersFlag("counters", cl::value_desc("text|json"),
                 cl::desc("Print what each launch did to standard output"),
                 cl::cat(category));
static cl::opt<uint64_t>
    seedFlag("seed", cl::init(0),
             cl::desc("Permute the order of warps and blocks unless it is 0"),
             cl::cat(category));
static cl::opt<unsigned>
    jobsFlag("jobs", cl::init(0),
             cl::desc("Host threads; 0 is one a processor"), cl::cat(category));
static cl::opt<uint64_t>
    limitFlag("max-instructions", cl::init(uint64_t(1) << 32),
              cl::desc("Warp instructions that a block may execute"),
              cl::cat(category));
static cl::opt<bool>
    noSanitizeFlag("no-sanitize",
                   cl::desc("Do not look for races, unwritten data and writes "
                            "to inputs"),
                   cl::cat(category));
static cl::opt<bool> forceFlag("force",
                               cl::desc("Write results in spite of findings"),
                               cl::cat(category));

static Expected<std::pair<StringRef, StringRef>> splitPair(StringRef text,
                                                           StringRef option) {
  auto [name, value] = text.split('=');
  if (name.empty() || value.empty())
    return createStringError("expected --" + option + " NAME=VALUE, got '" +
                             text + "'");
  return std::pair(name, value);
}

static Expected<std::vector<FunctionArray>> readArguments() {
  std::vector<FunctionArray> arrays;
  for (StringRef text : argFlags) {
    Expected<std::pair<StringRef, StringRef>> pair = splitPair(text, "arg");
    if (!pair)
      return pair.takeError();
    Expected<HostArray> array = readNpy(pair->second);
    if (!array)
      return array.takeError();
    arrays.push_back({pair->first.str(), std::move(*array)});
  }
  return arrays;
}

static Expected<StringMap<int64_t>> readSizes() {
  StringMap<int64_t> sizes;
  for (StringRef text : sizeFlags) {
    Expected<std::pair<StringRef, StringRef>> pair = splitPair(text, "size");
    if (!pair)
      return pair.takeError();
    int64_t value;
    if (pair->second.getAsInteger(10, value))
      return createStringError("--size " + text + ": expected an integer");
    sizes[pair->first] = value;
  }
  return sizes;
}

static Expected<std::vector<std::pair<StringRef, StringRef>>>
readResults(const Bundle &bundle) {
  Expected<std::vector<std::string>> known =
      bundle.getResultNames(functionName);
  if (!known)
    return known.takeError();
  std::vector<std::pair<StringRef, StringRef>> results;
  StringMap<StringRef> files;
  for (StringRef text : resultFlags) {
    Expected<std::pair<StringRef, StringRef>> pair = splitPair(text, "result");
    if (!pair)
      return pair.takeError();
    if (!is_contained(*known, pair->first))
      return createStringError("there is no result '" + pair->first +
                               "'; there is " +
                               (known->empty() ? "none" : join(*known, ", ")));
    // Two results in one file would leave one of them.
    SmallString<128> path(pair->second);
    sys::fs::make_absolute(path);
    sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    auto [it, inserted] = files.try_emplace(path, pair->first);
    if (!inserted)
      return createStringError("results '" + it->second + "' and '" +
                               pair->first + "' have one file, '" +
                               pair->second + "'");
    results.push_back(*pair);
  }
  return results;
}

static void printCounters(const FunctionRun &run) {
  if (countersFlag == "text") {
    for (const LaunchCounters &launch : run.launches) {
      outs() << launch.kernel << ", grid (" << launch.grid[0] << ", "
             << launch.grid[1] << ", " << launch.grid[2] << ")\n";
      launch.counters.print(outs());
    }
    return;
  }
  json::Array launches;
  for (const LaunchCounters &launch : run.launches) {
    json::Object object = launch.counters.toJSON();
    object["kernel"] = launch.kernel;
    object["grid"] = json::Array(launch.grid);
    launches.push_back(std::move(object));
  }
  outs() << formatv("{0:2}", json::Value(json::Object{
                                 {"launches", std::move(launches)}}))
         << "\n";
}

/// Returns whether there were findings, which it prints.
static Expected<bool> simulate() {
  if (!countersFlag.empty() && countersFlag != "text" && countersFlag != "json")
    return createStringError("expected --counters=text or --counters=json, "
                             "got '" +
                             countersFlag + "'");
  Expected<Bundle> bundle = Bundle::open(inputPath, launchPath);
  if (!bundle)
    return bundle.takeError();
  auto results = readResults(*bundle);
  if (!results)
    return results.takeError();
  Expected<StringMap<int64_t>> sizes = readSizes();
  if (!sizes)
    return sizes.takeError();
  Expected<std::vector<FunctionArray>> arrays = readArguments();
  if (!arrays)
    return arrays.takeError();
  std::vector<OutputFile> files;
  for (auto [name, path] : *results) {
    Expected<OutputFile> file = OutputFile::open(path);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }

  LaunchOptions options;
  options.jobs = jobsFlag;
  options.sanitize = !noSanitizeFlag;
  options.countMemory = !countersFlag.empty();
  options.seed = seedFlag;
  options.maxInstructions = limitFlag;
  Expected<FunctionRun> run =
      bundle->run(functionName, std::move(*arrays), *sizes, options);
  if (!run)
    return run.takeError();
  for (const Finding &finding : run->findings)
    errs() << finding.str() << "\n";
  if (!countersFlag.empty())
    printCounters(*run);
  bool hasFindings = !run->findings.empty();
  if (hasFindings && !forceFlag)
    return true;
  for (auto [result, file] : zip_equal(*results, files)) {
    StringRef name = result.first;
    auto it = find_if(run->results, [&](const FunctionArray &array) {
      return array.name == name;
    });
    writeNpy(it->array, file.os());
  }
  for (OutputFile &file : files)
    if (Error error = file.commit())
      return std::move(error);
  return hasFindings;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "mamba-sim " << MAMBA_VERSION_STRING << " (LLVM "
       << LLVM_VERSION_STRING << ")\n";
  });
  cl::ParseCommandLineOptions(
      argc, argv,
      "Runs a function of a bundle, or kernels of a PTX file, on the CPU\n\n"
      "Exit code: 0, 1 for an error, 2 for findings.\n",
      nullptr, nullptr, nullptr, /*LongOptionsUseDoubleDash=*/true);
  Expected<bool> hasFindings = simulate();
  if (!hasFindings) {
    WithColor::error(errs(), "mamba-sim")
        << toString(hasFindings.takeError()) << "\n";
    return 1;
  }
  return *hasFindings ? 2 : 0;
}
