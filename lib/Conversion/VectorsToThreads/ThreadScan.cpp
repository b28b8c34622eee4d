//===- ThreadScan.cpp - Prefix sums ---------------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinate along a scan grows bit by bit, from the lowest one. Each step
// joins two runs of neighbours that are summed already: what the upper one
// holds grows by the sum of the lower one. Both runs are in one thread where
// the bit is one of a register; else the sum of the other comes by a shuffle.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace mamba;

namespace {

/// Elements of a thread that miss the same sum of earlier elements.
struct Part {
  SmallVector<unsigned> positions;
  Value missing; // null: 0
};

/// Neighbours along the scan, as far as they are joined.
struct Run {
  SmallVector<Part> parts;
  Value total;
};

/// What decides one bit of the coordinate.
struct Owner {
  StringRef in; // empty: nothing
  unsigned bit = 0;
};

} // namespace

/// Who decides each bit of output `dim`. Fails unless it is one register or
/// lane bit, which decides nothing else.
static FailureOr<SmallVector<Owner>> getOwners(const LinearLayout &layout,
                                               unsigned dim) {
  SmallVector<Owner> owners(layout.getOuts()[dim].bits);
  for (StringRef in :
       {StringRef(kRegister), StringRef(kLane), StringRef(kWarp)})
    for (unsigned bit = 0; bit < layout.getInBits(in); ++bit) {
      Coordinates at = layout.getBasis(in, bit);
      if (at[dim] == 0)
        continue;
      unsigned parts = llvm::count_if(at, [](uint32_t c) { return c != 0; });
      if (in == kWarp || parts != 1 || !llvm::isPowerOf2_32(at[dim]))
        return failure();
      Owner &owner = owners[llvm::Log2_32(at[dim])];
      if (!owner.in.empty())
        return failure();
      owner = {in, bit};
    }
  for (const Owner &owner : owners)
    if (owner.in.empty())
      return failure();
  return owners;
}

LogicalResult ThreadProgram::rewriteScan(vector::ScanOp op) {
  Held held = getHeld(op.getDest());
  unsigned dim = op.getReductionDim();
  Type element = getElementTypeOrSelf(op.getSource());
  if (op.getKind() != vector::CombiningKind::ADD || !op.getInclusive() ||
      op.getSourceType().getRank() < 2 || element.getIntOrFloatBitWidth() != 32)
    return op.emitOpError("expected an inclusive sum of 32-bit elements in two "
                          "dimensions");
  FailureOr<SmallVector<Owner>> owners = getOwners(held.layout, dim);
  if (failed(owners) || getHeld(op.getSource()).layout != held.layout)
    return op.emitOpError("expected registers and lanes to hold the bits of "
                          "dimension ")
           << dim << " of source and result alike, got layout "
           << held.layout.str();

  auto add = [&](Value lhs, Value rhs) -> Value {
    if (!lhs || !rhs)
      return lhs ? lhs : rhs;
    return vector::makeArithReduction(b, loc(), op.getKind(), lhs, rhs);
  };
  auto keep = [&](Coordinates at) {
    at.erase(at.begin() + dim);
    return SmallVector<uint32_t, 4>(at);
  };

  Value source = map.lookup(op.getSource());
  SmallVector<Value> sums;
  // By their first register.
  std::map<uint32_t, Run> runs;
  for (unsigned i = 0; i < held.size(); ++i) {
    sums.push_back(vector::ExtractOp::create(b, loc(), source, i));
    Run &run = runs[held.registers[i]];
    run.parts.emplace_back().positions = {i};
    run.total = sums.back();
  }
  bool isInThread = true;
  for (const Owner &owner : *owners) {
    if (owner.in == kRegister) {
      for (auto lower = runs.begin(); lower != runs.end(); ++lower) {
        // Past the extent there may be none.
        auto upper = runs.find(lower->first | (1u << owner.bit));
        if (upper == lower || upper == runs.end())
          continue;
        Value before = lower->second.total;
        for (Part &part : upper->second.parts)
          if (isInThread)
            for (unsigned i : part.positions)
              sums[i] = add(before, sums[i]);
          else
            part.missing = add(before, part.missing);
        SmallVector<Part> &parts = lower->second.parts;
        if (isInThread) {
          llvm::append_range(parts.front().positions,
                             upper->second.parts.front().positions);
          lower->second.total = sums[parts.front().positions.back()];
        } else {
          llvm::append_range(parts, upper->second.parts);
          lower->second.total = add(before, upper->second.total);
        }
        runs.erase(upper);
      }
      continue;
    }
    isInThread = false;
    Value bit = arith::AndIOp::create(b, loc(), lane,
                                      constantI32(int64_t(1) << owner.bit));
    Value isUpper = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ne,
                                          bit, constantI32(0));
    Value zero = arith::ConstantOp::create(
        b, loc(), cast<TypedAttr>(b.getZeroAttr(element)));
    for (auto &[first, run] : runs) {
      Value other =
          gpu::ShuffleOp::create(b, loc(), run.total, int32_t(1) << owner.bit,
                                 32, gpu::ShuffleMode::XOR)
              .getShuffleResult();
      Value before = arith::SelectOp::create(b, loc(), isUpper, other, zero);
      for (Part &part : run.parts)
        part.missing = add(before, part.missing);
      run.total = add(run.total, other);
    }
  }

  // What enters, by the place across the scan.
  std::map<SmallVector<uint32_t, 4>, Value> entering, totals;
  if (!matchPattern(op.getInitialValue(), m_Zero()) &&
      !matchPattern(op.getInitialValue(), m_AnyZeroFloat())) {
    Held start = getHeld(op.getInitialValue());
    for (unsigned i = 0; i < start.size(); ++i)
      entering[SmallVector<uint32_t, 4>(start.at(i))] =
          vector::ExtractOp::create(b, loc(), map.lookup(op.getInitialValue()),
                                    i);
  }
  for (auto &[first, run] : runs) {
    SmallVector<uint32_t, 4> place =
        keep(held.at(run.parts.front().positions.front()));
    Value enters = entering.empty() ? Value() : entering.at(place);
    for (Part &part : run.parts) {
      part.missing = add(enters, part.missing);
      for (unsigned i : part.positions)
        sums[i] = add(part.missing, sums[i]);
    }
    totals[place] = add(enters, run.total);
  }
  map.map(op.getDest(), vector::FromElementsOp::create(
                            b, loc(), getThreadType(op.getDest()), sums));
  if (op.getAccumulatedValue().use_empty())
    return success();
  Held last = getHeld(op.getAccumulatedValue());
  SmallVector<Value> results;
  for (unsigned i = 0; i < last.size(); ++i)
    results.push_back(totals.at(SmallVector<uint32_t, 4>(last.at(i))));
  map.map(op.getAccumulatedValue(),
          vector::FromElementsOp::create(
              b, loc(), getThreadType(op.getAccumulatedValue()), results));
  return success();
}
