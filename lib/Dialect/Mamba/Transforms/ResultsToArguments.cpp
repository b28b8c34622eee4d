//===- ResultsToArguments.cpp - Memref arguments for tensor results -------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Dialect/Mamba/IR/Mamba.h"
#include "mamba/Dialect/Mamba/IR/Pitches.h"
#include "mamba/Dialect/Mamba/Transforms/Passes.h"
#include "mamba/Target/AttributeNames.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SmallSet.h"

namespace mamba {
#define GEN_PASS_DEF_MAMBARESULTSTOARGUMENTSPASS
#include "mamba/Dialect/Mamba/Transforms/Passes.h.inc"
} // namespace mamba

using namespace mlir;
using namespace mamba;

namespace {

/// The operand from which `value` is computed in place: the initial value of a
/// loop or the destination of an operation. Null at a root.
OpOperand *getDestination(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  Operation *op = result.getOwner();
  if (isa<scf::ForOp, scf::ForallOp>(op))
    return &cast<LoopLikeOpInterface>(op)
                .getInitsMutable()[result.getResultNumber()];
  if (auto style = dyn_cast<DestinationStyleOpInterface>(op))
    return style.getTiedOpOperand(result);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return &cast.getSourceMutable();
  return nullptr;
}

/// The last such operand on the way to the root of `value`; null if `value` is
/// a root itself.
OpOperand *getRootOperand(Value value) {
  OpOperand *root = nullptr;
  while (OpOperand *next = getDestination(value)) {
    root = next;
    value = next->get();
  }
  return root;
}

struct ResultsToArguments
    : mamba::impl::MambaResultsToArgumentsPassBase<ResultsToArguments> {
  void runOnOperation() override {
    if (failed(verifyCalls()))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic() && !func.isDeclaration() && failed(convert(func)))
        return signalPassFailure();
  }

  /// A function that takes tensors is called from outside of the module only.
  LogicalResult verifyCalls() {
    auto hasTensor = [](TypeRange types) {
      return llvm::any_of(types,
                          [](Type type) { return isa<TensorType>(type); });
    };
    WalkResult walk = getOperation().walk([&](Operation *op) -> WalkResult {
      if (auto func = dyn_cast<func::FuncOp>(op)) {
        if (!hasTensor(func.getArgumentTypes()) &&
            !hasTensor(func.getResultTypes()))
          return WalkResult::advance();
        if (func->getParentOp() != getOperation())
          return func.emitOpError(
              "expected no tensors in the signature of a nested module's "
              "function");
        if (!func.isPublic())
          return func.emitOpError(
              "expected no tensors in the signature of a private function");
      }
      if (isa<CallOpInterface>(op) &&
          (hasTensor(op->getOperandTypes()) || hasTensor(op->getResultTypes())))
        return op->emitOpError("expected no tensors in a call");
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }

  LogicalResult convert(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return func.emitOpError("expected a single block");
    auto isRankedTensor = [](Type type) { return isa<RankedTensorType>(type); };
    for (Type type : func.getArgumentTypes())
      if (!isRankedTensor(type) && !type.isIntOrIndexOrFloat())
        return func.emitOpError(
                   "expected tensors or scalars as arguments, got ")
               << type;
    for (Type type : func.getResultTypes())
      if (!isRankedTensor(type))
        return func.emitOpError("expected tensors as results, got ") << type;

    auto terminator = cast<func::ReturnOp>(func.front().getTerminator());
    OpBuilder b(func.getContext());
    b.setInsertionPointToStart(&func.front());
    // The result that each argument is updated to.
    SmallVector<std::optional<unsigned>> updates(func.getNumArguments());
    SmallVector<unsigned> returned;
    for (auto [number, result] : llvm::enumerate(terminator.getOperands())) {
      auto argument = dyn_cast<BlockArgument>(getRoot(result));
      bool inPlace = argument && argument.getOwner() == &func.front() &&
                     argument != result &&
                     argument.getType() == result.getType() &&
                     !updates[argument.getArgNumber()];
      if (!inPlace) {
        returned.push_back(number);
        continue;
      }
      updates[argument.getArgNumber()] = number;
      func.setArgAttr(argument.getArgNumber(), kUpdatedAttrName,
                      b.getStringAttr(getName(func, number)));
    }
    if (failed(convertArguments(func, b, updates)))
      return failure();
    for (unsigned number : returned)
      addArgument(func, b, terminator, number);
    // An updated argument is written back where it lies; without this use the
    // update would be dead. This comes after every result that may still read
    // the argument.
    b.setInsertionPoint(terminator);
    for (auto [number, update] : llvm::enumerate(updates))
      if (update)
        materialize(b, terminator.getLoc(), terminator.getOperand(*update),
                    func.getArgument(number));
    terminator->setOperands({});
    SmallVector<Type> arguments(func.front().getArgumentTypes());
    func.setType(FunctionType::get(func.getContext(), arguments, {}));
    func.removeResAttrsAttr();
    return verifyNames(func);
  }

  /// Callers find arguments by name; only what is updated in place may have
  /// its argument's name.
  static LogicalResult verifyNames(func::FuncOp func) {
    llvm::SmallSet<StringRef, 16> seen;
    for (unsigned number = 0; number < func.getNumArguments(); ++number) {
      auto name = func.getArgAttrOfType<StringAttr>(number, kNameAttrName);
      auto updated =
          func.getArgAttrOfType<StringAttr>(number, kUpdatedAttrName);
      for (StringAttr attr : {name, updated != name ? updated : StringAttr()})
        if (attr && !seen.insert(attr.getValue()).second)
          return func.emitOpError(
                     "expected distinct names of arguments and results, got ")
                 << attr << " twice";
    }
    return success();
  }

  static Value getRoot(Value value) {
    OpOperand *root = getRootOperand(value);
    return root ? root->get() : value;
  }

  static std::string getName(func::FuncOp func, unsigned number) {
    if (auto name = func.getResultAttrOfType<StringAttr>(number, kNameAttrName))
      return name.str();
    return "result" + std::to_string(number);
  }

  static MemRefType getBufferType(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  }

  /// The memref that a tensor argument becomes.
  static FailureOr<MemRefType>
  getArgumentType(func::FuncOp func, BlockArgument argument, bool isUpdated) {
    auto tensor = cast<RankedTensorType>(argument.getType());
    Attribute pitches =
        func.getArgAttr(argument.getArgNumber(), kPitchesAttrName);
    if (!pitches)
      return getBufferType(tensor);
    auto count = dyn_cast<IntegerAttr>(pitches);
    if (!count || count.getInt() < 1 || count.getInt() >= tensor.getRank())
      return func.emitOpError("expected '")
             << kPitchesAttrName << "' of argument " << argument.getArgNumber()
             << " to be 1 or more, and less than its rank of "
             << tensor.getRank() << ", got " << pitches;
    if (isUpdated)
      return func.emitOpError("expected argument ")
             << argument.getArgNumber() << ", which is updated in place, to be "
             << "dense, got '" << kPitchesAttrName << "'";
    MemRefType type = getPitchedType(tensor, count.getInt());
    if (!type)
      return func.emitOpError("expected at most one dynamic size behind the "
                              "first ")
             << count.getInt() << " axes of argument "
             << argument.getArgNumber() << ", and that first, got " << tensor;
    return type;
  }

  LogicalResult convertArguments(func::FuncOp func, OpBuilder &b,
                                 ArrayRef<std::optional<unsigned>> updates) {
    for (BlockArgument argument : func.getArguments()) {
      if (!func.getArgAttr(argument.getArgNumber(), kNameAttrName))
        func.setArgAttr(
            argument.getArgNumber(), kNameAttrName,
            b.getStringAttr("arg" + std::to_string(argument.getArgNumber())));
      Type type = argument.getType();
      if (!isa<RankedTensorType>(type))
        continue;
      bool isUpdated = updates[argument.getArgNumber()].has_value();
      FailureOr<MemRefType> bufferType =
          getArgumentType(func, argument, isUpdated);
      if (failed(bufferType))
        return failure();
      argument.setType(*bufferType);
      auto tensor = bufferization::ToTensorOp::create(
          b, func.getLoc(), type, argument, /*restrict=*/true,
          /*writable=*/isUpdated);
      argument.replaceAllUsesExcept(tensor, tensor);
    }
    return success();
  }

  void addArgument(func::FuncOp func, OpBuilder &b, func::ReturnOp terminator,
                   unsigned number) {
    Value result = terminator.getOperand(number);
    StringAttr name = b.getStringAttr(getName(func, number));
    NamedAttrList attrs;
    attrs.set(kNameAttrName, name);
    attrs.set(kResultAttrName, b.getUnitAttr());
    if (Attribute dims = func.getResultAttr(number, kDimsAttrName))
      attrs.set(kDimsAttrName, dims);
    unsigned position = func.getNumArguments();
    (void)func.insertArgument(position, getBufferType(result.getType()),
                              attrs.getDictionary(func.getContext()),
                              func.getLoc());
    Value buffer = func.getArgument(position);
    // Where the result starts from an empty tensor, it is computed in the
    // argument from the start.
    OpOperand *root = getRootOperand(result);
    if (root && root->get().getDefiningOp<tensor::EmptyOp>() &&
        root->get().getType() == result.getType()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(root->get().getDefiningOp());
      auto tensor = bufferization::ToTensorOp::create(
          b, func.getLoc(), result.getType(), buffer, /*restrict=*/true,
          /*writable=*/true);
      root->set(tensor);
    }
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(terminator);
    materialize(b, terminator.getLoc(), result, buffer);
  }

  static void materialize(OpBuilder &b, Location loc, Value value,
                          Value buffer) {
    bufferization::MaterializeInDestinationOp::create(
        b, loc, TypeRange(), value, buffer, /*restrict=*/true,
        /*writable=*/true);
  }
};
} // namespace
