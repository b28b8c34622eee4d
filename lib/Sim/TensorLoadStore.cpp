//===- TensorLoadStore.cpp - tcgen05.ld, st and wait ----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement Shape" of tcgen05: which lane and column register r
// of thread t stands for. 16x64b is the odd one: the lowest bit of the thread
// is a row, the next one a column.
//
// Loads read when the warp waits, stores write then.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Decoder.h"

using namespace llvm;

namespace mamba::sim {

namespace {

/// `Inst::mode`; `flag` packs two columns into a register, `imm` is the
/// distance of the halves of 16x32bx2.
enum class TensorShape : uint8_t { R32x32, R16x64, R16x128, R16x256, R16x32x2 };

struct Place {
  unsigned lane, column;
};

Place locate(TensorShape shape, unsigned thread, unsigned r) {
  unsigned g = thread / 4, t = thread % 4;
  switch (shape) {
  case TensorShape::R32x32:
    return {thread, r};
  case TensorShape::R16x64:
    return {g + 8 * (t % 2), t / 2 + 2 * r};
  case TensorShape::R16x128:
    return {g + 8 * (r % 2), t + 4 * (r / 2)};
  case TensorShape::R16x256:
    return {g + 8 * (r / 2 % 2), 2 * t + r % 2 + 8 * (r / 4)};
  case TensorShape::R16x32x2:
    return {thread % 16, r};
  }
  return {};
}

/// Calls fn(register, thread, half, lane, column) for each cell; `half` is the
/// part of the register if two columns share it.
template <typename Fn>
void forCells(const Inst &inst, uint32_t address, unsigned numRegisters,
              Fn fn) {
  TensorShape shape = TensorShape(inst.mode);
  unsigned halves = inst.flag ? 2 : 1;
  for (unsigned r = 0; r != numRegisters; ++r)
    for (unsigned thread = 0; thread != kLanes; ++thread) {
      Place place = locate(shape, thread, r);
      uint32_t column = (address & 0xffff) + place.column * halves;
      if (shape == TensorShape::R16x32x2 && thread >= 16)
        column += inst.imm;
      for (unsigned half = 0; half != halves; ++half)
        fn(r, thread, half, (address >> 16) + place.lane, column + half);
    }
}

/// The address, the same for all threads; nothing after a finding.
std::optional<uint32_t> getAddress(Warp &warp, const Inst &inst,
                                   LaneMask lanes) {
  if (lanes != kAllLanes) {
    warp.report(FindingKind::BarrierMisuse, inst, countr_zero(lanes),
                std::nullopt, "not all threads of the warp take part");
    return std::nullopt;
  }
  uint64_t addresses[kLanes];
  warp.getAddresses(inst, lanes, addresses);
  uint32_t address = addresses[0];
  for (unsigned lane = 1; lane != kLanes; ++lane)
    if (uint32_t(addresses[lane]) != address) {
      warp.report(FindingKind::BarrierMisuse, inst, lane, addresses[lane],
                  "addresses of tensor memory differ between threads of the "
                  "warp");
      break;
    }
  unsigned first = address >> 16, quarter = warp.id % 4 * kLanes;
  unsigned count = TensorShape(inst.mode) == TensorShape::R32x32 ? 32 : 16;
  if (first < quarter || first + count > quarter + kLanes ||
      first % count != 0) {
    warp.report(FindingKind::TensorMemory, inst, 0, address,
                "access to lanes " + Twine(first) + " to " +
                    Twine(first + count - 1) + " of tensor memory by warp " +
                    Twine(warp.id) + ", which has lanes " + Twine(quarter) +
                    " to " + Twine(quarter + kLanes - 1));
    if (first + count > kTensorLanes)
      return std::nullopt;
  }
  return address;
}

TensorTransfers::Transfer &start(Warp &warp, const Inst &inst, bool isLoad,
                                 uint32_t address) {
  TensorTransfers::Transfer &transfer = warp.tensorTransfers.add(isLoad);
  transfer.inst = &inst;
  transfer.address = address;
  TensorOperation &operation = transfer.operation;
  operation.warp = &warp;
  operation.inst = &inst;
  operation.pc = warp.pc;
  operation.isPipeline = false;
  return transfer;
}

void runLoad(Warp &warp, const Inst &inst, LaneMask lanes) {
  std::optional<uint32_t> address = getAddress(warp, inst, lanes);
  if (!address)
    return;
  TensorTransfers::Transfer &transfer = start(warp, inst, true, *address);
  forCells(
      inst, *address, inst.numDsts,
      [&](unsigned, unsigned thread, unsigned, unsigned lane, unsigned column) {
        transfer.operation.lane = thread;
        warp.block.tensor.read(transfer.operation, lane, column);
      });
  for (unsigned r = 0; r != inst.numDsts; ++r) {
    if (warp.registerUses.get(inst.ops[r]).user)
      warp.registerUses.report(warp, inst, lanes, inst.ops[r], "write");
    warp.registerUses.claim(inst.ops[r], transfer, r, /*isInput=*/false);
  }
}

void runStore(Warp &warp, const Inst &inst, LaneMask lanes) {
  std::optional<uint32_t> address = getAddress(warp, inst, lanes);
  if (!address)
    return;
  TensorTransfers::Transfer &transfer = start(warp, inst, false, *address);
  const Opnd *sources = inst.ops + inst.address + 1;
  unsigned count = inst.count;
  for (unsigned r = 0; r != count; ++r) {
    if (warp.registerUses.get(sources[r]).user)
      warp.registerUses.report(warp, inst, lanes, sources[r], "read");
    const uint32_t *row = warp.row<uint32_t>(sources[r]);
    transfer.values.insert(transfer.values.end(), row, row + kLanes);
  }
  forCells(
      inst, *address, count,
      [&](unsigned, unsigned thread, unsigned, unsigned lane, unsigned column) {
        transfer.operation.lane = thread;
        warp.block.tensor.write(transfer.operation, lane, column);
      });
}

void runWait(Warp &warp, const Inst &inst, LaneMask) {
  warp.tensorTransfers.wait(warp, inst.flag);
}

} // namespace

void TensorTransfers::wait(Warp &warp, bool isLoad) {
  TensorMemory &tensor = warp.block.tensor;
  auto getCell = [&](unsigned lane, unsigned column) -> uint32_t * {
    if (lane >= kTensorLanes || column >= kTensorColumns)
      return nullptr;
    return &tensor[makeCell(lane, column)];
  };
  for (std::unique_ptr<Transfer> &transfer : pending[isLoad]) {
    const Inst &inst = *transfer->inst;
    unsigned count = isLoad ? inst.numDsts : inst.count;
    std::vector<uint32_t> &values = transfer->values;
    values.resize(count * kLanes);
    forCells(inst, transfer->address, count,
             [&](unsigned r, unsigned thread, unsigned half, unsigned lane,
                 unsigned column) {
               uint32_t *cell = getCell(lane, column);
               if (!cell)
                 return;
               uint32_t &value = values[r * kLanes + thread];
               unsigned shift = 16 * half;
               if (isLoad && inst.flag)
                 value = half ? value | *cell << 16 : *cell & 0xffff;
               else if (isLoad)
                 value = *cell;
               else
                 *cell = inst.flag ? value >> shift & 0xffff : value;
             });
    warp.registerUses.release(*transfer, [&](const Opnd &row, unsigned index) {
      std::copy_n(&values[index * kLanes], kLanes, warp.row<uint32_t>(row));
    });
    tensor.release(warp.block, transfer->operation, warp.clusterWarp);
  }
  pending[isLoad].clear();
}

/// Takes the shape, the count of registers and packing.
static unsigned takeShape(Decoder &d, StringRef packing) {
  d.inst.flow = Flow::WarpSync;
  d.inst.cls = InstClass::Other;
  d.inst.isAsync = true;
  d.take("sync");
  d.take("aligned");
  auto shape =
      d.takeOneOf({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  auto repeats =
      d.takeOneOf({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  d.inst.flag = d.take(packing);
  d.take("b32");
  if (!shape || !repeats) {
    d.fail("shape of '" + d.opcode + "' is not modelled");
    return 0;
  }
  static constexpr unsigned kRegisters[] = {1, 1, 2, 4, 1};
  unsigned count = kRegisters[*shape] << *repeats;
  if (count > 128)
    d.fail("'" + d.opcode + "' does not exist");
  d.inst.mode = *shape;
  return count;
}

static void checkCount(Decoder &d, unsigned given, unsigned count) {
  if (given != count)
    d.fail("expected " + Twine(count) + " registers of '" + d.opcode +
           "', got " + Twine(given));
}

void decodeTensorLoad(Decoder &d) {
  unsigned count = takeShape(d, "pack::16b");
  if (d.failed())
    return;
  checkCount(d, d.dstVector(Type::B32), count);
  d.address();
  if (TensorShape(d.inst.mode) == TensorShape::R16x32x2)
    d.inst.imm = d.constant();
  d.inst.run = runLoad;
}

void decodeTensorStore(Decoder &d) {
  unsigned count = takeShape(d, "unpack::16b");
  if (d.failed())
    return;
  d.address();
  if (TensorShape(d.inst.mode) == TensorShape::R16x32x2)
    d.inst.imm = d.constant();
  checkCount(d, d.srcVector(Type::B32), count);
  d.inst.count = count;
  d.inst.run = runStore;
}

void decodeTensorWait(Decoder &d, bool isLoad) {
  d.inst.flow = Flow::WarpSync;
  d.inst.cls = InstClass::Barrier;
  d.inst.flag = isLoad;
  d.take("sync");
  d.take("aligned");
  d.inst.run = runWait;
}

} // namespace mamba::sim
