//===- WarpWide.cpp - Instructions that threads of a warp do together -----===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync",
// "activemask" and "bar.warp.sync". Member masks are the last operand.
//
//===----------------------------------------------------------------------===//

#include "Cluster.h"
#include "FloatModes.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mamba::sim {

namespace {

enum ShuffleMode { Up, Down, Butterfly, Index };

/// Sources: value, distance, clamp and segment mask, member mask.
void runShuffle(Warp &warp, const Inst &inst, LaneMask lanes) {
  const Opnd *ops = inst.ops + inst.numDsts;
  uint32_t values[kLanes], results[kLanes];
  LaneMask inRange = 0;
  forLanes(lanes,
           [&](unsigned lane) { values[lane] = warp.get(ops[0], lane); });
  forLanes(lanes, [&](unsigned lane) {
    unsigned distance = warp.get(ops[1], lane) & 31;
    unsigned control = warp.get(ops[2], lane);
    unsigned segment = control >> 8 & 31, clamp = control & 31;
    unsigned last = (lane & segment) | (clamp & ~segment);
    unsigned first = lane & segment;
    int from = 0;
    bool valid = false;
    switch (inst.imm) {
    case Up:
      from = int(lane) - int(distance);
      valid = from >= int(last);
      break;
    case Down:
      from = lane + distance;
      valid = from <= int(last);
      break;
    case Butterfly:
      from = lane ^ distance;
      valid = from <= int(last);
      break;
    case Index:
      from = first | (distance & ~segment);
      valid = from <= int(last);
      break;
    }
    if (!valid)
      from = lane;
    inRange |= LaneMask(valid) << lane;
    if (!(lanes >> from & 1)) {
      warp.report(FindingKind::UninitializedValue, inst, lane, std::nullopt,
                  "lane " + Twine(from) +
                      ", which is read, does not take part in the shuffle");
      results[lane] = 0;
      return;
    }
    results[lane] = values[from];
  });
  forLanes(lanes,
           [&](unsigned lane) { warp.set(inst.ops[0], lane, results[lane]); });
  if (inst.numDsts == 2)
    warp.setPredicate(inst.ops[1], lanes, inRange);
}

enum VoteMode { All, Any, Uniform, Ballot };

void runVote(Warp &warp, const Inst &inst, LaneMask lanes) {
  LaneMask value = warp.predicate(inst.ops[1]) & lanes;
  if (inst.imm == Ballot) {
    forLanes(lanes, [&](unsigned lane) { warp.set(inst.ops[0], lane, value); });
    return;
  }
  bool result = inst.imm == All   ? value == lanes
                : inst.imm == Any ? value != 0
                                  : value == lanes || value == 0;
  warp.setPredicate(inst.ops[0], lanes, result ? kAllLanes : 0);
}

/// flag: all lanes must match; the second destination then says whether.
void runMatch(Warp &warp, const Inst &inst, LaneMask lanes) {
  const Opnd &value = inst.ops[inst.numDsts];
  LaneMask results[kLanes];
  bool equal = true;
  forLanes(lanes, [&](unsigned lane) {
    LaneMask same = 0;
    forLanes(lanes, [&](unsigned other) {
      same |= LaneMask(warp.get(value, other) == warp.get(value, lane))
              << other;
    });
    equal &= same == lanes;
    results[lane] = same;
  });
  forLanes(lanes, [&](unsigned lane) {
    warp.set(inst.ops[0], lane,
             inst.flag2 ? (equal ? lanes : 0) : results[lane]);
  });
  if (inst.numDsts == 2)
    warp.setPredicate(inst.ops[1], lanes, equal ? kAllLanes : 0);
}

enum ReduxMode { Add, Min, Max, And, Or, Xor };

void runRedux(Warp &warp, const Inst &inst, LaneMask lanes) {
  unsigned first = countr_zero(lanes);
  uint32_t result = warp.get(inst.ops[1], first);
  bool isSigned = inst.signExtend;
  forLanes(lanes & ~(LaneMask(1) << first), [&](unsigned lane) {
    uint32_t value = warp.get(inst.ops[1], lane);
    bool less = isSigned ? int32_t(value) < int32_t(result) : value < result;
    switch (inst.imm) {
    case Add:
      result += value;
      break;
    case Min:
      result = less ? value : result;
      break;
    case Max:
      result = less ? result : value;
      break;
    case And:
      result &= value;
      break;
    case Or:
      result |= value;
      break;
    case Xor:
      result ^= value;
      break;
    }
  });
  forLanes(lanes, [&](unsigned lane) { warp.set(inst.ops[0], lane, result); });
}

/// redux.sync of f32: mode holds abs in bit 0 and NaN in bit 1.
void runReduxFloat(Warp &warp, const Inst &inst, LaneMask lanes) {
  bool isMax = inst.imm == Max, keepNaN = inst.mode & 2;
  auto get = [&](unsigned lane) {
    float value = fromBits<float>(warp.get(inst.ops[1], lane));
    return inst.mode & 1 ? std::fabs(value) : value;
  };
  float result = get(countr_zero(lanes));
  forLanes(lanes, [&](unsigned lane) {
    result = minMax(result, get(lane), isMax, keepNaN);
  });
  forLanes(lanes,
           [&](unsigned lane) { warp.set(inst.ops[0], lane, toBits(result)); });
}

void runElect(Warp &warp, const Inst &inst, LaneMask lanes) {
  unsigned leader = countr_zero(lanes);
  forLanes(lanes, [&](unsigned lane) { warp.set(inst.ops[0], lane, leader); });
  warp.setPredicate(inst.ops[1], lanes, LaneMask(1) << leader);
}

void runActivemask(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { warp.set(inst.ops[0], lane, lanes); });
}

/// Orders what the lanes did before with what others do behind.
void runWarpBarrier(Warp &warp, const Inst &, LaneMask lanes) {
  if (!warp.block.launch.options.sanitize)
    return;
  uint32_t time = warp.block.shadow.advance();
  if (lanes == warp.getLive())
    warp.knowledge.set(warp.clusterWarp, time);
  else
    warp.knowledge.meet(lanes, time);
}

} // namespace

static void makeSync(Decoder &d) {
  d.inst.cls = InstClass::WarpWide;
  d.inst.flow = Flow::WarpSync;
  d.inst.hasMembers = true;
  d.src(Type::B32);
}

static void decodeShuffle(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'" + d.opcode + "' without .sync is not modelled");
  auto mode = d.takeOneOf({"up", "down", "bfly", "idx"});
  d.takeType();
  d.dstPair(Type::B32, Type::Pred);
  for (unsigned i = 0; i != 3; ++i)
    d.src(Type::B32);
  makeSync(d);
  d.inst.imm = mode.value_or(0);
  if (mode)
    d.inst.run = runShuffle;
}

static void decodeVote(Decoder &d) {
  if (!d.take("sync"))
    return d.fail("'" + d.opcode + "' without .sync is not modelled");
  auto mode = d.takeOneOf({"all", "any", "uni", "ballot"});
  d.inst.imm = mode.value_or(0);
  d.takeType();
  d.dst(mode == unsigned(Ballot) ? Type::B32 : Type::Pred);
  d.src(Type::Pred);
  makeSync(d);
  if (mode)
    d.inst.run = runVote;
}

static void decodeMatch(Decoder &d) {
  d.take("sync");
  d.inst.flag2 = d.take("all");
  if (!d.inst.flag2)
    d.take("any");
  Type type = d.takeType();
  d.dstPair(Type::B32, Type::Pred);
  d.src(type);
  makeSync(d);
  d.inst.run = runMatch;
}

static void decodeRedux(Decoder &d) {
  d.take("sync");
  auto mode = d.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  d.inst.mode = d.take("abs") | d.take("NaN") << 1;
  Type type = d.takeType();
  d.dst(type);
  d.src(type);
  makeSync(d);
  d.inst.imm = mode.value_or(0);
  d.inst.signExtend = ptx::isSigned(type);
  if (mode && type != Type::F32)
    d.inst.run = runRedux;
  else if (mode == unsigned(Min) || mode == unsigned(Max))
    d.inst.run = runReduxFloat;
}

static void decodeElect(Decoder &d) {
  d.take("sync");
  if (!d.dstPair(Type::B32, Type::Pred))
    d.fail("expected two destinations of '" + d.opcode + "'");
  makeSync(d);
  d.inst.run = runElect;
}

static void decodeActivemask(Decoder &d) {
  d.takeType();
  d.dst(Type::B32);
  d.inst.cls = InstClass::WarpWide;
  d.inst.run = runActivemask;
}

void decodeWarpBarrier(Decoder &d) {
  makeSync(d);
  d.inst.cls = InstClass::Barrier;
  d.inst.mode2 = 1; // may be reached at several places
  d.inst.run = runWarpBarrier;
}

void addWarpInstructions(DecodeTable &table) {
  table["shfl"] = decodeShuffle;
  table["vote"] = decodeVote;
  table["match"] = decodeMatch;
  table["redux"] = decodeRedux;
  table["elect"] = decodeElect;
  table["activemask"] = decodeActivemask;
}

} // namespace mamba::sim
