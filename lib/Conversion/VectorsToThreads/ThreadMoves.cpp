//===- ThreadMoves.cpp - Values that change threads -----------------------===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the steps of a conversion plan (mamba/Layout/Conversion.h). A *file* is
// a vector with one element for each register of a layout, those that do not
// exist included.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mamba;

/// Elements of a vector that shared memory is the better way for, if it takes
/// more than this many shuffles.
static constexpr int64_t kSmallElements = 256;
static constexpr unsigned kMostShuffles = 4;

Value ThreadProgram::toFile(Value vector, const Held &held) {
  uint32_t size = held.layout.getInSize(kRegister);
  SmallVector<int64_t> positions(size, 0);
  for (auto [position, number] : llvm::enumerate(held.registers))
    positions[number] = position;
  return pick(vector, positions);
}

Value ThreadProgram::fromFile(Value file, const Held &held) {
  return pick(
      file, SmallVector<int64_t>(held.registers.begin(), held.registers.end()));
}

/// Columns of `in` in the single output of `map`.
static BinaryVectors getColumns(const LinearLayout &map, StringRef in) {
  return BinaryVectors(map.getColumns(in));
}

Value ThreadProgram::moveRegisters(const LinearLayout &map, Value file) {
  uint32_t size = uint32_t(1) << map.getInBits(kRegister);
  int64_t held = cast<VectorType>(file.getType()).getDimSize(0);
  // What depends on the thread: exchange halves bit by bit.
  BinaryVectors registers = getColumns(map, kRegister);
  for (unsigned bit = 0; bit < llvm::Log2_64_Ceil(held); ++bit) {
    uint64_t lanes = 0, ofWarps = 0;
    for (auto [i, column] : llvm::enumerate(map.getColumns(kLane)))
      lanes |= ((column >> bit) & 1) << i;
    for (auto [i, column] : llvm::enumerate(map.getColumns(kWarp)))
      ofWarps |= ((column >> bit) & 1) << i;
    if (!lanes && !ofWarps)
      continue;
    Value isSet;
    for (auto [thread, mask] :
         {std::pair(lane, lanes), std::pair(warp, ofWarps)})
      for (uint64_t rest = mask; rest; rest &= rest - 1) {
        Value own =
            arith::AndIOp::create(b, loc(), thread, constantI32(rest & -rest));
        own = arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::ne, own,
                                    constantI32(0));
        // Of several bits, an odd number.
        isSet = isSet ? arith::XOrIOp::create(b, loc(), isSet, own).getResult()
                      : own;
      }
    SmallVector<int64_t> exchanged;
    for (int64_t i = 0; i < held; ++i)
      exchanged.push_back(i ^ (int64_t(1) << bit));
    file =
        arith::SelectOp::create(b, loc(), isSet, pick(file, exchanged), file);
  }
  SmallVector<int64_t> positions;
  for (uint32_t i = 0; i < size; ++i)
    positions.push_back(multiply(registers, i));
  return pick(file, positions);
}

FailureOr<Value> ThreadProgram::shuffleLanes(const ConversionStep &step,
                                             Value file, unsigned packedBits,
                                             Operation *user) {
  auto type = cast<VectorType>(file.getType());
  Type element = type.getElementType();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits > 32)
    return user->emitOpError("expected elements of at most 32 bits to move "
                             "between lanes, got ")
           << element;
  SmallVector<RegisterShuffle> shuffles;
  for (const RegisterShuffle &shuffle : getRegisterShuffles(step))
    shuffles.push_back(shuffle);
  unsigned packed = std::min(1u << packedBits, 32 / bits);
  Type word = bits * packed == 32 ? b.getI32Type() : Type();
  LinearLayout lanes = step.map;
  SmallVector<Value> results;
  for (unsigned i = 0; i < type.getDimSize(0); i += packed) {
    SmallVector<int64_t> group;
    for (unsigned j = 0; j < packed; ++j)
      group.push_back(i + j);
    Value part = pick(file, group);
    auto partType = cast<VectorType>(part.getType());
    if (shuffles[i].kind == RegisterShuffle::Keep) {
      for (unsigned j = 0; j < packed; ++j)
        results.push_back(vector::ExtractOp::create(b, loc(), part, j));
      continue;
    }
    Value value;
    if (word) {
      Value cast =
          vector::BitCastOp::create(b, loc(), VectorType::get({1}, word), part);
      value = vector::ExtractOp::create(b, loc(), cast, 0);
    } else {
      Value narrow = vector::ExtractOp::create(b, loc(), part, 0);
      Type integer = b.getIntegerType(bits);
      if (element != integer)
        narrow = arith::BitcastOp::create(b, loc(), integer, narrow);
      value = arith::ExtUIOp::create(b, loc(), b.getI32Type(), narrow);
    }
    if (shuffles[i].kind == RegisterShuffle::Butterfly) {
      value = gpu::ShuffleOp::create(b, loc(), value, int32_t(shuffles[i].mask),
                                     32, gpu::ShuffleMode::XOR)
                  .getShuffleResult();
    } else {
      Value from = addConstant(getThreadPart(lanes, 0), getThreadBits(lanes, 0),
                               multiply(lanes.getColumns(kRegister), i));
      value = gpu::ShuffleOp::create(b, loc(), value, from, constantI32(32),
                                     gpu::ShuffleMode::IDX)
                  .getShuffleResult();
    }
    if (word) {
      Value whole = vector::BroadcastOp::create(
          b, loc(), VectorType::get({1}, word), value);
      Value cast = vector::BitCastOp::create(b, loc(), partType, whole);
      for (unsigned j = 0; j < packed; ++j)
        results.push_back(vector::ExtractOp::create(b, loc(), cast, j));
    } else {
      Type integer = b.getIntegerType(bits);
      value = arith::TruncIOp::create(b, loc(), integer, value);
      if (element != integer)
        value = arith::BitcastOp::create(b, loc(), element, value);
      results.push_back(value);
    }
  }
  return Value(vector::FromElementsOp::create(b, loc(), type, results));
}

/// Elements [start, start + count) of `file`.
static Value getSlice(OpBuilder &b, Location loc, Value file, int64_t start,
                      int64_t count) {
  if (cast<VectorType>(file.getType()).getDimSize(0) == count)
    return file;
  return vector::ExtractStridedSliceOp::create(
      b, loc, file, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{count},
      ArrayRef<int64_t>{1});
}

/// `parts`, vectors, side by side.
static Value join(OpBuilder &b, Location loc, ArrayRef<Value> parts,
                  Type element) {
  if (parts.size() == 1)
    return parts.front();
  int64_t total = 0;
  for (Value part : parts)
    total += cast<VectorType>(part.getType()).getDimSize(0);
  auto type = VectorType::get({total}, element);
  Value file = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  int64_t at = 0;
  for (Value part : parts) {
    file = vector::InsertStridedSliceOp::create(
        b, loc, part, file, ArrayRef<int64_t>{at}, ArrayRef<int64_t>{1});
    at += cast<VectorType>(part.getType()).getDimSize(0);
  }
  return file;
}

Value ThreadProgram::loadShared(const SharedAccess &access, Type element,
                                const SharedTileRef &memory, uint32_t constant,
                                ArrayRef<bool> needed) {
  uint32_t size = access.offsets.getInSize(kRegister);
  bool isMatrix = access.kind != SharedAccessKind::Vector;
  unsigned group =
      isMatrix ? std::min<uint32_t>(8, size) : 1u << access.vectorBits;
  // Where the thread's own accesses start: a row of a matrix, or its elements.
  LinearLayout places = access.offsets;
  if (isMatrix) {
    LinearLayout rows = getMatrixRows(access);
    // (matrix, row, warp) -> (register of 8, lane, warp).
    unsigned matrixBits = rows.getInBits("matrix");
    unsigned own = std::min(matrixBits, llvm::Log2_32(group / 2));
    BinaryVectors columns;
    BinaryVectors matrices(rows.getColumns("matrix"));
    for (unsigned bit = own; bit < matrixBits; ++bit)
      columns.push_back(matrices[bit]);
    BinaryVectors lanes(rows.getColumns("row"));
    for (unsigned bit = 0; bit < own; ++bit)
      lanes.push_back(matrices[bit]);
    lanes.resize(5, 0);
    columns.append(lanes);
    columns.append(BinaryVectors(rows.getColumns(kWarp)));
    places = LinearLayout::fromColumns({{kRegister.str(), matrixBits - own},
                                        {kLane.str(), 5},
                                        {kWarp.str(), rows.getInBits(kWarp)}},
                                       LayoutDims(rows.getOuts()),
                                       std::move(columns));
  }
  Value part = getThreadPart(places, 0);
  uint64_t possible = getThreadBits(places, 0);
  SmallVector<Value> parts;
  auto groupType = VectorType::get({int64_t(group)}, element);
  for (uint32_t i = 0; i < size; i += group) {
    bool isNeeded = false;
    for (uint32_t j = i; j < i + group; ++j)
      isNeeded |= needed.empty() || needed[j];
    if (!isNeeded) {
      parts.push_back(
          arith::ConstantOp::create(b, loc(), b.getZeroAttr(groupType)));
      continue;
    }
    uint64_t own =
        multiply(places.getColumns(kRegister), isMatrix ? i / group : i);
    Value offset = addConstantToIndex(part, possible, own ^ constant);
    if (memory.base)
      offset = arith::AddIOp::create(b, loc(), memory.base, offset);
    if (!isMatrix) {
      auto load = vector::LoadOp::create(b, loc(), groupType, memory.buffer,
                                         ValueRange{offset});
      load.setAlignment(access.elementBytes * group);
      parts.push_back(load);
      continue;
    }
    // Matrices at the end that nobody needs may lie past the tile.
    unsigned loaded = group;
    while (!needed.empty() && loaded > 2 &&
           llvm::none_of(needed.slice(i + loaded / 2, loaded / 2),
                         [](bool isUsed) { return isUsed; }))
      loaded /= 2;
    auto fragment = VectorType::get({int64_t(loaded / 2), 2}, element);
    Value matrices = nvgpu::LdMatrixOp::create(
        b, loc(), fragment, memory.buffer, ValueRange{offset},
        /*transpose=*/access.kind == SharedAccessKind::MatrixTransposed,
        /*numTiles=*/loaded / 2);
    parts.push_back(vector::ShapeCastOp::create(
        b, loc(), VectorType::get({int64_t(loaded)}, element), matrices));
    if (loaded < group)
      parts.push_back(arith::ConstantOp::create(
          b, loc(),
          b.getZeroAttr(VectorType::get({int64_t(group - loaded)}, element))));
  }
  return join(b, loc(), parts, element);
}

void ThreadProgram::storeShared(const SharedAccess &access, Value file,
                                const SharedTileRef &memory) {
  uint32_t size = access.offsets.getInSize(kRegister);
  unsigned group = 1u << access.vectorBits;
  OpBuilder::InsertionGuard guard(b);
  if (Value active = haveClear(access.idleLanes, access.idleWarps)) {
    auto branch = scf::IfOp::create(b, loc(), active, /*withElse=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  Value part = getThreadPart(access.offsets, 0);
  uint64_t possible = getThreadBits(access.offsets, 0);
  for (uint32_t i = 0; i < size; i += group) {
    uint64_t own = multiply(access.offsets.getColumns(kRegister), i);
    Value offset = addConstantToIndex(part, possible, own);
    if (memory.base)
      offset = arith::AddIOp::create(b, loc(), memory.base, offset);
    auto store =
        vector::StoreOp::create(b, loc(), getSlice(b, loc(), file, i, group),
                                memory.buffer, ValueRange{offset});
    store.setAlignment(access.elementBytes * group);
  }
}

FailureOr<Value> ThreadProgram::runStep(const ConversionStep &step, Value file,
                                        Type element,
                                        const SharedTileRef &memory,
                                        uint32_t constant, unsigned packedBits,
                                        Operation *user) {
  switch (step.kind) {
  case ConversionStep::Registers:
    return moveRegisters(step.map, file);
  case ConversionStep::Shuffle:
    return shuffleLanes(step, file, packedBits, user);
  case ConversionStep::Store:
    storeShared(step.access, file, memory);
    return file;
  case ConversionStep::Barrier:
    gpu::BarrierOp::create(b, loc());
    return file;
  case ConversionStep::Load:
    return loadShared(step.access, element, memory, constant, {});
  }
  llvm_unreachable("unknown step");
}

LogicalResult ThreadProgram::rewriteConversion(ConvertLayoutOp op) {
  auto type = cast<VectorType>(op.getType());
  Held from = getHeld(op.getSource()), to = getHeld(op.getResult());
  Type element = type.getElementType();
  ConversionOptions options;
  options.elementBytes = getElementBytes(element);
  unsigned bits = 8 * options.elementBytes;
  // stmatrix is not on all targets.
  options.useStmatrix = false;
  llvm::Expected<ConversionPlan> plan =
      planConversion(from.layout, to.layout, options);
  // A row that many registers read lies in memory once: lanes to read from and
  // registers to choose by would take more than addresses.
  if (plan && type.getNumElements() <= kSmallElements && !element.isIndex() &&
      bits == element.getIntOrFloatBitWidth() &&
      plan->countShuffles() > kMostShuffles) {
    options.forceShared = true;
    plan = planConversion(from.layout, to.layout, options);
  }
  if (!plan)
    return op.emitOpError("expected layouts that convert: ")
           << llvm::toString(plan.takeError());
  SharedTileRef memory;
  if (plan->kind == ConversionPlan::ThroughShared) {
    if (element.isIndex() || bits != element.getIntOrFloatBitWidth())
      return op.emitOpError("expected elements of whole bytes to pass through "
                            "shared memory, got ")
             << element;
    auto space = gpu::AddressSpaceAttr::get(
        b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    auto bufferType =
        MemRefType::get({int64_t(plan->sharedBytes / options.elementBytes)},
                        element, MemRefLayoutAttrInterface(), space);
    memory.buffer = memref::AllocOp::create(b, loc(), bufferType);
    // Its bytes may have been read for something else until here.
    gpu::BarrierOp::create(b, loc());
  }
  Value file = toFile(map.lookup(op.getSource()), from);
  unsigned packedBits = bits < 32 ? plan->getPackedBits() : 0;
  for (const ConversionStep &step : plan->steps) {
    FailureOr<Value> next =
        runStep(step, file, element, memory, 0, packedBits, op);
    if (failed(next))
      return failure();
    file = *next;
  }
  map.map(op.getResult(), fromFile(file, to));
  return success();
}
