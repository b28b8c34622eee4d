//===- Preset.h - Modules for the layers of published models ----*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `mamba-compile --model=NAME`: a module with one function, `@ssd` or `@ssu`,
// whose arguments and results have the names of the operation's operands and
// results.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_PRESET_H
#define MAMBA_DRIVER_PRESET_H

#include "mamba/Driver/HostArray.h"
#include "mamba/Models/Models.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <utility>

namespace mamba {

enum class PresetOp { Ssd, Ssu };

/// What the command line changes of a model. Each field is one flag; a field
/// without value leaves the model's.
struct PresetOptions {
  PresetOp op = PresetOp::Ssd;

  /// Sizes. Heads and groups that are given here, and with `staticHeads` those
  /// of the model, are static; otherwise they are run-time sizes, as batch,
  /// length and slots always are.
  std::optional<int64_t> heads, groups, headDim, stateDim;
  bool staticHeads = false;

  /// Element types: of x, B, C, z and y; of dt (default: as x); of all states.
  /// A, D, dt_bias and total_decay are f32, indices i32.
  std::optional<Dtype> dtype, dtDtype, stateDtype;

  /// Operands and options of both operations. The default of z and of D's
  /// shape is the model's.
  bool d = true;
  std::optional<bool> dHasHeadDim, z;
  bool dtBias = true, softplus = true;

  /// ssd only. The default of the chunk size and of the limits is the model's.
  std::optional<int64_t> chunkSize;
  std::optional<std::pair<double, double>> dtLimit;
  bool initialState = false, seqIdx = false, chunkStates = false;
  bool finalState = true, totalDecay = false;

  /// ssu only. Without `tokens` x has no token dimension.
  std::optional<int64_t> tokens;
  bool stateIndices = false, dstStateIndices = false;
  bool intermediateStates = false, stateUpdate = true;
};

/// Fails with one message that names flags if `options` contradict each other,
/// the model, or the operation.
llvm::Error checkPreset(const ModelConfig &model, const PresetOptions &options);

/// Builds the module, which passes the verifier. Fails like `checkPreset`. The
/// mamba dialect and what it depends on must be registered in `context`.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildPreset(mlir::MLIRContext *context, const ModelConfig &model,
            const PresetOptions &options);

} // namespace mamba

#endif // MAMBA_DRIVER_PRESET_H
