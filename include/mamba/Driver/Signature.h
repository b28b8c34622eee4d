//===- Signature.h - Named arguments and results of a function --*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a caller has to know of a function on tensors: names, element types,
// which dimensions must agree, and where its results go when it is lowered.
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_DRIVER_SIGNATURE_H
#define MAMBA_DRIVER_SIGNATURE_H

#include "mamba/Driver/HostArray.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace mamba {

/// A dimension of an argument or result.
struct Dimension {
  /// `ShapedType::kDynamic`, or the size that this dimension's type or the type
  /// of a value that must agree with it gives.
  int64_t size = mlir::ShapedType::kDynamic;
  /// Dimensions with one number have one size.
  unsigned symbol = 0;
  /// "batch", "length", "heads", ...; empty if no mamba operation says.
  std::string label;
};

struct Parameter {
  /// `mamba.name`, else "arg0", ... or "result0", ...
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<Dimension> dims;
  /// `mamba.pitches`: so many leading strides are the caller's.
  unsigned pitches = 0;

  /// "[batch, length, heads, 64]"; "?" for a dynamic size without label.
  std::string describeShape() const;
};

/// A rule between two symbols.
struct SizeRule {
  enum Kind {
    /// `first` is a multiple of `second`, which is not 0.
    Multiple,
    /// `first` is `second` divided by `divisor`, rounded up.
    Chunks,
  };
  Kind kind;
  unsigned first, second;
  int64_t divisor = 1;
};

struct Signature {
  std::string name;
  std::vector<Parameter> arguments, results;
  /// For each result the argument that it updates in place, if any. The other
  /// results become trailing arguments of the lowered function, in order.
  /// Known after lowering (`PlacementRecorder`), none before.
  std::vector<std::optional<unsigned>> updatedArguments;
  std::vector<SizeRule> rules;
  unsigned numSymbols = 0;

  /// Reads a function on ranked tensors, before any lowering. Fails if an
  /// argument or result has another type or two of them share a name.
  static llvm::Expected<Signature> get(mlir::func::FuncOp function);

  /// Fails with the first contradiction among the shapes of all arguments:
  /// rank, static sizes, equal sizes, rules.
  llvm::Error
  checkShapes(llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes) const;
};

/// Learns from a run of a pass manager which results are updated in place: that
/// is decided by `mamba-results-to-arguments`, and the marks it leaves on
/// memref arguments do not survive the lowering of functions to LLVM.
class PlacementRecorder {
public:
  /// Watches `manager` on behalf of `signatures`, which must outlive its run.
  PlacementRecorder(mlir::PassManager &manager,
                    std::vector<Signature> &signatures);
  ~PlacementRecorder();

  /// To be called after the run. Fails if the pass did not run or left other
  /// arguments than the signatures have.
  llvm::Error finish();

  struct State;

private:
  std::shared_ptr<State> state;
};

/// The public functions with a body, in order.
llvm::SmallVector<mlir::func::FuncOp> getPublicFunctions(mlir::ModuleOp module);

/// The public function called `name`; with an empty name the only one. Fails
/// with a message that lists the functions.
llvm::Expected<mlir::func::FuncOp> findFunction(mlir::ModuleOp module,
                                                llvm::StringRef name);

/// The shapes of the results for arguments of the given shapes, which must
/// have passed `checkShapes`. `function` is on tensors and is not changed.
/// Fails if a size depends on more than the arguments' sizes.
llvm::Expected<std::vector<llvm::SmallVector<int64_t>>>
inferResultShapes(mlir::func::FuncOp function,
                  llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes);

} // namespace mamba

#endif // MAMBA_DRIVER_SIGNATURE_H
