//===- ShufflePlan.cpp - Conversions within threads and warps -------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Write S and D for the columns of source and destination, U for the span of
// the source's registers: what a lane of the source holds is known up to U by
// the lane, so lanes are matched modulo U, and registers are found afterwards.
//
// A *round* is one shuffle of one register. If in round k every lane filled its
// destination register k, several lanes could ask one lane for different
// registers. So lane l fills register k + G l, with G chosen such that the
// lanes asked are all different.
//
//===----------------------------------------------------------------------===//

#include "ConversionDetail.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace mamba::detail {

using llvm::ArrayRef;

namespace {

class WarpPlanner {
public:
  WarpPlanner(const Columns &from, const Columns &to)
      : from(from), to(to), held(from.registers) {}

  bool run(ConversionPlan &plan);

private:
  bool matchModuloRegisters();
  void staggerRegisters();
  void chooseLanes();
  void addSteps(ConversionPlan &plan);

  const Columns &from, &to;
  /// U.
  BinarySpan held;
  /// What the rounds bring to a lane that does not stagger, and the round of
  /// each register of the destination (registers that are equal share rounds).
  BinaryVectors roundColumns;
  BinaryVectors roundOfRegister;
  /// Modulo U: lanes of both sides, rounds, and warps (their difference).
  BinaryVectors sourceLanes, lanes, roundLanes, warpLanes;
  /// G, and the lane asked: sourceOfLane l + sourceOfRound k + sourceOfWarp w.
  BinaryVectors stagger;
  BinaryVectors sourceOfLane, sourceOfRound, sourceOfWarp;
};

} // namespace

bool WarpPlanner::matchModuloRegisters() {
  BinarySpan span;
  for (unsigned index : independentVectors(to.registers)) {
    span.add(to.registers[index]);
    roundColumns.push_back(to.registers[index]);
  }
  for (BinaryVector column : to.registers)
    roundOfRegister.push_back(*span.express(column));

  for (BinaryVector column : from.lanes)
    sourceLanes.push_back(held.reduce(column));
  for (BinaryVector column : to.lanes)
    lanes.push_back(held.reduce(column));
  for (BinaryVector column : roundColumns)
    roundLanes.push_back(held.reduce(column));
  for (auto [source, destination] : llvm::zip_equal(from.warps, to.warps))
    warpLanes.push_back(held.reduce(source ^ destination));

  BinarySpan reachable(sourceLanes);
  auto reaches = [&](const BinaryVectors &columns) {
    return llvm::all_of(columns, [&](BinaryVector column) {
      return reachable.contains(column);
    });
  };
  return reaches(lanes) && reaches(roundLanes) && reaches(warpLanes);
}

void WarpPlanner::staggerRegisters() {
  unsigned rank = BinarySpan(sourceLanes).rank();
  stagger.assign(lanes.size(), 0);
  BinarySpan roundSpan(roundLanes);
  // Until the lanes ask for all there is: change a lane bit that the others
  // make up for, best to what its own lane holds.
  while (true) {
    BinarySpan asked(lanes);
    if (asked.rank() == rank)
      return;
    std::optional<unsigned> fallback;
    bool changed = false;
    for (unsigned i = 0; i < lanes.size() && !changed; ++i) {
      if (lanes[i] == sourceLanes[i])
        continue;
      BinarySpan others;
      for (unsigned j = 0; j < lanes.size(); ++j)
        if (j != i)
          others.add(lanes[j]);
      if (others.rank() != asked.rank())
        continue;
      if (!fallback)
        fallback = i;
      std::optional<uint64_t> way =
          roundSpan.express(lanes[i] ^ sourceLanes[i]);
      if (!way || others.contains(sourceLanes[i]))
        continue;
      stagger[i] ^= *way;
      lanes[i] = sourceLanes[i];
      changed = true;
    }
    if (changed)
      continue;
    const auto *round = llvm::find_if(roundLanes, [&](BinaryVector column) {
      return !asked.contains(column);
    });
    if (round == roundLanes.end()) {
      // The warps of the source hold copies, those of the destination need not
      // have everything. Some lanes then have to give more registers than the
      // destination has: add rounds whose result is dropped.
      for (unsigned i = 0; i < lanes.size(); ++i) {
        if (asked.contains(sourceLanes[i]))
          continue;
        roundColumns.push_back(from.lanes[i]);
        roundLanes.push_back(sourceLanes[i]);
        roundSpan.add(sourceLanes[i]);
        break;
      }
      continue;
    }
    // Some bit is free to change: those that agree with their own lane are no
    // more dependent than the lanes of the source.
    assert(fallback && "expected a redundant lane bit");
    stagger[*fallback] ^= uint64_t(1) << (round - roundLanes.begin());
    lanes[*fallback] ^= *round;
  }
}

void WarpPlanner::chooseLanes() {
  BinarySpan source(sourceLanes);
  // Lanes of the source that hold the same: the kernel of sourceLanes.
  BinaryVectors same;
  for (unsigned i = 0; i < sourceLanes.size(); ++i) {
    uint64_t twin = *source.express(sourceLanes[i]) ^ (uint64_t(1) << i);
    if (twin)
      same.push_back(twin);
  }
  // A bijection of lanes: own lanes first, then any that is still free. There
  // is always one, since both sides have kernels of the same size.
  sourceOfLane.assign(lanes.size(), 0);
  BinarySpan taken;
  for (unsigned i = 0; i < lanes.size(); ++i) {
    if (lanes[i] == sourceLanes[i]) {
      sourceOfLane[i] = uint64_t(1) << i;
      taken.add(sourceOfLane[i]);
    }
  }
  for (unsigned i = 0; i < lanes.size(); ++i) {
    if (sourceOfLane[i])
      continue;
    uint64_t lane = *source.express(lanes[i]);
    for (uint64_t twin = 0; twin < uint64_t(1) << same.size(); ++twin) {
      sourceOfLane[i] = lane ^ multiply(same, twin);
      if (!taken.contains(sourceOfLane[i]))
        break;
    }
    [[maybe_unused]] bool fresh = taken.add(sourceOfLane[i]);
    assert(fresh && "expected a free lane");
  }
  for (BinaryVector column : roundLanes)
    sourceOfRound.push_back(*source.express(column));
  for (BinaryVector column : warpLanes)
    sourceOfWarp.push_back(*source.express(column));
}

static bool isIdentity(const LinearLayout &map, unsigned oldBits) {
  ArrayRef<BinaryVector> registers = map.getColumns(kRegister);
  if (registers.size() != oldBits)
    return false;
  for (auto [bit, column] : llvm::enumerate(map.getColumns()))
    if (column != (bit < oldBits ? uint64_t(1) << bit : 0))
      return false;
  return true;
}

void WarpPlanner::addSteps(ConversionPlan &plan) {
  unsigned laneBits = lanes.size(), warpBits = warpLanes.size();
  unsigned oldBits = from.registers.size(), roundBits = roundColumns.size();

  // The register asked for, by round, asking lane and warp.
  auto find = [&](BinaryVector wanted, uint64_t lane) {
    return *held.express(wanted ^ multiply(from.lanes, lane));
  };
  BinaryVectors byRound, byLane, byWarp;
  for (unsigned i = 0; i < roundBits; ++i)
    byRound.push_back(find(roundColumns[i], sourceOfRound[i]));
  for (unsigned i = 0; i < laneBits; ++i)
    byLane.push_back(find(to.lanes[i] ^ multiply(roundColumns, stagger[i]),
                          sourceOfLane[i]));
  for (unsigned i = 0; i < warpBits; ++i)
    byWarp.push_back(find(to.warps[i] ^ from.warps[i], sourceOfWarp[i]));

  // The same by the lane that is asked: lane = inverse(asked + round + warp).
  BinarySpan asked(sourceOfLane);
  auto ofAsked = [&](uint64_t lane) {
    return multiply(byLane, *asked.express(lane));
  };
  BinaryVectors give = byRound, giveByLane, giveByWarp = byWarp;
  for (unsigned i = 0; i < roundBits; ++i)
    give[i] ^= ofAsked(sourceOfRound[i]);
  for (unsigned i = 0; i < laneBits; ++i)
    giveByLane.push_back(ofAsked(uint64_t(1) << i));
  for (unsigned i = 0; i < warpBits; ++i)
    giveByWarp[i] ^= ofAsked(sourceOfWarp[i]);

  LinearLayout before =
      makeMap(give, giveByLane, giveByWarp, kRegister, oldBits);
  LinearLayout shuffle =
      makeMap(sourceOfRound, sourceOfLane, sourceOfWarp, kLane, laneBits);
  LinearLayout after =
      makeMap(roundOfRegister, stagger, BinaryVectors(warpBits, 0), kRegister,
              roundBits);

  ConversionStep step;
  step.kind = ConversionStep::Shuffle;
  step.map = shuffle;
  bool moves = llvm::any_of(getRegisterShuffles(step),
                            [](const RegisterShuffle &shuffle) {
                              return shuffle.kind != RegisterShuffle::Keep;
                            });
  auto addRegisters = [&](const LinearLayout &map, unsigned bits) {
    if (isIdentity(map, bits))
      return;
    ConversionStep registers;
    registers.map = map;
    plan.steps.push_back(std::move(registers));
  };
  if (!moves) {
    // One move: before, at the register, lane and warp that after names.
    plan.kind = ConversionPlan::SameThread;
    BinaryVectors registers, byOwnLane, byOwnWarp = giveByWarp;
    for (BinaryVector round : roundOfRegister)
      registers.push_back(multiply(give, round));
    for (unsigned i = 0; i < laneBits; ++i)
      byOwnLane.push_back(giveByLane[i] ^ multiply(give, stagger[i]));
    addRegisters(makeMap(registers, byOwnLane, byOwnWarp, kRegister, oldBits),
                 oldBits);
    return;
  }
  plan.kind = ConversionPlan::WithinWarp;
  addRegisters(before, oldBits);
  plan.steps.push_back(std::move(step));
  addRegisters(after, roundBits);
}

bool WarpPlanner::run(ConversionPlan &plan) {
  if (!matchModuloRegisters())
    return false;
  staggerRegisters();
  chooseLanes();
  addSteps(plan);
  return true;
}

bool planWithinWarps(const Columns &from, const Columns &to,
                     ConversionPlan &plan) {
  return WarpPlanner(from, to).run(plan);
}

} // namespace mamba::detail
