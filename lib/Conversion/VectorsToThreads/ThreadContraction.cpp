//===- ThreadContraction.cpp - Products of fragments ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace mamba;

namespace {

/// Row and column (of the product's roles) of the first element of each
/// fragment, and where the thread's vector holds the fragment.
class Fragments {
public:
  Fragments(const Held &held, bool transposed, unsigned size) : size(size) {
    for (unsigned i = 0; i + size <= held.size(); i += size) {
      Coordinates at = held.at(i);
      if (transposed)
        std::swap(at[0], at[1]);
      places.push_back({{at[0], at[1]}, i});
      byPlace[{at[0], at[1]}] = i;
    }
  }

  std::optional<unsigned> find(uint32_t row, uint32_t column) const {
    auto it = byPlace.find({row, column});
    return it == byPlace.end() ? std::nullopt : std::optional(it->second);
  }

  struct Place {
    std::pair<uint32_t, uint32_t> at;
    unsigned position;
  };
  SmallVector<Place> places;
  unsigned size;

private:
  std::map<std::pair<uint32_t, uint32_t>, unsigned> byPlace;
};

} // namespace

/// Keeps `values` where they are computed. Where only a branch needs a sum, the
/// code generator would move the whole chain of multiplications there, but not
/// the loads of what is multiplied: these would fill all registers. Takes no
/// instruction.
static void computeHere(OpBuilder &b, Location loc, ValueRange values) {
  std::string constraints =
      llvm::join(SmallVector<StringRef>(values.size(), "f"), ",");
  LLVM::InlineAsmOp::create(
      b, loc, TypeRange(), values, /*asm_string=*/"", constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

/// Whether nothing but a further product takes the result.
static bool isPartOfSum(vector::ContractionOp op) {
  return llvm::all_of(op->getUses(), [](OpOperand &use) {
    auto next = dyn_cast<vector::ContractionOp>(use.getOwner());
    return next && use.get() == next.getAcc() && use.getOperandNumber() == 2;
  });
}

LogicalResult ThreadProgram::rewriteContraction(vector::ContractionOp op) {
  std::optional<ContractionShape> shape = ContractionShape::get(op);
  if (!shape)
    return op.emitOpError("expected a product of two matrices");
  ContractionStrategy strategy = chooseStrategy(op, *shape);
  bool isMma = strategy != ContractionStrategy::Fma;
  // Of 16 bits, two elements share a register of the machine.
  bool isTf32 = strategy == ContractionStrategy::MmaTf32;
  unsigned perRegister = isTf32 ? 1 : 2;
  unsigned aSize = isMma ? 4 * perRegister : 1;
  unsigned bSize = isMma ? 2 * perRegister : 1;
  Value aOperand = op->getOperand(shape->a),
        bOperand = op->getOperand(shape->b);
  Held aHeld = getHeld(aOperand), bHeld = getHeld(bOperand),
       cHeld = getHeld(op.getResult());
  Fragments as(aHeld, shape->aTransposed, aSize);
  Fragments bs(bHeld, shape->bTransposed, bSize);
  Fragments cs(cHeld, false, isMma ? 4 : 1);
  Value a = map.lookup(aOperand), bValue = map.lookup(bOperand),
        acc = map.lookup(op.getAcc());
  auto accType = cast<VectorType>(acc.getType());
  Type f32 = b.getF32Type();
  // The steps along k, in order.
  SmallVector<uint32_t> steps;
  for (const Fragments::Place &place : as.places)
    if (!llvm::is_contained(steps, place.at.second))
      steps.push_back(place.at.second);
  llvm::sort(steps);

  auto take = [&](Value vector, unsigned position, unsigned count) -> Value {
    SmallVector<int64_t> positions;
    for (unsigned i = 0; i < count; ++i)
      positions.push_back(position + i);
    return pick(vector, positions);
  };
  // Each fragment in the shape of the instruction, made once.
  std::map<std::pair<unsigned, unsigned>, Value> shaped;
  auto fragment = [&](unsigned side, Value vector, unsigned position,
                      unsigned count) -> Value {
    Value &value = shaped[{side, position}];
    if (!value) {
      auto type =
          VectorType::get({int64_t(count / perRegister), int64_t(perRegister)},
                          getElementTypeOrSelf(vector));
      value = vector::ShapeCastOp::create(b, loc(), type,
                                          take(vector, position, count));
    }
    return value;
  };
  SmallVector<Value> sums;
  for (const Fragments::Place &place : cs.places) {
    if (isMma) {
      auto type = VectorType::get({2, 2}, f32);
      sums.push_back(vector::ShapeCastOp::create(b, loc(), type,
                                                 take(acc, place.position, 4)));
    } else {
      sums.push_back(vector::ExtractOp::create(b, loc(), acc, place.position));
    }
  }
  auto contract = arith::FastMathFlagsAttr::get(b.getContext(),
                                                arith::FastMathFlags::contract);
  std::map<std::pair<unsigned, unsigned>, Value> widened;
  auto scalar = [&](unsigned side, Value vector, unsigned position) -> Value {
    Value &value = widened[{side, position}];
    if (!value) {
      value = vector::ExtractOp::create(b, loc(), vector, position);
      if (value.getType() != f32)
        value = arith::ExtFOp::create(b, loc(), f32, value);
    }
    return value;
  };
  for (uint32_t k : steps)
    for (auto [index, place] : llvm::enumerate(cs.places)) {
      std::optional<unsigned> aAt = as.find(place.at.first, k);
      std::optional<unsigned> bAt = bs.find(k, place.at.second);
      if (!aAt || !bAt)
        return op.emitOpError("expected operands that hold what the result "
                              "needs, got layouts ")
               << aHeld.layout.str() << " and " << bHeld.layout.str() << " for "
               << cHeld.layout.str();
      Value &sum = sums[index];
      if (isMma) {
        sum = nvgpu::MmaSyncOp::create(
            b, loc(), fragment(0, a, *aAt, aSize),
            fragment(1, bValue, *bAt, bSize), sum,
            ArrayRef<int64_t>{16, 8, isTf32 ? 8 : 16}, isTf32);
        continue;
      }
      Value product = arith::MulFOp::create(b, loc(), scalar(0, a, *aAt),
                                            scalar(1, bValue, *bAt), contract);
      sum = arith::AddFOp::create(b, loc(), sum, product, contract);
    }
  if (!isMma && !isPartOfSum(op))
    computeHere(b, loc(), sums);
  SmallVector<Value> elements(accType.getDimSize(0));
  for (auto [place, sum] : llvm::zip_equal(cs.places, sums)) {
    if (!isMma) {
      elements[place.position] = sum;
      continue;
    }
    Value flat =
        vector::ShapeCastOp::create(b, loc(), VectorType::get({4}, f32), sum);
    for (unsigned i = 0; i < 4; ++i)
      elements[place.position + i] =
          vector::ExtractOp::create(b, loc(), flat, i);
  }
  map.map(op.getResult(),
          vector::FromElementsOp::create(b, loc(), accType, elements));
  return success();
}
