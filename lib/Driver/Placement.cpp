//===- Placement.cpp - Where the results of lowered functions go ----------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Driver/Signature.h"

#include "mamba/Dialect/Mamba/IR/Mamba.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using llvm::createStringError;
using llvm::Error;
using llvm::Twine;

namespace mamba {

struct PlacementRecorder::State {
  std::vector<Signature> *signatures;
  bool didRun = false;
  std::string problem;
};

/// Fills in `updatedArguments` from the arguments of the lowered function.
/// Returns what is wrong with them, or nothing.
static std::string readPlacement(func::FuncOp lowered, Signature &signature) {
  size_t numArguments = signature.arguments.size();
  std::vector<std::string> outputs;
  for (unsigned i = 0, e = lowered.getNumArguments(); i < e; ++i) {
    auto name = lowered.getArgAttrOfType<StringAttr>(i, kNameAttrName);
    if (i >= numArguments) {
      outputs.push_back(name ? name.str() : "");
      continue;
    }
    auto updated = lowered.getArgAttrOfType<StringAttr>(i, kUpdatedAttrName);
    if (!updated)
      continue;
    auto it = llvm::find_if(signature.results, [&](const Parameter &result) {
      return result.name == updated.getValue();
    });
    if (it == signature.results.end())
      return "argument '" + signature.arguments[i].name +
             "' is updated to the unknown result '" + updated.str() + "'";
    signature.updatedArguments[it - signature.results.begin()] = i;
  }
  std::vector<std::string> expected;
  for (auto [result, updated] :
       llvm::zip_equal(signature.results, signature.updatedArguments))
    if (!updated)
      expected.push_back(result.name);
  if (lowered.getNumArguments() < numArguments || outputs != expected)
    return "expected the trailing arguments (" + llvm::join(expected, ", ") +
           ") of lowered function '" + signature.name + "', got (" +
           llvm::join(outputs, ", ") + ")";
  return "";
}

namespace {

class Recording : public PassInstrumentation {
public:
  Recording(std::shared_ptr<PlacementRecorder::State> state)
      : state(std::move(state)) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module || pass->getArgument() != "mamba-results-to-arguments")
      return;
    state->didRun = true;
    for (Signature &signature : *state->signatures) {
      auto function = module.lookupSymbol<func::FuncOp>(signature.name);
      std::string problem = function
                                ? readPlacement(function, signature)
                                : "function '" + signature.name + "' is gone";
      if (state->problem.empty())
        state->problem = problem;
    }
  }

private:
  std::shared_ptr<PlacementRecorder::State> state;
};

} // namespace

PlacementRecorder::PlacementRecorder(PassManager &manager,
                                     std::vector<Signature> &signatures)
    : state(std::make_shared<State>(State{&signatures, false, ""})) {
  manager.addInstrumentation(std::make_unique<Recording>(state));
}

PlacementRecorder::~PlacementRecorder() = default;

Error PlacementRecorder::finish() {
  if (!state->didRun)
    return createStringError("the pipeline has no mamba-results-to-arguments");
  if (!state->problem.empty())
    return createStringError(state->problem);
  return Error::success();
}

} // namespace mamba
