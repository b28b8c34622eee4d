//===- Options.h - The command line of mamba-compile ------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_TOOLS_MAMBA_COMPILE_OPTIONS_H
#define MAMBA_TOOLS_MAMBA_COMPILE_OPTIONS_H

#include "mamba/Driver/Binding.h"
#include "mamba/Driver/Preset.h"
#include "mamba/Target/Targets.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mamba {

/// What `--emit` names, in the order of the pipeline.
enum class Stage { Mamba, Tiles, Linalg, LLVM, Ptx, Bundle, Object };

/// "mamba", "tiles", ..., "obj".
llvm::StringRef getStageName(Stage stage);

/// The checked command line.
struct Options {
  enum class Action { ListModels, ListTargets, Emit, Run };
  Action action = Action::Emit;

  /// Either a file to read ("-": standard input) or a model.
  std::string input;
  const ModelConfig *model = nullptr;
  PresetOptions preset;

  const Target *target = nullptr;
  Stage stage = Stage::Object;
  std::string schedule = "auto";
  bool remarks = false;
  /// Passes to leave out.
  std::vector<std::string> without;
  /// Arguments whose rows may have gaps between them.
  std::vector<std::string> strided;
  std::vector<std::string> plans;
  bool tf32 = false;
  std::string output;
  std::string cpu;

  std::string function;
  std::vector<NamedFile> arguments, results;

  bool time = false;
};

/// Parses the command line; prints and exits for --help and --version. Fails
/// with one message, which is empty if the problem was printed already.
llvm::Expected<Options> parseOptions(int argc, char **argv);

} // namespace mamba

#endif // MAMBA_TOOLS_MAMBA_COMPILE_OPTIONS_H
