//===- TensorCopy.cpp - cp.async.bulk.tensor ------------------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensors": tiled mode, and "cp.async.bulk.tensor". In shared memory
// the rows of a box follow each other; a swizzle exchanges 16-byte units by the
// bits of the absolute address, and its rows have the pitch of its span.
//
//===----------------------------------------------------------------------===//

#include "mamba/Sim/TensorMap.h"

#include "AtomicOperations.h"
#include "Cluster.h"

using namespace llvm;

namespace mamba::sim {

static constexpr unsigned kUnit = 16;
/// Of a tile in shared memory.
static constexpr unsigned kTileAlignment = 128;

namespace {

/// Sources of the instruction by their places.
struct TensorOperands {
  unsigned map, coordinates, tile, barrier, mask;
};

/// One copy by one thread.
class TensorCopy {
public:
  TensorCopy(Warp &warp, const Inst &inst, unsigned lane);
  void run();
  void prefetch() {
    if (readMap())
      checkCoordinates();
  }

private:
  /// These return false after a finding.
  bool readMap();
  bool checkCoordinates();
  bool setPlaces();
  bool addRows();
  bool addRow(uint64_t row, uint64_t address, bool isInside);
  void addUnits(uint64_t row, const uint8_t *source, uint64_t begin,
                uint64_t end);
  bool fail(const Twine &message) {
    warp.report(FindingKind::TensorMap, inst, lane, mapAddress, message);
    return false;
  }
  uint64_t swizzle(uint64_t offset) const {
    uint64_t mask = map.swizzle ? map.swizzle / kUnit - 1 : 0;
    uint64_t address = kSharedStart + offset;
    return offset ^ (((address >> 7) & mask) << 4);
  }
  int64_t getCoordinate(unsigned d) const {
    return int32_t(warp.get(source(operands.coordinates + d), lane));
  }
  const Opnd &source(unsigned index) const {
    return inst.ops[inst.numDsts + index];
  }

  Warp &warp;
  const Inst &inst;
  unsigned lane;
  TensorOperands operands;
  uint64_t mapAddress = 0;
  TensorMap map;
  BulkDirection direction;
  SharedPlace tile{};
  BulkCopy copy;
};

} // namespace

// `mode` is the rank, `mode2` the direction, `flag` says that there is a
// reduction, by `imm`, `flag2` that there is a mask. `space` is where a load
// goes.
static TensorOperands getOperands(const Inst &inst) {
  TensorOperands operands;
  operands.map = 0;
  operands.tile = 2;
  operands.barrier = 4;
  operands.coordinates =
      BulkDirection(inst.mode2) == BulkDirection::Load ? 6 : 4;
  operands.mask = operands.coordinates + inst.mode;
  return operands;
}

TensorCopy::TensorCopy(Warp &warp, const Inst &inst, unsigned lane)
    : warp(warp), inst(inst), lane(lane), operands(getOperands(inst)),
      direction(BulkDirection(inst.mode2)) {
  copy.warp = &warp;
  copy.lane = lane;
  copy.pc = warp.pc;
}

bool TensorCopy::readMap() {
  mapAddress = getAddress(warp, inst, operands.map, lane);
  if (mapAddress % TensorMap::kAlignment) {
    warp.report(FindingKind::Misaligned, inst, lane, mapAddress,
                "a tensor map, expected a multiple of 64");
    return false;
  }
  uint8_t image[TensorMap::kBytes];
  constexpr unsigned kHalf = TensorMap::kAlignment;
  for (unsigned half = 0; half != sizeof(image); half += kHalf) {
    const uint8_t *bytes = warp.access(
        inst, lane, Space::Generic, mapAddress + half, kHalf, AccessKind::Load);
    if (!bytes)
      return false;
    std::memcpy(image + half, bytes, kHalf);
  }
  std::optional<TensorMap> decoded = TensorMap::decode(image);
  if (!decoded)
    return fail("there is no tensor map at this address");
  map = *decoded;
  if (map.rank != inst.mode)
    return fail("a copy of " + Twine(unsigned(inst.mode)) +
                " dimensions with a tensor map of " + Twine(map.rank));
  return true;
}

bool TensorCopy::checkCoordinates() {
  int64_t inner = getCoordinate(0) * getSize(map.element);
  if (inner % kUnit)
    return fail("the innermost coordinate " + Twine(getCoordinate(0)) +
                " is at byte " + Twine(inner) + ", expected a multiple of 16");
  if (direction == BulkDirection::Store)
    for (unsigned d = 0; d != map.rank; ++d)
      if (getCoordinate(d) < 0)
        return fail("a store to coordinate " + Twine(getCoordinate(d)) +
                    " of dimension " + Twine(d));
  return true;
}

/// Adds what lies between the bytes `begin` and `end` of a row, in units that
/// keep together. Without a source it is filled.
void TensorCopy::addUnits(uint64_t row, const uint8_t *source, uint64_t begin,
                          uint64_t end) {
  uint8_t *memory = tile.block->shared.data();
  for (uint64_t byte = begin; byte < end;) {
    uint64_t next = std::min(end, byte / kUnit * kUnit + kUnit);
    uint64_t offset = swizzle(row + byte);
    BulkCopy::Piece piece = {};
    piece.bytes = next - byte;
    if (direction == BulkDirection::Load) {
      piece.to = memory + offset;
      piece.toOffset = offset;
      piece.from = source;
    } else {
      piece.from = memory + offset;
      piece.fromOffset = offset;
      piece.to = const_cast<uint8_t *>(source);
    }
    copy.add(piece);
    if (source)
      source += next - byte;
    byte = next;
  }
}

/// A row of the box at offset `row` of shared memory and `address` of global
/// memory, where its first element would be.
bool TensorCopy::addRow(uint64_t row, uint64_t address, bool isInside) {
  int64_t size = getSize(map.element), first = getCoordinate(0);
  int64_t count = map.box[0];
  int64_t begin = std::clamp<int64_t>(-first, 0, count);
  int64_t end = std::clamp<int64_t>(int64_t(map.sizes[0]) - first, 0, count);
  bool isLoad = direction == BulkDirection::Load;
  // Stores write whole units of 16 bytes, as recorded on an H200.
  if (!isLoad && !inst.flag && begin < end)
    end = std::min<int64_t>(count, alignTo(end * size, kUnit) / size);
  if (!isInside || begin >= end)
    begin = end = 0;
  const uint8_t *source = nullptr;
  if (begin != end) {
    AccessKind kind = isLoad      ? AccessKind::Load
                      : inst.flag ? AccessKind::Atomic
                                  : AccessKind::Store;
    source = warp.accessBulk(inst, lane, address + begin * size,
                             (end - begin) * size, kind);
    if (!source)
      return false;
  }
  if (isLoad && begin)
    addUnits(row, nullptr, 0, begin * size);
  if (begin != end)
    addUnits(row, source, begin * size, end * size);
  if (isLoad)
    addUnits(row, nullptr, end * size, count * size);
  return true;
}

bool TensorCopy::addRows() {
  uint64_t pitch =
      map.swizzle ? map.swizzle : uint64_t(map.box[0]) * getSize(map.element);
  std::array<unsigned, TensorMap::kMaxRank> index{};
  uint64_t row = tile.offset;
  for (;;) {
    uint64_t address =
        map.address + uint64_t(getCoordinate(0) * getSize(map.element));
    bool isInside = !map.isEmpty;
    for (unsigned d = 1; d != map.rank; ++d) {
      int64_t coordinate =
          getCoordinate(d) + int64_t(index[d]) * map.elementStrides[d];
      isInside &= coordinate >= 0 && uint64_t(coordinate) < map.sizes[d];
      address += uint64_t(coordinate) * map.strides[d];
    }
    if (!addRow(row, address, isInside))
      return false;
    row += pitch;
    unsigned d = 1;
    while (d < map.rank && ++index[d] == map.getExtent(d))
      index[d++] = 0;
    if (d >= map.rank)
      return true;
  }
}

/// The tile and the runs of the copy, or false after a finding.
bool TensorCopy::setPlaces() {
  bool isLoad = direction == BulkDirection::Load;
  uint64_t rowBytes = uint64_t(map.box[0]) * getSize(map.element);
  uint64_t pitch = map.swizzle ? map.swizzle : rowBytes;
  uint64_t span = map.getBoxBytes() / rowBytes * pitch;
  std::optional<SharedPlace> place =
      warp.resolveShared(inst, lane, isLoad ? inst.space : Space::Shared,
                         getAddress(warp, inst, operands.tile, lane), span,
                         kTileAlignment, "tensor copy");
  if (!place)
    return false;
  tile = *place;
  if (isLoad) {
    copy.toBlock = tile.block;
    copy.fillBytes = getSize(map.element);
    if (map.fillsNaN)
      copy.fill = copy.fillBytes == 2 ? 0x7ff7 : 0x7ff77ff77ff77ff7;
  } else {
    copy.fromBlock = tile.block;
    if (inst.flag)
      copy.reduction = getReduction(uint8_t(inst.imm), map.element);
    if (inst.flag && !copy.reduction)
      return fail("a reduction that elements of type " +
                  ptx::getName(map.element) + " do not have");
  }
  return addRows();
}

void TensorCopy::run() {
  if (!readMap())
    return;
  bool isLoad = direction == BulkDirection::Load;
  uint64_t bytes = map.getBoxBytes();
  uint64_t barrier =
      isLoad ? getAddress(warp, inst, operands.barrier, lane) : 0;
  if (!checkCoordinates() || !setPlaces()) {
    if (isLoad)
      dropCopy(warp, inst, lane, Space::SharedCluster, barrier, bytes);
    return;
  }
  if (isLoad &&
      !setBarrier(warp, inst, lane, Space::SharedCluster, barrier, bytes, copy))
    return;
  countBulk(warp, copy, !isLoad);
  if (inst.flag2)
    return startMulticast(warp, inst, lane, copy,
                          warp.get(source(operands.mask), lane));
  for (const BulkCopy::Piece &piece : copy.pieces) {
    if (isLoad)
      checkBulkWrite(warp, inst, lane, {tile.block, piece.toOffset},
                     piece.bytes);
    else
      checkBulkRead(warp, inst, lane, {tile.block, piece.fromOffset},
                    piece.bytes);
  }
  warp.block.cluster.copies.start(std::move(copy));
}

static void runTensor(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes, [&](unsigned lane) { TensorCopy(warp, inst, lane).run(); });
}

static void runTensorPrefetch(Warp &warp, const Inst &inst, LaneMask lanes) {
  forLanes(lanes,
           [&](unsigned lane) { TensorCopy(warp, inst, lane).prefetch(); });
}

/// "[map, {x, y}]": returns the coordinates, which come later in the order of
/// sources.
static const ptx::Operand *takeTensor(Decoder &d) {
  const ptx::Operand *operand = d.takeOperand();
  if (!operand)
    return nullptr;
  if (operand->kind != ptx::Operand::Address || operand->parts.size() != 2 ||
      operand->parts[1].kind != ptx::Operand::Vector) {
    d.fail("expected a tensor map and coordinates in '" + d.opcode + "'");
    return nullptr;
  }
  d.pushSource(d.getRow(operand->parts[0], Type::B64, false, false));
  d.constantSource(Type::B64, operand->offset);
  return &operand->parts[1];
}

static void pushCoordinates(Decoder &d, const ptx::Operand *coordinates) {
  if (!coordinates)
    return;
  if (coordinates->parts.size() != d.inst.mode)
    d.fail("expected " + Twine(unsigned(d.inst.mode)) + " coordinates of '" +
           d.opcode + "'");
  for (const ptx::Operand &part : coordinates->parts)
    d.pushSource(d.getRow(part, Type::S32, false, false));
}

static bool takeRank(Decoder &d) {
  std::optional<unsigned> rank = d.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
  if (!rank)
    return false;
  d.inst.mode = *rank + 1;
  d.take("tile");
  return true;
}

void decodeTensor(Decoder &d, BulkDirection direction, Space destination,
                  bool reduces) {
  bool isLoad = direction == BulkDirection::Load;
  if (direction == BulkDirection::SharedToCluster || (reduces && isLoad) ||
      !takeRank(d) ||
      !d.take(isLoad ? "mbarrier::complete_tx::bytes" : "bulk_group"))
    return;
  bool hasPolicy = d.take("L2::cache_hint");
  d.inst.mode2 = uint8_t(direction);
  d.inst.space = destination;
  if (reduces && !takeReduction(d))
    return;
  if (isLoad) {
    d.inst.flag2 = d.take("multicast::cluster");
    d.takeOneOf({"cta_group::1", "cta_group::2"});
    // The map comes first, so that it has one place.
    const ptx::Operand *tile = d.takeOperand();
    const ptx::Operand *coordinates = takeTensor(d);
    if (!tile)
      return;
    pushAddress(d, *tile);
    takeAddress(d);
    pushCoordinates(d, coordinates);
    if (d.inst.flag2)
      d.src(Type::B16);
  } else {
    const ptx::Operand *coordinates = takeTensor(d);
    takeAddress(d);
    pushCoordinates(d, coordinates);
  }
  if (hasPolicy)
    d.src(Type::B64);
  d.inst.run = runTensor;
}

void decodeTensorPrefetch(Decoder &d) {
  if (!takeRank(d))
    return;
  bool hasPolicy = d.take("L2::cache_hint");
  d.inst.mode2 = uint8_t(BulkDirection::Load);
  const ptx::Operand *coordinates = takeTensor(d);
  // Places of the tile and the barrier, which there are not.
  for (unsigned i = 0; i != 4; ++i)
    d.constantSource(Type::B64, 0);
  pushCoordinates(d, coordinates);
  if (hasPolicy)
    d.src(Type::B64);
  d.inst.run = runTensorPrefetch;
}

} // namespace mamba::sim
