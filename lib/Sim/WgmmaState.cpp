//===- WgmmaState.cpp - wgmma instructions of a warp in flight ------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma. Let
// g = lane / 4, t = lane % 4 and w the warp of the warpgroup. With E elements
// in a register,
//   A, register r, element e: row 16 w + g + 8 (r % 2),
//                             column t E + e + 4 E (r / 2)
//   D, element i: row 16 w + g + 8 (i / 2 % 2), column 8 (i / 4) + 2 t + i % 2;
// an accumulator of f16 holds elements 2 r and 2 r + 1.
//
//===----------------------------------------------------------------------===//

#include "WgmmaState.h"

#include "Block.h"
#include "FloatFormats.h"
#include "SharedMatrix.h"
#include "Wgmma.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mamba::sim {

struct WgmmaState::Operation : AsyncInstruction {
  uint32_t pc;
  WgmmaShape shape;
  uint64_t group;
  uint32_t epoch;
  bool accumulates, isComputed = false;
  ChunkReads a, b;
  std::vector<uint32_t> aRegisters; // 32 lanes each
  /// The accumulators: 32 lanes each.
  std::vector<uint32_t> values;
  /// Later operations that add this one's results.
  struct Link {
    Operation *to;
    uint16_t from, index;
  };
  std::vector<Link> links;
};

WgmmaState::WgmmaState() = default;
WgmmaState::~WgmmaState() = default;

void WgmmaState::start() {
  group = 0;
  operations.clear();
}

void WgmmaState::checkFence(Warp &warp, const Inst &inst, const Opnd &row) {
  uint32_t epoch = warp.registerUses.getEpoch();
  if (!warp.block.launch.options.sanitize ||
      warp.registerUses.getWriteEpoch(row) != epoch)
    return;
  warp.report(FindingKind::MissingFence, inst, 0, std::nullopt,
              epoch ? "register " + warp.kernel.slotNames[row.slot] +
                          " was written after the last wgmma.fence"
                    : "no wgmma.fence precedes");
}

void WgmmaState::claimAccumulators(Warp &warp, const Inst &inst,
                                   Operation &operation) {
  operation.values.resize(inst.numDsts * kLanes);
  bool sanitize = warp.block.launch.options.sanitize;
  for (unsigned i = 0; i != inst.numDsts; ++i) {
    const Opnd &row = inst.ops[i];
    const RegisterUses::Use &use = warp.registerUses.get(row);
    uint32_t *values = &operation.values[i * kLanes];
    bool isWgmma = use.user && use.user->inst->run == inst.run;
    auto *earlier = isWgmma ? static_cast<Operation *>(use.user) : nullptr;
    if (use.user && (use.isInput || !isWgmma)) {
      warp.registerUses.report(warp, inst, kAllLanes, row, "write");
    } else if (earlier) {
      // Of one shape they are ordered without a fence.
      bool isSame =
          earlier->shape.columnGroups == operation.shape.columnGroups &&
          earlier->shape.result == operation.shape.result &&
          earlier->shape.getDepth() == operation.shape.getDepth();
      if (sanitize && !isSame && earlier->epoch == operation.epoch)
        warp.report(FindingKind::MissingFence, inst, 0, std::nullopt,
                    "register " + warp.kernel.slotNames[row.slot] +
                        " is an accumulator of the wgmma in line " +
                        Twine(earlier->inst->line) +
                        ", which has another shape");
      if (earlier->isComputed)
        std::copy_n(&earlier->values[use.index * kLanes], kLanes, values);
      else if (operation.accumulates)
        earlier->links.push_back({&operation, use.index, uint16_t(i)});
    } else {
      checkFence(warp, inst, row);
      LaneMask missing = ~warp.getWritten(row);
      if (operation.accumulates && missing && sanitize)
        warp.report(FindingKind::UninitializedValue, inst, countr_zero(missing),
                    std::nullopt,
                    "register " + warp.kernel.slotNames[row.slot] +
                        " was not written");
      std::copy_n(warp.row<uint32_t>(row), kLanes, values);
    }
    warp.registerUses.claim(row, operation, i, /*isInput=*/false);
  }
}

void WgmmaState::claimInputs(Warp &warp, const Inst &inst,
                             Operation &operation) {
  operation.aRegisters.resize(operation.shape.aRegisters * kLanes);
  for (unsigned r = 0; r != operation.shape.aRegisters; ++r) {
    const Opnd &row = inst.ops[inst.numDsts + r];
    const RegisterUses::Use &use = warp.registerUses.get(row);
    std::copy_n(warp.row<uint32_t>(row), kLanes,
                &operation.aRegisters[r * kLanes]);
    if (use.user && !use.isInput) {
      warp.registerUses.report(warp, inst, kAllLanes, row, "read");
      continue;
    }
    checkFence(warp, inst, row);
    warp.registerUses.claim(row, operation, 0, /*isInput=*/true);
  }
}

void WgmmaState::readDescriptors(Warp &warp, const Inst &inst,
                                 Operation &operation) {
  const WgmmaShape &shape = operation.shape;
  const Opnd *sources = inst.ops + inst.numDsts;
  auto add = [&](ChunkReads &reads, uint64_t descriptor, bool isTransposed,
                 unsigned first, unsigned count, StringRef what) {
    SharedMatrix matrix = SharedMatrix::parseWgmma(descriptor, isTransposed);
    if (isTransposed) { // elements of two bytes
      for (unsigned k = 0; k != shape.getDepth(); ++k)
        for (unsigned chunk = first / 8; chunk != (first + count) / 8; ++chunk)
          reads.add(warp, inst, matrix.getAddress(k, chunk), what);
      return;
    }
    for (unsigned row = first; row != first + count; ++row)
      for (unsigned chunk = 0; chunk != 2; ++chunk)
        reads.add(warp, inst, matrix.getAddress(row, chunk), what);
  };
  uint64_t a = 0;
  if (!shape.aRegisters) {
    a = warp.get(sources[0], 0);
    add(operation.a, a, shape.isTransposedA(),
        WgmmaShape::kWarpRows * (warp.id % WgmmaShape::kWarps),
        WgmmaShape::kWarpRows, "matrix A");
  }
  const Opnd &rowB = sources[shape.aRegisters ? shape.aRegisters : 1];
  uint64_t b = warp.get(rowB, 0);
  add(operation.b, b, shape.isTransposedB(), 0, shape.getColumns(), "matrix B");
  for (unsigned lane = 1; lane != kLanes; ++lane)
    if (warp.get(rowB, lane) != b ||
        (!shape.aRegisters && warp.get(sources[0], lane) != a)) {
      warp.report(FindingKind::BarrierMisuse, inst, lane, std::nullopt,
                  "matrix descriptors differ between threads of the warp");
      break;
    }
  warp.block.warpgroups.note(warp, inst, a, b);
}

void WgmmaState::issue(Warp &warp, const Inst &inst) {
  operations.push_back(std::make_unique<Operation>());
  Operation &operation = *operations.back();
  operation.inst = &inst;
  operation.pc = warp.pc;
  operation.shape = WgmmaShape::unpack(inst.imm);
  operation.group = group;
  operation.epoch = warp.registerUses.getEpoch();
  LaneMask scale = warp.predicate(inst.ops[inst.numOps - 1]);
  operation.accumulates = scale & 1;
  if (scale != 0 && scale != kAllLanes)
    warp.report(FindingKind::BarrierMisuse, inst, 0, std::nullopt,
                "scale-d differs between threads of the warp");
  claimInputs(warp, inst, operation);
  claimAccumulators(warp, inst, operation);
  readDescriptors(warp, inst, operation);
}

void WgmmaState::compute(Warp &warp, Operation &operation) {
  constexpr unsigned kRows = WgmmaShape::kWarpRows,
                     kMaxDepth = WgmmaShape::kMaxDepth;
  const WgmmaShape &shape = operation.shape;
  unsigned columns = shape.getColumns(), depth = shape.getDepth();
  double a[kRows * kMaxDepth], sums[kRows * WgmmaShape::kMaxColumns];
  double b[kMaxDepth * WgmmaShape::kMaxColumns];
  if (shape.aRegisters) {
    unsigned bits = getBits(shape.a), count = 32 / bits;
    for (unsigned r = 0; r != shape.aRegisters; ++r)
      for (unsigned lane = 0; lane != kLanes; ++lane) {
        uint32_t value = operation.aRegisters[r * kLanes + lane];
        unsigned row = lane / 4 + 8 * (r % 2);
        unsigned k = lane % 4 * count + 4 * count * (r / 2);
        for (unsigned e = 0; e != count; ++e)
          a[row * kMaxDepth + k + e] =
              decodeElement(shape.a, (uint64_t(value) >> (e * bits)) &
                                         ((uint64_t(1) << bits) - 1));
      }
  } else {
    operation.a.decode(warp, shape.a, shape.isTransposedA(), kRows, depth, a,
                       kMaxDepth, 1);
  }
  if (shape.negates)
    for (double &element : a)
      element = -element;
  operation.b.decode(warp, shape.b, shape.isTransposedB(), columns, depth, b, 1,
                     columns);
  multiply(a, kMaxDepth, b, sums, kRows, depth, columns);

  bool isHalf = shape.result == WgmmaShape::F16;
  uint32_t *values = operation.values.data();
  if (!operation.accumulates)
    std::fill(operation.values.begin(), operation.values.end(), 0);
  for (unsigned i = 0; i != columns / 2; ++i)
    for (unsigned lane = 0; lane != kLanes; ++lane) {
      unsigned row = lane / 4 + 8 * (i / 2 % 2);
      unsigned column = 8 * (i / 4) + lane % 4 * 2 + i % 2;
      double sum = sums[row * columns + column];
      if (isHalf) {
        uint32_t &pair = values[i / 2 * kLanes + lane];
        unsigned shift = 16 * (i % 2);
        uint32_t half = addRoundedF16(sum, pair >> shift);
        pair = (pair & 0xffff0000u >> shift) | half << shift;
        continue;
      }
      uint32_t &value = values[i * kLanes + lane];
      value = shape.result == WgmmaShape::S32
                  ? addIntegers(sum, value, shape.saturates)
                  : toBits(addRounded(sum, fromBits<float>(value)));
    }
  for (const Operation::Link &link : operation.links)
    std::copy_n(values + link.from * kLanes, kLanes,
                &link.to->values[link.index * kLanes]);
  operation.isComputed = true;
}

void WgmmaState::retire(Warp &warp, Operation &operation) {
  if (!operation.isComputed)
    compute(warp, operation);
  operation.a.release(warp, operation.pc, warp.clusterWarp);
  operation.b.release(warp, operation.pc, warp.clusterWarp);
  warp.registerUses.release(operation, [&](const Opnd &row, unsigned index) {
    std::copy_n(&operation.values[index * kLanes], kLanes,
                warp.row<uint32_t>(row));
  });
}

void WgmmaState::wait(Warp &warp, uint64_t keep) {
  while (!operations.empty() && operations.front()->group + keep < group) {
    retire(warp, *operations.front());
    operations.pop_front();
  }
}

void WgmmaState::completeSome(Warp &warp, uint64_t random) {
  size_t count = random % (operations.size() + 1);
  for (size_t i = 0; i != count; ++i)
    if (!operations[i]->isComputed)
      compute(warp, *operations[i]);
}

void WarpgroupOrder::start(unsigned numWarps) {
  groups.assign((numWarps + 3) / 4, {});
}

void WarpgroupOrder::note(Warp &warp, const Inst &inst, uint64_t a,
                          uint64_t b) {
  auto misuse = [&](const Twine &message) {
    warp.report(FindingKind::BarrierMisuse, inst, 0, std::nullopt, message);
  };
  Group &group = groups[warp.id / 4];
  unsigned own = warp.id % 4, numWarps = warp.block.numWarps;
  if (numWarps < (warp.id / 4 + 1) * 4)
    return misuse("the warpgroup has only " + Twine(numWarps % 4) + " warps");
  uint64_t index = group.next[own]++ - group.first;
  if (index == group.entries.size())
    group.entries.push_back({warp.pc, a, b, 0});
  Entry &entry = group.entries[index];
  if (entry.pc != warp.pc)
    misuse("other warps of the warpgroup execute the wgmma in line " +
           Twine(warp.kernel.code[entry.pc].line));
  else if (entry.a != a || entry.b != b)
    misuse("matrix descriptors differ between warps of the warpgroup");
  entry.warps |= 1u << own;
  while (!group.entries.empty() && group.entries.front().warps == 15) {
    group.entries.pop_front();
    ++group.first;
  }
}

void WarpgroupOrder::finish(Block &block) {
  for (auto [index, group] : enumerate(groups)) {
    if (group.entries.empty() || block.stopped)
      continue;
    const Entry &entry = group.entries.front();
    unsigned missing = llvm::countr_one(entry.warps);
    block.report(FindingKind::BarrierMisuse, block.kernel.code[entry.pc],
                 (index * 4 + missing) * kLanes, std::nullopt,
                 "the thread did not execute the wgmma, other warps of its "
                 "warpgroup did");
  }
}

} // namespace mamba::sim
