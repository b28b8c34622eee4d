//===- Conversion.cpp - Moving a value between layouts --------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mamba/Layout/Conversion.h"

#include "ConversionDetail.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mamba {

using namespace detail;
using llvm::StringRef;

LinearLayout detail::makeMap(const BinaryVectors &registers,
                             const BinaryVectors &lanes,
                             const BinaryVectors &warps, StringRef out,
                             unsigned outBits) {
  BinaryVectors columns = registers;
  columns.append(lanes);
  columns.append(warps);
  return LinearLayout::fromColumns(
      {{kRegister.str(), unsigned(registers.size())},
       {kLane.str(), unsigned(lanes.size())},
       {kWarp.str(), unsigned(warps.size())}},
      {{out.str(), outBits}}, std::move(columns));
}

llvm::Error detail::checkElementBytes(unsigned elementBytes) {
  if (llvm::isPowerOf2_32(elementBytes) && elementBytes <= 16)
    return llvm::Error::success();
  return llvm::createStringError(
      "expected elements of 1, 2, 4, 8 or 16 bytes, got " +
      llvm::Twine(elementBytes));
}

llvm::Error detail::checkDistributed(const LinearLayout &layout,
                                     const char *side) {
  for (const LayoutDim &dim : layout.getIns())
    if (dim.name != kRegister && dim.name != kLane && dim.name != kWarp)
      return llvm::createStringError(
          "expected inputs register, lane, warp, got `" + dim.name + "` in " +
          side);
  if (layout.getInBits(kLane) > 5)
    return llvm::createStringError("expected at most 32 lanes, got " +
                                   llvm::Twine(layout.getInSize(kLane)) +
                                   " in " + side);
  if (!layout.isSurjective())
    return llvm::createStringError(
        llvm::Twine("expected every element to be held in ") + side);
  return llvm::Error::success();
}

Columns detail::getColumns(const LinearLayout &layout, unsigned warpBits) {
  Columns columns;
  columns.registers.append(layout.getColumns(kRegister).begin(),
                           layout.getColumns(kRegister).end());
  columns.lanes.append(layout.getColumns(kLane).begin(),
                       layout.getColumns(kLane).end());
  columns.warps.append(layout.getColumns(kWarp).begin(),
                       layout.getColumns(kWarp).end());
  columns.lanes.resize(5, 0);
  columns.warps.resize(warpBits, 0);
  return columns;
}

llvm::Expected<ConversionPlan>
planConversion(const LinearLayout &from, const LinearLayout &to,
               const ConversionOptions &options) {
  if (llvm::Error error = checkElementBytes(options.elementBytes))
    return error;
  if (from.getOuts() != to.getOuts())
    return llvm::createStringError("expected layouts of the same tile, got " +
                                   from.str() + " and " + to.str());
  if (llvm::Error error = checkDistributed(from, "the source"))
    return error;
  if (llvm::Error error = checkDistributed(to, "the destination"))
    return error;

  unsigned warpBits = std::max(from.getInBits(kWarp), to.getInBits(kWarp));
  Columns source = getColumns(from, warpBits);
  Columns destination = getColumns(to, warpBits);

  ConversionPlan plan;
  plan.elementBytes = options.elementBytes;
  bool warpOnly = planWithinWarps(source, destination, plan);
  if (warpOnly && !options.forceShared)
    return plan;
  planThroughShared(source, destination, LayoutDims(from.getOuts()), warpOnly,
                    options, plan);
  return plan;
}

std::vector<RegisterShuffle> getRegisterShuffles(const ConversionStep &step) {
  assert(step.kind == ConversionStep::Shuffle);
  bool ownLane = true;
  for (auto [bit, column] : llvm::enumerate(step.map.getColumns(kLane)))
    ownLane &= column == uint64_t(1) << bit;
  for (BinaryVector column : step.map.getColumns(kWarp))
    ownLane &= column == 0;
  std::vector<RegisterShuffle> shuffles;
  for (uint32_t reg = 0; reg < step.map.getInSize(kRegister); ++reg) {
    uint32_t mask = multiply(step.map.getColumns(kRegister), reg);
    if (!ownLane)
      shuffles.push_back({RegisterShuffle::Index, mask});
    else if (mask)
      shuffles.push_back({RegisterShuffle::Butterfly, mask});
    else
      shuffles.push_back({RegisterShuffle::Keep, 0});
  }
  return shuffles;
}

unsigned ConversionPlan::getPackedBits() const {
  unsigned bits = 0;
  auto passes = [&](const ConversionStep &step, unsigned bit) {
    bool moves = step.kind == ConversionStep::Registers;
    if (!moves && step.kind != ConversionStep::Shuffle)
      return false;
    // The bit decides itself and nothing else, and nothing else decides it.
    uint64_t self = moves ? uint64_t(1) << bit : 0;
    if (bit >= step.map.getInBits(kRegister) ||
        step.map.getColumns(kRegister)[bit] != self)
      return false;
    if (!moves)
      return true;
    unsigned users =
        llvm::count_if(step.map.getColumns(), [&](BinaryVector column) {
          return (column & self) != 0;
        });
    return users == 1;
  };
  while ((elementBytes << bits) < 4 &&
         llvm::all_of(steps, [&](const ConversionStep &step) {
           return passes(step, bits);
         }))
    ++bits;
  return steps.empty() ? 0 : bits;
}

unsigned ConversionPlan::countShuffles() const {
  unsigned count = 0;
  for (const ConversionStep &step : steps)
    if (step.kind == ConversionStep::Shuffle)
      count += llvm::count_if(getRegisterShuffles(step),
                              [](const RegisterShuffle &shuffle) {
                                return shuffle.kind != RegisterShuffle::Keep;
                              });
  unsigned words = std::max(elementBytes / 4, 1u);
  return (count * words) >> getPackedBits();
}

std::string ConversionPlan::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  static const char *const kinds[] = {"same thread", "within warps",
                                      "through shared memory"};
  os << kinds[kind] << ", elements of " << elementBytes << " bytes\n";
  if (kind == ThroughShared)
    os << "  shared " << sharedBytes << " bytes " << sharedLayout << "\n";
  auto printAccess = [&](const SharedAccess &access) {
    switch (access.kind) {
    case SharedAccessKind::Vector:
      os << "vector of " << (access.elementBytes << access.vectorBits)
         << " bytes";
      break;
    case SharedAccessKind::Matrix:
      os << "matrix";
      break;
    case SharedAccessKind::MatrixTransposed:
      os << "matrix trans";
      break;
    }
    if (access.idleLanes)
      os << ", idle lanes " << access.idleLanes;
    if (access.idleWarps)
      os << ", idle warps " << access.idleWarps;
    os << ": " << access.offsets << "\n";
  };
  for (const ConversionStep &step : steps) {
    switch (step.kind) {
    case ConversionStep::Registers:
      os << "  registers " << step.map << "\n";
      break;
    case ConversionStep::Shuffle:
      os << "  shuffle " << step.map << "\n";
      break;
    case ConversionStep::Store:
      os << "  store ";
      printAccess(step.access);
      break;
    case ConversionStep::Barrier:
      os << "  barrier of the " << (step.warpOnly ? "warp" : "block") << "\n";
      break;
    case ConversionStep::Load:
      os << "  load ";
      printAccess(step.access);
      break;
    }
  }
  return text;
}

} // namespace mamba
