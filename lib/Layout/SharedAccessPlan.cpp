//===- SharedAccessPlan.cpp - Accesses of given shared layouts ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConversionDetail.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mamba {

using namespace detail;

namespace {

/// The columns are offsets here. Registers that repeat others are left out.
class AccessPlanner {
public:
  AccessPlanner(const Columns &columns, unsigned offsetBits, bool load,
                const ConversionOptions &options)
      : columns(columns), offsetBits(offsetBits), load(load), options(options) {
    BinarySpan span;
    for (BinaryVector column : columns.registers)
      if (span.add(column))
        registers.push_back(column);
    idleLanes = findIdle(span, columns.lanes);
    idleWarps = findIdle(span, columns.warps);
  }

  std::vector<ConversionStep> run();

private:
  static uint32_t findIdle(BinarySpan &span, const BinaryVectors &threads) {
    uint32_t idle = 0;
    for (auto [bit, column] : llvm::enumerate(threads))
      if (!span.add(column))
        idle |= uint32_t(1) << bit;
    return idle;
  }

  void tryVector(unsigned vectorBits);
  void tryMatrix(SharedAccessKind kind);
  void consider(const BinaryVectors &order, SharedAccessKind kind,
                unsigned vectorBits);

  const Columns &columns;
  unsigned offsetBits;
  bool load;
  const ConversionOptions &options;
  BinaryVectors registers;
  uint32_t idleLanes, idleWarps;

  BinaryVectors bestOrder;
  SharedAccess best;
  uint64_t bestCost = ~uint64_t(0);
};

} // namespace

void AccessPlanner::consider(const BinaryVectors &order, SharedAccessKind kind,
                             unsigned vectorBits) {
  SharedAccess access;
  access.kind = kind;
  access.elementBytes = options.elementBytes;
  access.vectorBits = vectorBits;
  access.offsets =
      makeMap(order, columns.lanes, columns.warps, kOffset, offsetBits);
  if (!load) {
    access.idleLanes = idleLanes;
    access.idleWarps = idleWarps;
  }
  uint64_t instructions = uint64_t(1) << (order.size() - vectorBits);
  if (kind != SharedAccessKind::Vector)
    instructions = llvm::divideCeil(instructions / 2, 4);
  instructions <<= columns.warps.size();
  uint64_t cost = instructions + countBankConflicts(access).wavefronts;
  if (cost < bestCost) {
    bestCost = cost;
    best = std::move(access);
    bestOrder = order;
  }
}

void AccessPlanner::tryVector(unsigned vectorBits) {
  uint64_t vector = (uint64_t(1) << vectorBits) - 1;
  auto aligned = [&](BinaryVector column) { return (column & vector) == 0; };
  if (!llvm::all_of(columns.lanes, aligned) ||
      !llvm::all_of(columns.warps, aligned))
    return;
  // The vector's elements, then the rest at the start of their vectors.
  BinarySpan held(registers);
  BinaryVectors order;
  for (unsigned bit = 0; bit < vectorBits; ++bit) {
    order.push_back(uint64_t(1) << bit);
    if (!held.contains(order.back()))
      return;
  }
  BinarySpan span(order);
  for (BinaryVector column : registers)
    if (span.add(column))
      order.push_back(column & ~vector);
  consider(order, SharedAccessKind::Vector, vectorBits);
}

void AccessPlanner::tryMatrix(SharedAccessKind kind) {
  if (options.elementBytes != 2 || registers.empty() || idleLanes ||
      !(load ? options.useLdmatrix : options.useStmatrix))
    return;
  const BinaryVectors &lanes = columns.lanes;
  BinaryVectors row = {lanes[2], lanes[3], lanes[4]};
  BinaryVectors rest = {registers[0], lanes[0], lanes[1]};
  if (kind == SharedAccessKind::Matrix)
    std::swap(row, rest);
  rest.append(registers.begin() + 1, registers.end());
  rest.append(columns.warps);
  bool aligned =
      llvm::all_of(rest, [](BinaryVector column) { return (column & 7) == 0; });
  if (aligned && row == BinaryVectors{1, 2, 4})
    consider(registers, kind, 0);
}

std::vector<ConversionStep> AccessPlanner::run() {
  unsigned most = llvm::Log2_32(16 / options.elementBytes);
  for (unsigned bits = std::min<unsigned>(most, registers.size()) + 1;
       bits-- > 0;)
    tryVector(bits);
  tryMatrix(SharedAccessKind::Matrix);
  tryMatrix(SharedAccessKind::MatrixTransposed);

  ConversionStep access;
  access.kind = load ? ConversionStep::Load : ConversionStep::Store;
  access.access = best;
  std::vector<ConversionStep> steps = {access};
  const BinaryVectors &wanted = load ? columns.registers : bestOrder;
  const BinaryVectors &held = load ? bestOrder : columns.registers;
  if (wanted == held)
    return steps;
  BinarySpan span(held);
  BinaryVectors sources;
  for (BinaryVector column : wanted)
    sources.push_back(*span.express(column));
  ConversionStep move;
  move.map =
      makeMap(sources, BinaryVectors(columns.lanes.size(), 0),
              BinaryVectors(columns.warps.size(), 0), kRegister, held.size());
  steps.insert(load ? steps.end() : steps.begin(), move);
  return steps;
}

static llvm::Expected<std::vector<ConversionStep>>
planAccess(const LinearLayout &layout, const LinearLayout &offsets, bool load,
           const ConversionOptions &options) {
  if (llvm::Error error = checkElementBytes(options.elementBytes))
    return error;
  if (llvm::Error error =
          checkDistributed(layout, load ? "the destination" : "the source"))
    return error;
  bool fits = offsets.getOuts().size() == 1 && offsets.hasOut(kOffset) &&
              offsets.getIns() == layout.getOuts() && offsets.isInjective();
  if (!fits)
    return llvm::createStringError(
        "expected an offset for each element, from the coordinates of " +
        layout.str() + ", got " + offsets.str());
  Columns columns =
      getColumns(layout.compose(offsets), layout.getInBits(kWarp));
  return AccessPlanner(columns, offsets.getTotalOutBits(), load, options).run();
}

llvm::Expected<std::vector<ConversionStep>>
planSharedStore(const LinearLayout &from, const LinearLayout &offsets,
                const ConversionOptions &options) {
  return planAccess(from, offsets, /*load=*/false, options);
}

llvm::Expected<std::vector<ConversionStep>>
planSharedLoad(const LinearLayout &to, const LinearLayout &offsets,
               const ConversionOptions &options) {
  return planAccess(to, offsets, /*load=*/true, options);
}

} // namespace mamba
