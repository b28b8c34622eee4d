//===- ThreadElement.cpp - One element of a vector for all threads --------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mamba;

/// In each warp a lane has the element in a register, and hands it to others.
LogicalResult ThreadProgram::rewriteElement(vector::ExtractOp op) {
  Held held = getHeld(op.getSource());
  Type type = op.getType();
  if (op.hasDynamicPosition() || (!type.isF32() && !type.isInteger(32)))
    return op.emitOpError("expected an f32 or i32 at a constant position");
  auto decides = [&](StringRef in) {
    return llvm::any_of(held.layout.getColumns(in),
                        [](BinaryVector column) { return column != 0; });
  };
  std::optional<LinearLayout> places = held.layout.rightInverse();
  if (!places || decides(kWarp))
    return op.emitOpError(
               "expected each warp to hold all elements, got layout ")
           << held.layout.str();
  SmallVector<uint32_t> at(op.getStaticPosition());
  Coordinates place = places->apply(at);
  uint32_t register_ = 0, owner = 0;
  for (auto [out, coordinate] : llvm::zip_equal(places->getOuts(), place)) {
    if (out.name == kRegister)
      register_ = coordinate;
    else if (out.name == kLane)
      owner = coordinate;
  }
  auto *it = llvm::find(held.registers, register_);
  if (it == held.registers.end())
    return op.emitOpError("expected a position in the vector");
  Value element =
      vector::ExtractOp::create(b, loc(), map.lookup(op.getSource()),
                                int64_t(it - held.registers.begin()));
  if (decides(kLane))
    element = gpu::ShuffleOp::create(b, loc(), element, int32_t(owner), 32,
                                     gpu::ShuffleMode::IDX)
                  .getShuffleResult();
  map.map(op.getResult(), element);
  return success();
}
